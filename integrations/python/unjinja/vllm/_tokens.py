"""Tells by the ids of an output which of its text is special tokens. Text that spells one is text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from .._lib import Model

Specials: TypeAlias = Mapping[int, str]
"""The texts of special tokens, by id."""

# The forms of special tokens, and those of tags, which a template may use as markers.
_FORM = re.compile(r"<[|｜].*[|｜]>", re.DOTALL)
_TAG = re.compile(r"</?[^\s<>/][^\s<>]*>|\[/?[A-Z_]+\]")

# How many letters of text may come after the place of a special token before it is clear that the server has removed its text.
_PATIENCE = 16


def specials_of(model: Model, tokenizer: Any) -> Specials:
    """The special tokens of a tokenizer: those that it marks as such, those that have the form of one, and the tags that are markers of
    the model. None where the tokenizer does not tell its added tokens."""
    known = getattr(tokenizer, "get_added_vocab", None)
    added: Mapping[str, int] = known() if callable(known) else {}
    marked = set(getattr(tokenizer, "all_special_ids", None) or ())
    rules: Mapping[int, Any] = getattr(tokenizer, "added_tokens_decoder", None) or {}
    marked |= {token for token, rule in rules.items() if getattr(rule, "special", False)}
    source = model.template or ""
    markers = [*model.preserved_tokens, *(model.reasoning_markers or ())]

    def is_special(text: str, token: int) -> bool:
        if token in marked or _FORM.fullmatch(text):
            return True
        return bool(_TAG.fullmatch(text)) and (text in source or any(text in marker for marker in markers))

    return {token: text for text, token in added.items() if text and is_special(text, token)}


class Tokens:
    """The text and the ids of an output, put together. A server may send ids before their text: it holds text back that may be a stop
    text, and gives none for the token that ends the turn."""

    def __init__(self, specials: Specials, tokenizer: Any) -> None:
        self._specials, self._tokenizer = specials, tokenizer
        self._ids: list[int] = []
        self._text = ""

    def push(self, text: str, ids: Sequence[int]) -> list[tuple[str, bool]]:
        """The pieces of text that are known now, each with whether it is a special token."""
        self._text += text
        self._ids += ids
        pieces: list[tuple[str, bool]] = []
        while (at := next((at for at, token in enumerate(self._ids) if token in self._specials), None)) is not None:
            marker = self._specials[self._ids[at]]
            before = self._tokenizer.decode(self._ids[:at], skip_special_tokens=False) if at else ""
            place = _place(self._text, marker, before.count(marker))
            # Text arrives in order.
            if place < 0 and len(self._text) < len(before) + len(marker) + _PATIENCE:
                return pieces
            if place >= 0:
                pieces += [(self._text[:place], False), (marker, True)]
                self._text = self._text[place + len(marker) :]
            self._ids = self._ids[at + 1 :]
        pieces.append((self._text, False))
        self._text, self._ids = "", []
        return [piece for piece in pieces if piece[0]]

    def finish(self) -> list[tuple[str, bool]]:
        """The rest of the text, and the special token that ended the turn, if the server gave no text for that."""
        pieces = [(self._text, False)] if self._text else []
        pieces += [(self._specials[token], True) for token in self._ids if token in self._specials]
        self._text, self._ids = "", []
        return pieces


def _place(text: str, marker: str, spelled: int) -> int:
    """Where a marker is in a text, behind so many that are only spelled; -1 if it is not there."""
    at = text.find(marker)
    while spelled and at >= 0:
        at = text.find(marker, at + len(marker))
        spelled -= 1
    return at
