"""Reads an output by its token ids: where its reasoning ends, and how many tokens reason."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .._lib import Event, Model, Stream
from .._prompt import Prompt
from ._tokens import Specials


class Texts:
    """The texts of tokens that follow each other. A token with a part of a character has no text; its next token has both."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._read = 0

    def next(self, token: int) -> str:
        """The text of the next token."""
        self._ids.append(token)
        before = decode(self._tokenizer, self._ids[: self._read])
        text = decode(self._tokenizer, self._ids)
        if text.endswith("\ufffd") and len(self._ids) - self._read < 8:
            return ""
        # The tokens that were read stay as context: some tokenizers write a token otherwise at the beginning of a text.
        self._ids = self._ids[self._read :]
        self._read = len(self._ids)
        return text[len(before) :]


class ReasoningEnd:
    """Where reasoning ends among the ids of a prompt and its output, which grow from call to call."""

    def __init__(self, model: Model, tokenizer: Any, specials: Specials) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._specials = specials
        markers = model.reasoning_markers
        self._marker = markers[1].strip() if markers else ""
        # Spelled by ordinary tokens, such a marker is text.
        self._is_token = any(text in self._marker for text in specials.values())
        self._prompt: list[int] = []
        self._begin([])

    def of(self, ids: Sequence[int], new: int = 0) -> int | None:
        """Behind how many ids reasoning is over: all of them if that is true from the beginning on. None if it is not over.

        The last `new` ids are output for certain, and all are a prompt if there are none. The others are a prompt, unless they
        were output in a call before.
        """
        ids = list(ids)
        if not new or not self._prompt or ids[: len(self._prompt)] != self._prompt:
            self._begin(ids[: len(ids) - new])
        at = len(self._prompt)
        if ids[at : at + len(self._output)] != self._output[: len(ids) - at]:
            self._restart()  # tokens that were only proposed
        for token in ids[at + len(self._output) :]:
            self._push(token)
        return self._end if self._end is not None and self._end <= len(ids) else None

    def content_of(self, ids: Sequence[int]) -> list[int]:
        """The ids of an output that are no reasoning. An answer without reasoning is content from its first id on."""
        ids = list(ids)
        return [] if self.of(ids, len(ids)) is None else ids[self._content :]

    def _begin(self, prompt: list[int]) -> None:
        self._prompt = prompt
        self._turn = turn_of(self._model, decode(self._tokenizer, prompt))
        self._over, self._open = state(self._model, self._turn)
        self._restart()

    def _restart(self) -> None:
        self._output: list[int] = []
        self._stream = _stream(self._model, self._turn, self._specials)
        self._texts = Texts(self._tokenizer)
        self._tail = ""
        self._reasons = self._open
        self._end: int | None = len(self._prompt) if self._over else None
        # Where content begins, once reasoning is over. Before that, behind the last token of reasoning.
        self._content = len(self._prompt)

    def _push(self, token: int) -> None:
        self._output.append(token)
        if self._end is not None:
            return
        text, special = self._texts.next(token), token in self._specials
        text = self._specials.get(token, text)
        seen = text if special or not self._is_token else " " * len(text)
        self._tail = (self._tail + seen)[-len(self._marker) - len(text) :] if self._marker else ""
        answers = False
        behind = len(self._prompt) + len(self._output)
        for event in self._stream.push_token(text, special):
            if isinstance(event, Event.Reasoning):
                self._reasons = True
                self._content = behind
            answers |= isinstance(event, Event.ToolCallStart) or (isinstance(event, Event.Content) and bool(event.text.strip()))
        channel = self._stream.channel
        is_marked = channel == "content" and (self._reasons or (self._marker != "" and self._marker in self._tail))
        if answers or is_marked:
            self._end = behind
        if is_marked:
            self._content = behind
        self._reasons |= channel == "reasoning"


class ReasoningTokens:
    """Counts the tokens of reasoning in an output that grows from call to call."""

    def __init__(self, model: Model, tokenizer: Any, specials: Specials) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._specials = specials
        self._turn: Prompt | None = None
        self._ids: list[int] | None = None
        self._stream: Stream
        self._texts: Texts

    def count(self, ids: Sequence[int], turn: Prompt | None) -> int:
        """How many of the ids are reasoning, its markers left out."""
        ids = list(ids)
        if self._ids is None or turn != self._turn or ids[: len(self._ids)] != self._ids:
            self._ids, self._turn = [], turn
            self._stream = _stream(self._model, turn, self._specials)
            self._texts = Texts(self._tokenizer)
        for token in ids[len(self._ids) :]:
            self._ids.append(token)
            text = self._texts.next(token)
            self._stream.push_token(self._specials.get(token, text), token in self._specials)
        return self._stream.token_counts["reasoning"]


def _stream(model: Model, turn: Prompt | None, specials: Specials) -> Stream:
    """A stream that gets tokens. Without special tokens, markers are told by their text."""
    return model.stream(prompt=turn, special_tokens=list(specials.values()) if specials else None)


def turn_of(model: Model, prompt: str) -> Prompt | None:
    """What a prompt has of the model's turn. None if it does not say: then the template's own beginning of a turn holds.

    In a prompt of another template no turn is found. Markers of reasoning at its end still count.
    """
    if turn := model.turn_of(prompt):
        return Prompt(turn, turn)
    markers = model.reasoning_markers
    if not markers or not markers[1].strip():
        return None
    start, end = (f"(?:{re.escape(marker.strip())}\\s*)?" for marker in markers)
    found = re.search(start + end + r"\Z", prompt[-1000:])
    end_of = found.group() if found else ""
    return Prompt(end_of, end_of) if end_of else None


def state(model: Model, turn: Prompt | None) -> tuple[bool, bool]:
    """Whether reasoning is over, and whether it is open, at the end of what a prompt has of the model's turn."""
    markers = model.reasoning_markers
    if markers is None:
        return True, False
    probe = model.stream(prompt=turn)
    probe.push("x")
    if probe.channel == "reasoning":
        return False, True
    closed = bool(markers[1].strip()) and markers[1].strip() in (turn or "")
    probe.finish()
    answered = probe.message.content.strip() != "x" or bool(probe.message.tool_calls)
    return closed or answered, False


def decode(tokenizer: Any, ids: Sequence[int]) -> str:
    """The text of ids, with the special tokens."""
    return str(tokenizer.decode(list(ids), skip_special_tokens=False)) if ids else ""
