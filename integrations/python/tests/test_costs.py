"""What streams cost: memory of many open streams, and whether pushes leak."""

from __future__ import annotations

import gc
import os

from shared import ROOT, WEATHER

from unjinja import Model, Tools


def resident() -> int:
    """Resident memory of this process in bytes."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_an_open_stream_is_small() -> None:
    model, tools = Model.from_pretrained(ROOT / "templates" / "qwen3.jinja"), Tools(WEATHER)
    warm = [model.stream(tools=tools) for _ in range(1000)]
    for stream in warm:
        stream.push("Hello <to")
    del warm
    gc.collect()
    before = resident()
    streams = [model.stream(tools=tools) for _ in range(10_000)]
    for stream in streams:
        stream.push("Hello <to")
    each = (resident() - before) / len(streams)
    print(f"an open stream takes {each:.0f} bytes")
    assert each <= 4096


def test_a_million_pushes_leak_nothing() -> None:
    model = Model.from_pretrained(ROOT / "templates" / "qwen3.jinja")
    output = '<tool_call>\n{"name": "f", "arguments": {"a": "' + "x" * 400 + '"}}\n</tool_call>'
    pieces = [output[at : at + 4] for at in range(0, len(output), 4)]

    def turns(count: int) -> int:
        pushed = 0
        while pushed < count:
            stream = model.stream(tools=WEATHER)
            for piece in pieces:
                stream.push(piece)
            stream.finish()
            pushed += len(pieces)
        gc.collect()
        return resident()

    before = turns(200_000)
    after = turns(1_000_000)
    print(f"grew by {after - before} bytes")
    assert after - before < 1 << 20
