"""Reads an output that arrives asynchronously."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator

from ._lib import Event, Stream


async def read(stream: Stream, pieces: AsyncIterable[str | bytes]) -> AsyncIterator[Event]:
    """The events of all pieces, and of the end."""
    async for piece in pieces:
        for event in stream.push(piece):
            yield event
    for event in stream.finish():
        yield event
