#!/usr/bin/env bash
# anthropic 2.14.0 (PyPI) and @anthropic-ai/sdk 1.14.0 (npm), the two official SDKs: where `max_tokens` ends the answer inside of a call,
# the final message has an input that looks whole. Python keeps the digits that have come: of `"amount": 1250` that ends after `12` it makes
# 12, a number that the model did not write. JavaScript leaves the member out, and both leave out a text that was not closed. Only the
# reason why the message stopped tells; who runs every block of type `tool_use` pays 12.
#
# Output seen (Python 3.11, Node 20), stop_reason max_tokens:
#     {"to": "Bob", "amount": 12    Python {"to": "Bob", "amount": 12}, JavaScript {"to": "Bob"}
#     {"to": "Bob", "note": "Tha    Python {"to": "Bob"}, JavaScript {"to": "Bob"}
# Fails if one of the four differs, or the message says in another way that an input is not whole.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet anthropic==2.14.0
cd "$work"
npm init -y >npm.log
npm install --silent --no-audit --no-fund @anthropic-ai/sdk@1.14.0 >>npm.log 2>&1
cat >ask.mjs <<'JAVASCRIPT'
import Anthropic from "@anthropic-ai/sdk";
const client = new Anthropic({ baseURL: process.argv[2], apiKey: "-", maxRetries: 0 });
const found = [];
for (const content of process.argv.slice(3)) {
  const stream = client.messages.stream({ model: "m", max_tokens: 9, messages: [{ role: "user", content }] });
  const message = await stream.finalMessage();
  found.push([message.stop_reason, message.content]);
}
console.log(JSON.stringify(found));
JAVASCRIPT
"$work/env/bin/python" - <<'PYTHON'
import http.server, json, subprocess, threading
import anthropic

CUT = ['{"to": "Bob", "amount": 12', '{"to": "Bob", "note": "Tha']

def events(piece):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "toolu_1", "name": "pay", "input": {}}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "max_tokens", "stop_sequence": None}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events(asked["messages"][0]["content"]):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
client = anthropic.Anthropic(base_url=url, api_key="-", max_retries=0)

def python(content):
    with client.messages.stream(model="m", max_tokens=9, messages=[{"role": "user", "content": content}]) as stream:
        message = stream.get_final_message()
    return [message.stop_reason, [block.model_dump(exclude_none=True) for block in message.content]]

javascript = json.loads(subprocess.run(["node", "ask.mjs", url, *CUT], check=True, capture_output=True, text=True).stdout)
inputs = []
for cut, other in zip(CUT, javascript):
    for stopped, content in (python(cut), other):
        assert stopped == "max_tokens" and len(content) == 1
        inputs.append(content[0].pop("input"))
        assert content == [{"type": "tool_use", "id": "toolu_1", "name": "pay"}], "the block says more now"
    print(f"{cut}    Python {json.dumps(inputs[-2])}, JavaScript {json.dumps(inputs[-1])}")
bob = {"to": "Bob"}
assert inputs == [{**bob, "amount": 12}, bob, bob, bob], "a cut input is read otherwise"
PYTHON
