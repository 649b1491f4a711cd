#!/usr/bin/env bash
# lm-format-enforcer 0.11.3 (PyPI): in a JSON schema, `oneOf` always means objects. A member that is "an integer or a text" has to be an
# object, any object, and both the integer and the text are refused; so it is with "an integer or null", as schemas say that come from Rust,
# Go or OpenAPI. No error and no warning comes: the model is held to `{`. With `anyOf`, which says the same here, all is as one expects.
#
# Output seen (Python 3.11):
#     oneOf: {"x": 1} refused; {"x": "a"} refused; {"x": {"any": true}} taken
#     anyOf: {"x": 1} taken; {"x": "a"} taken; {"x": {"any": true}} refused
# Fails if one of the six is treated otherwise.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet lm-format-enforcer==0.11.3
"$work/env/bin/python" - <<'PYTHON'
from lmformatenforcer import JsonSchemaParser

def takes(schema, text):
    parser = JsonSchemaParser(schema)
    for character in text:
        if character not in parser.get_allowed_characters():
            return False
        parser = parser.add_character(character)
    return parser.can_end()

TEXTS = ['{"x": 1}', '{"x": "a"}', '{"x": {"any": true}}']
for word, expected in (("oneOf", [False, False, True]), ("anyOf", [True, True, False])):
    x = {word: [{"type": "integer"}, {"type": "string"}]}
    found = [takes({"type": "object", "properties": {"x": x}, "required": ["x"]}, text) for text in TEXTS]
    print(f"{word}: " + "; ".join(f"{text} {'taken' if taken else 'refused'}" for text, taken in zip(TEXTS, found)))
    assert found == expected, f"{word} is read otherwise now"
PYTHON
