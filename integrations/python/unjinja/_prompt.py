"""Prompts: texts that know where the assistant's turn begins."""

from __future__ import annotations


class Prompt(str):
    """A rendered prompt. It is a `str`; `turn` is what it has of the assistant's turn.

    >>> prompt = Prompt("<user>Hello<assistant>", "<assistant>")
    >>> prompt.turn
    '<assistant>'

    Args:
        text: The whole prompt.
        turn: Its end, from the beginning of the assistant's turn on. Empty if the turn has not begun.
        missing: What the conversation hands over and the template does not write, such as `call:rain`.
    """

    turn: str
    missing: tuple[str, ...]

    def __new__(cls, text: str, turn: str, missing: tuple[str, ...] = ()) -> Prompt:
        prompt = super().__new__(cls, text)
        prompt.turn = turn
        prompt.missing = tuple(missing)
        return prompt

    def __getnewargs__(self) -> tuple[str, str, tuple[str, ...]]:  # type: ignore[override]
        """What `pickle` and `copy` make the prompt of."""
        return (str(self), self.turn, self.missing)
