#!/usr/bin/env bash
# xgrammar 0.2.9 and llguidance 1.9.1 (PyPI): both take grammars in "Lark", with the same extensions (`%json`, `[lazy]`, `[max_tokens]`),
# and one grammar is two languages. llguidance has a lexer, as Lark itself: a terminal takes as much as it can and gives nothing back, so
# that a word before "end" swallows it, and a number before a full stop waits for digits. XGrammar has none and takes what any reading
# takes. `%ignore` stands between tokens for llguidance, also at the end for XGrammar; and `\d` is a digit of any script, or of ASCII. A
# server that changes its engine changes what a model may write, in both directions, and no error says so.
#
# Output seen (Python 3.11; taken by XGrammar, by llguidance):
#     word before "end"          'xend': yes, no
#     number before "."          'n: 1.': yes, no
#     blanks ignored             'a b ': yes, no
#     \d                         '٣': no, yes
# Fails if the two agree on one of these.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2 numpy==2.4.6 pydantic==2.14.4 \
    pydantic_core==2.50.5 annotated-types==0.8.0 typing_extensions==4.16.0 typing-inspection==0.4.5 llguidance==1.9.1
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

import llguidance

GRAMMARS = {
    'word before "end"': ('start: WORD END\nWORD: /[a-z]+/\nEND: "end"', "xend", (True, False)),
    'number before "."': ('start: "n: " %json {"type": "number"} "."', "n: 1.", (True, False)),
    "blanks ignored": ('%ignore / +/\nstart: "a" "b"', "a b ", (True, False)),
    r"\d": (r"start: /\d/", "٣", (False, True)),
}

def by_xgrammar(grammar, text):
    matcher = xgrammar.GrammarMatcher(compiler.compile_lark(grammar))
    return matcher.accept_string(text) and matcher.accept_token(256)

def by_llguidance(grammar, text):
    matcher = llguidance.LLMatcher(llguidance.LLTokenizer("byte"), llguidance.LLMatcher.grammar_from_lark(grammar), log_level=0)
    assert not matcher.is_error(), matcher.get_error()
    return matcher.try_consume_tokens(list(text.encode())) == len(text.encode()) and matcher.is_accepting()

for name, (grammar, text, expected) in GRAMMARS.items():
    found = by_xgrammar(grammar, text), by_llguidance(grammar, text)
    print(f"{name:<26} {text!r}: {', '.join('yes' if yes else 'no' for yes in found)}")
    assert found == expected, f"{name}: the two agree now"
PYTHON
