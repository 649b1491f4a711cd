#!/usr/bin/env bash
# @huggingface/jinja 0.5.11 (npm), which renders chat templates in Transformers.js, beside Jinja2 3.1.6 (PyPI): `==` and `!=` are those of
# JavaScript. Two lists are never equal, so `message.tool_calls != []` holds for an empty list and the header of calls is written without a
# call; an undefined field equals none, so `message.reasoning != none` does not hold where Python's does; 1 equals '1', and 0 equals false.
# No error comes: the prompt in the browser is another one than the model was trained on.
#
# Output seen (Python 3.11, Node 20; what holds for a message without calls and without reasoning):
#     tool_calls != []:    Jinja2 no, @huggingface/jinja yes
#     tool_calls == []:    Jinja2 yes, @huggingface/jinja no
#     reasoning != none:   Jinja2 yes, @huggingface/jinja no
#     1 == '1':            Jinja2 no, @huggingface/jinja yes
#     message in messages: Jinja2 yes, @huggingface/jinja no
# Fails if the two agree on one of these.
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

message = {"role": "assistant", "content": "Hi", "tool_calls": []}
CONDITIONS = {
    "tool_calls != []": "message.tool_calls != []",
    "tool_calls == []": "message.tool_calls == []",
    "reasoning != none": "message.reasoning != none",
    "1 == '1'": "1 == '1'",
    "message in messages": "{'role': 'user'} in [{'role': 'user'}]",
}
ASKED = [("{% if " + condition + " %}yes{% else %}no{% endif %}", {"message": message}) for condition in CONDITIONS.values()]
theirs = json.loads(subprocess.run(["node", "render.mjs", json.dumps(ASKED)], check=True, capture_output=True, text=True).stdout)
for name, (template, variables), found in zip(CONDITIONS, ASKED, theirs):
    right = Environment().from_string(template).render(variables)
    print(f"{name + ':':<20} Jinja2 {right}, @huggingface/jinja {found}")
    assert {right, found} == {"yes", "no"}, f"{name}: the two agree now"
PYTHON
