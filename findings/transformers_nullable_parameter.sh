#!/usr/bin/env bash
# transformers 5.24.0 (PyPI): a function that is handed over as a tool becomes a JSON schema. A parameter `str | None = None` becomes
# {"type": "string", "nullable": true}. `nullable` is a word of OpenAPI 3.0 and none of JSON Schema, so that validators and engines for
# grammars pass over it in silence: null, the very default of the function, is refused. A model that writes null, as the type says it may,
# is told that its call is invalid; a model under a grammar cannot write it. Pydantic, asked for the same function, says that null is
# allowed.
#
# Output seen (Python 3.11; is null allowed for the parameter?):
#     schema of transformers: {"type": "string", "nullable": true, "description": "Where."}
#         jsonschema 4.26.0: no; llguidance 1.9.1: no; outlines-core 0.2.14: no
#     schema of pydantic: {"anyOf": [{"type": "string"}, {"type": "null"}], "default": null, "title": "City"}
#         jsonschema 4.26.0: yes; llguidance 1.9.1: yes; outlines-core 0.2.14: yes
# Fails if one of the three allows null under the first schema, or refuses it under the second.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet transformers==5.24.0 jsonschema==4.26.0 llguidance==1.9.1 outlines-core==0.2.14 pydantic==2.14.4
"$work/env/bin/python" - 2>/dev/null <<'PYTHON'
import json, re
import jsonschema, pydantic
from llguidance import LLMatcher, LLTokenizer
from outlines_core.json_schema import build_regex_from_schema
from transformers.utils import get_json_schema

def weather(city: str | None = None):
    """
    Tells the weather.

    Args:
        city: Where.
    """

def by_llguidance(schema):
    matcher = LLMatcher(LLTokenizer("byte"), LLMatcher.grammar_from_json_schema(json.dumps(schema)), log_level=0)
    assert not matcher.is_error()
    return matcher.try_consume_tokens(list(b"null")) == 4 and matcher.is_accepting()

JUDGES = {
    "jsonschema 4.26.0": lambda schema: jsonschema.Draft202012Validator(schema).is_valid(None),
    "llguidance 1.9.1": by_llguidance,
    "outlines-core 0.2.14": lambda schema: bool(re.fullmatch(build_regex_from_schema(json.dumps(schema)), "null")),
}

def allowed(whose, schema):
    print(f"schema of {whose}: {json.dumps(schema)}")
    found = {name: judge(schema) for name, judge in JUDGES.items()}
    print("    " + "; ".join(f"{name}: {'yes' if yes else 'no'}" for name, yes in found.items()))
    return found.values()

theirs = get_json_schema(weather)["function"]["parameters"]["properties"]["city"]
pydantics = pydantic.TypeAdapter(weather).json_schema()["properties"]["city"]
assert not any(allowed("transformers", theirs)), "null is allowed now"
assert all(allowed("pydantic", pydantics)), "null is refused where the schema allows it"
PYTHON
