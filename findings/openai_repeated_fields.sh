#!/usr/bin/env bash
# openai 3.57.0 (PyPI) and openai 7.59.0 (npm), the two official SDKs: what they make of one stream differs. Where a server says `role`, the
# `id` or the name of a call in more than one piece, `chat.completions.stream` of the Python package adds the texts up: the role of the
# message is then `assistantassistant`, which is no role to send back, and the tool is `ff`. The JavaScript package keeps the last one, so a
# name that comes in two pieces is right in Python and cut in JavaScript. Only a server that says each of them once, whole, suits both.
#
# Output seen (Python 3.11, Node 20):
#     role twice:   Python assistantassistant, JavaScript assistant
#     id twice:     Python call_1call_1, JavaScript call_1
#     name twice:   Python ff, JavaScript f
#     name in two:  Python get_weather, JavaScript weather
# Fails if the two agree on one of these.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet openai==3.57.0
cd "$work"
npm init -y >npm.log
npm install --silent --no-audit --no-fund openai@7.59.0 >>npm.log 2>&1
cat >ask.mjs <<'JAVASCRIPT'
import OpenAI from "openai";
const client = new OpenAI({ baseURL: process.argv[2], apiKey: "-", maxRetries: 0 });
const found = {};
for (const which of process.argv.slice(3)) {
  const stream = client.chat.completions.stream({ model: "m", messages: [{ role: "user", content: which }] });
  const { message } = (await stream.finalChatCompletion()).choices[0];
  found[which] = [message.role, message.tool_calls?.[0].id, message.tool_calls?.[0].function.name];
}
console.log(JSON.stringify(found));
JAVASCRIPT
"$work/env/bin/python" - <<'PYTHON'
import http.server, json, subprocess, threading
import openai

def piece(delta, finish=None):
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

def call(arguments, name=None, **more):
    function = {"name": name, "arguments": arguments} if name else {"arguments": arguments}
    return {"tool_calls": [{"index": 0, **more, "function": function}]}

whole = {"id": "call_1", "type": "function"}
STREAMS = {
    "role twice": [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b"}],
    "id twice": [{"role": "assistant", **call("", "f", **whole)}, call("{}", **whole)],
    "name twice": [{"role": "assistant", **call("", "f", **whole)}, call("{}", "f")],
    "name in two": [{"role": "assistant", **call("", "get_", **whole)}, call("{}", "weather")],
}

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        pieces = [*map(piece, STREAMS[asked["messages"][0]["content"]]), piece({}, "stop")]
        self.wfile.write("".join(f"data: {json.dumps(p)}\n\n" for p in pieces).encode() + b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}/v1"
client = openai.OpenAI(base_url=url, api_key="-", max_retries=0)
javascript = json.loads(subprocess.run(["node", "ask.mjs", url, *STREAMS], check=True, capture_output=True, text=True).stdout)
for which in STREAMS:
    with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": which}]) as stream:
        message = stream.get_final_completion().choices[0].message
    calls = message.tool_calls or []
    at = ["role", "id", "name"].index(which.split()[0])
    python = [message.role, *(x for c in calls for x in (c.id, c.function.name))][at]
    print(f"{which + ':':<13} Python {python}, JavaScript {javascript[which][at]}")
    assert python != javascript[which][at], f"{which}: the two agree now"
PYTHON
