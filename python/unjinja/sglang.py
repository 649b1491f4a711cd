"""The plug-in for SGLang: a tool-call parser and a reasoning parser of the name `unjinja`.

    sglang serve MODEL --tool-call-parser unjinja --reasoning-parser unjinja

SGLang finds it by the entry point `sglang.srt.plugins` and calls `register` in each of its processes. The format is that of the chat
template in the model's tokenizer, which SGLang hands to both parsers.

SGLang reads an output twice. The reasoning parser takes out the reasoning and gives the rest to the tool-call parser. What it gives
here is the output as it was written, markers included, without the text of the reasoning: `<think></think>Yes.` The tool-call parser
begins with the same prompt, so it comes through the same states as one parser for all of it would.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from sglang.srt.entrypoints.openai.protocol import ToolChoice
from sglang.srt.environ import ToolStrictLevel, envs
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult
from sglang.srt.parser.response_template import ResponseTemplateReasoningDetector, ResponseTemplateToolDetector

from ._lib import Event, Model, RequestError, Span, Stream, Tools

__all__ = ["NAME", "ReasoningDetector", "ToolDetector", "register", "use"]

NAME = "unjinja"
"""The name of both parsers on the command line."""

VARIABLE = "UNJINJA_TEMPLATE"
"""The environment variable that names a template, for models whose tokenizer has none or a wrong one."""

logger = logging.getLogger(__name__)

_chosen: Model | None = None


def register() -> None:
    """Makes both parsers known to SGLang. SGLang calls it; in a program of your own, call it once."""
    FunctionCallParser.ToolCallParserEnum[NAME] = ToolDetector
    ReasoningParser.DetectorMap[NAME] = ReasoningDetector


def use(model: Model | str | os.PathLike[str] | None) -> None:
    """Uses this model, or the template at this path, instead of the template of the tokenizer, in this process. `None` ends that.

    A server has several processes; for a server, set the environment variable `UNJINJA_TEMPLATE` to the path.
    """
    global _chosen
    _chosen = model if model is None or isinstance(model, Model) else Model.from_pretrained(model)


def model_of(tokenizer: Any) -> Model:
    """The model for a tokenizer: the one that `use` or `UNJINJA_TEMPLATE` says, else that of its chat template.

    Raises ValueError, which SGLang reports, if there is no template or it gives no model.
    """
    if _chosen is not None:
        return _chosen
    path = os.environ.get(VARIABLE)
    if path:
        return _from_path(path)
    template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, dict):
        # The one for tools also renders conversations without tools.
        template = template.get("tool_use") or template.get("default")
    if not isinstance(template, str) or not template:
        raise RequestError(f"the tokenizer has no chat template; set {VARIABLE} to the path of one, or call unjinja.sglang.use")
    return _from_text(template, _token(tokenizer, "bos"), _token(tokenizer, "eos"))


@lru_cache(maxsize=8)
def _from_path(path: str) -> Model:
    return _told(Model.from_pretrained(path))


@lru_cache(maxsize=8)
def _from_text(text: str, bos: str | None, eos: str | None) -> Model:
    return _told(Model.from_template(text, bos_token=bos, eos_token=eos))


def _told(model: Model) -> Model:
    if model.status != "supported":
        logger.warning("unjinja: the chat template is %s: %s", model.status, " ".join(model.gaps))
    return model


def _token(tokenizer: Any, name: str) -> str | None:
    token = getattr(tokenizer, f"{name}_token", None)
    return token if isinstance(token, str) else None


@lru_cache(maxsize=64)
def _read_tools(text: str) -> Tools:
    return Tools(text)


def _tools(tools: Sequence[Any] | None) -> Tools | None:
    """The tools of a request. A request that is not SGLang's own may have dicts."""
    if not tools:
        return None
    dicts = [tool if isinstance(tool, dict) else tool.model_dump(exclude_none=True) for tool in tools]
    # The Responses API has tools without `function`.
    dicts = [tool if "function" in tool else {"type": "function", "function": tool} for tool in dicts if "name" in tool.get("function", tool)]
    return _read_tools(json.dumps(dicts)) if dicts else None


class ReasoningDetector(ResponseTemplateReasoningDetector):  # type: ignore[misc]
    """Takes the reasoning out of an output.

    It extends SGLang's detector of response templates because only to these SGLang gives the prompt, and for these it keeps special
    tokens in the text. Nothing of its parser is used.
    """

    thinks_internally = False
    reasoning_default = "explicit_enable_thinking"

    def __init__(
        self,
        stream_reasoning: bool = True,
        force_reasoning: bool | None = None,
        tokenizer: Any = None,
        prefix: str = "",
        tools: Sequence[Any] | None = None,
        tool_call_parser_active: bool = False,
        force_nonempty_content: bool = False,
        continue_final_message: bool = False,
        previous_content: str = "",
        **_other: Any,
    ) -> None:
        self.model = model_of(tokenizer)
        self.stream_reasoning = stream_reasoning
        self.think_start_token, self.think_end_token = (marker.strip() for marker in self.model.reasoning_markers)
        self.think_start_self_label = ""
        self.think_excluded_tokens = None
        self.message_start_think_openers: list[str] = []
        self.answer_started = False
        self._is_raw = tool_call_parser_active
        self._never_empty = force_nonempty_content
        self._new_stream: Callable[[], Stream] = lambda: self.model.stream(
            tools=_tools(tools),
            prompt=prefix or None,
            thinking=None if prefix else force_reasoning,
        )
        self._splitter = self._fresh()

    def _fresh(self) -> _Splitter:
        return _Splitter(self._new_stream(), is_raw=self._is_raw)

    def detect_and_parse(self, text: str) -> ReasoningResult:
        reasoning, rest = self._fresh().read(text, last=True)
        return self._result(reasoning, rest)

    def parse_streaming_increment(self, new_text: str) -> ReasoningResult:
        reasoning, rest = self._splitter.read(new_text)
        if not self.stream_reasoning:
            self._splitter.kept += reasoning
            # Text of the answer says that the reasoning is over.
            reasoning = self._splitter.take_kept() if rest.strip() and self._splitter.channel != "reasoning" else ""
        elif self._never_empty:
            self._splitter.kept += reasoning
        return ReasoningResult(normal_text=rest, reasoning_text=reasoning)

    def finish(self) -> ReasoningResult:
        reasoning, rest = self._splitter.read("", last=True)
        if not self.stream_reasoning:
            reasoning = self._splitter.take_kept() + reasoning
        if self._never_empty and not self._splitter.has_answer:
            return ReasoningResult(normal_text=rest + self._splitter.take_kept() + reasoning)
        return ReasoningResult(normal_text=rest, reasoning_text=reasoning)

    def _result(self, reasoning: str, rest: str) -> ReasoningResult:
        if self._never_empty and not rest:
            reasoning, rest = "", reasoning
        return ReasoningResult(normal_text=rest, reasoning_text=reasoning)

    # What SGLang asks detectors of response templates besides. No answer of these changes an output.

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        return list(tokenizer.encode(self.think_end_token, add_special_tokens=False)) if self.think_end_token else []

    def starts_message(self, prefix: str) -> bool:
        return False

    def answer_opener(self, prefix: str) -> str:
        return ""

    def json_output_started(self, text: str) -> bool:
        return self._fresh().read(text, last=True)[1].strip() != ""


class _Splitter:
    """Divides an output into reasoning and the rest."""

    def __init__(self, stream: Stream, *, is_raw: bool) -> None:
        self.stream, self.is_raw = stream, is_raw
        self.channel: str | None = None
        self.has_answer = False
        self.kept = ""
        self._markup = ""
        self._in_call = self._after_call = False

    def take_kept(self) -> str:
        kept, self.kept = self.kept, ""
        return kept

    def read(self, text: str, last: bool = False) -> tuple[str, str]:
        """The reasoning and the rest of a piece. `last` ends the turn behind it."""
        spans = self.stream.push_spans(text) if text else []
        if last:
            spans += self.stream.finish_spans()
        reasoning: list[str] = []
        rest: list[str] = []
        for span in spans:
            (self._raw if self.is_raw else self._plain)(span, reasoning, rest)
            self.channel = span.channel
        return "".join(reasoning), "".join(rest)

    def _raw(self, span: Span, reasoning: list[str], rest: list[str]) -> None:
        """Everything is the rest but the text of the reasoning. Its markers stay: they say where it was."""
        text = span.text
        for event in span.events:
            if isinstance(event, Event.Reasoning):
                reasoning.append(event.text)
                text = text.replace(event.text, "", 1)
            elif not isinstance(event, Event.Diagnostic):
                self.has_answer = True
        rest.append(text)

    def _plain(self, span: Span, reasoning: list[str], rest: list[str]) -> None:
        """The rest is the answer, without markup. Nobody reads calls, so they stay in it as they were written."""
        is_marked = False
        for event in span.events:
            if isinstance(event, Event.Reasoning):
                reasoning.append(event.text)
            elif isinstance(event, Event.Content):
                rest.append((self._markup if self._after_call else "") + event.text)
                self._after_call, self.has_answer = False, True
            elif isinstance(event, (Event.ToolCallStart, Event.ToolCallArguments, Event.ToolCallId, Event.ToolCallEnd)):
                is_marked = True
                continue
            else:
                continue
            self._markup = ""
        if is_marked:
            rest.append(self._markup + span.text)
            self._markup, self._after_call, self.has_answer = "", True, True
        elif not span.events:
            self._markup += span.text


class ToolDetector(ResponseTemplateToolDetector):  # type: ignore[misc]
    """Reads the calls of an output, and leaves its answer as text.

    Where no reasoning parser took out the reasoning, it stays in the text with its markers.
    """

    constrains_every_turn = False

    def __init__(
        self,
        tokenizer: Any = None,
        response_template: dict[str, Any] | None = None,
        prefix: str = "",
        tools: Sequence[Any] | None = None,
        constrained: bool = False,
    ) -> None:
        # Not that of response templates: it needs one.
        BaseFormatDetector.__init__(self)
        self.model = model_of(tokenizer)
        self._prefix, self._tools = prefix, tools or []
        self.tool_close_literals: list[str] = []
        self.incomplete_tool_call_indices: set[int] = set()
        self._reader: _CallReader | None = None

    def _fresh(self, tools: Sequence[Any]) -> _CallReader:
        stream = self.model.stream(tools=_tools(tools), prompt=self._prefix or None)
        return _CallReader(stream, self.model.reasoning_markers[1], set(self._get_tool_indices(tools)))

    def has_tool_call(self, text: str) -> bool:
        """Whether the text holds something to read: a call, or markup around the answer."""
        rest, calls = self._fresh(self._tools).read(text, last=True)
        return bool(calls) or rest.strip() != text.strip()

    def detect_and_parse(self, text: str, tools: list[Any]) -> StreamingParseResult:
        rest, items = self._fresh(tools).read(text, last=True)
        calls: list[ToolCallItem] = []
        for item in items:
            if item.name is not None:
                calls.append(item)
            else:
                calls[item.tool_index].parameters += item.parameters
        return StreamingParseResult(normal_text=rest, calls=calls)

    def parse_streaming_increment(self, new_text: str, tools: list[Any]) -> StreamingParseResult:
        return self._step(new_text, tools, last=False)

    def finish(self, tools: list[Any]) -> StreamingParseResult:
        return self._step("", tools, last=True)

    def _step(self, text: str, tools: list[Any], *, last: bool) -> StreamingParseResult:
        if self._reader is None:
            self._reader = self._fresh(tools)
        rest, items = self._reader.read(text, last=last)
        for item in items:
            # The server compares these two at the end, to find arguments that it was not told. There are none.
            if item.name is not None:
                self.current_tool_id = item.tool_index
                self.prev_tool_call_arr.append({"name": item.name, "arguments": ""})
                self.streamed_args_for_tool.append("")
            self.streamed_args_for_tool[item.tool_index] += item.parameters
            self.prev_tool_call_arr[item.tool_index]["arguments"] = self.streamed_args_for_tool[item.tool_index]
        self.incomplete_tool_call_indices = self._reader.incomplete
        return StreamingParseResult(normal_text=rest, calls=items)

    def supports_structural_tag(self) -> bool:
        # So that required calls are read here, and not as an array of JSON.
        return True

    def get_structural_tag(
        self,
        tools: list[Any] | None = None,
        tool_choice: Any = "auto",
        thinking_mode: bool = False,
        parallel_tool_calls: bool = True,
        message_start: bool = False,
    ) -> Any:
        """The format and the schemas of the tools as a structural tag. Where SGLang reads the reasoning, its grammar begins behind
        it, so the tag has none."""
        from xgrammar import StructuralTag

        named = tool_choice.model_dump() if isinstance(tool_choice, ToolChoice) else tool_choice
        grammar = self.model.grammar(
            _tools(tools),
            "xgrammar",
            tool_choice=named,
            parallel_tool_calls=parallel_tool_calls,
            thinking=thinking_mode,
        )
        return StructuralTag.model_validate(json.loads(grammar.text)) if grammar.text else None

    def validate_structure_constraint_request(
        self,
        tool_choice: Any,
        parallel_tool_calls: bool,
        strict_requested: bool,
        *,
        tools: list[Any],
        thinking_mode: bool = False,
    ) -> Any:
        """The tag for a request that demands something: a call, one call, or the schemas. Else None: nothing is constrained."""
        if tool_choice == "auto" and parallel_tool_calls and not strict_requested:
            return None
        return self.get_structural_tag(tools, tool_choice, thinking_mode, parallel_tool_calls)

    def open_call_closer(self, text: str) -> str | None:
        # A call that ends with the turn is complete for us.
        return None


class _CallReader:
    """Divides an output into calls and text. A call of a tool that is not in `offered` stays text, unless SGLang is set up to
    forward it."""

    def __init__(self, stream: Stream, reasoning_end: str, offered: set[str]) -> None:
        self.stream, self.reasoning_end, self.offered = stream, reasoning_end, offered
        self.incomplete: set[int] = set()
        self._positions: dict[int, int] = {}
        # Markup whose meaning the next event says.
        self._markup = ""
        self._in_reasoning = False
        # In a call whose tool was not offered, which stays text.
        self._in_other = False

    def read(self, text: str, *, last: bool = False) -> tuple[str, list[ToolCallItem]]:
        spans = self.stream.push_spans(text) if text else []
        if last:
            spans += self.stream.finish_spans()
        rest: list[str] = []
        calls: list[ToolCallItem] = []
        for span in spans:
            self._span(span, rest, calls)
        if last:
            self._end_reasoning(rest)
        return "".join(rest), calls

    def _span(self, span: Span, rest: list[str], calls: list[ToolCallItem]) -> None:
        is_used = False
        for event in span.events:
            match event:
                case Event.Reasoning(text) if text.strip():
                    if not self._in_reasoning:
                        rest.append(self._markup)
                    self._in_reasoning, self._markup = True, ""
                    rest.append(span.text)
                    is_used = True
                case Event.Content(text):
                    self._end_reasoning(rest)
                    rest.append(text)
                    is_used = True
                case Event.ToolCallStart(index, name):
                    before = self._markup
                    self._end_reasoning(rest)
                    is_used = True
                    self._in_other = name not in self.offered and not envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get()
                    if self._in_other:
                        rest.append(before + span.text)
                        continue
                    self._positions[index] = len(self._positions)
                    self.incomplete.add(self._positions[index])
                    calls.append(ToolCallItem(tool_index=self._positions[index], name=name, parameters=""))
                case Event.ToolCallArguments(index, json):
                    is_used = True
                    if index in self._positions:
                        calls.append(ToolCallItem(tool_index=self._positions[index], name=None, parameters=json))
                    else:
                        rest.append(span.text)
                case Event.ToolCallEnd(index, complete):
                    is_used = True
                    if index in self._positions:
                        if complete:
                            self.incomplete.discard(self._positions[index])
                    else:
                        rest.append(span.text)
                        self._in_other = False
                case _:
                    pass
        if is_used:
            return
        if self._in_other:
            rest.append(span.text)
        else:
            self._markup += span.text

    def _end_reasoning(self, rest: list[str]) -> None:
        """Behind reasoning that stays in the text, its end marker stays too."""
        if self._in_reasoning:
            for marker in (self.reasoning_end, self.reasoning_end.strip()):
                at = self._markup.find(marker) if marker else -1
                if at >= 0:
                    rest.append(self._markup[: at + len(marker)])
                    break
        self._in_reasoning, self._markup = False, ""
