"""The reasoning parser."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from . import _host
from ._formats import about_request, model_of, specials_for
from ._host import ReasoningParser, delta_message
from ._ids import ReasoningEnd, ReasoningTokens, decode, turn_of
from ._output import Output, tools_of

_latest = threading.local()


def partner_of(tokenizer: Any) -> UnjinjaReasoningParser | None:
    """The reasoning parser of the same request, for a tool parser.

    vLLM's `Parser` makes the two directly after each other and gives the tool parser nothing that names the other. So the
    latest reasoning parser of this thread is it, if it has the same tokenizer, still exists, and has no tool parser yet.
    """
    made = getattr(_latest, "parser", None)
    _latest.parser = None
    parser: UnjinjaReasoningParser | None = made() if made else None
    return parser if parser is not None and parser.model_tokenizer is tokenizer else None


class UnjinjaReasoningParser(ReasoningParser):
    """Separates reasoning by the model's chat template.

    With the tool parser of this package it hands over at once: one stream then delivers reasoning, content and calls in the
    order in which the model writes them. Alone it streams itself, and calls are content.
    """

    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        model = model_of(tokenizer, calls=False)
        specials = specials_for(model, tokenizer)
        _host.tell_ids()
        self.output = Output(model, specials, tokenizer)
        self.output.reasoning = True
        self.output.thinking = _switch(kwargs.get("chat_template_kwargs"))
        self.has_tool_parser = False
        self._end = ReasoningEnd(model, tokenizer, specials)
        self._tokens = ReasoningTokens(model, tokenizer, specials)
        _latest.parser = weakref.ref(self)

    # What vLLM asks about the prompt and about ids.

    def set_prompt_token_ids(self, prompt_token_ids: Sequence[int]) -> None:
        """The prompt, which may already open reasoning."""
        self.output.turn = turn_of(self.output.model, decode(self.model_tokenizer, prompt_token_ids))

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Sequence[int]) -> None:
        """The prompt, for a stream."""
        self.set_prompt_token_ids(prompt_token_ids)

    @property
    def reasoning_start_str(self) -> str | None:
        """The marker before reasoning."""
        markers = self.output.model.reasoning_markers
        return (markers[0].strip() or None) if markers else None

    @property
    def reasoning_end_str(self) -> str | None:
        """The marker after reasoning."""
        markers = self.output.model.reasoning_markers
        return (markers[1].strip() or None) if markers else None

    def is_reasoning_end(self, input_ids: Sequence[int]) -> bool:
        """Whether reasoning is over behind these ids, or cannot come."""
        return self._end.of(input_ids) is not None

    def is_reasoning_end_streaming(self, input_ids: Sequence[int], delta_ids: Iterable[int]) -> bool:
        """The same, where the last ids are new."""
        return self._end.of(input_ids, len(list(delta_ids))) is not None

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        """The ids behind the reasoning."""
        return self._end.content_of(input_ids)

    def count_reasoning_tokens(self, token_ids: Sequence[int]) -> int:
        """How many of the ids of an output are reasoning."""
        return self._tokens.count(token_ids, self.output.turn)

    # What it makes of an output.

    def adjust_request(self, request: Any) -> Any:
        """Keeps the markers in the text."""
        self.output.request = keep_markers(super().adjust_request(request))
        return self.output.request

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        """Reads a whole output, also for the tool parser."""
        if not self.output.tools:
            self.output.tools = tools_of(getattr(request, "tools", None))
        calls = self.has_tool_parser and getattr(request, "tool_choice", None) != "none"
        whole = self.output.parse(model_output, self.output.take_ids(), calls=calls)
        if self.has_tool_parser:
            self.output.parsed = whole
        return whole.reasoning, whole.content

    def extract_reasoning_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
    ) -> Any:
        """Reads on, or hands the text over to the tool parser."""
        if self.has_tool_parser:
            # vLLM gives the content of this delta to the tool parser, and of its ids those behind the reasoning.
            self.output.ids = list(delta_token_ids)
            return delta_message({"content": delta_text})
        return delta_message(self.output.push(delta_text, delta_token_ids, calls=False))

    def has_engine_confirmed_reasoning_end(self) -> bool:
        """Whether the tool parser continues. It does from the first text on, because it reads reasoning too."""
        return self.has_tool_parser

    def finish_streaming(self) -> Any:
        """What was held back until the end."""
        return None if self.has_tool_parser else delta_message(self.output.finish())


def keep_markers(request: Any) -> Any:
    """Has the detokenizer keep special tokens, as they are: they are the markers of many formats."""
    about_request(request)
    request.skip_special_tokens = False
    if hasattr(request, "spaces_between_special_tokens"):
        request.spaces_between_special_tokens = False
    return request


def _switch(arguments: Any) -> bool | None:
    """How a request sets the switch for thinking. It is asked only where the prompt is not known."""
    for name in ("enable_thinking", "thinking"):
        value = (arguments or {}).get(name)
        if isinstance(value, bool):
            return value
    return None
