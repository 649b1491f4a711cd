"""Streams: events, chunks of OpenAI, tokens, threads."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from shared import ROOT, TEMPLATES, WEATHER, load

import unjinja
from unjinja import Event, Model, RequestError

OUTPUT = (
    "<think>\nHm, é.\n</think>\n\nLet me look.\n"
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
)


def test_events_can_be_matched(qwen3: Model) -> None:
    stream = qwen3.stream(tools=WEATHER)
    read: list[Any] = []
    for event in stream.push(OUTPUT) + stream.finish():
        match event:
            case Event.Reasoning(text) | Event.Content(text):
                read.append(text)
            case Event.ToolCallStart(index, name, id):
                read.append((index, name, id))
            case Event.ToolCallArguments(index, json):
                read.append((index, json))
            case Event.ToolCallEnd(index, complete):
                read.append((index, complete))
    assert read == ["Hm, é.", "Let me look.", (0, "get_weather", None), (0, '{"city": "Paris"}'), (0, True)]
    assert repr(Event.ToolCallStart(0, "f")) == "Event.ToolCallStart(0, 'f')"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_cut_gives_the_same_message(path: Path) -> None:
    model = load(path)
    conversation = [
        {"role": "user", "content": "Rain?"},
        {"role": "assistant", "content": "Perhaps. <b>é</b>"},
    ]
    before = model.render(conversation[:1])
    whole = model.render(conversation, add_generation_prompt=False)
    output = whole[len(before) - len(before.turn) :].removeprefix(before.turn)
    expected = model.parse(output, prompt=before)
    assert "é" in expected.content + expected.reasoning_content
    data = output.encode()
    for size in (1, 2, 3, 5, 7):
        stream = model.stream(prompt=before)
        for at in range(0, len(data), size):
            stream.push(data[at : at + size])
        stream.finish()
        assert stream.message == expected


def assemble(chunks: list[dict[str, Any]]) -> dict[str, Any]:
    """What a client makes of the chunks."""
    message: dict[str, Any] = {}
    for chunk in chunks:
        for choice in chunk["choices"]:
            delta = choice["delta"]
            for key in ("role", "content", "reasoning_content"):
                if delta.get(key):
                    message[key] = message.get(key, "") + delta[key]
            for call in delta.get("tool_calls", []):
                calls = message.setdefault("tool_calls", [])
                if call["index"] == len(calls):
                    calls.append({"id": call["id"], "name": call["function"]["name"], "arguments": ""})
                calls[call["index"]]["arguments"] += call["function"]["arguments"]
    return message


def test_chunks_of_openai_add_up(qwen3: Model) -> None:
    chunks = qwen3.stream(tools=WEATHER).openai_chunks(model="m", id="chatcmpl-1", created=5, include_usage=True)
    written = [chunk for at in range(0, len(OUTPUT), 3) for chunk in chunks.push(OUTPUT[at : at + 3])]
    last = chunks.finish("stop", {"prompt_tokens": 3, "completion_tokens": 4})
    message = assemble(written + last)
    assert message.pop("tool_calls")[0].items() >= {"name": "get_weather", "arguments": '{"city": "Paris"}'}.items()
    assert message == {"role": "assistant", "content": "Let me look.", "reasoning_content": "Hm, é."}
    assert {chunk["id"] for chunk in written + last} == {"chatcmpl-1"}
    assert last[-2]["choices"][0]["finish_reason"] == "tool_calls"
    assert last[-1]["usage"]["total_tokens"] == 7
    with pytest.raises(unjinja.RequestError, match="reasoning_content"):
        qwen3.stream().openai_chunks(reasoning="thoughts")  # type: ignore[arg-type]


def test_every_field_of_chunks(qwen3: Model) -> None:
    chunks = qwen3.stream(tools=WEATHER, unparsed="separate").openai_chunks(
        model="m", id="i", created=5, diagnostics=True, include_usage=True, reasoning="reasoning"
    )
    written = chunks.push(OUTPUT + '<tool_call>\n{"name": "get_weather", oops}\n</tool_call>')
    written += chunks.finish("stop", {"prompt_tokens": 3, "completion_tokens": 4})
    for chunk in written:
        assert list(chunk)[:5] == ["id", "object", "created", "model", "choices"]
        assert (chunk["id"], chunk["object"], chunk["created"], chunk["model"]) == ("i", "chat.completion.chunk", 5, "m")
    choices = [choice for chunk in written for choice in chunk["choices"]]
    assert all(list(choice) == ["index", "delta", "finish_reason"] for choice in choices)
    assert [choice["finish_reason"] for choice in choices] == [None] * (len(choices) - 1) + ["tool_calls"]
    deltas = [choice["delta"] for choice in choices]
    assert [delta["role"] for delta in deltas if "role" in delta] == ["assistant"]
    assert "".join(delta.get("reasoning", "") for delta in deltas) == "Hm, é."
    assert "oops" in "".join(delta.get("unparsed", "") for delta in deltas)
    (first, *rest) = [call for delta in deltas for call in delta.get("tool_calls", [])]
    assert first.pop("id").startswith("call_")
    assert first == {"index": 0, "type": "function", "function": {"name": "get_weather", "arguments": ""}}
    assert {"index": 0, "function": {"arguments": '{"city": "Paris"}'}} in rest
    (noted,) = [diagnostic for delta in deltas for diagnostic in delta.get("diagnostics", [])]
    assert noted["kind"] == "abandoned_call", noted
    assert written[-1]["usage"] == {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}


def told(event: Event) -> str:
    """Names that `match` captures have types: mypy refuses this function else."""
    match event:
        case Event.Reasoning(text) | Event.Content(text):
            return text
        case Event.ToolCallStart(index, name, id):
            return f"{index + 1} {name.upper()} {id or '-'}"
        case Event.ToolCallEnd(index, complete=complete):
            return str(index if complete else -1)
        case _:
            return ""


def test_events_are_matched_by_position(qwen3: Model) -> None:
    stream = qwen3.stream(tools=WEATHER)
    said = [told(event) for event in stream.push(OUTPUT) + stream.finish()]
    assert [text for text in said if text] == ["Hm, é.", "Let me look.", "1 GET_WEATHER -", "0"]


def test_another_answer_behind_the_end(qwen3: Model) -> None:
    """Behind `reset` and behind the end, an answer has an id, a role and positions of its own."""
    stream = qwen3.stream(tools=WEATHER)
    chunks = stream.openai_chunks(id="chatcmpl-1", created=5)
    call = OUTPUT[OUTPUT.index("<tool_call>") :]
    answers = [chunks.push(OUTPUT) + chunks.finish()]
    assert chunks.finish() == []
    answers.append(chunks.push(call) + chunks.finish())
    chunks.push(call[:40])
    stream.reset()
    answers.append([chunk for at in range(0, len(call), 3) for chunk in chunks.push(call[at : at + 3])] + chunks.finish())
    ids = [{chunk["id"] for chunk in answer} for answer in answers]
    assert ids[0] == {"chatcmpl-1"} and [len(each) for each in ids] == [1, 1, 1] and len(set.union(*ids)) == 3
    made = [assemble(answer) for answer in answers]
    for message in made:
        (called,) = message["tool_calls"]
        assert (message["role"], called["name"], called["arguments"]) == ("assistant", "get_weather", '{"city": "Paris"}')
    assert len({message["tool_calls"][0]["id"] for message in made}) == 3
    # A message that is made of a second answer alone is the stream's.
    assert stream.message.tool_calls[0].arguments == '{"city": "Paris"}'


DEADLOCK = """
import gc, threading, time
import unjinja
stream = unjinja.Model.known("qwen_qwen3_0_6b").stream()
chunks = stream.openai_chunks()
kept = []
inside = threading.local()
def collected(phase, info):
    # Where objects are collected, any code may run: here the same stream is used, and other threads run.
    if not getattr(inside, "on", False):
        inside.on = True
        chunks.push("a")
        stream.message
        inside.on = False
    time.sleep(0.0001)
gc.callbacks.append(collected)
gc.set_threshold(20, 10, 10)
def work():
    for _ in range(2000):
        kept.append(chunks.push("a"))
threads = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(kept))
"""


def test_objects_are_made_without_a_lock() -> None:
    """A process of its own: a deadlock cannot be interrupted."""
    run = subprocess.run([sys.executable, "-c", DEADLOCK], capture_output=True, text=True, timeout=120, check=False)
    assert run.stdout == "4000\n", run.stderr


def test_a_call_that_is_cut_short(qwen3: Model) -> None:
    chunks = qwen3.stream(tools=WEATHER, cut_calls="close").openai_chunks()
    written = chunks.push(OUTPUT[: OUTPUT.index("ris")]) + chunks.finish("length")
    assert assemble(written)["tool_calls"][0]["arguments"] == '{"city": "Pa"}'
    assert written[-1]["choices"][0]["finish_reason"] == "length"
    cut = OUTPUT[: OUTPUT.index("ris")]
    kept = qwen3.parse(cut, tools=WEATHER)
    assert kept.tool_calls[0].arguments == '{"city": "Pa'
    dropped = qwen3.parse(cut, tools=WEATHER, cut_calls="drop", unparsed="separate")
    assert not dropped.tool_calls
    assert dropped.unparsed == cut[cut.index("\n<tool_call>") :]
    with pytest.raises(RequestError, match="cut_calls"):
        qwen3.parse(cut, cut_calls="open")  # type: ignore[arg-type]


def test_tokens_that_spell_a_marker(qwen3: Model) -> None:
    stream = qwen3.stream(tools=WEATHER, special_tokens=["<|im_end|>"])
    stream.push_token("A <|im_end|> in a page.")
    stream.push_token("<|im_end|>", special=True)
    stream.finish()
    assert stream.message.content == "A <|im_end|> in a page."
    assert stream.token_counts == {"reasoning": 0, "content": 1}


def test_tokens_that_end_inside_a_character(qwen3: Model) -> None:
    stream = qwen3.stream()
    for token in (b"Z\xc3", b"\xbcri", "ch"):
        stream.push_token(token)
    assert stream.channel == "content"
    stream.finish()
    assert (stream.message.content, stream.token_counts["content"]) == ("Zürich", 3)


def test_the_channel_says_whether_the_reasoning_is_over(qwen3: Model) -> None:
    stream = qwen3.stream(thinking=True)
    seen = []
    for piece in ("<think>\nHm.", " And", "\n</think>\n\nYes.", " No."):
        stream.push(piece)
        seen.append(stream.channel)
    assert seen == ["reasoning", "reasoning", "content", "content"]


def test_the_turn_of_a_prompt_that_is_only_text(qwen3: Model) -> None:
    prompt = qwen3.render([{"role": "user", "content": "Rain?"}], thinking=False)
    assert qwen3.turn_of(str(prompt)) == prompt.turn
    assert qwen3.parse("Yes.", prompt=str(prompt)) == qwen3.parse("Yes.", prompt=prompt)


def test_the_turn_of_a_prompt_that_ends_in_an_open_marker(qwen3: Model) -> None:
    """White space may follow the marker, and the template itself does not write it there."""
    prompt = qwen3.render([{"role": "user", "content": "Rain?"}])
    assert qwen3.turn_of(f"{prompt}<think>\n") == f"{prompt.turn}<think>\n"


def test_the_markers_of_reasoning(qwen3: Model) -> None:
    assert qwen3.reasoning_markers == ("<think>\n", "\n</think>\n\n")
    assert load(ROOT / "templates" / "hermes.jinja").reasoning_markers is None


def test_a_new_turn(qwen3: Model) -> None:
    stream = qwen3.stream()
    stream.push("Well<tool")
    assert stream.reset() == b"<tool"
    stream.push("Yes.")
    stream.finish()
    assert stream.message.content == "Yes."


def test_pieces_that_arrive_asynchronously(qwen3: Model) -> None:
    async def pieces() -> AsyncIterator[str | bytes]:
        for piece in ("Hel", b"lo", "!"):
            await asyncio.sleep(0)
            yield piece

    async def read() -> list[Event]:
        return [event async for event in qwen3.stream().read(pieces())]

    events = asyncio.run(read())
    assert "".join(event.text for event in events if isinstance(event, Event.Content)) == "Hello!"


def test_streams_move_between_threads(qwen3: Model) -> None:
    expected = qwen3.parse(OUTPUT, tools=WEATHER)
    streams = [qwen3.stream(tools=WEATHER) for _ in range(16)]
    data = OUTPUT.encode()
    for at in range(0, len(data), 11):
        # Each piece is pushed by another thread.
        threads = [threading.Thread(target=stream.push, args=(data[at : at + 11],)) for stream in streams]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for stream in streams:
        stream.finish()
        assert stream.message == expected


def test_ids_go_on_from_earlier_calls() -> None:
    model = load(ROOT / "templates" / "indexed_ids.jinja")
    ask = {"role": "user", "content": "Rain?"}
    call = {"id": "functions.get_weather:0", "type": "function", "function": {"name": "get_weather", "arguments": {}}}
    answer = {"role": "assistant", "content": "", "tool_calls": [call]}
    prompt = model.render([ask], tools=WEATHER)
    output = model.render([ask, answer], tools=WEATHER, add_generation_prompt=False).removeprefix(prompt)

    def ids(earlier: list[str] | None) -> list[str]:
        chunks = model.stream(tools=WEATHER, prompt=prompt).openai_chunks(call_ids=earlier)
        message = assemble(chunks.push(output) + chunks.finish())
        return [call["id"] for call in message["tool_calls"]]

    first = ids(None)
    assert len(first) == 1
    assert ids(first) != first


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_spans_are_the_output(qwen3: Model, size: int) -> None:
    output = OUTPUT + "\nThat was it. <b>"
    stream = qwen3.stream(tools=WEATHER)
    spans = [span for at in range(0, len(output), size) for span in stream.push_spans(output[at : at + size])]
    spans += stream.finish_spans()
    assert "".join(span.text for span in spans) == output
    assert stream.message == qwen3.parse(output, tools=WEATHER)
    for span in spans:
        for event in span.events:
            if isinstance(event, (Event.Reasoning, Event.Content)):
                assert event.text in span.text
    reasoning = "".join(span.text for span in spans if span.channel == "reasoning")
    assert "Hm, é." in reasoning and "Let me" not in reasoning


def test_spans_leave_out_what_the_prompt_wrote(qwen3: Model) -> None:
    prompt = qwen3.render([{"role": "user", "content": "Rain?"}], thinking=False)
    stream = qwen3.stream(prompt=prompt)
    assert "".join(span.text for span in stream.push_spans("Yes.") + stream.finish_spans()) == "Yes."
