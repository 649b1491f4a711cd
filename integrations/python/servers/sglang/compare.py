"""unjinja next to SGLang's own parsers for the same model: how many turns of released templates, and how many outputs of models, each
reads as they were meant. Prints the tables of docs/sglang.md.

    PYTHONPATH=python:SGLANG python python/servers/sglang/compare.py [--examples N] [--every N]

SGLang's parsers are those that `--tool-call-parser auto --reasoning-parser auto` finds for the chat template. Templates for which it
finds no tool-call parser are counted apart. Each output is also read with other settings of the same parsers: told that it begins inside
the reasoning, told that it does not, and without the reasoning parser. At best, it counts as read if one of the four reads it; no
server can know which. An output comes whole, and in pieces: a marker is one piece, other text comes in pieces of
four characters, as from a tokenizer.
"""

from __future__ import annotations

import argparse
import logging
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from harness import OURS, Parsers, Read, Server, corpus, detected, openai_tools, request_of, template_of, text_of, value_of

from unjinja import UnjinjaError

WAYS = ("whole", "streamed")
WHOSE = (("SGLang", "whole"), ("SGLang", "streamed"), ("best", "whole"), ("best", "streamed"), ("unjinja", "whole"), ("unjinja", "streamed"))


def tokens(text: str, markers: list[str]) -> list[str]:
    """The pieces in which a server would see the text."""
    known = "|".join(re.escape(marker) for marker in sorted(markers, key=len, reverse=True))
    parts = re.split(f"({known})", text) if known else [text]
    found = []
    for part in parts:
        found += [part] if part in markers else [part[at : at + 4] for at in range(0, len(part), 4)]
    return found or [""]


def wanted(case: dict[str, Any]) -> dict[str, Any]:
    expect = case["expect"]
    message = {
        "reasoning_content": (expect["reasoning_content"] or "").strip(),
        "content": (expect["content"] or "").strip(),
        "tool_calls": [(call["name"], value_of(call["arguments"])) for call in expect["tool_calls"]],
    }
    # What the source of an output does not say.
    return {name: value for name, value in message.items() if name not in case.get("not_asserted", ())}


def is_right(read: Read, want: dict[str, Any]) -> bool:
    if read.error:
        return False
    reasoning, content, calls = read.plain()
    got: dict[str, Any] = {"reasoning_content": reasoning, "content": content, "tool_calls": calls}
    return all(got[name] == value for name, value in want.items())


class Comparison:
    """The counts of one file of the corpus."""

    def __init__(self, file: str, every: int) -> None:
        self.counts: Counter[tuple[str, str, str]] = Counter()
        self.templates: dict[str, set[str]] = {}
        self.examples: dict[str, list[tuple[dict[str, Any], Read, Read]]] = {}
        self.unlike: list[str] = []
        self.better: list[str] = []
        self._servers: dict[tuple[str, Parsers, bool | None], Server] = {}
        for number, case in enumerate(corpus(file)):
            if number % every == 0:
                self._case(case)

    def _server(self, template: str, parsers: Parsers, forced: bool | None = None) -> Server:
        key = (template, parsers, forced)
        if key not in self._servers:
            self._servers[key] = Server(parsers, template, forced=forced)
        return self._servers[key]

    def _case(self, case: dict[str, Any]) -> None:
        try:
            template = text_of(template_of(case))
            ours = self._server(template, OURS)
        except UnjinjaError:
            self.counts["no model", "", "all"] += 1
            return
        own, _, _ = detected(template)
        name = f"`{own.tools}`" + (f", `{own.reasoning}`" if own.reasoning else "") if own.tools else "none found"
        self.templates.setdefault(name, set()).add(template)
        request = request_of(openai_tools(case["tools"]), case.get("generation_prompt", ""), case["enable_thinking"])
        pieces = tokens(case["output"], list(ours.tokenizer.get_vocab()))
        want = wanted(case)
        self.counts[name, "", "all"] += 1
        for way in WAYS:
            mine = attempt(lambda: read(ours, way, case["output"], pieces, request))
            self.counts[name, "unjinja", way] += is_right(mine, want)
            if not is_right(mine, want):
                self.unlike.append(f"{way} {case['id']}")
            if own.tools is None:
                continue
            theirs = attempt(lambda: read(self._server(template, own), way, case["output"], pieces, request))
            self.counts[name, "SGLang", way] += is_right(theirs, want)
            settings = [(own, None), (own, True), (own, False), (Parsers(None, own.tools), None)]
            at_best = any(
                is_right(attempt(lambda: read(self._server(template, *setting), way, case["output"], pieces, request)), want)
                for setting in settings
            )
            self.counts[name, "best", way] += at_best
            if is_right(mine, want) and not at_best:
                self.examples.setdefault(name, []).append((case, mine, theirs))
            if at_best and not is_right(mine, want):
                self.better.append(f"{way} {case['id']}")

    def table(self) -> str:
        rows = ["| SGLang's parsers: calls, reasoning | templates | of | `auto`, whole | streamed | at best, whole | streamed | unjinja, whole | streamed |"]
        rows.append("|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        total: Counter[tuple[str, str]] = Counter()
        count = templates = 0
        for name in sorted(self.templates, key=lambda name: (name == "none found", -self.counts[name, "", "all"])):
            if name == "none found":
                rows.append(row("all of these", templates, count, [total[place] for place in WHOSE]))
                cells: list[int | None] = [None] * 4 + [self.counts[name, "unjinja", way] for way in WAYS]
            else:
                cells = [self.counts[name, whose, way] for whose, way in WHOSE]
                total.update({place: self.counts[name, *place] for place in WHOSE})
                count, templates = count + self.counts[name, "", "all"], templates + len(self.templates[name])
            rows.append(row(name, len(self.templates[name]), self.counts[name, "", "all"], cells))
        if "none found" not in self.templates:
            rows.append(row("all of these", templates, count, [total[place] for place in WHOSE]))
        return "\n".join(rows)


def row(name: str, templates: int, count: int, cells: Sequence[int | None]) -> str:
    written = ["–" if cell is None else f"{cell:,}" for cell in cells]
    return f"| {name} | {templates} | {count:,} | {' | '.join(written)} |"


def read(server: Server, way: str, output: str, pieces: list[str], request: Any) -> Read:
    return server.whole(output, request) if way == "whole" else server.streamed(pieces, request)


def attempt(work: Callable[[], Read]) -> Read:
    """A parser that fails has read nothing; the server answers such a request with an error."""
    try:
        return work()
    except Exception as error:
        return Read(error=f"{type(error).__name__}: {error}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--examples", type=int, default=0, help="show this many outputs for each row")
    arguments.add_argument("--every", type=int, default=1, help="only each Nth turn")
    options = arguments.parse_args()
    logging.disable(logging.CRITICAL)
    for file, what, every in (("turns.jsonl", "Turns of released templates", options.every), ("outputs.jsonl", "Outputs of models", 1)):
        comparison = Comparison(file, every)
        print(f"\n{what}\n\n{comparison.table()}\n")
        print(f"{comparison.counts['no model', '', 'all']} cases have a template that gives no model")
        print(f"not as meant by unjinja: {len(comparison.unlike)}: {', '.join(comparison.unlike[:8])}")
        print(f"read by SGLang at best, and not by unjinja: {len(comparison.better)}: {', '.join(comparison.better[:40])}")
        for name, found in comparison.examples.items():
            for case, mine, theirs in found[: options.examples]:
                print(f"\n{name}: {case['id']}\n  output  {case['output']!r}\n  SGLang  {theirs}\n  unjinja {mine}")


if __name__ == "__main__":
    main()
