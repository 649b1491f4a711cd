"""`unjinja.transformers.attach`, with transformers and without PyTorch. Skipped where transformers is not installed."""

from __future__ import annotations

import copy
import enum
import json
import os
import pickle
from functools import cache
from pathlib import Path
from typing import Any, Literal, Optional

import pytest
from shared import CORPUS, TEMPLATES, TOOLS, WEATHER, load, need_corpus, turns_of

from unjinja import LoadError, Model, RequestError, Tools

if os.environ.get("UNJINJA_TRANSFORMERS") == "required":
    import transformers
else:
    transformers = pytest.importorskip("transformers")

from unjinja.transformers import attach, message_of  # noqa: E402

def tokenizer(template: str | dict[str, str]) -> Any:
    """A fast tokenizer of bytes with a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({char: number for number, char in enumerate(alphabet)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    made = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>")
    made.chat_template = template
    return made


def comparable(message: dict[str, Any]) -> dict[str, Any]:
    """A message without ids, which a response template does not read, and without white space at the ends of its texts."""
    result: dict[str, Any] = {key: value.strip() if isinstance(value, str) else value for key, value in message.items()}
    for listed in result.get("tool_calls", []):
        listed.pop("id", None)
    return {key: value for key, value in result.items() if value}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_format_by_both_ways(path: Path) -> None:
    model = load(path)
    tried = 0
    reader = tokenizer(path.read_text(encoding="utf-8"))
    template = tokenizer(path.read_text(encoding="utf-8"))
    attached = attach(template, model=model)
    assert attached.how == ("parser" if attached.losses or not attached.has_template else "template")
    assert attach(reader, model=model, how="parser").how == "parser"
    for prompt, output in turns_of(model):
        ours = model.parse(output, tools=TOOLS, prompt=prompt)
        expected = comparable(message_of(ours))
        for way in (reader, template):
            read = way.parse_response(output, prefix=prompt, tools=TOOLS)
            assert comparable(read) == expected, (output, attached)
        tried += 1
    assert tried >= 3


@cache
def released(folder: str, template: str) -> tuple[Model, Any, Any, Any]:
    inside = CORPUS / ("templates" if folder == "templates" else f"{folder}/templates")
    model = Model.from_pretrained(inside / template)
    by_parser, by_template = tokenizer(model.template or ""), tokenizer(model.template or "")
    attach(by_parser, model=model, how="parser")
    return model, by_parser, by_template, attach(by_template, model=model)


def test_turns_of_released_templates_by_both_ways() -> None:
    need_corpus()
    tool_sets = json.loads((CORPUS / "turn_tools.json").read_text(encoding="utf-8"))
    tried = {"parser": 0, "template": 0}
    wrong: dict[str, list[str]] = {"parser": [], "template": []}
    with open(CORPUS / "turns.jsonl", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            case = json.loads(line)
            if number % 7 or not case["extract_reasoning"]:
                continue
            tools = tool_sets[case["tools"]] if isinstance(case["tools"], str) else case["tools"]
            model, by_parser, by_template, attached = released(case["folder"], case["template"])
            prompt = case["generation_prompt"]
            if not prompt:
                continue
            expected = comparable(message_of(model.parse(case["output"], tools=tools or None, prompt=prompt)))
            for how, way in (("parser", by_parser), ("template", by_template)):
                if how == "template" and attached.how != "template":
                    continue
                tried[how] += 1
                try:
                    read = comparable(way.parse_response(case["output"], prefix=prompt, tools=tools))
                except ValueError as error:
                    read = {"error": str(error)}
                if read != expected:
                    wrong[how].append(f"{case['id']}: {read}")
    print({how: f"{tried[how] - len(wrong[how])} of {tried[how]}" for how in tried})
    assert tried["parser"] > 500 and tried["template"] > 300
    assert wrong["parser"] == []
    # The random conversations of an export hold no empty keys and no `None`, and the turns do; docs/transformers.md has the figure.
    assert len(wrong["template"]) <= 0.025 * tried["template"], wrong["template"][:10]


SHAPES: dict[str, list[dict[str, Any]]] = {
    "chat": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}, {"role": "user", "content": "?"}],
    "null content": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_123ab", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "Oslo"}}}]},
        {"role": "tool", "tool_call_id": "call_123ab", "name": "get_weather", "content": None}],
    "null keys": [{"role": "user", "content": "Hi", "name": None}, {"role": "assistant", "content": "Yes.", "tool_calls": None, "reasoning_content": None}],
    **{name: [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes.", name: "Hm."}] for name in ("reasoning", "thinking", "reasoning_content")},
    "two names": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes.", "thinking": "T", "reasoning": "R"}],
    "empty": [],
}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_messages_as_given_are_rendered_as_there(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    there, here = tokenizer(source), Model.from_template(source, bos_token="<s>", eos_token="</s>")
    for name, messages in SHAPES.items():
        for tools in (None, TOOLS):
            texts: list[str | None] = []
            for render in (
                lambda: there.apply_chat_template(messages, tools=tools, tokenize=False, add_generation_prompt=True),
                lambda: str(here.render(messages, tools=tools, as_given=True)),
            ):
                try:
                    texts.append(render())
                except Exception:
                    texts.append(None)
            assert texts[0] == texts[1], name


QWEN = next(path for path in TEMPLATES if path.stem == "qwen3")
PYTHONIC = next(path for path in TEMPLATES if path.stem == "lines_of_calls")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def test_it_says_what_it_did(tmp_path: Path) -> None:
    made = tokenizer(QWEN.read_text(encoding="utf-8"))
    attached = attach(made)
    assert (attached.how, attached.losses) == ("template", []) and attached.notes
    assert str(attached) == "tokenizer.response_template was set"
    made.save_pretrained(tmp_path)
    again = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert again.parse_response(CALL, prefix="")["tool_calls"][0]["function"]["name"] == "get_weather"
    other = attach(tokenizer(PYTHONIC.read_text(encoding="utf-8")))
    assert other.how == "parser" and "python_calls" in str(other)
    assert pickle.loads(pickle.dumps(other)) == other == copy.deepcopy(other) != attached


def test_it_says_what_of_a_template_is_not_understood() -> None:
    partial = (
        "{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
        "{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    attached = attach(tokenizer(partial))
    assert attached.model.status != "supported" and attached.model.gaps
    for gap in attached.model.gaps:
        assert gap in str(attached) and gap in repr(attached)
    assert "understood" not in str(attach(tokenizer(QWEN.read_text(encoding="utf-8"))))


def test_a_lossy_response_template_is_kept_for_trainers(tmp_path: Path) -> None:
    made = tokenizer(PYTHONIC.read_text(encoding="utf-8"))
    attached = attach(made)
    assert attached.how == "parser" and attached.has_template and attached.losses
    assert "tokenizer.response_template was set too" in str(attached) and "python_calls" in str(attached)
    # TRL 1.16 only asks whether there is one, and then calls `parse_response` with ids.
    assert made.response_template["start_anchor"]
    for prompt, output in turns_of(attached.model):
        read = made.parse_response(made.encode(output), prefix=made.encode(prompt), tools=TOOLS)
        expected = message_of(attached.model.parse(output, tools=TOOLS, prompt=prompt))
        assert comparable(read) == comparable(expected)
    made.save_pretrained(tmp_path)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).response_template == made.response_template


def test_a_response_template_of_another_chat_template_is_replaced_or_taken_away() -> None:
    made = tokenizer(QWEN.read_text(encoding="utf-8"))
    made.response_template = {"start_anchor": "<other>", "fields": {"content": {}}}
    attached = attach(made, how="parser")
    assert attached.has_template and made.response_template["start_anchor"] == "<|im_start|>assistant\n"
    assert str(attached) == "tokenizer.parse_response is unjinja's; tokenizer.response_template was set too"
    made.response_template = {"start_anchor": "<other>", "fields": {"content": {}}}
    without = attach(made, model=Model.from_spec(attached.model.spec), how="parser")
    assert not without.has_template and made.response_template is None
    assert "there is no response template" in str(without)


def trl() -> Any:
    """TRL's functions for chat templates, which need no PyTorch."""
    if os.environ.get("UNJINJA_TRL") == "required":
        import trl.chat_template_utils as utils

        return utils
    return pytest.importorskip("trl.chat_template_utils")


def test_trl_takes_what_was_attached() -> None:
    utils = trl()
    made = tokenizer(PYTHONIC.read_text(encoding="utf-8"))
    with pytest.raises(ValueError, match="Unrecognized chat template"):
        utils.add_response_schema(made)
    attached = attach(made)
    # As its trainer does: the schema is only added where there is no response template.
    assert getattr(made, "response_template", None) is not None
    for prompt, output in turns_of(attached.model):
        read = utils.parse_response(made, made.encode(output), prefix=made.encode(prompt), tools=TOOLS)
        expected = message_of(attached.model.parse(output, tools=TOOLS, prompt=prompt))
        assert comparable(read) == comparable(expected)


def test_wrong_arguments_are_refused() -> None:
    made = tokenizer({"default": QWEN.read_text(encoding="utf-8"), "tool_use": QWEN.read_text(encoding="utf-8")})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"how": "nope"}, "how: 'nope' is unknown"),
        ({"count": 0}, "count: 0 conversations"),
        ({"chat_template": "tool-use"}, "'tool-use' is no template and no name of one; the tokenizer's names are default, tool_use"),
    ]
    for arguments, says in wrong:
        with pytest.raises(RequestError, match=says):
            attach(made, **arguments)
    with pytest.raises(RequestError, match="the tokenizer has no named templates"):
        attach(tokenizer(QWEN.read_text(encoding="utf-8")), chat_template="default")
    assert attach(made, chat_template="tool_use").how == "template"


def test_our_parser_takes_what_transformers_takes() -> None:
    made = tokenizer(QWEN.read_text(encoding="utf-8"))
    attach(made, how="parser")
    expected = {"role": "assistant", "content": "Yes."}
    ids = made.encode("Yes.")
    assert made.parse_response("Yes.", prefix="") == expected
    assert made.parse_response(ids, prefix=made.encode("<|im_start|>assistant\n")) == expected
    assert made.parse_response(["Yes.", "Yes."], prefix="") == [expected, expected]
    assert made.parse_response([ids, ids], prefix=["", ""]) == [expected, expected]
    assert made.parse_response([ids], prefix=[]) == [expected]
    with pytest.raises(ValueError, match="prefix"):
        made.parse_response("Yes.")
    with pytest.raises(ValueError, match="2 responses and 3 prefixes"):
        made.parse_response(["a", "b"], prefix=["", "", ""])
    # A schema of the caller is for transformers.
    schema = {"start_anchor": "<|im_start|>assistant\n", "fields": {"content": {}}}
    assert made.parse_response(CALL, schema, prefix="")["content"] == CALL

    def get_weather(city: str) -> str:
        """The weather.

        Args:
            city: The city.
        """
        return city

    (read,) = made.parse_response(CALL, prefix="", tools=[get_weather])["tool_calls"]
    assert read == {"type": "function", "function": {"name": "get_weather", "arguments": {"city": "Paris"}}}


def test_a_broken_call_does_not_lose_the_message() -> None:
    made = tokenizer(QWEN.read_text(encoding="utf-8"))
    attach(made, how="parser")
    broken = "Let me look.\n" + CALL[: CALL.index("Paris") + 2]
    message = made.parse_response(broken, prefix="")
    assert message["content"] == "Let me look."
    assert message["tool_calls"][0]["function"]["arguments"] == {"city": "Pa"}


def test_a_tokenizer_with_our_parser_is_copied_and_pickled() -> None:
    made = tokenizer(QWEN.read_text(encoding="utf-8"))
    attach(made, how="parser")
    for other in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert other.parse_response(CALL, prefix="") == made.parse_response(CALL, prefix="")
        assert other.parse_response.tokenizer is other
    attach(made)
    assert "parse_response" not in vars(made) and made.response_template


def test_processors_and_named_templates() -> None:
    class Processor:
        def __init__(self, inner: Any, chat_template: Any = None) -> None:
            self.tokenizer, self.chat_template = inner, chat_template

    text = QWEN.read_text(encoding="utf-8")
    processor = Processor(tokenizer({"default": "{{ messages }}", "tool_use": text}))
    assert attach(processor).how == "template"
    assert processor.tokenizer.response_template["start_anchor"]
    own = Processor(tokenizer(""), text)
    assert attach(own).how == "template"
    with pytest.raises(RequestError, match="no chat template"):
        attach(tokenizer(""))
    with pytest.raises(LoadError):
        attach(tokenizer("{% if x %}"))


def test_a_slow_tokenizer() -> None:
    class Slow(transformers.PreTrainedTokenizer):  # type: ignore[misc]
        """Characters are tokens."""

        @property
        def vocab_size(self) -> int:
            return 0x110000

        def get_vocab(self) -> dict[str, int]:
            return {}

        def _tokenize(self, text: str, **_: Any) -> list[str]:
            return list(text)

        def _convert_token_to_id(self, token: str) -> int:
            return ord(token[0])

        def _convert_id_to_token(self, index: int) -> str:
            return chr(index)

        def convert_tokens_to_string(self, tokens: list[str]) -> str:
            return "".join(tokens)

    ways: tuple[Any, ...] = ("template", "parser")
    for how in ways:
        slow = Slow()
        slow.chat_template = QWEN.read_text(encoding="utf-8")
        assert attach(slow, how=how).how == how
        read = slow.parse_response([ord(char) for char in CALL], prefix="", tools=WEATHER)
        assert read["tool_calls"][0]["function"]["arguments"] == {"city": "Paris"}


def test_streams_of_transformers_work_with_an_exported_template() -> None:
    made = tokenizer(QWEN.read_text(encoding="utf-8"))
    attach(made)
    parser = made.get_response_parser(prefix="")
    events = [event for at in range(0, len(CALL), 5) for event in parser.feed(CALL[at : at + 5])]
    message, last = parser.finalize()
    assert message["tool_calls"] and events + last


class Unit(enum.Enum):
    """A unit."""

    CELSIUS = "c"
    KELVIN = 1.5


def test_functions_have_the_schema_of_transformers() -> None:
    """So a prompt with them is the one of `apply_chat_template`."""
    from transformers.utils import get_json_schema

    def search(query: str, limit: int, exact: bool = False, scores: list[float] | None = None) -> list[str]:
        """Searches documents.

        The words may be in any order.

        Args:
            query: The words,
                in any language.
            limit: How many at most.
            exact: Whether case counts.
            scores: The scores.

        Returns:
            The titles.
        """
        return []

    def paint(colour: Literal["red", "blue"], where: dict[str, int], depth: int | str, how: Optional[Literal[1, 2]] = None) -> None:
        """
        Paints.

        Args:
            colour: The colour. (choices: ["red", "blue"])
            where: The place.
            depth: How deep.
            how: The way.
        """

    def shapes(pair: tuple[int, str], nothing: Any, either: list[int] | str | None, plain: list, table: dict) -> Any:  # type: ignore[type-arg]
        """Shapes.

        Args:
            pair: Two.
            nothing: Anything.
            either: One of them.
            plain: Values.
            table: Members.
        """

    def values(unit: Unit, mixed: Literal["a", 1, None], same: list | tuple | None, keys: dict[int, str], back: Optional[Unit] = None) -> Path:  # type: ignore[type-arg]
        """Values.

        Args:
            unit: The unit.
            mixed: One of three.
            same: One type of JSON.
            keys: Numbers.
            back: The unit again.
        """
        return Path()

    for function in (search, paint, shapes, values):
        (ours,) = Tools(function).to_list()
        # As texts: a template prints the keys in their order.
        assert json.dumps(ours) == json.dumps(get_json_schema(function))
