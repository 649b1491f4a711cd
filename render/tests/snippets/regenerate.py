#!/usr/bin/env python3
"""Rewrites the expectations of cases.jsonl with Python's Jinja2, set up as Hugging Face does.

Usage: regenerate.py CASES.jsonl   (needs `pip install jinja2`)

The first line holds the context of all snippets. Every other line is a snippet: {"source"} and, rewritten
here, "text" or "error". To add a snippet, append a line with its source and run this.
"""
import datetime, json, sys
import jinja2
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import SandboxedEnvironment


class Generation(Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        return jinja2.nodes.Scope(parser.parse_statements(["name:endgeneration"], drop_needle=True), lineno=line)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def render(source, context):
    env = SandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, loopcontrols])
    env.filters.update(tojson=tojson, from_json=json.loads)
    now = datetime.datetime(2026, 1, 15, 12)
    env.globals.update(raise_exception=raise_exception, strftime_now=now.strftime)
    try:
        return {"source": source, "text": env.from_string(source).render(**context)}
    except Exception as e:
        return {"source": source, "error": f"{type(e).__name__}: {e}"}


with open(sys.argv[1], encoding="utf-8") as f:
    rows = [json.loads(line) for line in f]
context = rows[0]["context"]
with open(sys.argv[1], "w", encoding="utf-8", newline="\n") as f:
    for row in [rows[0]] + [render(r["source"], context) for r in rows[1:]]:
        f.write(json.dumps(row, ensure_ascii=False) + "\n")
