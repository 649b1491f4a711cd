#!/usr/bin/env bash
# xgrammar 0.2.9 (PyPI): in a JSON schema, `anyOf`, `oneOf` or `allOf` beside `properties` puts all that stands beside it out of force. With
# the usual way to say "a or b is required", the grammar takes any JSON at all, also a list or a string, and no warning comes. An `allOf`
# that only adds a condition (`if`, `then`) does the same. Tools of MCP servers say such things; a call that is forced may then have
# arguments that are no object. llguidance 1.9.1 keeps to the first schema.
#
# Output seen (Python 3.11; what is taken):
#     properties alone:    {"a": 1}
#     anyOf, required:     {"a": 1}  {"a": "x"}  {}  []  "s"  7
#     allOf, if and then:  {"a": 1}  {"a": "x"}  {}  []  "s"  7
#     llguidance, anyOf:   {"a": 1}
# Fails if one of the two schemas refuses one of these, or properties alone take another.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2 numpy==2.4.6 pydantic==2.14.4 \
    pydantic_core==2.50.5 annotated-types==0.8.0 typing_extensions==4.16.0 typing-inspection==0.4.5 llguidance==1.9.1
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

import llguidance

TEXTS = ['{"a": 1}', '{"a": "x"}', "{}", "[]", '"s"', "7"]
plain = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}
either = {"type": "object", "properties": plain["properties"], "anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
condition = {**plain, "allOf": [{"if": {"properties": {"a": {"const": 5}}}, "then": {"required": ["b"]}}]}

def xgrammar_takes(schema, text):
    matcher = xgrammar.GrammarMatcher(compiler.compile_json_schema(json.dumps(schema)))
    return matcher.accept_string(text) and matcher.accept_token(256)

def llguidance_takes(schema, text):
    grammar = llguidance.LLMatcher.grammar_from_json_schema(json.dumps(schema))
    matcher = llguidance.LLMatcher(llguidance.LLTokenizer("byte"), grammar, log_level=0)
    return matcher.try_consume_tokens(list(text.encode())) == len(text) and matcher.is_accepting()

def taken(name, takes, schema):
    found = [text for text in TEXTS if takes(schema, text)]
    print(f"{name + ':':<20} {'  '.join(found)}")
    return found

assert taken("properties alone", xgrammar_takes, plain) == TEXTS[:1], "properties alone are read otherwise"
assert taken("anyOf, required", xgrammar_takes, either) == TEXTS, "anyOf beside properties is kept to now"
assert taken("allOf, if and then", xgrammar_takes, condition) == TEXTS, "allOf beside properties is kept to now"
assert taken("llguidance, anyOf", llguidance_takes, either) == TEXTS[:1], "llguidance reads anyOf otherwise"
PYTHON
