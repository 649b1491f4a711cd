#!/usr/bin/env bash
# xgrammar 0.2.9 (PyPI), whose `compile_lark` is new: `get_captures` gives the texts of rules marked `[capture]`. At the end of an accepted
# text it also gives captures of ways to read it that failed. Of `12y`, under "digits that are an amount, then x, or digits that are a
# percentage, then y", both the amount and the percentage are 12, though no reading of the text has an amount. Python's `re` (and any
# parser) gives the one that belongs to the match. Who takes the captures for arguments gets some that the model did not write.
#
# Output seen (Python 3.11):
#     12y: captures [('amount', b'12'), ('percent', b'12')]; re gives {'percent': '12'}
#     12x: captures [('amount', b'12'), ('percent', b'12')]; re gives {'amount': '12'}
# Fails if the captures of a text are those of its only reading, or the right one is missing.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2 numpy==2.4.6 pydantic==2.14.4 \
    pydantic_core==2.50.5 annotated-types==0.8.0 typing_extensions==4.16.0 typing-inspection==0.4.5
"$work/env/bin/python" - <<'PYTHON'
import sys, types
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

import re

GRAMMAR = 'start: amount "x" | percent "y"\namount[capture]: /[0-9]+/\npercent[capture]: /[0-9]+/'
compiled = compiler.compile_lark(GRAMMAR)
for text in ("12y", "12x"):
    matcher = xgrammar.GrammarMatcher(compiled)
    assert matcher.accept_string(text) and matcher.accept_token(256)
    captures = matcher.get_captures()
    groups = re.fullmatch("(?P<amount>[0-9]+)x|(?P<percent>[0-9]+)y", text).groupdict()
    right = {name: found for name, found in groups.items() if found}
    print(f"{text}: captures {captures}; re gives {right}")
    assert {(name, found.encode()) for name, found in right.items()} < set(captures), "the captures are those of the reading now"
PYTHON
