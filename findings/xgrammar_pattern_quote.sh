#!/usr/bin/env bash
# xgrammar 0.2.9 (PyPI): `pattern` of a JSON schema is put between two quotes as it is, not as the inside of a JSON string. So where a
# pattern demands a quote or a backslash, the grammar demands texts that are no JSON, or JSON of another string, and refuses the right ones.
# The schema of a tool for paths of Windows is enough: a model that is held to it can only write `"C:\temp"`, which is read as C:, a tab and
# "emp". One expects that output under a schema can be read as JSON, and gives a value that the schema takes.
#
# Output seen (Python 3.11):
#     ^say "yes"$: right "say \"yes\"" refused; "say "yes"" taken, which is no JSON
#     ^C:\\temp$: right "C:\\temp" refused; "C:\temp" taken, which is C:<tab>emp
# Fails if the right text is taken, or the wrong one is refused.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2 numpy==2.4.6 pydantic==2.14.4 \
    pydantic_core==2.50.5 annotated-types==0.8.0 typing_extensions==4.16.0 typing-inspection==0.4.5
"$work/env/bin/python" - <<'PYTHON'
import json, sys, types
import tvm_ffi

class Absent(types.ModuleType):  # the package imports torch and transformers for parts that are not used here
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *a, **b: None})

for name in ("torch", "transformers"):
    sys.modules[name] = Absent(name)
import xgrammar

words = [bytes([byte]) for byte in range(256)] + [b"<end>"]
info = xgrammar.TokenizerInfo(words, xgrammar.VocabType.RAW, vocab_size=257, stop_token_ids=[256])
compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)

def takes(pattern, text):
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(json.dumps({"type": "string", "pattern": pattern})))
    return matcher.accept_string(text) and matcher.accept_token(256)

def read(text):
    try:
        return json.loads(text).replace("\t", "<tab>")
    except ValueError:
        return "no JSON"

for pattern, value, wrong in (
    ('^say "yes"$', 'say "yes"', '"say "yes""'),
    (r"^C:\\temp$", r"C:\temp", r'"C:\temp"'),
):
    right = json.dumps(value)
    said = [("refused", "taken")[takes(pattern, text)] for text in (right, wrong)]
    print(f"{pattern}: right {right} {said[0]}; {wrong} {said[1]}, which is {read(wrong)}")
    assert read(wrong) != value
    assert said == ["refused", "taken"], "patterns are inside a JSON string now"
PYTHON
