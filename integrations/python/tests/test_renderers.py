"""`unjinja.renderers.Renderer`, beside the package `renderers` and its own renderer of Qwen 3. Skipped where that package is missing."""

from __future__ import annotations

import os
from typing import Any

import pytest
from shared import TEMPLATES, WEATHER, load
from tiny import QWEN3, ids_of, tokenizer_json

from unjinja import Encoder, Model, RequestError

if os.environ.get("UNJINJA_RENDERERS") == "required":
    import renderers
else:
    renderers = pytest.importorskip("renderers")

from unjinja.renderers import Renderer, RendererConfig  # noqa: E402

ASKED = {"role": "user", "content": "Rain in Zürich?"}
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}}
CALLS = {"role": "assistant", "content": "", "reasoning_content": "I look.", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "no"}
ANSWER = {"role": "assistant", "content": "It is dry. 🙂", "reasoning_content": "Dry."}

# As the template of Qwen3-0.6B writes these conversations: written for this test. Tools come first, then the messages.
LIKE_QWEN = r"""
{%- if tools %}{{ '<|im_start|>system\n' }}{% if messages[0].role == 'system' %}{{ messages[0].content + '\n\n' }}{% endif %}
{{- '# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are provided with function signatures within <tools></tools> XML tags:\n<tools>' }}
{%- for tool in tools %}{{ '\n' ~ (tool | tojson) }}{% endfor %}
{{- '\n</tools>\n\nFor each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n' }}
{%- elif messages[0].role == 'system' %}{{ '<|im_start|>system\n' + messages[0].content + '<|im_end|>\n' }}{% endif %}
{%- set ns = namespace(last=-1) %}
{%- for m in messages %}{% if m.role == 'user' %}{% set ns.last = loop.index0 %}{% endif %}{% endfor %}
{%- for m in messages %}
{%- if m.role == 'user' or (m.role == 'system' and not loop.first) %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}
{%- elif m.role == 'assistant' %}{{ '<|im_start|>assistant\n' }}
{%- if loop.index0 > ns.last and (loop.last or m.reasoning_content) %}{{ '<think>\n' + (m.reasoning_content or '') + '\n</think>\n\n' }}{% endif %}
{{- m.content }}
{%- for call in m.tool_calls or [] %}{% if m.content or not loop.first %}{{ '\n' }}{% endif %}
{{- '<tool_call>\n{"name": "' + call.function.name + '", "arguments": ' + (call.function.arguments | tojson) + '}\n</tool_call>' }}{% endfor %}
{{- '<|im_end|>\n' }}
{%- elif m.role == 'tool' %}{% if messages[loop.index0 - 1].role != 'tool' %}{{ '<|im_start|>user' }}{% endif %}
{{- '\n<tool_response>\n' + m.content + '\n</tool_response>' }}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{ '<|im_end|>\n' }}{% endif %}
{%- endif %}{% endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}
{%- if enable_thinking is defined and not enable_thinking %}{{ '<think>\n\n</think>\n\n' }}{% endif %}{% endif %}"""

CONVERSATIONS: list[list[dict[str, Any]]] = [
    [ASKED],
    [ASKED, ANSWER],
    [{"role": "system", "content": "Be brief."}, ASKED, CALLS, RESULT],
    [ASKED, CALLS, RESULT, ANSWER],
    [ASKED, {**CALLS, "content": "Let me look."}, RESULT, {"role": "tool", "tool_call_id": "c2", "content": "é"}, ANSWER],
    [ASKED, ANSWER, ASKED, CALLS, RESULT, ANSWER],
]


class Tokenizer:
    """The tokenizer of these tests, as `renderers` wants one."""

    name_or_path = "tiny"
    unk_token_id = None
    eos_token_id = 257

    def encode(self, text: str, *_: Any, **__: Any) -> list[int]:
        return ids_of(text)

    def decode(self, token_ids: Any, *_: Any, **__: Any) -> str:
        ids = token_ids if isinstance(token_ids, list) else [token_ids]
        markers = list(QWEN3)
        pieces = (bytes([id]) if id < 256 else markers[id - 256].encode() for id in ids)
        return b"".join(pieces).decode(errors="replace")

    def convert_tokens_to_ids(self, tokens: Any) -> Any:
        return 256 + list(QWEN3).index(tokens) if tokens in QWEN3 else None

    def __call__(self, text: str, **_: Any) -> dict[str, Any]:
        ids, offsets, at = self.encode(text), [], 0
        for id in ids:
            # A character of several bytes begins with the first.
            if id >= 256:
                offsets.append((at, at + len(list(QWEN3)[id - 256])))
            elif id & 0xC0 == 0x80:
                offsets.append((at - 1, at))
                continue
            else:
                offsets.append((at, at + 1))
            at = offsets[-1][1]
        return {"input_ids": ids, "offset_mapping": offsets}


@pytest.fixture(scope="module")
def ours() -> Renderer:
    return Renderer(Encoder(Model.from_template(LIKE_QWEN, eos_token="<|im_end|>"), tokenizer_json()))


@pytest.fixture(scope="module")
def theirs() -> Any:
    return renderers.Qwen3Renderer(Tokenizer())


def test_it_is_a_renderer(ours: Renderer) -> None:
    assert isinstance(ours, renderers.Renderer)
    assert not isinstance(ours, renderers.MultimodalRenderer)


@pytest.mark.parametrize("number", range(len(CONVERSATIONS)))
@pytest.mark.parametrize("tools", [None, WEATHER], ids=["", "tools"])
@pytest.mark.parametrize("prompt", [False, True])
def test_it_renders_as_their_renderer(ours: Renderer, theirs: Any, number: int, tools: Any, prompt: bool) -> None:
    conversation = CONVERSATIONS[number]
    made = ours.render(conversation, tools=tools, add_generation_prompt=prompt)
    expected = theirs.render(conversation, tools=tools, add_generation_prompt=prompt)
    assert ours.encoder.text_of(made.token_ids) == ours.encoder.text_of(expected.token_ids)
    assert made.token_ids == expected.token_ids == ours.render_ids(conversation, tools=tools, add_generation_prompt=prompt)
    assert made.sampled_mask == expected.sampled_mask
    assert made.message_roles == expected.message_roles and made.message_tool_names == expected.message_tool_names
    assert made.is_content == expected.is_content
    # What the template writes around a message is nobody's here and the message's there, or the other way round.
    theirs_of = dict(enumerate(expected.message_indices))
    for at, index in enumerate(made.message_indices):
        if made.is_content[at]:
            assert index == theirs_of[at]
    sample = renderers.build_training_sample(ours, conversation, tools=tools)
    assert sample.loss_mask == renderers.build_training_sample(theirs, conversation, tools=tools).loss_mask


OUTPUTS = [
    "<think>\nHm.\n</think>\n\nYes.<|im_end|>",
    "Yes.<|im_end|>",
    "<think>\nHm.\n</think>\n\n<tool_call>\n" + '{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}' + "\n</tool_call><|im_end|>",
    "Two.\n"
    + "\n".join('<tool_call>\n{"name": "get_weather", "arguments": {"city": "%s"}}\n</tool_call>' % city for city in ("Paris", "Zürich"))
    + "<|im_end|>",
    "<think>\nHm.",
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Pa',
]


@pytest.mark.parametrize("output", OUTPUTS)
def test_it_parses_as_their_parser(ours: Renderer, theirs: Any, output: str) -> None:
    prompt = ours.render_ids([ASKED], tools=WEATHER, add_generation_prompt=True)
    made = ours.parse_response(ids_of(output), tools=WEATHER, prompt_ids=prompt)
    expected = theirs.parse_response(ids_of(output), tools=WEATHER, prompt_ids=prompt)
    assert (made.content.strip(), (made.reasoning_content or "").strip()) == (expected.content.strip(), (expected.reasoning_content or "").strip())
    assert made.reasoning_complete == expected.reasoning_complete
    assert [call.status for call in made.tool_calls] == [call.status for call in expected.tool_calls]
    for one, other in zip(made.tool_calls, expected.tool_calls, strict=True):
        assert one.token_span == other.token_span
        assert other.raw in one.raw
        if other.status == renderers.ToolCallParseStatus.OK:
            assert (one.name, one.arguments) == (other.name, other.arguments)


def test_broken_calls_are_given_with_their_status(ours: Renderer) -> None:
    status = renderers.ToolCallParseStatus
    cases = {
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": }}\n</tool_call>': [status.INVALID_JSON],
        '<tool_call>\n{"name": "nope", "arguments": {}}\n</tool_call>': [status.UNKNOWN_TOOL],
    }
    for output, expected in cases.items():
        calls = ours.parse_response(ids_of(output), tools=WEATHER).tool_calls
        assert [call.status for call in calls] == expected and calls[0].raw
    nameless = ours.parse_response(ids_of('<tool_call>\n{"arguments": {}}\n</tool_call>'), tools=WEATHER)
    assert [call.name for call in nameless.tool_calls] in ([], [None])


def test_stop_tokens_and_prefix_stability(ours: Renderer, theirs: Any) -> None:
    assert ours.get_stop_token_ids() == [257]
    assert set(ours.get_stop_token_ids()) <= set(theirs.get_stop_token_ids())
    assert ours.is_prefix_stable is theirs.is_prefix_stable is False
    # A format whose answers end otherwise than its reasoning, and one whose model begins the next message.
    channels = (
        "{% for m in messages %}{% if m.role == 'assistant' %}{% if m.reasoning_content and loop.last %}<|start|>assistant<|channel|>analysis<|message|>"
        "{{ m.reasoning_content }}<|end|>{% endif %}<|start|>assistant<|channel|>final<|message|>{{ m.content }}{{ '<|return|>' if loop.last else '<|end|>' }}"
        "{% else %}<|start|>{{ m.role }}<|message|>{{ m.content }}<|end|>{% endif %}{% endfor %}{% if add_generation_prompt %}<|start|>assistant{% endif %}"
    )
    names = ["<|start|>", "<|end|>", "<|message|>", "<|channel|>", "<|return|>"]
    made = Renderer(Encoder(Model.from_template(channels), tokenizer_json(dict.fromkeys(names, True))))
    assert made.get_stop_token_ids() == [256 + names.index("<|return|>")]
    open_ended = "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    names = ["<|user|>", "<|assistant|>", "<|tool|>"]
    made = Renderer(Encoder(Model.from_template(open_ended), tokenizer_json(dict.fromkeys(names, True))))
    assert made.get_stop_token_ids()[0] == 256
    plain = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    stable = Renderer(Encoder(Model.from_template(plain), tokenizer_json()))
    assert stable.is_prefix_stable and stable.effective_thinking_retention == "all"


def test_a_turn_is_continued_as_theirs_is(ours: Renderer, theirs: Any) -> None:
    asked, sampled = [ASKED], ids_of(OUTPUTS[2])
    prompt = ours.render_ids(asked, tools=WEATHER, add_generation_prompt=True)
    for completion in (sampled, sampled[:-1]):
        made = ours.bridge_to_next_turn(prompt, completion, [RESULT], tools=WEATHER)
        expected = theirs.bridge_to_next_turn(prompt, completion, [RESULT], tools=WEATHER)
        assert made is not None and made.token_ids == expected.token_ids
        assert made.token_ids[: len(prompt) + len(completion)] == prompt + completion
        assert made.sampled_mask == expected.sampled_mask and made.is_content == expected.is_content
        assert made.tokens_per_message(1)[0] > 0 and made.message_roles == ["tool"]
    # After results of calls.
    prompt = ours.render_ids([ASKED, CALLS, RESULT], tools=WEATHER, add_generation_prompt=True)
    assert ours.bridge_to_next_turn(prompt, sampled, [RESULT], tools=WEATHER) is not None
    # The next question takes the reasoning out, so both refuse.
    assert ours.bridge_to_next_turn(prompt, sampled, [ASKED], tools=WEATHER) is None
    assert theirs.bridge_to_next_turn(prompt, sampled, [ASKED], tools=WEATHER) is None
    assert ours.bridge_to_next_turn(prompt, sampled, [ANSWER], tools=WEATHER) is None
    assert ours.bridge_to_next_turn([], sampled, [RESULT]) is None
    # A prompt that ends in another way than this template writes it.
    assert ours.bridge_to_next_turn(prompt + [1], sampled, [RESULT], tools=WEATHER) is None


def test_variables_of_the_template_come_from_the_config() -> None:
    encoder = Encoder(Model.from_template(LIKE_QWEN), tokenizer_json())
    config = RendererConfig.model_validate({"enable_thinking": False})
    ids = Renderer(encoder, config).render_ids([ASKED], add_generation_prompt=True)
    assert encoder.text_of(ids).endswith("<think>\n\n</think>\n\n")
    assert Renderer(encoder, RendererConfig(thinking_retention="all")).effective_thinking_retention == "all"
    assert Renderer(encoder, RendererConfig(thinking_retention="tool_cycle")).effective_thinking_retention == "tool_cycle"


def test_their_factory_makes_one() -> None:
    class Inner:
        def to_str(self, pretty: bool = False) -> str:
            return tokenizer_json()

    class Fast(Tokenizer):
        backend_tokenizer = Inner()
        chat_template = LIKE_QWEN
        special_tokens_map = {"eos_token": "<|im_end|>"}

    config = renderers.CustomRendererConfig.model_validate(
        {"name": "custom", "import_path": "unjinja.renderers.Renderer", "enable_thinking": False}
    )
    made = renderers.create_renderer(Fast(), config)
    assert isinstance(made, Renderer) and made.get_stop_token_ids() == [257]
    assert made.encoder.text_of(made.render_ids([ASKED], add_generation_prompt=True)).endswith("</think>\n\n")


def test_messages_with_parts(ours: Renderer) -> None:
    thinking = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Dry."}, {"type": "text", "text": "It is dry. 🙂"}]}
    ids = ours.render_ids([ASKED, thinking])
    assert ids == ours.render_ids([ASKED, ANSWER]) == ours.render_ids([ASKED, {"role": "assistant", "content": "It is dry. 🙂", "reasoning": "Dry."}])
    with pytest.raises(RequestError, match=r"messages\[0\].content: only text and thinking are rendered, not \['image'\]"):
        ours.render([{"role": "user", "content": [{"type": "image", "url": "x"}]}])
    with pytest.raises(RequestError, match="messages: there are none"):
        ours.render([])


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_format_can_be_trained_and_continued(path: Any) -> None:
    """The protocol's promises, for every template of the project that renders the conversation."""
    model = load(path)
    spec_tokens = {text: True for text in model.preserved_tokens}
    made = Renderer(Encoder(model, tokenizer_json({**spec_tokens, "<s>": True, "</s>": True})))
    conversation = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "It is dry."}]
    rendered = made.render(conversation)
    assert len(rendered.token_ids) == len(rendered.sampled_mask) == len(rendered.message_indices) == len(rendered.is_content)
    sampled = [id for id, on in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if on]
    # A past turn without reasoning does not come after a prompt that opens reasoning.
    before = rendered.token_ids[: rendered.sampled_mask.index(True)]
    assert made.parse_response(sampled, prompt_ids=before).content.strip() == "It is dry."
    assert all(at == 1 for at, on in zip(rendered.message_indices, rendered.sampled_mask, strict=True) if on)
    prompt = made.render_ids(conversation[:1], add_generation_prompt=True)
    bridge = made.bridge_to_next_turn(prompt, sampled, [{"role": "user", "content": "So?"}])
    if bridge is not None:
        assert bridge.token_ids[: len(prompt) + len(sampled)] == prompt + sampled
        assert "So?" in made.encoder.text_of(bridge.token_ids[len(prompt) + len(sampled) :])
