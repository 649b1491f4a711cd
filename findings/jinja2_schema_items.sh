#!/usr/bin/env bash
# Jinja2 3.1.6 and minijinja 3.1.0 (PyPI): a chat template that writes tools out and says `schema.items.type` for the type of a list's
# elements, as it says `schema.type`, writes the type where minijinja renders (as do @huggingface/jinja and the servers that are written in
# Rust), and nothing where Jinja2 does: there `items` is the method of the dict. No error comes, since a method has no `type`, and what is
# undefined writes nothing. So a template that was tried with one server offers tools without types in transformers.
#
# Output seen (Python 3.11):
#     Jinja2:    tags: array of ; with brackets: array of string
#     minijinja: tags: array of string; with brackets: array of string
# Fails if one of the two is rendered otherwise.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet jinja2==3.1.6 minijinja==3.1.0
"$work/env/bin/python" - <<'PYTHON'
import jinja2, minijinja

TEMPLATE = "tags: {{ p.tags.type }} of {{ p.tags.items.type }}; with brackets: {{ p.tags.type }} of {{ p.tags['items']['type'] }}"
parameters = {"tags": {"type": "array", "items": {"type": "string"}}}
one = jinja2.Environment().from_string(TEMPLATE).render(p=parameters)
other = minijinja.Environment(pycompat=True).render_str(TEMPLATE, p=parameters)
print("Jinja2:   ", one)
print("minijinja:", other)
assert one == "tags: array of ; with brackets: array of string", "Jinja2 renders it otherwise"
assert other == "tags: array of string; with brackets: array of string", "minijinja renders it otherwise"
PYTHON
