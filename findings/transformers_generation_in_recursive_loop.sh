#!/usr/bin/env bash
# transformers 5.24.0 (PyPI): where a chat template writes its messages in a `recursive` loop, `{% generation %}` marks other characters than
# those that it stands around. The text is right, no error comes, and a mask for training (`return_assistant_tokens_mask`) then trains on the
# first characters of the prompt. The same body in an ordinary loop is marked right. Jinja2 renders each level of a recursive loop on its own,
# and the offsets count from there.
#
# Output seen (Python 3.11):
#     loop: <|user|>Hi <|assistant|>Yes. marked: ['Yes.']
#     recursive loop: <|user|>Hi <|assistant|>Yes. marked: ['<|us']
# Fails if the recursive loop is marked as the ordinary one, or if that is marked otherwise.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet transformers==5.24.0 jinja2==3.1.6
"$work/env/bin/python" - 2>/dev/null <<'PYTHON'
from transformers.utils.chat_template_utils import render_jinja_template

messages = [{"role": "user", "content": "Hi "}, {"role": "assistant", "content": "Yes."}]
body = (
    "{% if m.role == 'assistant' %}<|assistant|>{% generation %}{{ m.content }}{% endgeneration %}"
    "{% else %}<|{{ m.role }}|>{{ m.content }}{% endif %}"
)

def marked(loop):
    template = "{% for m in messages" + loop + " %}" + body + "{% endfor %}"
    texts, ranges = render_jinja_template([messages], chat_template=template, return_assistant_tokens_mask=True)
    found = [texts[0][start:end] for start, end in ranges[0]]
    print((loop.strip() + " loop:").strip(), texts[0], "marked:", found)
    return found

plain, recursive = marked(""), marked(" recursive")
assert plain == ["Yes."], "an ordinary loop is marked otherwise"
assert recursive != plain, "the recursive loop is marked right now"
PYTHON
