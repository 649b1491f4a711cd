"""How fast outputs are read in pieces: unjinja next to the parsers of vLLM, SGLang and transformers, in one process.

    .ci/servers speed            # all formats
    .ci/servers speed GLM-4.6    # one

Each output is an answer and calls of `write_file`, 64 KiB together, in pieces of 4 bytes. A special token is a piece of its own, as
it is in a server. A time is the best of some runs, and of one run where that takes long; `>` means that a run was ended. A parser
whose message is not the one that was written is marked with `wrong`. One core does all of it.

`push` is a call of `Stream.push`, which returns events as the other parsers return theirs. `chunks` is one of `OpenAIChunks.push`,
which makes the dicts that a server sends: the others leave that to the server. vLLM's parsers
are called through vLLM's own `Parser.parse_delta`, SGLang's through `FunctionCallParser`, as those servers do.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "vllm"), str(HERE.parent / "tests")]

from shared import CORPUS, ROOT  # noqa: E402

import unjinja  # noqa: E402

SIZE = 64 * 1024
PIECE = 4
LONGEST = 60.0
"""Seconds after which a run is ended."""

# A released template, vLLM's tool parser, SGLang's. Names of parsers are what a user of those servers would set.
FORMATS = [
    ("Qwen-Qwen2.5-7B-Instruct", "hermes", "qwen25"),
    ("Qwen3-Coder", "qwen3_coder", "qwen3_coder"),
    ("GLM-4.6", "glm45", "glm45"),
    ("MiniMax-M2", "minimax_m2", "minimax-m2"),
    ("moonshotai-Kimi-K2", "kimi_k2", "kimi_k2"),
    ("deepseek-ai-DeepSeek-V3.1", "deepseek_v31", "deepseekv31"),
    ("meta-llama-Llama-3.1-8B-Instruct", "llama3_json", "llama3"),
    ("ByteDance-Seed-OSS", "seed_oss", None),
    ("google-gemma-4-31B-it", "gemma4", "gemma4"),
    ("GigaChat3-10B-A1.8B", "gigachat3", "gigachat3"),
    ("ibm-granite-granite-4.0", "granite4", None),
]

TOOL = {
    "type": "function",
    "function": {
        "name": "write_file",
        "description": "Writes a file.",
        "parameters": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "text": {"type": "string"}},
            "required": ["path", "text"],
        },
    },
}
WORDS = "The quick brown fox jumps over the lazy dog, and then it looks for a place to sleep in the sun.\n"


def text(length: int) -> str:
    """Plain text, with lines."""
    return (WORDS * (length // len(WORDS) + 1))[:length].strip()


Message = tuple[str, list[tuple[str, Any]]]


class Subject:
    """A format: its output in pieces, and the message that it stands for."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.template = (CORPUS / "templates" / f"{name}.jinja").read_text(encoding="utf-8")
        self.model = unjinja.Model.from_template(self.template, name=name, bos_token="<s>", eos_token="</s>")
        self.special = self.model.preserved_tokens
        self.prompt, self.output, self.message = self._conversation()
        marks = "|".join(re.escape(token) for token in sorted(self.special, key=len, reverse=True))
        parts = re.split(f"({marks})", self.output) if marks else [self.output]
        self.pieces: list[str] = []
        for part in parts:
            size = len(part) if part in self.special else PIECE
            self.pieces += [part[at : at + size] for at in range(0, len(part), size or 1)]

    def _conversation(self) -> tuple[str, str, Message]:
        ask = {"role": "user", "content": "Write some files."}
        asked = self.model.render([ask], tools=[TOOL], thinking=False)
        stops = self.model.grammar([TOOL]).stops
        for calls in (12, 1):
            texts = [text((SIZE - 8 * 1024) // calls) for _ in range(calls)]
            answer = text(8 * 1024)
            arguments = [{"path": f"{number}.txt", "text": one} for number, one in enumerate(texts)]
            for content in (answer, ""):
                for form in (dict, json.dumps):
                    made = [
                        {"id": f"call{number:05}", "type": "function", "function": {"name": "write_file", "arguments": form(one)}}
                        for number, one in enumerate(arguments)
                    ]
                    turn = {"role": "assistant", "content": content, "tool_calls": made}
                    try:
                        whole = self.model.render([ask, turn], tools=[TOOL], thinking=False, add_generation_prompt=False)
                    except unjinja.RenderError:
                        continue
                    # A prompt that opens the reasoning is cut there if the turn does not go on from it.
                    prompt = os.path.commonprefix([str(asked), whole])
                    output = whole[len(prompt) :]
                    # Servers keep the text that ends a turn to themselves.
                    ends = [output.find(stop) for stop in stops if stop in output]
                    output = output[: min(ends, default=len(output))]
                    message = self.model.parse(output, tools=[TOOL], prompt=prompt)
                    read = message.content.strip(), [(call.name, call.arguments_value()) for call in message.tool_calls]
                    if read == (content, [("write_file", one) for one in arguments]):
                        return prompt, output, read
        raise SystemExit(f"{self.name}: no conversation comes back")


class Slow(Exception):
    """A run was ended."""


def best(run: Callable[[Callable[[], None]], Message], wanted: Message) -> tuple[float, str]:
    """The shortest time of a run in seconds, and what is to be said of it. A run calls what it gets before each piece."""
    times: list[float] = []
    began = 0.0

    def check() -> None:
        if time.perf_counter() - began > LONGEST:
            raise Slow

    while len(times) < 5 and sum(times) < 5.0:
        began = time.perf_counter()
        try:
            read = run(check)
        except Slow:
            return LONGEST, ">"
        except Exception as error:  # noqa: BLE001: what a parser raises, its server's client gets
            return 0.0, f"{type(error).__name__}: {error}"[:60]
        times.append(time.perf_counter() - began)
    return min(times), "" if read == wanted else "wrong"


class Assembled:
    """A message, put together as a client does."""

    def __init__(self) -> None:
        self.content: list[str] = []
        self.calls: dict[int, list[str]] = {}

    def call(self, index: int, name: str | None, arguments: str | None) -> None:
        known = self.calls.setdefault(index, [name or ""])
        known.append(arguments or "")

    def message(self) -> Message:
        calls = []
        for name, *pieces in self.calls.values():
            try:
                calls.append((name, json.loads("".join(pieces))))
            except ValueError:
                calls.append((name, "".join(pieces)))
        return "".join(self.content).strip(), calls


def with_events(subject: Subject, check: Callable[[], None]) -> Message:
    """unjinja's events."""
    stream = subject.model.stream(tools=TOOLS, prompt=subject.prompt)
    for piece in subject.pieces:
        stream.push(piece)
    stream.finish()
    message = stream.message
    return message.content.strip(), [(call.name, call.arguments_value()) for call in message.tool_calls]


def with_chunks(subject: Subject, check: Callable[[], None]) -> Message:
    """unjinja's chunks."""
    chunks = subject.model.stream(tools=TOOLS, prompt=subject.prompt).openai_chunks()
    made = Assembled()

    def take(new: Iterable[Any]) -> None:
        for chunk in new:
            for choice in chunk["choices"]:
                delta = choice["delta"]
                if delta.get("content"):
                    made.content.append(delta["content"])
                for call in delta.get("tool_calls", ()):
                    made.call(call["index"], call["function"].get("name"), call["function"].get("arguments"))

    for piece in subject.pieces:
        take(chunks.push(piece))
    take(chunks.finish())
    return made.message()


TOOLS = unjinja.Tools([TOOL])


class Vllm:
    """A parser of vLLM, called as its server calls it."""

    def __init__(self, subject: Subject, name: str, folder: Path) -> None:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.parser.parser_manager import ParserManager
        from vllm.tokenizers import get_tokenizer
        from vllm_serving import make_folder

        made = make_folder(folder / subject.name, subject.template, subject.special, "<s>", "</s>")
        self.tokenizer = get_tokenizer(str(made))
        self.parser = ParserManager.get_parser(tool_parser_name=name, enable_auto_tools=True)
        body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "tools": [TOOL], "stream": True}
        self.request = ChatCompletionRequest.model_validate(body)
        self.prompt = self.tokenizer.encode(subject.prompt, add_special_tokens=False)
        self.pieces = [(piece, self.tokenizer.encode(piece, add_special_tokens=False)) for piece in subject.pieces]

    def run(self, check: Callable[[], None]) -> Message:
        parser, made = self.parser(self.tokenizer, self.request.tools), Assembled()
        last = len(self.pieces) - 1
        for number, (piece, ids) in enumerate(self.pieces):
            check()
            delta = parser.parse_delta(piece, ids, self.request, self.prompt, finished=number == last)
            if delta is not None:
                if delta.content:
                    made.content.append(delta.content)
                for call in delta.tool_calls:
                    if call.function:
                        made.call(call.index, call.function.name, call.function.arguments)
        return made.message()


class Sglang:
    """A parser of SGLang, called as its server calls it."""

    def __init__(self, subject: Subject, name: str) -> None:
        from sglang.srt.entrypoints.openai.protocol import Tool
        from sglang.srt.function_call.function_call_parser import FunctionCallParser

        self.make = lambda: FunctionCallParser([Tool.model_validate(TOOL)], name)
        self.pieces = subject.pieces

    def run(self, check: Callable[[], None]) -> Message:
        parser, made = self.make(), Assembled()

        def take(result: tuple[str, list[Any]]) -> None:
            made.content.append(result[0])
            for call in result[1]:
                made.call(call.tool_index, call.name, call.parameters)

        for piece in self.pieces:
            check()
            take(parser.parse_stream_chunk(piece))
        take(parser.parse_stream_end())
        return made.message()


class Transformers:
    """The response parser of transformers, with the template that unjinja exports."""

    def __init__(self, subject: Subject) -> None:
        self.template = subject.model.export(count=20).response_template
        self.subject = subject

    def run(self, check: Callable[[], None]) -> Message:
        from transformers.utils.chat_parsing.response_parser import ResponseParser

        parser = ResponseParser(self.template, prefix=self.subject.prompt, tools=[TOOL])
        for piece in self.subject.pieces:
            check()
            parser.feed(piece)
        message, _ = parser.finalize()
        calls = [call["function"] for call in message.get("tool_calls", ())]
        return (message.get("content") or "").strip(), [(call["name"], call["arguments"]) for call in calls]


def main() -> None:
    chosen = [row for row in FORMATS if not sys.argv[1:] or row[0] in sys.argv[1:]]
    print(f"{'format':34} {'bytes':>6} {'pieces':>6} | {'push':>8} {'chunks':>8} | {'vLLM':>9} {'SGLang':>9} {'transf.':>9} |", "servers / push, transformers / push")
    with tempfile.TemporaryDirectory() as made:
        for name, vllm, sglang in chosen:
            subject = Subject(name)
            rows = [lambda check: with_events(subject, check), lambda check: with_chunks(subject, check)]
            others: list[Any] = []
            for make in (
                lambda: Vllm(subject, vllm, Path(made)) if vllm else None,
                lambda: Sglang(subject, sglang) if sglang else None,
                lambda: Transformers(subject),
            ):
                try:
                    others.append(make())
                except Exception as error:  # noqa: BLE001: not every parser takes every tokenizer
                    print(f"  {name}: {type(error).__name__}: {error}", file=sys.stderr)
                    others.append(None)
            own = [best(run, subject.message) for run in rows]
            theirs = [best(one.run, subject.message) if one else (0.0, "none") for one in others]

            def cell(result: tuple[float, str]) -> str:
                seconds, remark = result
                return remark[:20] if not seconds else f"{remark} {seconds * 1e3:.1f}".strip()

            right = [seconds for seconds, remark in theirs[:2] if seconds and remark in ("", ">")]
            ratio = f"{min(right) / own[0][0]:.0f}" if right else "none is right"
            other = f"{theirs[2][0] / own[0][0]:.0f}" if theirs[2][1] in ("", ">") else theirs[2][1]
            print(
                f"{name:34} {len(subject.output):6} {len(subject.pieces):6} | {cell(own[0]):>8} {cell(own[1]):>8} |",
                *(f"{cell(one):>9}" for one in theirs),
                f"| {ratio}, {other}",
                flush=True,
            )


main()
