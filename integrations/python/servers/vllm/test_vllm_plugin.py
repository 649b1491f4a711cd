"""What the parsers promise beyond the messages: how vLLM finds them, requests, grammars, questions by ids, and clear errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shared import ROOT, WEATHER
from vllm_cases import BOS, EOS, own_model, own_templates
from vllm_serving import FLAGS, Server, chat_request, derender, make_folder, register

import unjinja

PROMPT = "<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n"
CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
MADE = [{"name": "get_weather", "arguments": '{"city": "Paris"}'}]

ALONE = {
    "tools": ("--enable-auto-tool-choice", "--tool-call-parser", "unjinja"),
    "reasoning": ("--reasoning-parser", "unjinja"),
    "both": FLAGS,
}


def folder_of(place: Path, name: str) -> Path:
    template = ROOT / "templates" / f"{name}.jinja"
    return make_folder(place, template.read_text(encoding="utf-8"), own_model(template).preserved_tokens, BOS, EOS)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    register()
    folder = folder_of(tmp_path_factory.mktemp("qwen3"), "qwen3")
    made = {name: Server(folder, flags) for name, flags in ALONE.items()}
    yield made
    for server in made.values():
        server.close()


def both_ways(server: Server, output: str, prompt: str = PROMPT, **fields: Any) -> dict[str, Any]:
    """What the client receives, which is the same whole and in pieces."""
    chat, ids = chat_request(server.name, WEATHER, **fields), server.ids(prompt)
    whole = derender(server, chat, ids, server.ids(output))
    for size in (1, 5, len(output)):
        assert server.stream(chat, ids, [output[at : at + size] for at in range(0, len(output), size)]) == whole
    return whole


def message(content: str = "", reasoning: str = "", calls: list[dict[str, str]] | None = None) -> dict[str, Any]:
    return {"reasoning": reasoning, "content": content, "tool_calls": calls or []}


def test_vllm_finds_the_plug_in_by_itself() -> None:
    """Where the package is installed, its entry point is; `.ci/servers` installs it."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        points = [point for point in distribution("unjinja").entry_points if point.group == "vllm.general_plugins"]
    except PackageNotFoundError:
        pytest.skip("needs the installed package; .ci/servers installs it")
    assert [(point.name, point.value) for point in points] == [("unjinja", "unjinja.vllm:register")]
    from vllm.plugins import load_general_plugins
    from vllm.reasoning import ReasoningParserManager
    from vllm.tool_parsers import ToolParserManager

    load_general_plugins()
    assert "unjinja" in ToolParserManager.list_registered()
    assert "unjinja" in ReasoningParserManager.list_registered()


def test_text_and_reasoning_after_calls_are_delivered(servers: dict[str, Server]) -> None:
    output = f"<think>\nRain?\n</think>\n\nI look.{CALL}<think>And now?</think>Done."
    assert both_ways(servers["both"], output) == message("I look.Done.", "Rain?And now?", MADE)


def test_reasoning_that_the_client_does_not_want(servers: dict[str, Server]) -> None:
    output = f"<think>\nRain?\n</think>\n\nHi.{CALL}<think>And now?</think>Done."
    assert both_ways(servers["both"], output, include_reasoning=False) == message("Hi.Done.", "", MADE)


def test_the_prompt_says_where_the_output_begins(servers: dict[str, Server]) -> None:
    for parsers in ("both", "reasoning"):
        opened = both_ways(servers[parsers], "Rain?\n</think>\n\nYes.", PROMPT + "<think>\n")
        assert opened == message("Yes.", "Rain?")
        closed = both_ways(servers[parsers], "Yes.", PROMPT + "<think>\n\n</think>\n\n")
        assert closed == message("Yes.")


def test_a_prompt_that_begins_the_message_is_no_part_of_the_output(servers: dict[str, Server]) -> None:
    """With `continue_final_message` the client receives what the model wrote."""
    begun = PROMPT + "<think>\nRain?\n</think>\n\nToday"
    assert both_ways(servers["both"], f" it rains.{CALL}", begun) == message(" it rains.", "", MADE)
    assert both_ways(servers["reasoning"], " it rains.", begun) == message(" it rains.")
    assert both_ways(servers["both"], "haha", PROMPT + "ha") == message("haha")
    assert both_ways(servers["both"], " it is.</think>Yes.", PROMPT + "<think>\nToday") == message("Yes.", " it is.")


def test_a_tool_parser_alone_leaves_reasoning_in_the_content(servers: dict[str, Server]) -> None:
    output = f"<think>\nRain?\n</think>\n\nI look.{CALL}"
    assert both_ways(servers["tools"], output) == message("<think>\nRain?\n</think>\n\nI look.", "", MADE)


def test_a_tool_parser_alone_adds_nothing_to_the_text(tmp_path: Path) -> None:
    """The prompt of this template opens reasoning."""
    register()
    server = Server(folder_of(tmp_path, "section_tags"), ALONE["tools"])
    assert both_ways(server, "Rain?</think>Yes.", "<｜User｜>Hello!<｜Assistant｜><think>\n") == message("Rain?</think>Yes.")
    server.close()


def test_a_reasoning_parser_alone_leaves_calls_in_the_content(servers: dict[str, Server]) -> None:
    output = f"<think>\nRain?\n</think>\n\nI look.\n{CALL}\nDone."
    assert both_ways(servers["reasoning"], output) == message(f"I look.\n{CALL}\nDone.", "Rain?")


def test_no_call_is_lost_where_none_is_wanted(servers: dict[str, Server]) -> None:
    output = f"<think>\nRain?\n</think>\n\nI look.\n{CALL}\nDone."
    assert both_ways(servers["both"], output, tool_choice="none") == message(f"I look.\n{CALL}\nDone.", "Rain?")
    assert both_ways(servers["tools"], output, tool_choice="none")["content"].endswith(f"I look.\n{CALL}\nDone.")


def test_no_marker_is_content_where_a_call_follows_the_reasoning(servers: dict[str, Server]) -> None:
    for begin, thought in (("<think>\nRain?\n</think>\n\n", "Rain?"), ("<think>Rain?</think>", "Rain?"), ("<think>\n\n</think>\n\n", "")):
        expected = message(f"{CALL}\nDone.", thought)
        assert both_ways(servers["both"], f"{begin}{CALL}\nDone.", tool_choice="none") == expected
        assert both_ways(servers["reasoning"], f"{begin}{CALL}\nDone.") == expected
    opened = both_ways(servers["both"], f"Rain?\n</think>\n\n{CALL}", PROMPT + "<think>\n", tool_choice="none")
    assert opened == message(CALL, "Rain?")
    # Behind an answer, the marker is text.
    late = both_ways(servers["reasoning"], f"<think>\nRain?\n</think>\n\nHi.</think>{CALL}")
    assert late == message(f"Hi.</think>{CALL}", "Rain?")


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_weather"}}])
def test_a_call_that_was_demanded_comes_in_the_models_own_format(servers: dict[str, Server], choice: Any) -> None:
    for parsers, reasoning in (("both", "Rain?"), ("tools", "")):
        output = f"<think>\nRain?\n</think>\n\n{CALL}"
        got = both_ways(servers[parsers], output, tool_choice=choice)
        assert (got["reasoning"], got["tool_calls"]) == (reasoning, MADE)


def test_only_one_call_where_one_is_wanted(servers: dict[str, Server]) -> None:
    assert both_ways(servers["both"], CALL + CALL, parallel_tool_calls=False) == message(calls=MADE)


def test_several_calls_and_text_in_one_delta(servers: dict[str, Server]) -> None:
    server, output = servers["both"], f"<think>Rain?</think>Hi.{CALL}{CALL}Done."
    got = server.stream(chat_request(server.name, WEATHER), server.ids(PROMPT), [output])
    assert got == message("Hi.Done.", "Rain?", MADE * 2)


def test_a_call_that_breaks_off(servers: dict[str, Server]) -> None:
    got = both_ways(servers["both"], CALL[: CALL.index("ris")])
    assert got == message(calls=[{"name": "get_weather", "arguments": '{"city": "Pa'}])


def test_requests_of_two_threads_do_not_meet(servers: dict[str, Server]) -> None:
    from concurrent.futures import ThreadPoolExecutor

    server = servers["both"]
    chat, prompt = chat_request(server.name, WEATHER), server.ids(PROMPT)

    def ask(number: int) -> bool:
        output = f"<think>\n{number}\n</think>\n\n{number}{CALL}"
        return server.stream(chat, prompt, list(output)) == message(str(number), str(number), MADE)

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(64)))


def test_a_parser_is_no_partner_of_an_older_one(servers: dict[str, Server]) -> None:
    from unjinja.vllm import UnjinjaReasoningParser, UnjinjaToolParser

    tokenizer = servers["both"].tokenizer
    reasoning = UnjinjaReasoningParser(tokenizer)
    first, second = UnjinjaToolParser(tokenizer), UnjinjaToolParser(tokenizer)
    assert first.output is reasoning.output and second.output is not reasoning.output


# Requests and grammars.


def adjusted(server: Server, prompt: str = PROMPT, **fields: Any) -> Any:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest

    tools = fields.pop("tools", WEATHER)
    request = ChatCompletionRequest.model_validate(chat_request(server.name, tools, **fields))
    parser = server.derenderer.parser(server.tokenizer, request.tools, model_config=server.derenderer.model_config)
    parser.set_prompt_token_ids(server.ids(prompt))
    return parser.adjust_request(request)


def accepts(request: Any, text: str) -> bool:
    """Whether the grammar of a request accepts a text to its end, by XGrammar, over a vocabulary of bytes."""
    import xgrammar

    vocabulary = [bytes([byte]) for byte in range(256)] + [b"<end>"]
    info = xgrammar.TokenizerInfo(vocabulary, stop_token_ids=[256])
    compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(request.structured_outputs.structural_tag)
    matcher = xgrammar.GrammarMatcher(compiled)
    return all(matcher.accept_token(byte) for byte in text.encode()) and matcher.accept_token(256)


def test_requests_keep_the_markers(servers: dict[str, Server]) -> None:
    for parsers in servers.values():
        assert adjusted(parsers).skip_special_tokens is False


def test_nothing_is_constrained_where_nothing_is_promised(servers: dict[str, Server]) -> None:
    assert adjusted(servers["both"]).structured_outputs is None
    assert adjusted(servers["both"], tool_choice="none").structured_outputs is None


NAMED = {"type": "function", "function": {"name": "get_weather"}}


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_the_grammar_is_ours_and_has_the_reasoning(servers: dict[str, Server], choice: Any) -> None:
    bad = CALL.replace('"Paris"', "7")
    opened, closed = PROMPT + "<think>\n", PROMPT + "<think>\n\n</think>\n\n"
    for prompt, begins in ((PROMPT, ("", "<think>\nRain?\n</think>\n\n")), (opened, ("", "Rain?\n</think>\n\n")), (closed, ("",))):
        request = adjusted(servers["both"], prompt, tool_choice=choice)
        # vLLM asks the request, and then begins the grammar with the first token.
        assert request.resolve_reasoning_ended(None, []) is True
        for begin in begins:
            assert accepts(request, begin + CALL), (prompt, begin)
            assert not accepts(request, begin + bad)
            assert not accepts(request, begin + "No.")
    # Without a reasoning parser, it always does.
    alone = adjusted(servers["tools"], tool_choice="required")
    assert accepts(alone, f"<think>\nRain?\n</think>\n\n{CALL}") and not accepts(alone, "<think>\nRain?\n</think>\n\nNo.")


def test_strict_tools_are_constrained_where_the_model_decides(servers: dict[str, Server]) -> None:
    strict = json.loads(json.dumps(WEATHER))
    strict[0]["function"]["strict"] = True
    request = adjusted(servers["both"], tools=strict)
    assert accepts(request, "Sunny.") and accepts(request, CALL) and not accepts(request, CALL.replace("city", "town"))


def test_a_grammar_that_is_joined_with_a_structured_output_begins_behind_the_reasoning(servers: dict[str, Server]) -> None:
    strict = json.loads(json.dumps(WEATHER))
    strict[0]["function"]["strict"] = True
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
    for prompt in (PROMPT, PROMPT + "<think>\n"):
        request = adjusted(servers["both"], prompt, tools=strict, response_format=wanted)
        assert request.resolve_reasoning_ended(None, []) is None
        assert accepts(request, CALL) and accepts(request, '{"a": 1}')
        assert not accepts(request, "No.")


class Engine:
    """What vLLM's engine does with the grammar of a request and the tokens of an output, one token in a step."""

    def __init__(self, server: Server, request: Any, prompt: str) -> None:
        from types import SimpleNamespace

        import xgrammar
        from vllm.v1.structured_output import StructuredOutputManager

        from unjinja.vllm import UnjinjaReasoningParser

        self.server, self.prompt = server, server.ids(prompt)
        info = xgrammar.TokenizerInfo.from_huggingface(server.tokenizer)
        compiled = xgrammar.GrammarCompiler(info).compile_structural_tag(request.structured_outputs.structural_tag)
        matcher = xgrammar.GrammarMatcher(compiled)
        grammar = SimpleNamespace(accept_tokens=lambda _, tokens: all(map(matcher.accept_token, tokens)))
        parser = server.derenderer.parser(server.tokenizer, request.tools, model_config=server.derenderer.model_config)
        asked = SimpleNamespace(
            grammar=grammar,
            reasoner=UnjinjaReasoningParser(server.tokenizer),
            reasoning_ended=request.resolve_reasoning_ended(parser, self.prompt),
            masked_reasoning_end_ids=None,
        )
        self.request = SimpleNamespace(
            use_structured_output=True,
            structured_output_request=asked,
            prompt_token_ids=self.prompt,
            all_token_ids=list(self.prompt),
            request_id="r",
        )
        self.manager = StructuredOutputManager.__new__(StructuredOutputManager)
        self.manager.enable_in_reasoning = False
        self.manager.reasoner_cls = UnjinjaReasoningParser

    def accepts(self, output: str) -> bool:
        """Whether no token of an output is refused, its end included."""
        for token in self.server.ids(output):
            self.request.all_token_ids.append(token)
            if not self.manager.accept_tokens(self.request, [token]):
                return False
        return True


@pytest.mark.parametrize("choice", ["required", NAMED])
def test_a_call_without_reasoning_before_it_is_enough(servers: dict[str, Server], choice: Any) -> None:
    server = servers["both"]
    for prompt, begin in ((PROMPT, "<think>\nRain?\n</think>\n\n"), (PROMPT + "<think>\n", "Rain?\n</think>\n\n")):
        for output in (CALL, begin + CALL):
            request = adjusted(server, prompt, tool_choice=choice, parallel_tool_calls=False)
            assert Engine(server, request, prompt).accepts(output + EOS), (prompt, output)
            assert not Engine(server, request, prompt).accepts(output.replace('"Paris"', "7") + EOS)
            assert not Engine(server, request, prompt).accepts(f"{output}\n{CALL}{EOS}")


def test_one_call_where_one_is_wanted(servers: dict[str, Server]) -> None:
    request = adjusted(servers["both"], tool_choice="required", parallel_tool_calls=False)
    assert accepts(request, CALL) and not accepts(request, f"{CALL}\n{CALL}")


# Questions by ids.


@pytest.fixture
def reasoning(servers: dict[str, Server]) -> Any:
    from unjinja.vllm import UnjinjaReasoningParser

    return UnjinjaReasoningParser(servers["reasoning"].tokenizer)


def test_where_reasoning_ends(servers: dict[str, Server], reasoning: Any) -> None:
    ids = servers["reasoning"].ids
    assert not reasoning.is_reasoning_end(ids(PROMPT))
    assert not reasoning.is_reasoning_end(ids(PROMPT + "<think>\n"))
    assert reasoning.is_reasoning_end(ids(PROMPT + "<think>\n\n</think>\n\n"))
    prompt, output = ids(PROMPT), ids("<think>Räin?</think>Yes.")
    end = output.index(ids("</think>")[0]) + 1
    ended = [reasoning.is_reasoning_end_streaming(prompt + output[: at + 1], output[at : at + 1]) for at in range(len(output))]
    assert ended == [at + 1 >= end for at in range(len(output))]
    assert reasoning.extract_content_ids(output) == output[end:]
    empty = ids("<think>\n\n</think>\n\nYes.")
    assert reasoning.extract_content_ids(empty) == empty[empty.index(ids("</think>")[0]) + 1 :]
    # Without reasoning, all ids are content.
    for text in ("Yes.", CALL):
        assert reasoning.extract_content_ids(ids(text)) == ids(text)
    called = ids(f"<think>Rain?{CALL}")
    assert reasoning.extract_content_ids(called) == called[len(ids("<think>Rain?")) :]


def test_tokens_that_were_only_proposed(servers: dict[str, Server], reasoning: Any) -> None:
    ids = servers["reasoning"].ids
    before = ids(PROMPT + "<think>Rain")
    proposed, real = ids("</think>"), ids("?")
    assert not reasoning.is_reasoning_end_streaming(before, before[-1:])
    assert reasoning.is_reasoning_end_streaming(before + proposed, proposed)
    assert not reasoning.is_reasoning_end_streaming(before + real, real)
    assert reasoning.is_reasoning_end_streaming(before + real + proposed, proposed)


def test_a_format_without_reasoning_has_ended_it(tmp_path: Path) -> None:
    register()
    server = Server(folder_of(tmp_path, "hermes"))
    parser = server.derenderer.parser(server.tokenizer, None)
    assert parser.is_reasoning_end(server.ids(PROMPT))
    server.close()


def test_tokens_of_reasoning_are_counted(servers: dict[str, Server], reasoning: Any) -> None:
    ids = servers["reasoning"].ids("<think>Rain?</think>Yes.")
    assert reasoning.count_reasoning_tokens(ids) == len("Rain?")
    growing = [reasoning.count_reasoning_tokens(ids[:at]) for at in range(len(ids) + 1)]
    assert growing == sorted(growing) and growing[-1] == len("Rain?")


def test_the_markers_of_a_thinking_budget(reasoning: Any) -> None:
    assert (reasoning.reasoning_start_str, reasoning.reasoning_end_str) == ("<think>", "</think>")


# Errors.


def test_a_tokenizer_without_a_template(tmp_path: Path) -> None:
    register()
    with pytest.raises(TypeError, match="chat_template.jinja"):
        Server(make_folder(tmp_path, ""))


def test_a_template_that_cannot_be_read(tmp_path: Path) -> None:
    register()
    with pytest.raises(TypeError, match="cannot read this model's chat template"):
        Server(make_folder(tmp_path, "{% for %}"))


def test_every_template_of_the_project_is_accepted() -> None:
    assert all(own_model(template).status != "unsupported" for template in own_templates())
    assert unjinja.vllm.NAME == "unjinja"
