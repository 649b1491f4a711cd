#!/usr/bin/env bash
# outlines-core 0.2.14 (PyPI): `build_regex_from_schema` makes of `allOf` the texts of its members one after another. The object that has to
# fit two schemas becomes two objects side by side, which is no JSON, and the object that fits both is refused. Documents of OpenAPI write
# `allOf` for each schema that extends another. No error and no warning comes. A pattern with alternatives ends the same way: it is not put
# in brackets, so that one alternative has the opening quote and the other the closing one.
#
# Output seen (Python 3.11):
#     allOf: {"a": 1}{"b": 2} taken; {"a": 1, "b": 2} refused
#     pattern ^yes|no$: "yes taken; "yes" refused
# Fails if one of the right texts is taken, or one of the others refused.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps outlines-core==0.2.14
"$work/env/bin/python" - <<'PYTHON'
import json, re
from outlines_core.json_schema import build_regex_from_schema

def part(name):
    return {"type": "object", "properties": {name: {"type": "integer"}}, "required": [name]}

for name, schema, right, wrong in (
    ("allOf", {"allOf": [part("a"), part("b")]}, '{"a": 1, "b": 2}', '{"a": 1}{"b": 2}'),
    ("pattern ^yes|no$", {"type": "string", "pattern": "^yes|no$"}, '"yes"', '"yes'),
):
    regex = build_regex_from_schema(json.dumps(schema))
    said = [("refused", "taken")[bool(re.fullmatch(regex, text))] for text in (wrong, right)]
    print(f"{name}: {wrong} {said[0]}; {right} {said[1]}")
    assert said == ["taken", "refused"], f"{name} is read otherwise now"
PYTHON
