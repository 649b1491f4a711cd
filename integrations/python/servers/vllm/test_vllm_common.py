"""vLLM's own suite for tool parsers, over ours: one run for each wire format. The suite is imported from vLLM's sources."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from vllm_cases import BOS, EOS, own_model, own_templates
from vllm_serving import make_folder, register

common = pytest.importorskip("tests.tool_parsers.common_tests", reason="needs the sources of vLLM, with its tests")

PLAIN = "This is a regular response without any tool calls."
SINGLE = {"get_weather": {"city": "Tokyo"}}
PARALLEL = {"get_weather": {"city": "Tokyo"}, "get_time": {"timezone": "Asia/Tokyo"}}
TYPES = {
    "string_field": "hello",
    "int_field": 42,
    "float_field": 3.14,
    "bool_field": True,
    "null_field": None,
    "array_field": ["a", "b", "c"],
    "object_field": {"nested": "value"},
}
ESCAPED = {"quoted": 'He said "hello"', "path": "C:\\Users\\file.txt", "newline": "line1\nline2"}

_JSON_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null", list: "array", dict: "object"}


def _tool(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    properties = {key: {"type": _JSON_TYPES[type(value)]} for key, value in arguments.items()}
    function = {"name": name, "description": "A tool.", "parameters": {"type": "object", "properties": properties}}
    return {"type": "function", "function": function}


TOOLS = [
    _tool("get_weather", SINGLE["get_weather"]),
    _tool("get_time", PARALLEL["get_time"]),
    _tool("refresh", {}),
    _tool("test_function", {**TYPES, **ESCAPED}),
]

# Formats that make no calls.
WITHOUT_CALLS = {"no_tools", "reasoning_only"}
# Formats that make one call in a turn.
ONE_CALL = {"bare_json"}
# Templates that drop text next to calls.
CALLS_ALONE = {"bare_json"}

# Formats in which a text may become a header. The suite never ends a stream, so that such a text stays held back.
HEADED = {"message_headers", "twice_named"}
HELD = "text without a header is delivered at the end, and the suite has none"


def written(template: Path, calls: dict[str, dict[str, Any]], content: str = "") -> str:
    """What the template writes for a turn."""
    model = own_model(template)
    question = {"role": "user", "content": "Hello!"}
    for as_text in (False, True):  # some templates take arguments only as text
        made = [
            {
                "id": f"functions.{name}:{number}" if template.stem == "named_ids" else f"call{number:05}",
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments) if as_text else arguments},
            }
            for number, (name, arguments) in enumerate(calls.items())
        ]
        answer = {"role": "assistant", "content": content, "tool_calls": made}
        try:
            whole = str(model.render([question, answer], tools=TOOLS, add_generation_prompt=False))
        except ValueError:
            continue
        break
    prompt = model.render([question], tools=TOOLS)
    before = str(prompt)[: len(prompt) - len(prompt.turn)]
    turn = whole[len(before) :]
    return turn[len(prompt.turn) :] if turn.startswith(prompt.turn) else turn


TEMPLATES = [template for template in own_templates() if template.stem not in WITHOUT_CALLS]


class TestUnjinja(common.ToolParserTests):  # type: ignore[misc, name-defined]
    """The suite. Its parser gets the tools of the request, as in the server."""

    @pytest.fixture(scope="class", params=TEMPLATES, ids=lambda path: path.stem)
    def template(self, request: pytest.FixtureRequest) -> Path:
        return request.param

    @pytest.fixture(scope="class")
    def tokenizer(self, template: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
        from vllm.tokenizers import get_tokenizer

        text = template.read_text(encoding="utf-8")
        folder = make_folder(tmp_path_factory.mktemp("common"), text, own_model(template).preserved_tokens, BOS, EOS)
        return get_tokenizer(str(folder))

    @pytest.fixture
    def tool_parser(self, test_config: Any, tokenizer: Any) -> Any:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionToolsParam
        from vllm.tool_parsers import ToolParserManager

        register()
        tools = [ChatCompletionToolsParam.model_validate(tool) for tool in TOOLS]
        return ToolParserManager.get_tool_parser(test_config.parser_name)(tokenizer, tools)

    @pytest.fixture
    def test_config(self, template: Path) -> Any:
        single = written(template, SINGLE)
        one = template.stem in ONE_CALL
        return common.ToolParserTestConfig(
            parser_name="unjinja",
            no_tool_calls_output=PLAIN,
            single_tool_call_output=single,
            parallel_tool_calls_output=single if one else written(template, PARALLEL),
            various_data_types_output=written(template, {"test_function": TYPES}),
            empty_arguments_output=written(template, {"refresh": {}}),
            surrounding_text_output=written(template, SINGLE, "" if template.stem in CALLS_ALONE else "Let me look."),
            escaped_strings_output=written(template, {"test_function": ESCAPED}),
            # One only: the suite reads all with one parser, which is made for one request.
            malformed_input_outputs=[single[: len(single) // 2]],
            parallel_tool_calls_count=1 if one else 2,
            parallel_tool_calls_names=["get_weather"] if one else ["get_weather", "get_time"],
            xfail_streaming={"test_no_tool_calls": HELD} if template.stem in HEADED else {},
        )

    def test_the_arguments_are_those_that_were_written(self, template: Path, tool_parser: Any) -> None:
        """The suite asks little of values. They come back as they were."""
        for arguments in (TYPES, ESCAPED):
            request = type("Request", (), {"tools": None, "tool_choice": "auto"})()
            info = tool_parser.extract_tool_calls(written(template, {"test_function": arguments}), request)
            assert [json.loads(call.function.arguments) for call in info.tool_calls] == [arguments]

    @pytest.mark.parametrize("damage", [lambda text: text[len(text) // 3 :], lambda text: text[::-1], lambda text: text * 2])
    def test_more_malformed_input(self, damage: Any, template: Path, tool_parser: Any, streaming: bool) -> None:
        common.run_tool_extraction(tool_parser, damage(written(template, SINGLE)), streaming=streaming)
