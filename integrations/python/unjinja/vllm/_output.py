"""The output of one request, which the reasoning parser and the tool parser of that request read together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._lib import Event, Model, OpenAIChunks, Span, Stream
from .._prompt import Prompt
from .._spans import behind_reasoning, places
from ._tokens import Specials, Tokens

Delta = dict[str, Any]


@dataclass
class Whole:
    """What a whole output says, in the words of vLLM."""

    reasoning: str | None
    content: str | None
    calls: list[dict[str, Any]] = field(default_factory=list)


class Output:
    """What is known about a request, and the stream that reads its output."""

    def __init__(self, model: Model, specials: Specials | None = None, tokenizer: Any = None) -> None:
        self.model = model
        self.specials: Specials = specials or {}
        """The special tokens, by id."""
        self.ids: Sequence[int] = ()
        """Ids that come without their text: those of a whole output, or those of a first piece that another parser saw."""
        self._tokenizer = tokenizer
        self._tokens: Tokens | None = None
        self.tools: list[dict[str, Any]] = []
        """The tools of the request."""
        self.turn: Prompt | None = None
        """What the prompt has of the model's turn, if the prompt is known."""
        self.thinking: bool | None = None
        """How the request set the template's switch."""
        self.reasoning = False
        """Whether a reasoning parser takes part. If not, reasoning stays in the content, with its markers."""
        self.request: Any = None
        """The request, once the reasoning parser has seen it."""
        self.parsed: Whole | None = None
        """What the reasoning parser read, for the tool parser."""
        self._reader: _Chunks | _CallsAsText | None = None
        self._begun: dict[str, str] = {}

    def options(self) -> dict[str, Any]:
        """The keyword arguments of `Model.parse` and `Model.stream`."""
        known: dict[str, Any] = {"tools": self.tools or None, "extract_reasoning": self.reasoning}
        if self.turn is not None:
            known["prompt"] = self.turn
        elif self.thinking is not None:
            known["thinking"] = self.thinking
        return known

    def take_ids(self) -> Sequence[int]:
        """The ids that came without their text, once."""
        ids, self.ids = self.ids, ()
        return ids

    def parse(self, text: str, ids: Sequence[int] = (), *, calls: bool) -> Whole:
        """Reads a whole output, as a stream of one piece. Without `calls`, they are text. Special tokens are told by the ids, if they
        are known."""
        reader = Output(self.model, self.specials, self._tokenizer)
        reader.tools, reader.turn, reader.thinking, reader.reasoning = self.tools, self.turn, self.thinking, self.reasoning
        delta = _joined([reader.push(text, ids, calls=calls), reader.finish()]) or {}
        made = [{"id": call["id"], **call["function"]} for call in delta.get("tool_calls", ())]
        return Whole(delta.get("reasoning"), delta.get("content"), made)

    def push(self, text: str, ids: Sequence[int] = (), *, calls: bool) -> Delta | None:
        """Reads on. What the first piece says about `calls` holds, and whether there are ids."""
        if self._reader is None:
            if not text and not ids:
                return None
            self._tokens = Tokens(self.specials, self._tokenizer) if ids and self.specials else None
            options = self.options()
            if self._tokens:
                options["special_tokens"] = list(self.specials.values())
            stream = self.model.stream(**options)
            self._reader = _Chunks(stream) if calls else _CallsAsText(stream, self._markers())
            self._begun = self._begun_by_prompt()
        return self._read(self._tokens.push(text, ids) if self._tokens else [(text, None)])

    def _read(self, pieces: Sequence[tuple[str, bool | None]]) -> Delta | None:
        """Reads pieces, each with whether it is a special token; None if that is not known."""
        reader = self._reader
        if reader is None:
            return None
        return _joined([self._written(reader.push(text, special), text) for text, special in pieces])

    def _markers(self) -> tuple[str, str]:
        """The markers that are no text; empty where reasoning stays in the content."""
        return (self.model.reasoning_markers if self.reasoning else None) or ("", "")

    def finish(self) -> Delta | None:
        """Reads the end of a streamed output: what was held back."""
        rest = self._read(self._tokens.finish()) if self._tokens else None
        reader, self._reader, self._tokens = self._reader, None, None
        return _joined([rest, self._written(reader.finish(), "") if reader else None])

    def _begun_by_prompt(self) -> dict[str, str]:
        """What the prompt already says of the message, or of its markers. A stream begins with it."""
        probe = self.model.stream(**self.options())
        probe.push("x")
        last = "reasoning" if probe.channel == "reasoning" and self.reasoning else "content"
        probe.finish()
        begun = {"reasoning": probe.message.reasoning_content, "content": probe.message.content}
        begun[last] = begun[last].removesuffix("x")
        return {name: text for name, text in begun.items() if text}

    def _written(self, delta: Delta | None, text: str) -> Delta | None:
        """A delta without what the prompt says: vLLM's message is what the model wrote."""
        for name in ("reasoning", "content"):
            said = (delta or {}).get(name)
            if not delta or not said or name not in self._begun:
                continue
            begun = self._begun.pop(name)
            marker = begun.strip()
            # A marker that the model writes once more is said once.
            repeated = not self.reasoning and marker and text.startswith(marker)
            if said.startswith(begun) and not repeated:
                delta = {**delta, name: said[len(begun) :]}
        return _joined([delta])


class _Chunks:
    """Writes a stream as deltas."""

    def __init__(self, stream: Stream) -> None:
        self._chunks: OpenAIChunks = stream.openai_chunks(reasoning="reasoning")

    def push(self, text: str, special: bool | None) -> Delta | None:
        chunks = self._chunks
        return self._delta(chunks.push(text) if special is None else chunks.push_token(text, special))

    def finish(self) -> Delta | None:
        return self._delta(self._chunks.finish())

    @staticmethod
    def _delta(chunks: Sequence[Mapping[str, Any]]) -> Delta | None:
        return _joined([choice["delta"] for chunk in chunks for choice in chunk["choices"]])


class _CallsAsText:
    """Writes a stream as deltas in which calls are content, as the model wrote them. From the first call on, all is content."""

    def __init__(self, stream: Stream, markers: tuple[str, str]) -> None:
        self._stream, self._markers = stream, markers
        # What was pushed and is not settled.
        self._waiting = ""
        # Markup behind the last text.
        self._markup = ""
        self._answers = False
        self._called = False

    def push(self, text: str, special: bool | None) -> Delta | None:
        if self._called:
            return _joined([{"content": text}])
        self._waiting += text
        if special is None:
            return self._take(self._stream.push_spans(text))
        return self._take(self._spans(self._stream.push_token(text, special)))

    def finish(self) -> Delta | None:
        return None if self._called else self._take(self._stream.finish_spans())

    def _spans(self, events: Sequence[Event]) -> list[Span]:
        """Events as a piece of output: up to the last text, and up to a call's arguments if one begins."""
        if not events:
            return []
        texts = [event.text for event in events if isinstance(event, (Event.Reasoning, Event.Content))]
        behind = places(self._waiting, texts)[-1][1] if texts else 0
        if any(isinstance(event, Event.ToolCallStart) for event in events):
            behind = len(self._waiting)
        return [Span(self._waiting[:behind], events)]

    def _take(self, spans: Sequence[Span]) -> Delta | None:
        parts: list[Delta | None] = []
        for span in spans:
            self._waiting = self._waiting[len(span.text) :]
            texts: list[str] = []
            for event in span.events:
                if isinstance(event, Event.ToolCallStart):
                    self._called = True
                    break
                if isinstance(event, (Event.Reasoning, Event.Content)):
                    self._answers = isinstance(event, Event.Content)
                    parts.append({"content" if self._answers else "reasoning": event.text})
                    texts.append(event.text)
            if texts:
                self._markup = ""
            self._markup += span.text[places(span.text, texts)[-1][1] :] if texts else span.text
            if self._called:
                # Behind an answer, markup is no marker of reasoning.
                markup = self._markup if self._answers else behind_reasoning(self._markup, self._markers)
                parts.append({"content": markup + self._waiting})
                break
        return _joined(parts)


def _joined(parts: Sequence[Delta | None]) -> Delta | None:
    """Deltas as one: texts are joined, and so are the pieces of each call. None if nothing is said."""
    delta: Delta = {}
    calls: dict[int, dict[str, Any]] = {}
    for part in parts:
        for name in ("reasoning", "content"):
            if text := (part or {}).get(name):
                delta[name] = delta.get(name, "") + text
        for piece in (part or {}).get("tool_calls", ()):
            function = dict(piece.get("function", {}))
            call = calls.setdefault(piece["index"], {"index": piece["index"], "function": {}})
            call.update({name: piece[name] for name in ("id", "type") if piece.get(name)})
            if arguments := function.pop("arguments", None):
                call["function"]["arguments"] = call["function"].get("arguments", "") + arguments
            else:
                call["function"].setdefault("arguments", "")
            call["function"].update(function)
    if calls:
        delta["tool_calls"] = list(calls.values())
    return delta or None


def tools_of(tools: Sequence[Any] | None) -> list[dict[str, Any]]:
    """The functions among the tools of a request, as Chat Completions writes them. Those of the Responses API are flat."""
    made = []
    for tool in tools or ():
        fields = tool if isinstance(tool, Mapping) else tool.model_dump(exclude_none=True)
        if fields.get("type", "function") != "function":
            continue
        function = fields.get("function") or {name: value for name, value in fields.items() if name != "type"}
        made.append({"type": "function", "function": dict(function)})
    return made
