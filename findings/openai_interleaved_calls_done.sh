#!/usr/bin/env bash
# openai 3.57.0 (PyPI): in `chat.completions.stream`, the event `tool_calls.function.arguments.done` says that the arguments of a call are
# whole, and carries them. If two parallel calls are streamed in turns (pieces have an `index` for exactly that), it comes for each call as
# soon as a piece of the other follows, with what is there so far, which is no JSON; no event brings the whole arguments later. Only the
# final message has them. Who runs a tool on this event runs it on half of its arguments; a server that streams calls in turns must not.
#
# Output seen (Python 3.11):
#     done: f '{"a":'
#     done: g '{"b":'
#     final message: f '{"a":1}', g '{"b":2}'
# Fails if an event `done` carries the whole arguments, or the final message does not.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet openai==3.57.0
"$work/env/bin/python" - <<'PYTHON'
import http.server, json, threading
import openai

def piece(delta, finish=None):
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

def call(index, arguments, **first):
    name = {"name": first.pop("name")} if first else {}
    return {"tool_calls": [{"index": index, **first, "function": {**name, "arguments": arguments}}]}

STREAM = [
    piece({"role": "assistant", **call(0, '{"a":', id="call_1", type="function", name="f")}),
    piece(call(1, '{"b":', id="call_2", type="function", name="g")),
    piece(call(0, "1}")),
    piece(call(1, "2}")),
    piece({}, "tool_calls"),
]

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(f"data: {json.dumps(p)}\n\n" for p in STREAM).encode() + b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="-", max_retries=0)
tools = [{"type": "function", "function": {"name": n, "parameters": {"type": "object", "properties": {}}}} for n in "fg"]
done = []
with client.chat.completions.stream(model="m", messages=[{"role": "user", "content": "Hi"}], tools=tools) as stream:
    for event in stream:
        if event.type == "tool_calls.function.arguments.done":
            done.append(event.arguments)
            print("done:", event.name, repr(event.arguments))
    calls = stream.get_final_completion().choices[0].message.tool_calls
print("final message:", ", ".join(f"{c.function.name} {c.function.arguments!r}" for c in calls))
assert [c.function.arguments for c in calls] == ['{"a":1}', '{"b":2}'], "the final message is another one"
assert done and not {'{"a":1}', '{"b":2}'} & set(done), "the event has the whole arguments now"
PYTHON
