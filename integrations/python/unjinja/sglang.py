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
from importlib.util import find_spec
from typing import Any, Literal, TypeAlias

if find_spec("sglang") is None:
    raise ImportError("unjinja.sglang needs SGLang, and it is not installed here. Install it: pip install sglang")

from sglang.srt.entrypoints.openai.protocol import ToolChoice
from sglang.srt.environ import ToolStrictLevel, envs
from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult
from sglang.srt.parser.response_template import ResponseTemplateReasoningDetector, ResponseTemplateToolDetector
from sglang.srt.runtime_context import get_serving

from ._lib import Event, Model, RequestError, Span, Stream, Tools
from ._spans import behind_reasoning, end_of, places

__all__ = ["NAME", "ReasoningDetector", "ToolDetector", "register", "use"]

NAME = "unjinja"
"""The name of both parsers on the command line."""

VARIABLE = "UNJINJA_TEMPLATE"
"""The environment variable that names a template, for models whose tokenizer has none or a wrong one."""

_Rest: TypeAlias = Literal["marked", "unmarked", "answer"]

_TEXT_EVENTS = (Event.Reasoning, Event.Content)
_CALL_EVENTS = (Event.ToolCallStart, Event.ToolCallArguments, Event.ToolCallId, Event.ToolCallEnd)

logger = logging.getLogger(__name__)

_chosen: Model | None = None


def register() -> None:
    """Makes both parsers known to SGLang. SGLang calls it; in a program of your own, call it once."""
    FunctionCallParser.ToolCallParserEnum[NAME] = ToolDetector
    ReasoningParser.DetectorMap[NAME] = ReasoningDetector


def use(model: Model | str | os.PathLike[str] | None) -> None:
    """Uses another model than that of the tokenizer's chat template, in this process.

    A server has several processes; for a server, set the environment variable `UNJINJA_TEMPLATE` to the path of a template.

    Args:
        model: A model, or the path of a template. None ends that.
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
        self.think_start_token, self.think_end_token = (marker.strip() for marker in _markers(self.model))
        self.think_start_self_label = ""
        self.think_excluded_tokens = None
        self.message_start_think_openers: list[str] = []
        self.answer_started = False
        self._rest = _rest_for(tool_call_parser_active)
        self._never_empty = force_nonempty_content
        self._new_stream: Callable[[], Stream] = lambda: self.model.stream(
            tools=_tools(tools),
            prompt=prefix or None,
            thinking=None if prefix else force_reasoning,
        )
        self._splitter = self._fresh()

    def _fresh(self) -> _Splitter:
        return _Splitter(self._new_stream(), _markers(self.model), self._rest)

    def detect_and_parse(self, text: str) -> ReasoningResult:
        splitter = self._fresh()
        reasoning, rest = splitter.read(text, last=True)
        if not splitter.has_call:
            # An answer alone needs no other parser.
            reasoning, answer = _Splitter(self._new_stream(), _markers(self.model), "answer").read(text, last=True)
            rest = _Answer(answer)
        if self._never_empty and not rest:
            reasoning, rest = "", _Answer(reasoning)
        return ReasoningResult(normal_text=rest, reasoning_text=reasoning)

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

    # What SGLang asks detectors of response templates besides. No answer of these changes an output.

    def get_think_end_token_ids(self, tokenizer: Any) -> list[int]:
        return list(tokenizer.encode(self.think_end_token, add_special_tokens=False)) if self.think_end_token else []

    def starts_message(self, prefix: str) -> bool:
        return False

    def answer_opener(self, prefix: str) -> str:
        return ""

    def json_output_started(self, text: str) -> bool:
        return self._fresh().read(text, last=True)[1].strip() != ""


class _Own:
    """What the model wrote of an event's text. In a continued turn, the first text begins with what the prompt wrote of it."""

    def __init__(self) -> None:
        self._is_first = True

    def __call__(self, span: Span, text: str) -> str:
        if not self._is_first:
            return text
        self._is_first = False
        if text in span.text:
            return text
        return span.text if text.endswith(span.text) else ""


class _Answer(str):
    """An answer that was read to the end. The tool-call parser leaves it as it is, whatever it looks like."""


def _markers(model: Model) -> tuple[str, str]:
    """The markers around reasoning; empty where there is none."""
    return model.reasoning_markers or ("", "")


def _rest_for(is_tool_parser_active: bool) -> _Rest:
    """What the reasoning parser gives besides the reasoning."""
    if not is_tool_parser_active:
        return "answer"
    try:
        other = get_serving().tool_call_parser
    except ValueError:
        # No server is running: a program of its own uses both.
        return "marked"
    return "marked" if other == NAME else "unmarked"


class _Splitter:
    """Divides an output into reasoning and the rest.

    The rest is `marked`: all that was written, and the markers of the reasoning say where it was; this is for our tool-call parser.
    Or it is `unmarked`, for a tool-call parser of another name. Or it is the `answer`, without markup, for the client: nobody reads
    calls then, so they stay in it as they were written.
    """

    def __init__(self, stream: Stream, markers: tuple[str, str], rest: _Rest) -> None:
        self.stream, self.markers = stream, markers
        self.channel: str | None = None
        self.has_answer = self.has_call = False
        self.kept = ""
        self._own = _Own()
        self._step = {"marked": self._marked, "unmarked": self._unmarked, "answer": self._answer}[rest]
        # Markup whose meaning the next event says.
        self._markup = ""
        self._after: str | None = None
        self._answers = False

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
            texts = [(event, self._own(span, event.text)) for event in span.events if isinstance(event, _TEXT_EVENTS)]
            thought = [text for event, text in texts if isinstance(event, Event.Reasoning)]
            answer = [text for event, text in texts if isinstance(event, Event.Content)]
            is_call = any(isinstance(event, _CALL_EVENTS) for event in span.events)
            reasoning += thought
            # What stays of the piece: all but the reasoning.
            left, behind = "", 0
            for (event, _), (at, end) in zip(texts, places(span.text, [text for _, text in texts]), strict=True):
                if isinstance(event, Event.Reasoning):
                    left, behind = left + span.text[behind:at], end
            left += span.text[behind:]
            rest.append(self._step(left, "".join(thought), "".join(answer), is_call))
            self.has_call |= is_call
            self.has_answer |= is_call or bool(answer)
            self.channel = span.channel
        if last and self._step == self._unmarked:
            rest.append(self._take_markup())
        return "".join(reasoning), "".join(rest)

    def _marked(self, left: str, thought: str, answer: str, is_call: bool) -> str:
        return left

    def _unmarked(self, left: str, thought: str, answer: str, is_call: bool) -> str:
        if thought:
            self._markup, self._after = "", "reasoning"
            return left if answer or is_call else ""
        if answer or is_call:
            return self._take_markup() + left
        self._markup += left
        return ""

    def _take_markup(self) -> str:
        """The markup before an answer or a call, without the end of the reasoning."""
        markup, self._markup = self._markup, ""
        if self._after == "reasoning":
            self._after = None
            return markup[end_of(markup, self.markers[1]) :]
        return markup

    def _answer(self, left: str, thought: str, answer: str, is_call: bool) -> str:
        if not (thought or answer or is_call):
            self._markup += left
            return ""
        # Between calls, and between a call and text, the markup belongs to the calls.
        markup = self._markup if is_call or (answer and self._after == "call") else ""
        if is_call and self._after != "call" and not self._answers:
            markup = behind_reasoning(markup, self.markers)
        self._markup, self._after = "", "call" if is_call else None
        self._answers = bool(answer)
        return markup + (left if is_call else answer)


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
        return _CallReader(stream, _markers(self.model)[1], set(self._get_tool_indices(tools)))

    def has_tool_call(self, text: str) -> bool:
        """Whether the text holds something to read: a call, or markup around the answer."""
        if isinstance(text, _Answer):
            return False
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
        self._own = _Own()
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
        # In a call whose tool was not offered, everything stays text.
        is_other, is_used = self._in_other, False
        for event in span.events:
            match event:
                case Event.Reasoning() | Event.Content() if is_other:
                    pass
                case Event.Reasoning(text):
                    # White space alone is no reasoning.
                    if not self._own(span, text).strip() and not self._in_reasoning:
                        continue
                    if not self._in_reasoning:
                        rest.append(self._markup)
                    self._in_reasoning, self._markup = True, ""
                    rest.append(span.text)
                case Event.Content(text):
                    self._end_reasoning(rest)
                    rest.append(self._own(span, text))
                case Event.ToolCallStart(index, name):
                    before = self._markup
                    self._end_reasoning(rest)
                    if name not in self.offered and not envs.SGLANG_FORWARD_UNKNOWN_TOOLS.get():
                        rest.append(before)
                        self._in_other = is_other = True
                        continue
                    self._positions[index] = len(self._positions)
                    self.incomplete.add(self._positions[index])
                    calls.append(ToolCallItem(tool_index=self._positions[index], name=name, parameters=""))
                case Event.ToolCallArguments(index, json) if index in self._positions:
                    self._markup = ""
                    calls.append(ToolCallItem(tool_index=self._positions[index], name=None, parameters=json))
                case Event.ToolCallEnd(index, complete) if index in self._positions:
                    self._markup = ""
                    if complete:
                        self.incomplete.discard(self._positions[index])
                case Event.ToolCallEnd():
                    self._in_other = False
                case _:
                    continue
            is_used = True
        if is_other:
            rest.append(span.text)
        elif not is_used:
            self._markup += span.text

    def _end_reasoning(self, rest: list[str]) -> None:
        """Behind reasoning that stays in the text, its end marker stays too."""
        if self._in_reasoning:
            rest.append(self._markup[: end_of(self._markup, self.reasoning_end)])
        self._in_reasoning, self._markup = False, ""
