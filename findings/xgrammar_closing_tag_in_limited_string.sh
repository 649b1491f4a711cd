#!/usr/bin/env bash
# xgrammar 0.2.9 (PyPI): in the styles for arguments between tags (`"style": "qwen_xml"` of `json_schema`, which XGrammar's own tags for
# Qwen Coder use), a value that is a string ends at the first `</parameter>`. With `maxLength`, `minLength` or `pattern` it does not: the
# closing tag may then stand inside of the value, as often as one likes. So the schema that says more lets more through, and what a parser
# reads is another call than the grammar accepted: here the city is cut, and all after it is lost or read as markup.
#
# Output seen (Python 3.11): is `<parameter=city>Par</parameter>is</parameter>` taken?
#     {"type": "string"}: no
#     {"type": "string", "maxLength": 40}: yes
#     {"type": "string", "minLength": 1}: yes
#     {"type": "string", "pattern": "^.+$"}: yes
# Fails if the first takes it, or one of the others does not.
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

def takes(text, schema, **options):
    content = {"type": "json_schema", "json_schema": schema, **options}
    matcher = xgrammar.GrammarMatcher(compiler.compile_structural_tag(json.dumps({"type": "structural_tag", "format": content})))
    return matcher.accept_string(text) and matcher.accept_token(256)

def city_takes(text, city):
    return takes(text, {"type": "object", "properties": {"city": city}, "required": ["city"]}, style="qwen_xml")

found = []
for more in ({}, {"maxLength": 40}, {"minLength": 1}, {"pattern": "^.+$"}):
    city = {"type": "string", **more}
    assert city_takes("<parameter=city>Paris</parameter>", city), "an ordinary value is refused"
    found.append(city_takes("<parameter=city>Par</parameter>is</parameter>", city))
    print(f"{json.dumps(city)}: {'yes' if found[-1] else 'no'}")
assert found == [False, True, True, True], "the closing tag in a value is treated otherwise now"
PYTHON
