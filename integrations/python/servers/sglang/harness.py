"""What the tests and the comparison share: the parsers of the real SGLang, called as its server calls them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock, patch

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "integrations" / "python" / "tests"))

from sglang.srt.entrypoints.openai.protocol import ChatCompletionRequest, Tool  # noqa: E402
from sglang.srt.function_call.function_call_parser import FunctionCallParser  # noqa: E402
from sglang.srt.parser.reasoning_parser import ReasoningParser  # noqa: E402
from shared import CORPUS  # noqa: E402

import unjinja.sglang  # noqa: E402
from unjinja import Model  # noqa: E402

# Modules next to these rules import torchvision, for pictures, which nothing here reads.
PICTURES = ("torchvision", "torchvision.transforms", "torchvision.transforms.functional", "torchvision.io")
with patch.dict(sys.modules, {} if find_spec("torchvision") else {name: MagicMock() for name in PICTURES}):
    from sglang.srt.parser.template_detection import (
        detect_reasoning_parser,
        detect_reasoning_pattern,
        detect_tool_call_parser,
    )

unjinja.sglang.register()


class Tokenizer:
    """What the parsers ask a tokenizer for. Characters are its tokens."""

    def __init__(self, chat_template: str, bos_token: str | None = None, eos_token: str | None = None) -> None:
        self.chat_template, self.bos_token, self.eos_token = chat_template, bos_token, eos_token

    def encode(self, text: str, **_: Any) -> list[int]:
        return [ord(char) for char in text]

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(map(chr, ids))

    def get_vocab(self) -> dict[str, int]:
        """The markers of the template, which are tokens of models that were trained with it. SGLang's rules look for some."""
        return {marker: number for number, marker in enumerate(sorted(set(re.findall(r"<[^<>\s]+>", self.chat_template))))}

    def convert_tokens_to_ids(self, token: str) -> int | None:
        return None


@dataclass
class Read:
    """What a client receives."""

    reasoning: str = ""
    content: str = ""
    calls: list[list[str]] = field(default_factory=list)
    error: str = ""

    def take(self, calls: list[Any], *, is_whole: bool) -> None:
        for call in calls:
            if is_whole or call.tool_index >= len(self.calls):
                self.calls.append(["", ""])
            place = -1 if is_whole else call.tool_index
            self.calls[place][0] += call.name or ""
            self.calls[place][1] += call.parameters

    def plain(self) -> tuple[str, str, list[tuple[str, Any]]]:
        """Without white space at the ends of texts, with values for arguments."""
        return self.reasoning.strip(), self.content.strip(), [(name, value_of(text)) for name, text in self.calls]


def value_of(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@dataclass(frozen=True)
class Parsers:
    """The names of the two parsers; None where the server has none."""

    reasoning: str | None
    tools: str | None


OURS = Parsers("unjinja", "unjinja")


@cache
def detected(template: str) -> tuple[Parsers, Any, bool]:
    """SGLang's own parsers for a template, as `auto` finds them, and what it knows about the reasoning."""
    force, config = detect_reasoning_pattern(template)
    known = (template, Tokenizer(template), config, force)
    return Parsers(detect_reasoning_parser(*known), detect_tool_call_parser(*known)), config, force


def request_of(tools: list[Any] | None, prompt: str, thinking: bool | None) -> ChatCompletionRequest:
    variables = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
    request = ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "Hi"}], tools=tools or None, chat_template_kwargs=variables or None
    )
    request._response_parser_prefix = prompt
    return request


@dataclass
class Server:
    """One model as SGLang serves it."""

    parsers: Parsers
    template: str
    bos_token: str | None = None
    eos_token: str | None = None
    forced: bool | None = None
    """Whether the reasoning parser is told that the output begins inside the reasoning; None if the server decides."""

    def __post_init__(self) -> None:
        self.tokenizer = Tokenizer(self.template, self.bos_token, self.eos_token)
        _, config, self.force = detected(self.template)
        detector = None
        if self.parsers.reasoning:
            detector = ReasoningParser(self.parsers.reasoning, tokenizer=self.tokenizer).detector
        self.config = config
        self.default = detector.reasoning_default if detector is not None else None

    def _forced(self, request: ChatCompletionRequest) -> bool:
        """Whether the server tells the parser that the output begins inside the reasoning: `_get_reasoning_from_request`. That one
        cannot be imported without torchvision."""
        if self.forced is not None:
            return self.forced
        if self.force or self.parsers.reasoning is None:
            return self.force
        variables = request.chat_template_kwargs or {}
        if self.config is None:
            name = (self.default or "").removeprefix("explicit_")
            if name not in ("thinking", "enable_thinking"):
                return self.default == "always"
            return variables.get(name) is True if name != self.default else variables.get(name) is not False
        if self.config.special_case is not None:
            return bool(self.config.special_case == "always")
        if self.config.toggle_param is None or self.config.default_enabled is None:
            return False
        if self.config.default_enabled:
            return variables.get(self.config.toggle_param) is not False
        return variables.get(self.config.toggle_param) is True

    def _reasoning(self, request: ChatCompletionRequest, *, stream: bool) -> ReasoningParser | None:
        if self.parsers.reasoning is None:
            return None
        return ReasoningParser(
            self.parsers.reasoning,
            stream_reasoning=stream,
            force_reasoning=self._forced(request),
            request=request,
            tokenizer=self.tokenizer,
            tool_call_parser_active=self.parsers.tools is not None and bool(request.tools),
        )

    def _tools(self, request: ChatCompletionRequest) -> FunctionCallParser | None:
        if self.parsers.tools is None or not request.tools:
            return None
        return FunctionCallParser(
            request.tools, self.parsers.tools, tokenizer=self.tokenizer, prefix=request._response_parser_prefix
        )

    def whole(self, output: str, request: ChatCompletionRequest) -> Read:
        """As `_build_chat_response` and `_process_tool_calls` of the server do."""
        read = Read(content=output)
        reasoning = self._reasoning(request, stream=False)
        if reasoning is not None:
            thought, text = reasoning.parse_non_stream(output)
            read.reasoning, read.content = thought or "", text or ""
        tools = self._tools(request)
        if tools is not None and tools.has_tool_call(read.content):
            read.content, calls = tools.parse_non_stream(read.content)
            read.take(calls, is_whole=True)
        return read

    def streamed(self, pieces: list[str], request: ChatCompletionRequest) -> Read:
        """As `_generate_stream_content` of the server does."""
        read = Read()
        reasoning, tools = self._reasoning(request, stream=True), self._tools(request)
        for number, delta in enumerate(pieces):
            is_last = number == len(pieces) - 1
            if reasoning is not None:
                thought, delta = reasoning.parse_stream_chunk(delta)
                read.reasoning += thought or ""
                if is_last:
                    thought, rest = reasoning.parse_stream_end()
                    read.reasoning += thought or ""
                    delta = (delta or "") + (rest or "")
            if tools is None:
                read.content += delta or ""
                continue
            text, calls = tools.parse_stream_chunk(delta)
            if is_last:
                end_text, end_calls = tools.parse_stream_end()
                text, calls = (text or "") + end_text, list(calls) + end_calls
            read.content += text or ""
            read.take(calls, is_whole=False)
        if tools is not None:
            self._unstreamed(tools, read)
        return read

    @staticmethod
    def _unstreamed(tools: FunctionCallParser, read: Read) -> None:
        """The arguments that the server sends at the end: `_check_for_unstreamed_tool_args`."""
        known, sent = tools.detector.prev_tool_call_arr, tools.detector.streamed_args_for_tool
        last = len(known) - 1
        if not known or not sent or last >= len(sent) or last >= len(read.calls):
            return
        expected = known[last].get("arguments", {})
        text = expected if isinstance(expected, str) else json.dumps(expected, ensure_ascii=False)
        if text.startswith(sent[last]):
            read.calls[last][1] += text[len(sent[last]) :]


def pieces(text: str, size: int) -> list[str]:
    return [text[at : at + size] for at in range(0, len(text), size)] or [""]


def openai_tools(tools: Any) -> list[Any]:
    """The tools that SGLang's request takes."""
    return [Tool.model_validate(tool).model_dump(exclude_none=True) for tool in tools or []]


@cache
def tool_sets() -> dict[str, Any]:
    sets: dict[str, Any] = json.loads((CORPUS / "turn_tools.json").read_text(encoding="utf-8"))
    return sets


def corpus(file: str) -> Iterator[dict[str, Any]]:
    """The cases of a file of the corpus that a server would see."""
    with open(CORPUS / file, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            if isinstance(case["tools"], str):
                case["tools"] = tool_sets()[case["tools"]]
            if case["extract_reasoning"] and not case.get("json_schema") and case["continue_final_message"] == "none":
                yield case


def template_of(case: dict[str, Any]) -> Path:
    folder = case["folder"]
    return CORPUS / ("templates" if folder == "templates" else f"{folder}/templates") / str(case["template"])


@cache
def text_of(path: Path) -> str:
    return Model.from_pretrained(path).template or ""
