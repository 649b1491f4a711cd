#!/usr/bin/env bash
# openai 3.57.0 (PyPI): `chat.completions.stream` with `n=2` raises IndexError if the first piece that arrives belongs to choice 1. Each
# piece has an `index`, because answers that are sampled side by side come in no fixed order: a server that sends what it has ends the
# request so whenever the second answer is the faster one. The same holds for parallel calls that arrive as 1, 0. Plain
# `create(stream=True)` takes both.
#
# Output seen (Python 3.11):
#     choices 0, 1: ['a', 'b']
#     choices 1, 0: IndexError: list assignment index out of range
#     calls 1, 0: IndexError: list index out of range
# Fails if one of the two last does not raise IndexError, or the first raises.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet openai==3.57.0
"$work/env/bin/python" - <<'PYTHON'
import http.server, json, threading
import openai

def piece(index, delta, finish=None):
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": index, "delta": delta, "finish_reason": finish}]}

def answer(index):
    return piece(index, {"role": "assistant", "content": "ab"[index]})

def call(index):
    one = {"index": index, "id": f"call_{index}", "type": "function", "function": {"name": "fg"[index], "arguments": "{}"}}
    return piece(0, {"role": "assistant", "tool_calls": [one]})

ends = [piece(0, {}, "stop"), piece(1, {}, "stop")]
STREAMS = {
    "choices 0, 1": [answer(0), answer(1), *ends],
    "choices 1, 0": [answer(1), answer(0), *ends],
    "calls 1, 0": [call(1), call(0), piece(0, {}, "tool_calls")],
}

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        pieces = STREAMS[asked["messages"][0]["content"]]
        self.wfile.write("".join(f"data: {json.dumps(p)}\n\n" for p in pieces).encode() + b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="-", max_retries=0)

def ask(which):
    request = {"model": "m", "messages": [{"role": "user", "content": which}], "n": 2}
    assert len(list(client.chat.completions.create(**request, stream=True))) == len(STREAMS[which])
    try:
        with client.chat.completions.stream(**request) as stream:
            found = [c.message.content for c in stream.get_final_completion().choices]
    except IndexError as error:
        found = f"IndexError: {error}"
    print(f"{which}: {found}")
    return found

in_order, choices, calls = map(ask, STREAMS)
assert in_order == ["a", "b"], "choices in order are not read"
assert isinstance(choices, str) and isinstance(calls, str), "another order is read now"
PYTHON
