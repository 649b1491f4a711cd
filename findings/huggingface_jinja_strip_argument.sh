#!/usr/bin/env bash
# @huggingface/jinja 0.5.11 (npm), which renders chat templates in Transformers.js, beside Jinja2 3.1.6 (PyPI): the methods `strip`,
# `lstrip` and `rstrip` of a text take no notice of what they are to strip, and strip all white space. Qwen 3 and many after it write past
# answers as `content.split('</think>')[-1].lstrip('\n')`: an answer that begins with indented code loses the indentation of its first line
# in the next prompt, in JavaScript only. `strip('"')` strips blanks and leaves the quotes. No error comes, and the other methods take their
# arguments.
#
# Output seen (Python 3.11, Node 20):
#     ↵    return 1 .lstrip('\n'):  Jinja2 '    return 1', @huggingface/jinja 'return 1'
#     "Paris".strip('"'):           Jinja2 'Paris', @huggingface/jinja '"Paris"'
# Fails if one of the two is rendered as by Jinja2.
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

ASKED = [
    (r"{{ content.split('</think>')[-1].lstrip('\n') }}", {"content": "<think>Code.</think>\n\n    return 1"}),
    ("""{{ city.strip('"') }}""", {"city": '"Paris"'}),
]
theirs = json.loads(subprocess.run(["node", "render.mjs", json.dumps(ASKED)], check=True, capture_output=True, text=True).stdout)
for (template, variables), found in zip(ASKED, theirs):
    right = Environment().from_string(template).render(variables)
    print(f"{template}: Jinja2 {right!r}, @huggingface/jinja {found!r}")
    assert found != right, "both strip the same now"
assert theirs == ["return 1", '"Paris"'], "it strips something else now"
PYTHON
