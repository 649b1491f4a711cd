"""loop.py COMMAND COUNT: conversations of ten requests with a small model, through the proxy: what it answers is sent back with results.

Each is held through one of the three HTTP APIs, whole or streamed, in one format, with prompts as token ids. Fails where a request is
refused, or where the ids of an earlier turn change: llama.cpp says how many ids of a prompt it has kept since the last request.
"""

from __future__ import annotations

import json
import struct
import sys
import tempfile
import time
import urllib.error
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from ask import QUESTIONS, ROOT, TEXT, events, post, proxy, serve_model, streamed, tool, weights
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

REQUESTS = 10
FORMATS = ["hermes", "bare_json", "xml_parameters", "python_calls", "function_tag", "message_headers", "named_ids", "name_tags"]
# The template itself writes earlier turns anew: its prompt opens reasoning, which its history leaves out.
REWRITES = ["xml_parameters"]
CITY = {"type": "string", "maxLength": 12}
TOOLS = [
    tool("get_weather", "The weather of a city.", ["city"], city=CITY, days={"type": "integer", "minimum": 1, "maximum": 9}),
    tool("read_file", "Reads a file.", ["path"], path=CITY),
]
FLAT = [one["function"] for one in TOOLS]


def metadata(file: BinaryIO) -> dict[str, Any]:
    """What a GGUF file says of its model."""
    kinds = dict(zip([0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12], "BbHhIif?Qqd", strict=True))

    def number(kind: str) -> Any:
        return struct.unpack("<" + kind, file.read(struct.calcsize("<" + kind)))[0]

    def value(kind: int) -> Any:
        if kind == 8:
            return file.read(number("Q")).decode()
        if kind == 9:
            kind, count = number("I"), number("Q")
            return [value(kind) for _ in range(count)]
        return number(kinds[kind])

    file.seek(16)
    return {value(8): value(number("I")) for _ in range(number("Q"))}


def write_tokenizer(path: Path) -> None:
    """The tokenizer of the weights, as the library `tokenizers` reads it."""
    with weights().open("rb") as file:
        found = {key.removeprefix("tokenizer.ggml."): value for key, value in metadata(file).items()}
    vocabulary = {text: number for number, text in enumerate(found["tokens"])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[tuple(one.split(" ")) for one in found["merges"]]))
    assert found["pre"] == "smollm"
    digits, words = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Sequence([digits, words]), decoders.ByteLevel()
    special = [text for text, kind in zip(found["tokens"], found["token_type"], strict=True) if kind == 3]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.save(str(path))
    tokens = {f"{name}_token": found["tokens"][found[f"{name}_token_id"]] for name in ("bos", "eos")}
    path.with_name("tokenizer_config.json").write_text(json.dumps(tokens))


# What an answer comes to: the messages that are sent back, the ids of its calls, and how many ids the prompt had, of which were kept, and the answer.
Answer = tuple[list[dict[str, Any]], list[str], int, int, int]


def chat(answer: str, stream: bool) -> Answer:
    if stream:
        message, _, usage = streamed(events(answer))
    else:
        found = json.loads(answer)
        message, usage = found["choices"][0]["message"], found["usage"]
    kept = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    return [message], [call["id"] for call in message.get("tool_calls") or []], usage["prompt_tokens"], kept, usage["completion_tokens"]


def responses(answer: str, stream: bool) -> Answer:
    found = events(answer)[-1]["response"] if stream else json.loads(answer)
    usage = found["usage"]
    calls = [item["call_id"] for item in found["output"] if item["type"] == "function_call"]
    return found["output"], calls, usage["input_tokens"], usage["input_tokens_details"]["cached_tokens"], usage["output_tokens"]


def messages(answer: str, stream: bool) -> Answer:
    if stream:
        blocks: list[dict[str, Any]] = []
        usage: dict[str, Any] = {}
        for event in events(answer):
            usage |= event.get("usage") or event.get("message", {}).get("usage") or {}
            if event["type"] == "content_block_start":
                blocks.append({**event["content_block"], **({"input": ""} if event["content_block"]["type"] == "tool_use" else {})})
            for key, text in event.get("delta", {}).items():
                if event["type"] == "content_block_delta" and key != "type":
                    key = "input" if key == "partial_json" else key
                    blocks[-1][key] = blocks[-1].get(key, "") + text
        for block in blocks:
            if block["type"] == "tool_use":
                # A client of Anthropic cannot send back arguments that were cut short as they are.
                block["input"] = json.loads(block["input"] or "{}")
    else:
        found = json.loads(answer)
        blocks, usage = found["content"], found["usage"]
    calls = [block["id"] for block in blocks if block["type"] == "tool_use"]
    kept = usage.get("cache_read_input_tokens") or 0
    return [{"role": "assistant", "content": blocks}], calls, usage["input_tokens"] + kept, kept, usage["output_tokens"]


def result(api: str, call: str) -> dict[str, Any]:
    text = f"Result of {call}: 17."
    if api == "chat/completions":
        return {"role": "tool", "tool_call_id": call, "content": text}
    if api == "responses":
        return {"type": "function_call_output", "call_id": call, "output": text}
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": text}]}


# What reads an answer, the fields of the history and of the limit, the tools, and the word for a call that is demanded.
APIS: dict[str, tuple[Callable[[str, bool], Answer], str, str, list[dict[str, Any]], Any]] = {
    "chat/completions": (chat, "messages", "max_tokens", TOOLS, "required"),
    "responses": (responses, "input", "max_output_tokens", [{"type": "function", **one} for one in FLAT], "required"),
    "messages": (
        messages,
        "messages",
        "max_tokens",
        [{"name": one["name"], "description": one["description"], "input_schema": one["parameters"]} for one in FLAT],
        {"type": "any"},
    ),
}


def texts(value: Any) -> Iterator[str]:
    """The texts of messages, items or blocks."""
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, dict):
        for key in ("content", "text", "thinking", "reasoning_content", "summary"):
            yield from [value[key]] if isinstance(value.get(key), str) else texts(value.get(key))


def converse(url: str, api: str, stream: bool, rewrites: bool) -> tuple[int, int, list[str]]:
    """How many calls were answered, how many turns the prompt kept with the ids that the model wrote, and what was wrong."""
    read, history, limit, tools, demanded = APIS[api]
    body: dict[str, Any] = {history: [], "tools": tools, "model": "model", limit: 32, "temperature": 0.7, "stream": stream}
    if stream and api == "chat/completions":
        body["stream_options"] = {"include_usage": True}
    answered, as_sampled, before, said_nothing, wrong = 0, 0, (0, 0), False, []
    pending: list[str] = []
    for number in range(REQUESTS):
        # The results in another order than the calls.
        body[history] += [result(api, call) for call in reversed(pending)]
        if number % 3 == 0 or not pending:
            body[history].append({"role": "user", "content": QUESTIONS[number % len(QUESTIONS)][0]})
        if number % 2 == 0:
            body["tool_choice"] = demanded
        else:
            body.pop("tool_choice", None)
        try:
            said, pending, prompt, kept, written = read(post(f"{url}/v1/{api}", body), stream)
        except urllib.error.HTTPError as error:
            return answered, as_sampled, [*wrong, f"request {number}: {error.code} {error.read().decode()[:400]} after {json.dumps(body[history][-3:])}"]
        answered += len(pending)
        as_sampled += kept >= sum(before) - 1
        # llama.cpp computes the last id of a prompt anew. A template may write a turn that says nothing in another way than it begins one.
        if kept < before[0] - 1 and not rewrites and not said_nothing:
            wrong.append(f"request {number}: {kept} ids were kept of the {before[0]} of the prompt before it")
        before, said_nothing = (prompt, written), not pending and not any(map(str.strip, texts(said)))
        body[history] += said
    return answered, as_sampled, wrong


def main(command: str, count: int, folder: Path) -> int:
    tokenizer = folder / "tokenizer.json"
    write_tokenizer(tokenizer)
    model = serve_model(threads=1)
    kinds = len(FORMATS) * len(APIS)
    # Each format through each API, whole and streamed: the first ones have some of all.
    chosen = [(FORMATS[at % len(FORMATS)], list(APIS)[at % len(APIS)], (at + at // kinds) % 2 == 1) for at in range(min(count, 2 * kinds))]
    failed = 0
    print("| format | API | | calls | turns as sampled | seconds |\n|---|---|---|---|---|---|")
    for name in FORMATS:
        held = [(api, stream) for one, api, stream in chosen if one == name]
        if not held:
            continue
        with proxy(command, model.listening_address, ROOT / "templates" / f"{name}.jinja", "--tokenizer", str(tokenizer)) as url:
            for api, stream in held:
                began = time.perf_counter()
                answered, as_sampled, wrong = converse(url, api, stream, name in REWRITES)
                door = "streamed" if stream else "whole"
                print(f"| {name} | {api} | {door} | {answered} | {as_sampled} of {REQUESTS} | {time.perf_counter() - began:.1f} |", flush=True)
                print("".join(f"{one}\n" for one in wrong), end="")
                failed += bool(wrong) or answered == 0
    print(f"{len(chosen)} conversations of {REQUESTS} requests, {failed} of them wrong")
    return int(failed > 0)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(scratch)))
