"""The output of one request, which the reasoning parser and the tool parser of that request read together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._lib import Event, Model, OpenAIChunks, Stream

Delta = dict[str, Any]


@dataclass
class Whole:
    """What a whole output says, in the words of vLLM."""

    reasoning: str | None
    content: str | None
    calls: list[dict[str, Any]] = field(default_factory=list)


class Output:
    """What is known about a request, and the stream that reads its output."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.tools: list[dict[str, Any]] = []
        """The tools of the request."""
        self.turn: str | None = None
        """What the prompt has of the model's turn, if the prompt is known."""
        self.thinking: bool | None = None
        """How the request set the template's switch."""
        self.reasoning = False
        """Whether a reasoning parser takes part. If not, reasoning stays in the content, with its markers."""
        self.parsed: Whole | None = None
        """What the reasoning parser read, for the tool parser."""
        self._reader: _Chunks | _CallsAsText | None = None
        self._opened = ""

    def options(self) -> dict[str, Any]:
        """The keyword arguments of `Model.parse` and `Model.stream`."""
        known: dict[str, Any] = {"tools": self.tools or None, "extract_reasoning": self.reasoning}
        if self.turn is not None:
            known["prompt"] = self.turn
        elif self.thinking is not None:
            known["thinking"] = self.thinking
        return known

    def parse(self, text: str, *, calls: bool) -> Whole:
        """Reads a whole output. Without `calls`, they are text."""
        if not self.reasoning:
            delta = _joined([self.push(text, calls=calls), self.finish()]) or {}
            made = [{"id": call["id"], **call["function"]} for call in delta.get("tool_calls", ())]
            return Whole(None, delta.get("content"), made)
        message = self.model.parse(text, **self.options())
        if message.tool_calls and not calls:
            reader = _CallsAsText(self.model.stream(**self.options()))
            delta = _joined([reader.push(text), reader.finish()]) or {}
            return Whole(delta.get("reasoning"), delta.get("content"))
        made = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in message.tool_calls]
        return Whole(message.reasoning_content or None, message.content or None, made)

    def push(self, text: str, *, calls: bool) -> Delta | None:
        """Reads on. What the first piece says about `calls` holds."""
        if self._reader is None:
            stream = self.model.stream(**self.options())
            self._reader = _Chunks(stream) if calls else _CallsAsText(stream)
            self._opened = "" if self.reasoning else self._opened_by_prompt()
        return self._written(self._reader.push(text), text)

    def finish(self) -> Delta | None:
        """Reads the end of a streamed output: what was held back."""
        reader, self._reader = self._reader, None
        return self._written(reader.finish(), "") if reader else None

    def _opened_by_prompt(self) -> str:
        """The marker of reasoning that the prompt wrote. Where reasoning is content, a stream begins with it."""
        probe = self.model.parse("x", **self.options()).content
        return probe[:-1] if probe.endswith("x") else ""

    def _written(self, delta: Delta | None, text: str) -> Delta | None:
        """A delta without what only the prompt wrote: vLLM's content is what the model wrote."""
        opened, content = self._opened, (delta or {}).get("content")
        if not opened or not delta or not content:
            return delta
        self._opened = ""
        if not content.startswith(opened) or text.startswith(opened.strip()):
            return delta
        return _joined([{**delta, "content": content[len(opened) :]}])


class _Chunks:
    """Writes a stream as deltas."""

    def __init__(self, stream: Stream) -> None:
        self._chunks: OpenAIChunks = stream.openai_chunks(reasoning="reasoning")

    def push(self, text: str) -> Delta | None:
        return self._delta(self._chunks.push(text))

    def finish(self) -> Delta | None:
        return self._delta(self._chunks.finish())

    @staticmethod
    def _delta(chunks: Sequence[Mapping[str, Any]]) -> Delta | None:
        return _joined([choice["delta"] for chunk in chunks for choice in chunk["choices"]])


class _CallsAsText:
    """Writes a stream as deltas in which calls are content, as the model wrote them. From the first call on, all is content."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._held = ""
        self._called = False

    def push(self, text: str) -> Delta | None:
        if self._called:
            return _joined([{"content": text}])
        parts: list[Delta | None] = []
        for at, character in enumerate(text):
            # One character at a time, because an event does not say where it stands in the text.
            self._held += character
            parts.extend(self._take(self._stream.push(character)))
            if self._called:
                parts.append({"content": self._held + text[at + 1 :]})
                break
        return _joined(parts)

    def finish(self) -> Delta | None:
        return None if self._called else _joined(self._take(self._stream.finish()))

    def _take(self, events: Sequence[Event]) -> list[Delta | None]:
        parts: list[Delta | None] = []
        for event in events:
            if isinstance(event, Event.ToolCallStart):
                self._called = True
                break
            if isinstance(event, Event.Reasoning):
                parts.append({"reasoning": event.text})
            elif isinstance(event, Event.Content):
                parts.append({"content": event.text})
            else:
                continue
            # What stands behind the delivered text is still held back.
            self._held = self._held[self._held.rfind(event.text) + len(event.text) :] if event.text in self._held else ""
        return parts


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
