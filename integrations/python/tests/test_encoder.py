"""`Encoder`: conversations as token ids, ids as messages, and what follows a turn that was sampled."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shared import ROOT, WEATHER
from tiny import ids_of, tokenizer_json

import unjinja
from unjinja import Bridge, BridgeError, EncodeError, Encoded, Encoder, LoadError, Model, RequestError

TEMPLATE = ROOT / "templates" / "qwen3.jinja"
HELLO: list[dict[str, Any]] = [{"role": "user", "content": "Hé, what does <|im_end|> do?"}]
ANSWER = {"role": "assistant", "reasoning_content": "Hm.", "content": "It ends. 🙂"}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return Encoder(Model.from_pretrained(TEMPLATE), tokenizer_json())


def test_a_text_that_spells_a_control_token_is_text(encoder: Encoder) -> None:
    encoded = encoder.encode(HELLO)
    assert encoded.text == encoder.model.render(HELLO)
    start, end = encoder.control_tokens["<|im_start|>"], encoder.control_tokens["<|im_end|>"]
    assert encoded.ids.count(start) == 2 and encoded.ids.count(end) == 1
    assert encoder.text_of(encoded.ids) == encoded.text
    (spelled,) = encoded.spelled
    assert (spelled.token, spelled.path) == ("<|im_end|>", "messages[0].content")
    # In characters, though `é` is two bytes.
    assert encoded.text[slice(*spelled.offset)] == "<|im_end|>"
    trusted = encoder.encode(HELLO, spelled="trust")
    assert trusted.ids == ids_of(encoded.text) and trusted.ids.count(end) == 2 and trusted.spelled == []
    with pytest.raises(EncodeError, match=r"`<\|im_end\|>` in messages\[0\].content\n  = next: "):
        encoder.encode(HELLO, spelled="refuse")
    with pytest.raises(RequestError, match='spelled: "no" is unknown; use "text", "refuse" or "trust"'):
        encoder.encode(HELLO, spelled="no")  # type: ignore[arg-type]


def test_each_token_has_its_text_and_a_label(encoder: Encoder) -> None:
    conversation = [{"role": "system", "content": "Bé."}, *HELLO, ANSWER, {"role": "user", "content": "So?"}, ANSWER]
    encoded = encoder.encode(conversation, tools=WEATHER, add_generation_prompt=False)
    assert len(encoded) == len(encoded.ids) == len(encoded.labels) == len(encoded.offsets) == len(encoded.assistant_mask)
    texts: dict[tuple[int | None, str], str] = {}
    last = (0, 0)
    for label, offset in zip(encoded.labels, encoded.offsets, strict=True):
        if offset != last:
            texts[label.message, label.part] = texts.get((label.message, label.part), "") + encoded.text[slice(*offset)]
        last = offset
    assert texts[0, "content"] == "Bé." and texts[1, "content"] == HELLO[0]["content"]
    assert texts[4, "reasoning"] == "Hm." and texts[4, "content"] == "It ends. 🙂" and '"get_weather"' in texts[None, "tool"]
    assert encoded.messages == conversation
    by_model = [id for id, on in zip(encoded.ids, encoded.assistant_mask, strict=True) if on]
    # The first answer has lost its reasoning: the template shows that of the last turn.
    assert encoder.text_of(by_model) == "It ends. 🙂<|im_end|><think>\nHm.\n</think>\n\nIt ends. 🙂<|im_end|>"
    sample = encoded.training_sample()
    assert sample == {"input_ids": encoded.ids, "assistant_masks": [int(on) for on in encoded.assistant_mask]}
    assert json.loads(json.dumps(sample)) == sample
    assert repr(encoded) == f"<unjinja.Encoded: {len(encoded)} ids, {len(by_model)} of them by the model>"


def test_the_arguments_of_render_are_those_of_encode(encoder: Encoder) -> None:
    for arguments in ({"thinking": False}, {"enable_thinking": False}, {"tools": WEATHER}, {"add_generation_prompt": False}):
        assert encoder.encode(HELLO, **arguments).text == encoder.model.render(HELLO, **arguments)
    message = unjinja.Message("Hi", "Hm.")
    assert encoder.encode([*HELLO, message]).text == encoder.model.render([*HELLO, message])
    with pytest.raises(TypeError, match=r"encode\(\) got an unexpected keyword argument 'enable_thinkng'.*did you mean 'enable_thinking'"):
        encoder.encode(HELLO, enable_thinkng=True)
    with pytest.raises(unjinja.RenderError, match="next"):
        Encoder(Model.known("qwen_qwen3_0_6b"), tokenizer_json()).encode(HELLO)


def test_a_tokenizer_is_a_path_or_a_text_or_an_object(encoder: Encoder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = encoder.encode(HELLO).ids
    (tmp_path / "chat_template.jinja").write_text(TEMPLATE.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(LoadError, match="tokenizer.json"):
        Encoder.from_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    (tmp_path / "other.json").write_text(tokenizer_json(), encoding="utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|new|>"}), encoding="utf-8")

    class Inner:
        def to_str(self, pretty: bool = False) -> str:
            return tokenizer_json()

    class Fast:
        backend_tokenizer = Inner()
        chat_template = TEMPLATE.read_text(encoding="utf-8")
        special_tokens_map = {"eos_token": "<|im_end|>", "additional_special_tokens": ["<|im_start|>"]}

    class Processor:
        tokenizer = Fast()

    model = encoder.model
    made = [Encoder(model, tmp_path), Encoder(model, str(tmp_path / "tokenizer.json")), Encoder(model, tmp_path / "other.json")]
    made += [Encoder(model, Inner()), Encoder(model, Fast()), Encoder(model, Processor())]
    made += [Encoder.from_pretrained(tmp_path), Encoder.from_tokenizer(Fast()), Encoder.from_tokenizer(Processor())]
    snapshot = tmp_path / "hub" / "models--acme--robin" / "snapshots" / "ab12"
    shutil.copytree(tmp_path, snapshot)
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("ab12", encoding="utf-8")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    made.append(Encoder.from_pretrained("acme/robin"))
    for one in made:
        assert one.encode(HELLO).ids == expected
    # A token that `tokenizer_config.json` adds.
    new = [one.control_tokens.get("<|new|>") for one in made]
    assert new[0] == new[1] == new[6] == 256 + 9 and new[2:6] == [None] * 4
    with pytest.raises(LoadError, match="other.json.*\n  = next"):
        (tmp_path / "other.json").write_text("{}", encoding="utf-8")
        Encoder(model, tmp_path / "other.json")
    with pytest.raises(LoadError, match="missing.json: .*\n  = next: give the path"):
        Encoder(model, tmp_path / "missing.json")
    with pytest.raises(TypeError, match="found int; a slow tokenizer has no tokenizer.json"):
        Encoder(model, 3)  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="no chat template"):
        Encoder.from_tokenizer(Inner())  # type: ignore[arg-type]
    with pytest.raises(RequestError, match="'nope' is no template and no name of one"):
        Encoder.from_tokenizer(Fast(), chat_template="nope")


def test_ids_become_a_message(encoder: Encoder) -> None:
    output = "<think>\nHm. é\n</think>\n\nYes.\n" + CALL + "<|im_end|>"
    decoded = encoder.decode(ids_of(output), tools=WEATHER)
    assert decoded.message == encoder.model.parse(output, tools=WEATHER)
    parts = [label.part for label in decoded.labels]
    assert len(parts) == len(ids_of(output)) and {"markup", "reasoning", "content", "call"} == set(parts)
    assert all(label.by_model and label.message is None for label in decoded.labels)
    # A text that spells a marker is text.
    quoted = encoder.decode([*b"<tool_call>", *ids_of("<|im_end|>")], tools=WEATHER).message
    assert (quoted.content, quoted.tool_calls) == ("<tool_call>", [])
    # The prompt, in every form.
    prompt = encoder.encode(HELLO, thinking=False)
    rest = ids_of("Yes.<|im_end|>")
    for given in (prompt, prompt.ids, prompt.text, encoder.model.render(HELLO, thinking=False)):
        assert encoder.decode(rest, prompt=given).message.content == "Yes."
    wrong: list[tuple[Any, str]] = [
        ([1, "a"], "a value of type str at position 1"),
        ([-1], "-1 at position 0"),
        ([1, 2, 10**30], f"{10**30} at position 2"),
        ("text", "a value of type str"),
        (5, "5"),
    ]
    for given, found in wrong:
        with pytest.raises(RequestError, match=f"^ids: expected a list of token ids, which are numbers from 0 to 4294967295, found {found}$"):
            encoder.decode(given)

    class Tensor:
        def tolist(self) -> list[int]:
            return rest

    assert encoder.decode(Tensor()).message.content == "Yes."


def test_ids_that_the_tokenizer_does_not_have(encoder: Encoder) -> None:
    """They are those of another tokenizer, and a text with U+FFFD in it would hide that."""
    asked, results = [{"role": "user", "content": "Rain?"}], [{"role": "tool", "content": "no"}]
    tried: list[tuple[str, Callable[[], object]]] = [
        ("ids", lambda: encoder.decode([65, 10**9])),
        ("ids", lambda: encoder.text_of([65, 10**9])),
        ("prompt", lambda: encoder.decode([65], prompt=[65, 10**9])),
        ("prompt", lambda: encoder.stream(prompt=[65, 10**9])),
        (r"outputs\[1\]: ids", lambda: encoder.decode_batch([[65], [65, 10**9]])),
        (r"prompts\[0\]: prompt", lambda: encoder.decode_batch([[65]], prompts=[[65, 10**9]])),
        ("sampled", lambda: encoder.bridge(asked, [65, 10**9], results)),
        (r"turns\[0\]: sampled", lambda: encoder.bridge_batch([(asked, [65, 10**9], results)])),
        ("transcript", lambda: unjinja.ConversationReader(encoder).read([65, 10**9])),
    ]
    for name, call in tried:
        says = f"^{name}: the tokenizer has 265 tokens, and none with the id 1000000000, which is at position 1\n  = next: use the tokenizer"
        with pytest.raises(RequestError, match=says):
            call()
    # The last one that it has.
    assert encoder.text_of([264]) == "</tool_response>"
    # A server that streams goes on.
    stream = encoder.stream()
    stream.push([65, 10**9])
    stream.finish()
    assert stream.message.content == "A\ufffd"


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("", "this is not valid JSON: EOF"),
        ("{", "this is not valid JSON: EOF"),
        ("[]", "expected an object, found a list"),
        ('{"added_tokens_decoder": 5}', "`added_tokens_decoder`: expected an object of ids and tokens, found a number"),
        ('{"added_tokens_decoder": {"7": {"special": true}}}', "`added_tokens_decoder`: expected ids, .* at \"7\""),
        ('{"added_tokens_decoder": {"x": {"content": "<|x|>"}}}', "`added_tokens_decoder`: expected ids, .* at \"x\""),
    ],
)
def test_a_broken_tokenizer_config(encoder: Encoder, tmp_path: Path, config: str, says: str) -> None:
    (tmp_path / "tokenizer.json").write_text(tokenizer_json(), encoding="utf-8")
    file = tmp_path / "tokenizer_config.json"
    file.write_text(config, encoding="utf-8")
    with pytest.raises(LoadError, match=says) as caught:
        Encoder(encoder.model, tmp_path)
    assert str(caught.value).startswith(f"{file}: ")
    assert "= next: correct this file" in str(caught.value) and "use the `tokenizer.json`" not in str(caught.value)
    file.write_text('{"added_tokens_decoder": null}', encoding="utf-8")
    Encoder(encoder.model, tmp_path)


def test_a_stream_of_ids(encoder: Encoder) -> None:
    output = "<think>\nHm. é\n</think>\n\nYes.\n" + CALL + "<|im_end|>"
    ids = ids_of(output)
    one, many = encoder.stream(tools=WEATHER), encoder.stream(tools=WEATHER)
    events = [event for id in ids for event in one.push(id)] + one.finish()
    many.push(ids)
    assert one.channel is None
    many.finish()
    assert one.message == many.message == encoder.decode(ids, tools=WEATHER).message
    assert {event.kind for event in events} == {"reasoning", "content", "tool_call_start", "tool_call_arguments", "tool_call_end"}
    assert one.token_counts["reasoning"] == len("Hm. é".encode())
    assert one.reset() == b"" and one.message == unjinja.Message()
    with pytest.raises(TypeError, match="a TokenStream can be neither pickled nor copied"):
        pickle.dumps(one)
    with pytest.raises(RequestError, match="ids: expected a list of token ids"):
        one.push("text")  # type: ignore[arg-type]


def test_a_turn_is_continued(encoder: Encoder) -> None:
    asked = [{"role": "user", "content": "Rain?"}]
    prompt = encoder.encode(asked, tools=WEATHER)
    sampled = ids_of("<think>\nI look.\n</think>\n\n" + CALL + "<|im_end|>")
    results = [{"role": "tool", "tool_call_id": "c1", "content": "no <|im_end|>"}]
    bridge = encoder.bridge(asked, sampled, results, tools=WEATHER)
    assert not bridge.closes_turn and bridge.same_text and bridge.message["tool_calls"][0]["id"] == "c1"
    spaced = encoder.bridge(asked, ids_of("<think>\nI look.\n</think>\n\nLet me look. \n" + CALL + "  <|im_end|>"), results, tools=WEATHER)
    assert not spaced.same_text and copy.copy(spaced) == spaced and not copy.copy(spaced).same_text
    whole = encoder.encode([*asked, bridge.message, *results], tools=WEATHER)
    assert prompt.ids + sampled + bridge.ids == whole.ids
    assert bridge.labels == whole.labels[len(prompt) + len(sampled) :] and not any(label.by_model for label in bridge.labels)
    # A turn that was cut off.
    cut = encoder.bridge(asked, sampled[:-1], results, tools=WEATHER)
    assert cut.closes_turn and cut.ids == [encoder.control_tokens["<|im_end|>"], *bridge.ids]
    # The next question takes the reasoning out.
    question = [{"role": "user", "content": "Thanks!"}]
    with pytest.raises(BridgeError, match=r"(?s)messages\[1\]: .*\(line \d+, column \d+\).*= next: encode the whole conversation"):
        encoder.bridge(asked, sampled, question, tools=WEATHER)
    rewrite = encoder.rewrite([*asked, ANSWER, *question])
    assert rewrite is not None and (rewrite.message, rewrite.after[:5]) == (1, "It en")
    assert rewrite.before.startswith("<think>") and rewrite.before_at and rewrite.after_at and str(rewrite) == rewrite.sentence
    assert encoder.rewrite([*asked, {"role": "assistant", "content": "No."}, *question]) is None

    both = encoder.bridge_batch([(asked, sampled, results), ({"messages": asked, "tools": WEATHER}, sampled, question)], tools=WEATHER)
    assert both[0] == bridge and isinstance(both[1], BridgeError) and "messages[1]" in str(both[1])
    with pytest.raises(RequestError, match=r"turns\[0\]: sampled: expected a list of token ids"):
        encoder.bridge_batch([(asked, ["a"], results)])  # type: ignore[list-item]


def test_batches_are_what_one_by_one_gives(encoder: Encoder) -> None:
    rows: list[Any] = [[{"role": "user", "content": f"{number} é" * number}] for number in range(50)]
    rows += [{"messages": HELLO, "tools": WEATHER}, {"messages": HELLO, "tools": None, "chat_template_kwargs": {"enable_thinking": False}}]
    expected = [encoder.encode(row) for row in rows[:50]]
    expected += [encoder.encode(HELLO, tools=WEATHER), encoder.encode(HELLO, enable_thinking=False)]
    for threads in (None, 1, 3, 100):
        assert encoder.encode_batch(rows, threads=threads) == expected
    outputs = [ids_of(f"<think>\n{number}\n</think>\n\n{number}<|im_end|>") for number in range(50)]
    decoded = [encoder.decode(output) for output in outputs]
    for threads in (None, 1, 3):
        assert encoder.decode_batch(outputs, threads=threads) == decoded
        prompts = [None, *[encoder.encode(HELLO, thinking=False)] * 49]
        assert encoder.decode_batch(outputs, prompts=prompts, threads=threads)[0] == decoded[0]
    assert encoder.encode_batch([]) == [] == encoder.decode_batch([])


@pytest.mark.parametrize("threads", [0, -1, 10**30, -(10**30)])
def test_a_number_of_threads_that_does_no_work(encoder: Encoder, threads: int) -> None:
    batches: list[Callable[[], object]] = [
        lambda: encoder.encode_batch([HELLO], threads=threads),
        lambda: encoder.decode_batch([[65]], threads=threads),
        lambda: encoder.bridge_batch([], threads=threads),
    ]
    for call in batches:
        with pytest.raises(RequestError, match=f"^threads: {threads} is no number of threads that work; use 1 or more"):
            call()


def test_an_error_in_a_batch_has_its_place(encoder: Encoder) -> None:
    good, bad = [{"role": "user", "content": "a"}], HELLO
    for threads in (1, 4):
        with pytest.raises(EncodeError, match=r"^conversations\[3\]: .*messages\[0\].content"):
            encoder.encode_batch([good, good, good, bad, bad, good], spelled="refuse", threads=threads)
    with pytest.raises(RequestError, match=r"^conversations\[1\]: messages: expected a list"):
        encoder.encode_batch([good, {"rows": good}])
    with pytest.raises(RequestError, match=r"^outputs\[1\]: ids: expected"):
        encoder.decode_batch([[1], ["a"]])  # type: ignore[list-item]
    with pytest.raises(RequestError, match="prompts: there are 1 and 2 outputs"):
        encoder.decode_batch([[1], [2]], prompts=[""])
    with pytest.raises(TypeError, match="^threads: expected a number or None, found str"):
        encoder.encode_batch([good], threads="2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"^encode_batch\(\) got an unexpected keyword argument 'nope'"):
        encoder.encode_batch([good], nope=1)


@pytest.mark.parametrize("kind", ["encode", "decode", "bridge"])
def test_other_threads_continue_while_a_batch_runs(encoder: Encoder, kind: str) -> None:
    """Threads of Python do not take turns here by themselves: this one runs only where the other gives the interpreter's lock away."""
    asked = [{"role": "user", "content": "a long text " * 2000}]
    output = ids_of("a long text " * 2000 + "<|im_end|>")
    calls: dict[str, Callable[[], Any]] = {
        "encode": lambda: encoder.encode_batch([asked] * 10, threads=2),
        "decode": lambda: encoder.decode_batch([output] * 10, threads=2),
        "bridge": lambda: encoder.bridge_batch([(asked, output, asked)] * 4, threads=2),
    }
    state = {"in": False}
    before = sys.getswitchinterval()
    sys.setswitchinterval(1000)
    try:
        for _ in range(50):
            begun = threading.Event()

            def work(begun: threading.Event = begun) -> None:
                begun.set()
                state["in"] = True
                calls[kind]()
                state["in"] = False

            worker = threading.Thread(target=work)
            worker.start()
            begun.wait()
            seen = state["in"]
            worker.join()
            if seen:
                return
    finally:
        sys.setswitchinterval(before)
    pytest.fail("the batch kept the interpreter's lock in 50 of 50 runs")


def test_an_encoder_is_pickled_and_copied(encoder: Encoder) -> None:
    again = pickle.loads(pickle.dumps(encoder))
    assert again.encode(HELLO) == encoder.encode(HELLO) and again.control_tokens == encoder.control_tokens
    assert again.model == encoder.model
    assert copy.copy(encoder) is encoder and copy.deepcopy(encoder) is encoder
    assert repr(encoder) == "<unjinja.Encoder of qwen3: 265 tokens, 9 of them control tokens>"


def test_an_encoded_conversation_is_pickled_copied_and_compared(encoder: Encoder) -> None:
    encoded, other = encoder.encode(HELLO), encoder.encode(HELLO, thinking=False)
    assert encoded != other and encoded != encoded.ids
    for same in (pickle.loads(pickle.dumps(encoded)), copy.copy(encoded), copy.deepcopy(encoded)):
        assert isinstance(same, Encoded) and same == encoded and same.spelled == encoded.spelled
    with pytest.raises(TypeError, match="unhashable"):
        hash(encoded)
    with pytest.raises(RequestError, match="offsets: there are 0 and 1 ids"):
        Encoded([1], [unjinja.Label(None, "markup", False)], [], "", [])
    with pytest.raises(RequestError, match="labels: there are 0 and 1 ids"):
        Bridge([1], [], False, {})
    with pytest.raises(RequestError, match='part: "nope" is unknown; use one of "role"'):
        unjinja.Label(None, "nope", False)  # type: ignore[arg-type]
