"""What servers need of spans: where texts stand in a piece of output, and where the markers of reasoning end."""

from __future__ import annotations

from collections.abc import Sequence


def places(written: str, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Where texts that follow each other stand in a piece of output. A text that is not there has an empty place.

    Text before a marker is delivered when the marker is complete, and text behind one may wait with it. So a piece may have both.
    """
    found: list[tuple[int, int]] = []
    behind = 0
    for number, text in enumerate(texts):
        # White space at the end of a piece waits for what follows it, so such a text stands before the markup.
        is_last = number == len(texts) - 1 and text.strip() and written.endswith(text)
        at = written.rfind(text, behind) if is_last else written.find(text, behind)
        if at >= 0:
            found.append((at, at + len(text)))
            behind = at + len(text)
        else:
            found.append((behind, behind))
    return found


def end_of(markup: str, marker: str) -> int:
    """Where a marker ends in markup; 0 if it is not there."""
    for text in (marker, marker.strip()):
        at = markup.find(text) if text else -1
        if at >= 0:
            return at + len(text)
    return 0


def behind_reasoning(markup: str, markers: tuple[str, str]) -> str:
    """Markup before a call, without the markers of the reasoning that the call follows."""
    start, end = markers
    at = end_of(markup, end) or end_of(markup, start)
    return markup[at:].lstrip() if at else markup
