"""Loading, rendering, parsing and grammars."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from shared import ROOT, TEMPLATES, WEATHER

import unjinja
from unjinja import Model, Prompt, Tools

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris", "days": 2}}\n</tool_call>'


def test_a_turn_comes_back(qwen3: Model) -> None:
    prompt = qwen3.render([{"role": "user", "content": "Rain?"}], tools=WEATHER)
    assert isinstance(prompt, Prompt) and prompt.endswith(prompt.turn)
    assert prompt.turn == "<|im_start|>assistant\n"
    assert prompt.missing == ()
    silent = Model.from_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")
    assert silent.render([{"role": "user", "content": "Rain?"}], tools=WEATHER).missing == ("tool:get_weather",)
    message = qwen3.parse(f"<think>\nHm.\n</think>\n\nLet me look.\n{CALL}<|im_end|>", tools=WEATHER, prompt=prompt)
    written = message.to_dict()
    assert written["tool_calls"][0].pop("id").startswith("call_")
    assert written == {
        "role": "assistant",
        "content": "Let me look.",
        "reasoning_content": "Hm.",
        "tool_calls": [
            {"type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris", "days": 2}'}}
        ],
    }
    (call,) = message.tool_calls
    assert (call.name, call.complete, call.id) == ("get_weather", True, None)
    assert call.arguments_value() == {"city": "Paris", "days": 2}
    assert message.diagnostics == []


@pytest.mark.parametrize("name", ["qwen3", "channels", "message_headers", "python_calls", "xml_parameters", "named_ids"])
def test_what_a_parser_returns_is_taken_back(name: str) -> None:
    model = Model.from_pretrained(ROOT / "templates" / f"{name}.jinja")
    rain = [{"city": "Ulm"}, {"city": "Zürich"}]
    calls = [{"id": f"call0000{at}", "function": {"name": "get_weather", "arguments": where}} for at, where in enumerate(rain)]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": f"Osktarn{at}."} for at, call in enumerate(calls)]
    thoughts = ["", "Hm, so."] if model.reasoning_markers else [""]
    for content, thought, count in itertools.product(["", "I look."], thoughts, [0, 1, 2]):
        said = {"role": "assistant", "content": content, "reasoning_content": thought, "tool_calls": calls[:count]}
        # The results come as they were ready.
        after = results[:count][::-1] or [{"role": "user", "content": "And now?"}]
        prompt = model.render([{"role": "user", "content": "Rain?"}, said, *after], tools=WEATHER, thinking=True if thought else None)
        assert prompt.missing == () and (count < 2 or prompt.index("Osktarn0.") < prompt.index("Osktarn1.")), prompt


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ('{"a": 12345678901234567890123456789012345}', {"a": 12345678901234567890123456789012345}),
        ('{"a": "\\ud800"}', {"a": "\ud800"}),
        ('{"a": 1e400}', {"a": float("inf")}),
        ('{"a": ' + "[" * 200 + "]" * 200 + "}", None),
    ],
)
def test_arguments_are_read_as_python_reads_json(qwen3: Model, arguments: str, value: Any) -> None:
    output = f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}}}\n</tool_call>'
    (call,) = qwen3.parse(output, tools=WEATHER).tool_calls
    assert call.arguments_value() == json.loads(call.arguments) == (value or json.loads(arguments))


@pytest.mark.parametrize("arguments", ['{"a": ', '{"a": NaN}', '{"a": ' + "[" * 200_000])
def test_arguments_that_are_no_json(qwen3: Model, arguments: str) -> None:
    output = f'<tool_call>\n{{"name": "get_weather", "arguments": {arguments}'
    (call,) = qwen3.parse(output, tools=WEATHER).tool_calls
    with pytest.raises(unjinja.RequestError, match='the arguments of "get_weather" cannot be read as JSON: '):
        call.arguments_value()


def test_a_dict_has_an_id_for_each_call(qwen3: Model) -> None:
    message = qwen3.parse(f"{CALL}\n{CALL}", tools=WEATHER)
    assert [call.id for call in message.tool_calls] == [None, None]
    first, second = (call["id"] for call in message.to_dict()["tool_calls"])
    assert first != second and [call["id"] for call in message.to_dict()["tool_calls"]] == [first, second]
    assert list(message.to_dict()["tool_calls"][0]) == ["id", "type", "function"]
    assert message == qwen3.parse(f"{CALL}\n{CALL}", tools=WEATHER)
    assert "'id'" not in repr(message)


def test_ids_that_the_model_wrote_are_kept_and_counted_on() -> None:
    model = Model.from_pretrained(ROOT / "templates" / "indexed_ids.jinja")
    ask = {"role": "user", "content": "Rain?"}
    call = {"id": "functions.get_weather:0", "type": "function", "function": {"name": "get_weather", "arguments": {}}}
    prompt = model.render([ask], tools=WEATHER)
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    output = model.render([ask, answer], tools=WEATHER, add_generation_prompt=False).removeprefix(prompt)
    message = model.parse(output, tools=WEATHER, prompt=prompt)
    assert message.to_dict()["tool_calls"][0]["id"] == message.tool_calls[0].id == "functions.get_weather:0"
    later = message.to_dict(call_ids=["functions.get_weather:0"])["tool_calls"][0]["id"]
    assert later == "functions.get_weather:1"


def test_integers_of_earlier_calls_keep_their_digits(qwen3: Model) -> None:
    many = 10**37 + 1
    call = {"type": "function", "function": {"name": "count", "arguments": {"of": many, "less": [-many]}}}
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": "", "tool_calls": [call]}]
    assert f'{{"of": {many}, "less": [{-many}]}}' in qwen3.render(messages)


def test_variables_of_the_template_and_thinking(qwen3: Model) -> None:
    messages = [{"role": "user", "content": "Rain?"}]
    off = qwen3.render(messages, thinking=False)
    assert off == qwen3.render(messages, enable_thinking=False)
    assert off.turn == "<|im_start|>assistant\n<think>\n\n</think>\n\n"
    assert qwen3.parse("Yes.", prompt=off).content == "Yes."
    assert qwen3.render(messages, add_generation_prompt=False).turn == ""


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_is_the_same_by_file_text_and_spec(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    overlay = path.with_suffix(".overlay.toml")
    overlay_text = overlay.read_text(encoding="utf-8") if overlay.is_file() else None
    by_file = Model.from_pretrained(path)
    by_text = Model.from_template(text, name=path.stem, overlay=overlay_text)
    assert by_file.status == by_text.status != "unsupported"
    assert (by_file.gaps == []) == (by_file.status == "supported")
    assert by_file.template == text
    by_spec = Model.from_spec(by_file.spec)
    output = "A text <tool_call> with {markup}."
    assert by_file.parse(output) == by_text.parse(output) == by_spec.parse(output)


def test_a_folder_of_a_pretrained_model(tmp_path: Path) -> None:
    template = (ROOT / "templates" / "qwen3.jinja").read_text(encoding="utf-8")
    config = {"chat_template": template, "eos_token": "<|im_end|>"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    assert Model.from_pretrained(tmp_path).status == "supported"
    assert Model.from_pretrained(str(tmp_path / "tokenizer_config.json")).status == "supported"
    cache = tmp_path / "cache"
    first = Model.from_template(template + "{# another #}", cache=cache)
    assert len(list(cache.iterdir())) == 1
    assert Model.from_template(template + "{# another #}", cache=cache).spec == first.spec


def test_a_call_that_a_request_rules_out_is_broken_markup(qwen3: Model) -> None:
    other = CALL.replace("get_weather", "get_time")
    named = {"type": "function", "function": {"name": "get_time"}}
    cases: list[tuple[dict[str, Any], list[str], list[str]]] = [
        ({}, ["get_weather", "get_time"], []),
        ({"tool_choice": "required"}, ["get_weather", "get_time"], []),
        ({"parallel_tool_calls": False}, ["get_weather"], ["parallel_call"]),
        ({"tool_choice": "none"}, [], ["forbidden_call", "forbidden_call"]),
        ({"tool_choice": named}, ["get_time"], ["forbidden_call"]),
    ]
    for options, names, kinds in cases:
        known: dict[str, Any] = {"thinking": False, "unparsed": "separate", **options}
        stream = qwen3.stream(**known)
        for piece in f"Hi.\n{CALL}\n{other}":
            stream.push(piece)
        stream.finish()
        for message in (qwen3.parse(f"Hi.\n{CALL}\n{other}", **known), stream.message):
            assert ([call.name for call in message.tool_calls], message.content) == (names, "Hi.")
            assert [diagnostic.kind for diagnostic in message.diagnostics] == kinds
            assert (CALL in message.unparsed) == ("get_weather" not in names)
    kinds = [diagnostic.kind for diagnostic in qwen3.parse("Hi.", tool_choice="required").diagnostics]
    assert kinds == ["missing_call"]
    with pytest.raises(unjinja.RequestError, match="tool_choice"):
        qwen3.parse("Hi.", tool_choice="get_time")


def test_grammars(qwen3: Model) -> None:
    grammar = qwen3.grammar(WEATHER, tool_choice="required")
    assert grammar.text.startswith("root ::=") or "\nroot ::=" in grammar.text
    assert not grammar.lazy and grammar.widened == []
    assert "<tool_call>" in grammar.preserved_tokens and "<|im_end|>" in grammar.stops
    lazy = qwen3.grammar(Tools(WEATHER))
    assert lazy.lazy and [kind for kind, _ in lazy.triggers] == ["word"]
    tag = qwen3.grammar(WEATHER, "xgrammar", tool_choice="required")
    assert json.loads(tag.text)["type"] == "structural_tag" and not tag.lazy
    lark = qwen3.grammar(WEATHER, "llguidance", tool_choice="required")
    assert "start:" in lark.text
    with pytest.raises(unjinja.RequestError, match="llguidance"):
        qwen3.grammar(WEATHER, "ebnf")  # type: ignore[arg-type]
    named: dict[str, Any] = {"type": "function", "function": {"name": "get_weather"}}
    assert "get_weather" in qwen3.grammar(WEATHER, tool_choice=named).text
    free: list[dict[str, Any]] = [{"open_objects": True}, {"free_white_space": True}, {"text_before": 9}, {"max_reasoning": 9}]
    request = qwen3.request([{"role": "user", "content": "Hi."}], tools=WEATHER, tool_choice="required")
    for options in free:
        assert qwen3.grammar(WEATHER, tool_choice="required", **options).text != grammar.text
        assert request.grammar(**options).text != request.grammar().text
    with pytest.raises(TypeError, match=r"Request\.grammar\(\) got an unexpected keyword argument 'open'"):
        request.grammar(open=True)  # type: ignore[call-arg]
    with pytest.raises(unjinja.GrammarError, match="no tool is offered"):
        qwen3.grammar([], tool_choice="required")
    with pytest.raises(unjinja.GrammarError, match="get_time"):
        qwen3.grammar(WEATHER, tool_choice={"type": "function", "function": {"name": "get_time"}})


def test_prompts_can_be_copied_and_pickled() -> None:
    prompt = Prompt("abc", "c")
    for other in (copy.copy(prompt), pickle.loads(pickle.dumps(prompt))):
        assert (other, other.turn) == ("abc", "c")


def test_a_template_gets_what_transformers_gives_it(tmp_path: Path) -> None:
    asks = "{{ 'no tools' if tools is none }} {{ 'no documents' if documents is none }} {{ sep_token }} "
    asks += "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    config = {"sep_token": "<sep>", "chat_template": asks}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
    model = Model.from_pretrained(tmp_path)
    assert model.render([{"role": "user", "content": "Rain?"}]) == "no tools no documents <sep> <user>Rain?</>"


def test_text_that_is_no_utf8(qwen3: Model) -> None:
    message = qwen3.parse(b"caf\xe9")
    assert message.content == "caf\ufffd"
    assert [diagnostic.kind for diagnostic in message.diagnostics] == ["invalid_utf8"]
    with pytest.raises(UnicodeEncodeError):
        qwen3.parse("\ud800")
