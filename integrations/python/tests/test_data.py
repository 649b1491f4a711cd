"""Whatever holds data is pickled, copied, compared and printed; what is in the middle of something says that it is not."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from shared import TEMPLATES, TOOLS, WEATHER, load

import unjinja
from unjinja import (
    Alternative,
    Bridge,
    Decoded,
    Diagnostic,
    Event,
    Example,
    Export,
    Finding,
    Grammar,
    Label,
    Loss,
    Message,
    Model,
    Prompt,
    ReadConversation,
    ReadMessage,
    Rewrite,
    Span,
    Spelled,
    ToolCall,
    Tools,
    TrainingTemplate,
)

CALL = ToolCall("get_weather", '{"city": "Zürich"}', "call00001", False)
NOTED = Diagnostic("unknown_tool", 0, 7, "get_wether", "get_weather")
READ = {"content": "a", "tool_calls": [{"name": "f", "arguments": "{}"}]}
EXAMPLE = Example("<a>", True, {"content": "<a>"}, READ)
LABEL = Label(1, "call", True)
ONE = ReadMessage({"role": "user"}, (0, 9), (2, 4), [(2, 4, "content")])
OTHER = Alternative((0, 1), [{"role": "user"}])
LOSS = Loss("python_calls", "Calls are lost.", 3, EXAMPLE)

# An object of each class, one that differs from it, and what `repr` writes.
EVENTS: list[tuple[Any, Any, str]] = [
    (Event.Reasoning("Hm"), Event.Content("Hm"), "Event.Reasoning('Hm')"),
    (Event.Content("é'"), Event.Content("e"), "Event.Content(\"é'\")"),
    (Event.Unparsed("x"), Event.Unparsed("y"), "Event.Unparsed('x')"),
    (Event.ToolCallStart(0, "f"), Event.ToolCallStart(0, "f", "1"), "Event.ToolCallStart(0, 'f')"),
    (Event.ToolCallStart(1, "f", "1"), Event.ToolCallStart(0, "f", "1"), "Event.ToolCallStart(1, 'f', id='1')"),
    (Event.ToolCallId(0, "1"), Event.ToolCallId(0, "2"), "Event.ToolCallId(0, '1')"),
    (Event.ToolCallArguments(0, "{}"), Event.ToolCallArguments(1, "{}"), "Event.ToolCallArguments(0, '{}')"),
    (Event.ToolCallEnd(0, True), Event.ToolCallEnd(0, False), "Event.ToolCallEnd(0, True)"),
    (
        Event.Diagnostic(NOTED),
        Event.Diagnostic(Diagnostic("unknown_tool")),
        "Event.Diagnostic(Diagnostic('unknown_tool', call=0, at=7, detail='get_wether', expected='get_weather'))",
    ),
]

OBJECTS: list[tuple[Any, Any, str]] = [
    *EVENTS,
    (CALL, ToolCall("get_weather", '{"city": "Zürich"}'), "ToolCall('get_weather', '{\"city\": \"Zürich\"}', id='call00001', complete=False)"),
    (NOTED, Diagnostic("unknown_tool", detail="get_wether"), "Diagnostic('unknown_tool', call=0, at=7, detail='get_wether', expected='get_weather')"),
    (
        Message("Hi", "Hm", [CALL], "<x>", [NOTED]),
        Message("Hi"),
        f"Message(content='Hi', reasoning_content='Hm', tool_calls=[{CALL!r}], unparsed='<x>', diagnostics=[{NOTED!r}])",
    ),
    (Message(), Message("Hi"), "Message()"),
    (Span("x", [Event.Content("x")], "content"), Span("x"), "Span('x', events=[Event.Content('x')], channel='content')"),
    (
        Grammar("root ::= x", True, [("word", "<x>")], ["<x>"], ["</s>"], "<", ["the tool \"f\": wide"]),
        Grammar("root ::= x"),
        "Grammar('root ::= x', lazy=True, triggers=[('word', '<x>')], preserved_tokens=['<x>'], stops=['</s>'], prefill='<', "
        "widened=['the tool \"f\": wide'])",
    ),
    (EXAMPLE, Example("<a>", False, {}, error="no"), f"Example('<a>', True, {{'content': '<a>'}}, read={READ!r})"),
    (LOSS, Loss("python_calls", "Calls are lost.", 3), f"Loss('python_calls', 'Calls are lost.', 3, example={EXAMPLE!r})"),
    (
        Export({"fields": {}}, 20, 19, [LOSS], ["A note."]),
        Export({"fields": {}}, 20, 20, [], []),
        f"Export({{'fields': {{}}}}, 20, 19, [{LOSS!r}], ['A note.'])",
    ),
    (
        Finding("null-content", "error", "chat_template", "It fails.", line=3, conversation={"messages": [None, 1.5]}),
        Finding("null-content", "note", "chat_template", "It fails."),
        "Finding('null-content', 'error', 'chat_template', 'It fails.', line=3, conversation={'messages': [None, 1.5]})",
    ),
    (Tools(WEATHER), Tools(TOOLS), f"Tools({WEATHER!r})"),
    (LABEL, Label(None, "call", True), "Label(1, 'call', True)"),
    (Spelled("<x>", "tools", (0, 3)), Spelled("<x>", "tools", (0, 4)), "Spelled('<x>', 'tools', (0, 3))"),
    (Decoded(Message("Hi"), [LABEL]), Decoded(Message("Hi"), []), "Decoded(Message(content='Hi'), [Label(1, 'call', True)])"),
    (
        Bridge([7], [LABEL], True, {"content": None}),
        Bridge([7], [LABEL], False, {"content": None}),
        "Bridge([7], [Label(1, 'call', True)], True, {'content': None})",
    ),
    (
        Rewrite(1, 7, "a", "", (1, 2), sentence="It changes."),
        Rewrite(1, 7, "a", ""),
        "Rewrite(1, 7, 'a', '', before_at=(1, 2), sentence='It changes.')",
    ),
    (OTHER, Alternative((0, 2), []), "Alternative((0, 1), [{'role': 'user'}])"),
    (ONE, ReadMessage({"role": "user"}, (0, 9), (2, 4)), "ReadMessage({'role': 'user'}, (0, 9), (2, 4), parts=[(2, 4, 'content')])"),
    (
        ReadConversation([ONE], WEATHER, (1, 2), True, [OTHER], 5, (0, 1), "é"),
        ReadConversation([ONE], WEATHER, (1, 2), True, [OTHER], None, (0, 1), "é"),
        f"ReadConversation([{ONE!r}], tools={WEATHER!r}, tools_offset=(1, 2), open_turn=True, alternatives=[{OTHER!r}], difference=5, "
        "unread=(0, 1), transcript='é')",
    ),
    (
        TrainingTemplate("<x>", 7, 1, "repaired", (3, "loop.last", "true"), (2, 5)),
        TrainingTemplate("<x>", 7, 1, "stable"),
        "TrainingTemplate('<x>', 7, 1, 'repaired', change=(3, 'loop.last', 'true'), marks_before=(2, 5))",
    ),
]

# They hold dicts, and a dict has no hash.
WITHOUT_HASH = (Example, Loss, Export, Finding, Bridge, Alternative, ReadMessage, ReadConversation)


@pytest.mark.parametrize(("made", "other", "text"), OBJECTS, ids=lambda value: type(value).__qualname__)
def test_data_is_pickled_copied_compared_and_printed(made: Any, other: Any, text: str) -> None:
    again = [pickle.loads(pickle.dumps(made, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for same in (*again, copy.copy(made), copy.deepcopy(made), eval(text, vars(unjinja))):
        assert type(same) is type(made)
        assert same == made and not same != made
        assert repr(same) == repr(made) == text
        if not isinstance(made, WITHOUT_HASH):
            assert hash(same) == hash(made)
    assert made != other and not made == other
    assert made != text and made is not None
    if isinstance(made, WITHOUT_HASH):
        with pytest.raises(TypeError, match="unhashable"):
            hash(made)
    else:
        assert {made: 1, other: 2}[made] == 1


def test_every_class_is_tried() -> None:
    tried = {type(made).__qualname__.split(".")[0] for made, _, _ in OBJECTS}
    classes = {name for name, value in vars(unjinja).items() if isinstance(value, type) and not issubclass(value, Exception)}
    # These have tests of their own.
    assert classes - tried == {"ConversationReader", "Encoded", "Encoder", "Model", "OpenAIChunks", "Prompt", "Request", "Stream", "TokenStream"}
    assert {type(made) for made, _, _ in EVENTS} == {value for value in vars(Event).values() if isinstance(value, type)}


@pytest.mark.parametrize(("event", "_other", "_text"), EVENTS, ids=lambda value: type(value).__qualname__)
def test_events_have_a_kind_and_a_dict(event: Any, _other: Any, _text: str) -> None:
    names = type(event).__match_args__
    expected = {name: getattr(event, name) for name in names}
    if isinstance(event, Event.Diagnostic):
        expected["diagnostic"] = event.diagnostic.to_dict()
    assert event.to_dict() == {"event": event.kind, **expected}
    # In snake case, as the class is in camel case.
    assert "".join(word.capitalize() for word in event.kind.split("_")) == type(event).__qualname__.removeprefix("Event.")


def test_dicts_of_events_are_what_the_command_prints(tmp_path: Path) -> None:
    template = tmp_path / "qwen3.jinja"
    template.write_text(next(path for path in TEMPLATES if path.stem == "qwen3").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "tools.json").write_text(json.dumps(WEATHER), encoding="utf-8")
    output = '<think>\nHm.\n</think>\n\nYes.\n<tool_call>\n{"name": "get_wether", "arguments": {"city": "Paris"}}\n</tool_call>'
    command = [sys.executable, "-m", "unjinja", "parse", "--template", str(template), "--tools", str(tmp_path / "tools.json")]
    command += ["--stream", "--format", "json", "-"]
    printed = subprocess.run(command, input=output, capture_output=True, encoding="utf-8", check=True).stdout
    lines = [json.loads(line) for line in printed.splitlines()]
    stream = Model.from_pretrained(template).stream(tools=WEATHER)
    ours = [event.to_dict() for event in stream.push(output) + stream.finish()]

    def joined(events: list[dict[str, Any]]) -> dict[str, str]:
        """The texts and arguments of each kind: how they are cut depends on the reader."""
        texts: dict[str, str] = {}
        for event in events:
            piece = event.get("text") or event.get("json")
            texts[event["event"]] = texts.get(event["event"], "") + (piece or json.dumps(event))
        return texts

    assert joined([line for line in lines if "event" in line]) == joined(ours)
    assert {"reasoning", "content", "tool_call_start", "tool_call_arguments", "tool_call_end", "diagnostic"} <= joined(ours).keys()


def test_dicts_of_other_classes() -> None:
    assert CALL.to_dict() == {"id": "call00001", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Zürich"}'}}
    assert NOTED.to_dict() == {"kind": "unknown_tool", "call": 0, "at": 7, "detail": "get_wether", "expected": "get_weather"}
    assert str(NOTED) == NOTED.message and "get_wether" in str(NOTED)
    assert Tools(WEATHER).to_list() == WEATHER == Tools(json.dumps(WEATHER)).to_list()
    assert Grammar("x").to_dict()["stops"] == []
    for made in (made for made, _, _ in OBJECTS if isinstance(made, (Example, Loss, Export, Finding))):
        assert json.loads(json.dumps(made.to_dict())) == made.to_dict()
    assert Export({}, 1, 0, [LOSS], []).to_dict()["losses"][0]["example"]["read"] == READ


def test_the_parts_of_data_are_matched_by_position() -> None:
    match Message("Hi", "", [CALL]):
        case Message(content, "", [ToolCall(name, arguments)]):
            assert (content, name, json.loads(arguments)) == ("Hi", "get_weather", {"city": "Zürich"})
        case _:
            pytest.fail("a message was not matched")
    match Span("x", [Event.Content("x")], "content"):
        case Span(_, [Event.Content(text)]):
            assert text == "x"
        case _:
            pytest.fail("a span was not matched")


def test_values_that_a_constructor_refuses() -> None:
    with pytest.raises(unjinja.RequestError, match="kind: no kind of diagnostic is called `nonsense`"):
        Diagnostic("nonsense")
    with pytest.raises(unjinja.RequestError, match='channel: "nonsense" is unknown'):
        Span("x", channel="nonsense")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Message(tool_calls=["x"])  # type: ignore[list-item]


def test_a_message_keeps_its_ids_when_it_is_pickled() -> None:
    path = next(path for path in TEMPLATES if path.stem == "indexed_ids")
    model = load(path)
    conversation: list[dict[str, Any]] = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "functions.get_weather:0", "type": "function", "function": {"name": "get_weather", "arguments": {}}}]},
    ]
    prompt = model.render(conversation[:1], tools=WEATHER)
    output = model.render(conversation, tools=WEATHER, add_generation_prompt=False).removeprefix(prompt)
    qwen3 = load(next(path for path in TEMPLATES if path.stem == "qwen3"))
    other = qwen3.parse('<tool_call>\n{"name": "get_weather", "arguments": {}}\n</tool_call>', tools=WEATHER)
    for message, earlier in ((model.parse(output, tools=WEATHER, prompt=prompt), ["functions.get_weather:0"]), (other, [])):
        written = message.to_dict()
        again = pickle.loads(pickle.dumps(message))
        assert again == message and again.to_dict() == written and written["tool_calls"][0]["id"]
        if earlier:
            # It also knows which ids the template takes.
            assert again.to_dict(call_ids=earlier) == message.to_dict(call_ids=earlier) != written


def test_results_of_the_package_are_pickled(qwen3: Model) -> None:
    broken = '<think>\nHm.\n</think>\n\nYes.\n<tool_call>\n{"name": "nope", "arguments": {"a": '
    made: list[Any] = [qwen3.parse(broken, tools=WEATHER, unparsed="separate")]
    made += qwen3.stream(tools=WEATHER).push_spans(broken)
    made += [qwen3.grammar(WEATHER), qwen3.grammar(WEATHER, "xgrammar"), qwen3.grammar(TOOLS, "llguidance")]
    made += unjinja.lint_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}")
    lossy = load(next(path for path in TEMPLATES if path.stem == "lines_of_calls")).export(count=20)
    assert lossy.losses and lossy.losses[0].example
    made += [lossy, *lossy.losses, lossy.losses[0].example]
    assert len(made) > 10
    for one in made:
        again = pickle.loads(pickle.dumps(one))
        assert again == one and repr(again) == repr(one) and eval(repr(one), vars(unjinja)) == one


def test_exceptions_are_pickled(qwen3: Model) -> None:
    wrongs: list[Any] = [lambda: Tools(cast(Any, 5)), lambda: Model.from_template("Hello"), lambda: qwen3.parse("x", unparsed=cast(Any, "x"))]
    for wrong in wrongs:
        with pytest.raises(unjinja.UnjinjaError) as caught:
            wrong()
        again = pickle.loads(pickle.dumps(caught.value))
        assert (type(again), str(again)) == (type(caught.value), str(caught.value))


def test_prompts_are_pickled() -> None:
    prompt = Prompt("abc", "c")
    for same in (pickle.loads(pickle.dumps(prompt)), copy.copy(prompt), copy.deepcopy(prompt)):
        assert (type(same), same, same.turn, hash(same)) == (Prompt, prompt, "c", hash("abc"))


# ----- models -----

OUTPUT = "<think>\nHm.\n</think>\n\nA text <tool_call> with {markup}."
ASK = [{"role": "user", "content": "Rain?"}]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_a_pickled_model_is_the_same(path: Path) -> None:
    model = load(path)
    again = pickle.loads(pickle.dumps(model))
    assert again == model and hash(again) == hash(model) and repr(again) == repr(model)
    assert (again.name, again.spec, again.status, again.gaps, again.template) == (model.name, model.spec, model.status, model.gaps, model.template)
    assert again.parse(OUTPUT, tools=TOOLS) == model.parse(OUTPUT, tools=TOOLS)
    prompt = model.render(ASK, tools=TOOLS)
    assert (again.render(ASK, tools=TOOLS), again.render(ASK, tools=TOOLS).turn) == (prompt, prompt.turn)
    assert again.grammar(TOOLS) == model.grammar(TOOLS)


def test_a_model_that_was_pickled_in_another_process(tmp_path: Path) -> None:
    text = "{{ bos_token }}{{ sep_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"bos_token": "<s>", "sep_token": "<sep>", "chat_template": text}), encoding="utf-8"
    )
    model = Model.from_pretrained(tmp_path)
    qwen3 = load(next(path for path in TEMPLATES if path.stem == "qwen3"))
    kept = tmp_path / "kept"
    kept.write_bytes(pickle.dumps([model, qwen3, Model.known("Qwen/Qwen3-0.6B"), Tools(WEATHER), Event.Content("x")]))
    (tmp_path / "tokenizer_config.json").unlink()  # The file is not needed again.
    script = (
        "import pickle, sys\n"
        "model, qwen3, known, tools, event = pickle.load(open(sys.argv[1], 'rb'))\n"
        "ask = [{'role': 'user', 'content': 'Rain?'}]\n"
        "prompt = qwen3.render(ask, tools=tools)\n"
        "out = [model.render(ask), str(prompt), prompt.turn, qwen3.parse(sys.argv[2], prompt=prompt), known.parse(sys.argv[2]), event]\n"
        "sys.stdout.buffer.write(pickle.dumps(out))\n"
    )
    answer = subprocess.run([sys.executable, "-c", script, str(kept), OUTPUT], capture_output=True, check=True).stdout
    prompt = qwen3.render(ASK, tools=WEATHER)
    assert pickle.loads(answer) == [
        "<s><sep><user>Rain?</><assistant>",
        prompt,
        prompt.turn,
        qwen3.parse(OUTPUT, prompt=prompt),
        Model.known("Qwen/Qwen3-0.6B").parse(OUTPUT),
        Event.Content("x"),
    ]


def test_a_model_without_a_template_and_one_with_an_overlay(qwen3: Model) -> None:
    for model in (Model.known("qwen_qwen3_0_6b"), Model.from_spec(qwen3.spec)):
        again = pickle.loads(pickle.dumps(model))
        assert again == model and again.template is None
        assert model != qwen3 and "without a template" in repr(model)
        with pytest.raises(unjinja.RenderError, match="has no template"):
            again.render(ASK)
    overlay = '[reasoning]\n# A test.\nstart = "<hmm>"\n# A test.\nend = "</hmm>"\n'
    corrected = Model.from_template(qwen3.template or "", name="qwen3", overlay=overlay)
    again = pickle.loads(pickle.dumps(corrected))
    assert again == corrected != qwen3
    assert again.reasoning_markers == ("<hmm>", "</hmm>")


def test_models_are_their_own_copies_and_differ_by_their_tokens(qwen3: Model) -> None:
    assert copy.copy(qwen3) is qwen3 and copy.deepcopy(qwen3) is qwen3
    text = qwen3.template or ""
    assert Model.from_template(text, name="a") == Model.from_template(text, name="a")
    assert Model.from_template(text, name="a") != Model.from_template(text, name="b")
    assert Model.from_template(text, bos_token="<s>") != Model.from_template(text)
    assert Model.from_template(text) != Model.from_template(text + "{# #}")
    assert {qwen3: 1}[pickle.loads(pickle.dumps(qwen3))] == 1
    partial = Model.from_template("{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{{ tools }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}")
    assert all(gap in repr(partial) for gap in partial.gaps) and partial.status in repr(partial)


def test_what_is_in_the_middle_of_a_turn_is_not_copied(qwen3: Model) -> None:
    for made in (qwen3.stream(), qwen3.stream().openai_chunks()):
        for copies in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match=f"a {type(made).__name__} can be neither pickled nor copied: it is a parser in the middle of a turn"):
                copies(made)
