#!/usr/bin/env bash
# @huggingface/jinja 0.5.11 (npm), which renders chat templates in Transformers.js, beside Jinja2 3.1.6 (PyPI): a member of an object hides
# the method of that name. Templates that write tools out go through `parameters.properties.items()`; a tool with a parameter that is called
# `items` (a cart, a list of tasks) then ends the whole render with an error, and so do `keys`, `values` and `get`. The same tools pass in
# Python, where the method comes first. The filter `|items` would be safe in both.
#
# Output seen (Python 3.11, Node 20):
#     parameter city:   Jinja2 'city:string;', @huggingface/jinja 'city:string;'
#     parameter items:  Jinja2 'items:array;', @huggingface/jinja 'Error: Cannot call something that is not a function: got '
# Fails if the parameter `items` is rendered, or `city` is not.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet jinja2==3.1.6
cd "$work"
npm init -y >npm.log
npm install --silent --no-audit --no-fund @huggingface/jinja@0.5.11 >>npm.log 2>&1
cat >render.mjs <<'JAVASCRIPT'
import { Template } from "@huggingface/jinja";
const rendered = JSON.parse(process.argv[2]).map(([template, variables]) => {
  try {
    return new Template(template).render(variables);
  } catch (error) {
    return `${error.name}: ${error.message.slice(0, 50)}`;
  }
});
console.log(JSON.stringify(rendered));
JAVASCRIPT
"$work/env/bin/python" - <<'PYTHON'
import json, subprocess
from jinja2 import Environment

TEMPLATE = "{% for name, p in tools[0].function.parameters.properties.items() %}{{ name }}:{{ p.type }};{% endfor %}"

def tool(name, kind):
    parameters = {"type": "object", "properties": {name: {"type": kind}}, "required": [name]}
    return {"tools": [{"type": "function", "function": {"name": "order", "description": "", "parameters": parameters}}]}

ASKED = [(TEMPLATE, tool("city", "string")), (TEMPLATE, tool("items", "array"))]
theirs = json.loads(subprocess.run(["node", "render.mjs", json.dumps(ASKED)], check=True, capture_output=True, text=True).stdout)
ours = [Environment().from_string(template).render(variables) for template, variables in ASKED]
for name, right, found in zip(("city", "items"), ours, theirs):
    print(f"{f'parameter {name}:':<17} Jinja2 {right!r}, @huggingface/jinja {found!r}")
assert ours == ["city:string;", "items:array;"], "Jinja2 renders otherwise"
assert theirs[0] == ours[0], "an ordinary name is rendered otherwise"
assert theirs[1].startswith("Error:"), "the parameter is rendered now"
PYTHON
