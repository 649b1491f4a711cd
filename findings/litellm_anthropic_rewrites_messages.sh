#!/usr/bin/env bash
# litellm 1.110.2 (PyPI): `completion` with a model `anthropic/…` (also a server of one's own behind `api_base`) sends other messages than
# it was given, with its default settings and without a warning. If the history has a call and the request offers no tool, it offers one
# that nobody wrote, `dummy_tool`, which the model may call. An empty message becomes a sentence about itself. A system message that comes
# later becomes a text of the user, behind a note about an operator. A begun answer loses the blank at its end, so that it goes on in
# another way.
#
# Output seen (Python 3.11; what the server was sent):
#     tools, where none were given: dummy_tool
#     an empty message: [System: Empty message content sanitised to satisfy protocol]
#     a later system message: user, Operator note (not from the user): the following was originally a mid-conversation system-role reminder.
#     the begun answer "Sure: ": "Sure:"
# Fails if one of the four reaches the server as it was given.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet litellm==1.110.2
LITELLM_LOCAL_MODEL_COST_MAP=True "$work/env/bin/python" - 2>"$work/log" <<'PYTHON'
import http.server, json, threading
import litellm

litellm.suppress_debug_info = True
asked = []
ANSWER = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Ok."}],
          "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked.append(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(ANSWER).encode())

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()

def sent(*messages):
    url = f"http://127.0.0.1:{server.server_port}"
    litellm.completion(model="anthropic/m", api_base=url, api_key="-", max_tokens=9, num_retries=0, messages=list(messages))
    return asked[-1]

user = {"role": "user", "content": "Hi"}
call = {"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
tools = sent(user, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "call_1", "content": "rain"}).get("tools")
names = [tool["name"] for tool in tools or []]
print("tools, where none were given:", *names)
empty = sent(user, {"role": "assistant", "content": "Yes?"}, {"role": "user", "content": ""})["messages"][-1]["content"][0]["text"]
print("an empty message:", empty)
later = sent(user, {"role": "system", "content": "Be brief."}, user)["messages"][0]
note = later["content"][1]["text"]
print(f"a later system message: {later['role']}, {note}")
begun = sent(user, {"role": "assistant", "content": "Sure: "})["messages"][-1]["content"][0]["text"]
print(f'the begun answer "Sure: ": {json.dumps(begun)}')
assert names == ["dummy_tool"], "no tool is made up now"
assert empty != "", "an empty message stays empty now"
assert later["role"] == "user" and note != "Be brief.", "a later system message is sent otherwise"
assert begun == "Sure:", "the blank at the end stays now"
PYTHON
