"""The plug-in in the real SGLang. Not part of the package's own tests: it needs SGLang's source and PyTorch; `.ci/servers` runs it.

    PYTHONPATH=python:SGLANG pytest python/servers/sglang
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from harness import OURS, Parsers, Server, Tokenizer, corpus, openai_tools, pieces, request_of, template_of, text_of, value_of
from sglang.srt.entrypoints.openai.protocol import Tool, ToolChoice, ToolChoiceFuncName
from sglang.srt.environ import envs
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from shared import ROOT, TEMPLATES, TOOLS, WEATHER, load, need_corpus, turns_of

import unjinja
import unjinja.sglang
from unjinja import Message, Model

QWEN = (ROOT / "templates" / "qwen3.jinja").read_text(encoding="utf-8")
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
OUTPUT = f"<think>\nHm, é.\n</think>\n\nLet me look.\n{CALL}\nThat was it."
PROMPT = "<|im_start|>user\nRain?<|im_end|>\n<|im_start|>assistant\n"

RELEASED = (
    "Apertus-8B-Instruct.jinja",
    "ByteDance-Seed-OSS.jinja",
    "GLM-4.6.jinja",
    "Kimi-K2-Instruct.jinja",
    "MiniMax-M2.jinja",
    "Mistral-Small-3.2-24B-Instruct-2506.jinja",
    "Qwen-Qwen3-0.6B.jinja",
    "Qwen3-Coder.jinja",
    "deepseek-ai-DeepSeek-V3.1.jinja",
    "google-gemma-4-31B-it.jinja",
    "meta-llama-Llama-3.1-8B-Instruct.jinja",
    "openai-gpt-oss-120b.jinja",
)


def server(template: str = QWEN, parsers: Parsers = OURS) -> Server:
    return Server(parsers, template, "<s>", "</s>")


def plain(message: Message) -> Any:
    calls = [(call.name, value_of(call.arguments)) for call in message.tool_calls]
    return message.reasoning_content.strip(), message.content.strip(), calls


def cuts(output: str) -> list[list[str]]:
    """The output in pieces of several sizes, and in two pieces at each place."""
    halves = [[output[:at], output[at:]] for at in range(1, len(output), 1 + len(output) // 60)]
    return [[output], *(pieces(output, size) for size in (1, 2, 3, 5, 7, 64)), *halves]


def test_the_names_are_registered() -> None:
    assert FunctionCallParser.ToolCallParserEnum["unjinja"] is unjinja.sglang.ToolDetector
    assert ReasoningParser.DetectorMap["unjinja"] is unjinja.sglang.ReasoningDetector


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_format_and_every_cut(path: Path) -> None:
    model = load(path)
    unjinja.sglang.use(model)
    try:
        served = server(model.template or "")
        turns = turns_of(model)
        assert len(turns) >= 3
        for prompt, output in turns:
            request = request_of(TOOLS, prompt, None)
            expected = plain(model.parse(output, tools=TOOLS, prompt=prompt))
            assert served.whole(output, request).plain() == expected, (prompt, output)
            for cut in cuts(output):
                assert served.streamed(cut, request).plain() == expected, (prompt, cut)
    finally:
        unjinja.sglang.use(None)


@pytest.mark.parametrize("name", RELEASED)
def test_all_turns_of_released_templates(name: str) -> None:
    need_corpus()
    tried = 0
    served = None
    for case in corpus("turns.jsonl"):
        if (case["folder"], case["template"]) != ("templates", name):
            continue
        served = served or server(text_of(template_of(case)))
        request = request_of(openai_tools(case["tools"]), case["generation_prompt"], case["enable_thinking"])
        want = case["expect"]
        calls = [(call["name"], value_of(call["arguments"])) for call in want["tool_calls"]]
        expected = ((want["reasoning_content"] or "").strip(), (want["content"] or "").strip(), calls)
        for read in (served.whole(case["output"], request), served.streamed(pieces(case["output"], 4), request)):
            assert read.plain() == expected, case["id"]
        tried += 1
    assert tried >= 5


def test_reasoning_and_calls_in_any_order() -> None:
    output = f"<think>\nOne.\n</think>\n\nA.\n{CALL}\n<think>\nTwo.\n</think>\n\nB.\n{CALL}"
    request = request_of(WEATHER, PROMPT, None)
    expected = plain(Model.from_template(QWEN).parse(output, tools=WEATHER, prompt=PROMPT))
    assert len(expected[2]) == 2
    for cut in cuts(output):
        assert server().streamed(cut, request).plain() == expected
    assert server().whole(output, request).plain() == expected


def test_arguments_are_streamed() -> None:
    parser = FunctionCallParser([Tool.model_validate(tool) for tool in WEATHER], "unjinja", server().tokenizer)
    calls = [call for piece in pieces(CALL, 3) for call in parser.parse_stream_chunk(piece)[1]]
    assert (calls[0].name, calls[0].parameters) == ("get_weather", "")
    assert len(calls) > 5 and "".join(call.parameters for call in calls) == '{"city": "Paris"}'
    assert parser.detector.prev_tool_call_arr == [{"name": "get_weather", "arguments": '{"city": "Paris"}'}]


def test_a_call_that_is_cut_short() -> None:
    short = OUTPUT[: OUTPUT.index("aris")]
    request = request_of(WEATHER, PROMPT, None)
    for read in (server().whole(short, request), server().streamed(pieces(short, 2), request)):
        assert read.calls == [["get_weather", '{"city": "P']] and read.content == "Let me look."


def test_without_tools_calls_are_text() -> None:
    request = request_of(None, PROMPT, None)
    for cut in cuts(OUTPUT):
        read = server().streamed(cut, request)
        assert (read.reasoning, read.calls) == ("Hm, é.", [])
        assert read.content == f"Let me look.\n{CALL}\nThat was it."
    assert server().whole(OUTPUT, request) == server().streamed([OUTPUT], request)


def test_no_marker_is_content_where_a_call_follows_the_reasoning() -> None:
    request = request_of(None, PROMPT, None)
    for begin, thought in (("<think>\nHm, é.\n</think>\n\n", "Hm, é."), ("<think>Hm.</think>", "Hm."), ("<think>\n\n</think>\n\n", "")):
        for cut in cuts(begin + CALL):
            read = server().streamed(cut, request)
            assert (read.reasoning, read.content, read.calls) == (thought, CALL, [])
        assert server().whole(begin + CALL, request) == server().streamed([begin + CALL], request)


def test_reasoning_is_taken_out_where_it_stands() -> None:
    """The text of the reasoning is also in the markup next to it."""
    from unjinja._spans import places

    assert places("[EOS]S", ["S"]) == [(5, 6)]
    assert places("\n\n<think>", ["\n"]) == [(0, 1)]
    assert places("a[/x]b", ["a", "b"]) == [(0, 1), (5, 6)]
    assert places("}", ["gone"]) == [(0, 0)]
    path = ROOT / "templates" / "section_tags.jinja"
    served, model = server(path.read_text(encoding="utf-8")), load(path)
    # A call that breaks off is text, and is known as such only behind the next marker.
    output = "<think>\nHm.</think><｜call▁begin｜>i<think>in it"
    expected = plain(model.parse(output, tools=WEATHER, prompt="<｜User｜>?<｜Assistant｜>"))
    assert expected[1] == "<｜call▁begin｜>i"
    request = request_of(WEATHER, "<｜User｜>?<｜Assistant｜>", None)
    for cut in cuts(output):
        assert served.streamed(cut, request).plain() == expected, cut


def test_a_tool_that_was_not_offered() -> None:
    output = f"A.\n{CALL.replace('get_weather', 'get_time')}\nB.\n{CALL}"
    request = request_of(WEATHER, PROMPT, None)
    for cut in cuts(output):
        read = server().streamed(cut, request)
        assert [name for name, _ in read.calls] == ["get_weather"]
        assert '"get_time"' in read.content and '{"city": "Paris"}' in read.content
        assert read.content == server().whole(output, request).content
    output = f"{CALL}\n{CALL.replace('get_weather', 'get_time')}"
    for read in (server().whole(output, request), server().streamed(pieces(output, 1), request)):
        assert [name for name, _ in read.calls] == ["get_weather"]
        assert read.content.strip() == CALL.replace("get_weather", "get_time")
    with envs.SGLANG_FORWARD_UNKNOWN_TOOLS.override(True):
        read = server().whole(output, request)
        assert [name for name, _ in read.calls] == ["get_weather", "get_time"] and "get_time" not in read.content


def test_an_answer_that_looks_like_a_call() -> None:
    """`recipients` names a recipient first, so an answer may look like a call when it stands alone."""
    path = ROOT / "templates" / "recipients.jinja"
    served, model = server(path.read_text(encoding="utf-8")), load(path)
    for text in ("get_weather\n{\"city\": \"Paris\"}", "A <b>.", "```json\n{}\n```", CALL):
        before = model.render([{"role": "user", "content": "?"}], tools=WEATHER)
        messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": text}]
        output = model.render(messages, tools=WEATHER, add_generation_prompt=False)[len(before) :]
        request = request_of(WEATHER, before, None)
        expected = plain(model.parse(output, tools=WEATHER, prompt=before))
        assert expected[1:] == (text, [])
        for cut in cuts(output):
            assert served.streamed(cut, request).plain() == expected
        assert served.whole(output, request).plain() == expected


def test_reasoning_that_nobody_takes_out_stays_in_the_text() -> None:
    alone = server(parsers=Parsers(None, "unjinja"))
    request = request_of(WEATHER, PROMPT, None)
    for cut in cuts(OUTPUT):
        read = alone.streamed(cut, request)
        assert read.content == "<think>\nHm, é.\n</think>\n\nLet me look.\nThat was it."
        assert [name for name, _ in read.calls] == ["get_weather"]
    assert alone.whole(OUTPUT, request).content == alone.streamed([OUTPUT], request).content


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_another_parser_for_the_calls(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    class Serving:
        tool_call_parser = "qwen25"

    monkeypatch.setattr(unjinja.sglang, "get_serving", Serving)
    mixed = server(parsers=Parsers("unjinja", "qwen25"))
    output = f"<think>\nHm, é.\n</think>\n\n{CALL}"
    request = request_of(WEATHER, PROMPT, None)
    for read in (mixed.whole(output, request), mixed.streamed(pieces(output, size), request)):
        assert (read.reasoning, read.content.strip()) == ("Hm, é.", "")
        assert [name for name, _ in read.calls] == ["get_weather"]


def test_a_turn_that_is_continued() -> None:
    request = request_of(WEATHER, PROMPT + "Let me", None)
    output = f" look.\n{CALL}"
    for read in (server().whole(output, request), server().streamed(pieces(output, 2), request)):
        assert (read.content.strip(), len(read.calls)) == ("look.", 1)
    open_reasoning = request_of(WEATHER, PROMPT + "<think>\nHm", None)
    output = f", é.\n</think>\n\n{CALL}"
    for read in (server().whole(output, open_reasoning), server().streamed(pieces(output, 2), open_reasoning)):
        assert (read.reasoning, read.content.strip(), len(read.calls)) == (", é.", "", 1)


def test_reasoning_in_one_piece_and_content_that_may_not_be_empty() -> None:
    def parser(**options: Any) -> Any:
        return unjinja.sglang.ReasoningDetector(tokenizer=server().tokenizer, prefix=PROMPT, **options)

    text = "<think>\nHm, é.\n</think>\n\nYes."
    held = parser(stream_reasoning=False)
    results = [held.parse_streaming_increment(piece) for piece in pieces(text, 2)] + [held.finish()]
    assert [result.reasoning_text for result in results if result.reasoning_text] == ["Hm, é."]
    assert "".join(result.normal_text for result in results) == "Yes."
    never = parser(force_nonempty_content=True)
    assert never.detect_and_parse("<think>\nHm.").normal_text == "Hm."
    assert never.detect_and_parse(text).normal_text == "Yes."


def test_structural_tags_are_ours_and_compile() -> None:
    import xgrammar

    tools = [Tool.model_validate(tool) for tool in WEATHER]
    parser = FunctionCallParser(tools, "unjinja", server().tokenizer)
    assert parser.owns_tool_format()
    assert parser.get_structure_constraint("auto") is None
    vocabulary = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    compiler = xgrammar.GrammarCompiler(xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[256]))
    strict = [Tool.model_validate({**WEATHER[0], "function": {**WEATHER[0]["function"], "strict": True}})]
    named = ToolChoice(function=ToolChoiceFuncName(name="get_weather"))
    made: list[tuple[Any, list[Tool], bool]] = [("required", tools, True), (named, tools, True), ("auto", strict, True), ("auto", tools, False)]
    for choice, offered, parallel in made:
        asked = FunctionCallParser(offered, "unjinja", server().tokenizer)
        kind, tag = asked.get_structure_constraint(choice, parallel_tool_calls=parallel)
        assert kind == "structural_tag"
        # As the server writes it into the sampling parameters.
        written = json.dumps(tag.model_dump(by_alias=True))
        matcher = xgrammar.GrammarMatcher(compiler.compile_structural_tag(written))
        assert matcher.accept_string(CALL + "<|im_end|>")
        wrong = xgrammar.GrammarMatcher(compiler.compile_structural_tag(written))
        assert not wrong.accept_string(CALL.replace("Paris", "Par\nis"))


def test_where_the_template_comes_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    nothing = Tokenizer("")
    with pytest.raises(ValueError, match="UNJINJA_TEMPLATE"):
        ReasoningParser("unjinja", tokenizer=nothing)
    file = tmp_path / "chat_template.jinja"
    file.write_text(QWEN, encoding="utf-8")
    monkeypatch.setenv("UNJINJA_TEMPLATE", str(file))
    assert ReasoningParser("unjinja", tokenizer=nothing).parse_non_stream("<think>\nA.\n</think>\n\nB") == ("A.", "B")
    monkeypatch.delenv("UNJINJA_TEMPLATE")
    unjinja.sglang.use(file)
    assert ReasoningParser("unjinja", tokenizer=nothing).parse_non_stream("B") == ("", "B")
    unjinja.sglang.use(None)
    named = Tokenizer("")
    named.chat_template = {"default": "{{ messages }}", "tool_use": QWEN}  # type: ignore[assignment]
    assert ReasoningParser("unjinja", tokenizer=named).detector.think_end_token == "</think>"


def test_the_entry_point_registers_the_names(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As in a server: from the metadata of an installed package to the choices on the command line."""
    from sglang.srt import plugins, server_args

    metadata = tmp_path / "unjinja-0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: unjinja\nVersion: 0\n", encoding="utf-8")
    declared = (ROOT / "integrations" / "python" / "pyproject.toml").read_text(encoding="utf-8")
    assert '[project.entry-points."sglang.srt.plugins"]\nunjinja = "unjinja.sglang:register"' in declared
    (metadata / "entry_points.txt").write_text("[sglang.srt.plugins]\nunjinja = unjinja.sglang:register\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(FunctionCallParser.ToolCallParserEnum, "unjinja")
    monkeypatch.delitem(ReasoningParser.DetectorMap, "unjinja")
    monkeypatch.setattr(plugins, "_plugins_loaded", False)
    plugins.load_plugins()
    assert "unjinja" in server_args._tool_call_parser_choices()
    assert "unjinja" in server_args._reasoning_parser_choices()


