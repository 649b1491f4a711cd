"""Conversations: messages that were parsed, and the variables of a template."""

from __future__ import annotations

import copy
import datetime
import re
from pathlib import Path
from typing import Any, cast

import pytest
from shared import ROOT, TEMPLATES, TOOLS, WEATHER, load

import unjinja
from unjinja import Message, Model, ToolCall

ASK: dict[str, Any] = {"role": "user", "content": "Rain?"}
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'


def test_a_message_is_rendered_as_its_dict(qwen3: Model) -> None:
    message = qwen3.parse(f"<think>\nHm.\n</think>\n\nLet me look.\n{CALL}", tools=WEATHER)
    result = {"role": "tool", "content": "Yes."}
    lists: list[Any] = [[ASK, message, result], (ASK, message, result)]
    for messages in lists:
        assert qwen3.render(messages, tools=WEATHER) == qwen3.render([ASK, message.to_dict(), result], tools=WEATHER)
    text = qwen3.render([ASK, message, result, ASK, Message("Yes.")], tools=WEATHER, add_generation_prompt=False)
    assert CALL in text and "Let me look." in text and text.rstrip().endswith("Yes.<|im_end|>")


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_takes_what_was_parsed(path: Path) -> None:
    """The text is that of the message's dict; how a template wants its messages is decided elsewhere."""
    model = load(path)
    message = model.parse("Perhaps.", prompt=model.render([ASK], tools=TOOLS))
    texts = []
    for one in (message, message.to_dict()):
        try:
            texts.append(model.render([ASK, one, ASK], tools=TOOLS))
        except unjinja.RenderError as error:
            texts.append(str(error))  # type: ignore[arg-type]
    assert texts[0] == texts[1]
    # Some prompts open the reasoning, and some templates do not show what earlier turns thought.
    assert "Perhaps." in texts[0] or message.reasoning_content


DATED = "{{ strftime_now('%d %B %Y, %H:%M') }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"


def test_the_date_is_the_local_one_or_the_given_one() -> None:
    model = Model.from_template(DATED)
    before = datetime.datetime.now()
    text = model.render([ASK])
    shown = [f"{now:%d %B %Y, %H:%M}<user>" for now in (before, datetime.datetime.now())]
    assert text.startswith(tuple(shown)), text
    now = datetime.datetime(2026, 5, 1, 23, 30)
    assert model.render([ASK], now=now).startswith("01 May 2026, 23:30<user>")
    assert model.request([ASK], now=now).prompt.startswith("01 May 2026, 23:30<user>")
    with pytest.raises(unjinja.RequestError, match="now: expected a datetime"):
        model.render([ASK], now="2026-05-01")
    # A variable of the template's own has this name.
    assert Model.from_template("{{ now }}{% for m in messages %}{{ m.content }}</>{% endfor %}").render([ASK], now="x").startswith("x")


CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content or '' }}{% for c in m.tool_calls or [] %}[{{ c.id }}]{% endfor %}</>{% endfor %}"


def ids_in(text: str) -> list[str]:
    return re.findall(r"\[(.*?)\]", text)


def test_ids_of_calls_are_those_of_the_message() -> None:
    model = Model.from_template(CHAT)
    without = Message(tool_calls=[ToolCall("f", "{}"), ToolCall("g", "{}", "own")])
    first, second = ids_in(model.render([ASK, without], add_generation_prompt=False))
    assert first.startswith("call_") and second == "own"
    assert [call["id"] for call in without.to_dict()["tool_calls"]] == [first, second]
    # An id that the conversation has already is not used again.
    again = Message(tool_calls=[ToolCall("g", "{}", "own")])
    earlier = {"role": "assistant", "content": "", "tool_calls": [{"id": "own", "type": "function", "function": {"name": "g", "arguments": "{}"}}]}
    ids = ids_in(model.render([earlier, again], add_generation_prompt=False))
    assert ids[0] == "own" != ids[1] and again.to_dict()["tool_calls"][0]["id"] == ids[1]


def test_ids_that_count_continue_in_the_conversation() -> None:
    model = Model.from_pretrained(ROOT / "templates" / "indexed_ids.jinja")
    call = {"id": "functions.get_weather:0", "type": "function", "function": {"name": "get_weather", "arguments": {}}}
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    prompt = model.render([ASK], tools=WEATHER)
    output = model.render([ASK, answer], tools=WEATHER, add_generation_prompt=False).removeprefix(prompt)
    message = model.parse(output, tools=WEATHER, prompt=prompt)
    again = model.parse(output, tools=WEATHER, prompt=prompt)
    model.render([ASK, message, ASK, again], tools=WEATHER)
    assert [one.to_dict()["tool_calls"][0]["id"] for one in (message, again)] == ["functions.get_weather:0", "functions.get_weather:1"]
    assert list(message.to_dict()["tool_calls"][0]) == ["id", "type", "function"]


def test_what_is_no_message(qwen3: Model) -> None:
    wrong: list[tuple[Any, str]] = [
        ([ASK, object()], r"messages\[1\]: a value of type object has no JSON form"),
        ("Hello", "messages: expected a list of messages"),
        (Message("Hi"), "messages: a value of type Message has no JSON form"),
        (iter([ASK]), "messages: a value of type list_iterator has no JSON form"),
    ]
    for messages, says in wrong:
        with pytest.raises(unjinja.RequestError, match=says):
            qwen3.render(messages)


# ----- variables -----


def test_a_variable_that_the_template_does_not_read(qwen3: Model) -> None:
    assert qwen3.variables == ["add_generation_prompt", "enable_thinking", "messages", "tools"]
    with pytest.raises(
        TypeError,
        match=r"render\(\) got an unexpected keyword argument 'enable_thinkng': the template does not read it; "
        r"did you mean 'enable_thinking'\?\n  = the template reads: enable_thinking$",
    ):
        qwen3.render([ASK], enable_thinkng=False)
    with pytest.raises(TypeError, match="did you mean 'tools'"):
        qwen3.render([ASK], tool=WEATHER)
    with pytest.raises(TypeError, match="'reasoning_effort': the template does not read it\n"):
        qwen3.render([ASK], reasoning_effort="high")
    with pytest.raises(TypeError, match="did you mean 'add_generation_prompt'.*\n.*: no variables of its own"):
        Model.from_template(CHAT).render([ASK], add_generation_promt=True)
    with pytest.raises(unjinja.RequestError, match="enable_thinking: JSON has no number inf"):
        qwen3.render([ASK], enable_thinking=float("inf"))


def test_what_transformers_takes_has_no_effect(qwen3: Model) -> None:
    plain = qwen3.render([ASK])
    ignored: dict[str, Any] = {
        "documents": None,
        "max_length": 5,
        "padding": False,
        "return_assistant_tokens_mask": False,
        "return_dict": True,
        "return_tensors": "pt",
        "tokenize": False,
        "tokenizer_kwargs": {},
        "truncation": True,
        "chat_template": None,
        "continue_final_message": False,
        "bos_token": "<s>",
    }
    assert qwen3.render([ASK], **ignored) == plain
    for name, says in (("chat_template", "make a Model of that template"), ("continue_final_message", "`continue_from`")):
        with pytest.raises(TypeError, match=f"'{name}': it has no effect here; .*{says}"):
            qwen3.render([ASK], **cast(Any, {name: "x"}))
    reads = Model.from_template(CHAT + "{{ documents }}{{ tokenize }}")
    assert reads.variables == ["documents", "messages", "tokenize"]
    assert reads.render([ASK], documents=["x"], tokenize=1, add_generation_prompt=False) == "<user>Rain?</>['x']1"


def test_models_without_a_template_read_nothing() -> None:
    known = Model.known("qwen_qwen3_0_6b")
    assert known.variables == []
    with pytest.raises(unjinja.RenderError, match="has no template"):
        known.render([ASK], enable_thinking=False)


def test_a_request_takes_its_tools_once() -> None:
    model = Model.from_pretrained(ROOT / "templates" / "hermes.jinja")
    messages = [{"role": "user", "content": "Rain in Paris?"}]
    request = model.request(messages, tools=WEATHER, tool_choice="required", unparsed="separate")
    assert "get_weather" in request.prompt and request.prompt.turn == "<|im_start|>assistant\n"
    assert "city" in request.grammar().text and "city" in request.grammar("xgrammar").text
    output = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    message = request.parse(output)
    assert [(call.name, call.arguments) for call in message.tool_calls] == [("get_weather", '{"city": "Paris"}')]
    stream = request.stream()
    stream.push(output)
    stream.finish()
    assert stream.message == message
    first = request.call_id("get_weather")
    assert first and request.call_id("get_weather", first) != first
    none = model.request(messages, tools=WEATHER, tool_choice="none")
    assert "get_weather" not in none.prompt and none.parse(output).tool_calls == []
    with pytest.raises(TypeError, match="Model.request"):
        copy.copy(request)


def test_a_parsed_message_goes_back_into_the_prompt() -> None:
    model = Model.from_pretrained(ROOT / "templates" / "hermes.jinja")
    messages = [{"role": "user", "content": "Rain in Paris?"}]
    prompt = model.render(messages, tools=WEATHER)
    output = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
    message = model.parse(output, tools=WEATHER, prompt=prompt)
    for turn in (message, message.to_dict()):
        text = model.render([*messages, turn], tools=WEATHER, add_generation_prompt=False)
        assert text.startswith(prompt + output)
