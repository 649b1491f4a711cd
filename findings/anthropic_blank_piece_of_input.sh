#!/usr/bin/env bash
# anthropic 2.14.0 (PyPI): `messages.stream` raises ValueError where the first piece of a call's input is white space alone, though the
# pieces together are JSON (`\n`, then `{"city": "Paris"}`). Many models write a line break before the arguments, so a server that hands on
# what the model wrote, piece by piece, ends the client's whole request; the answer so far is lost with it. As part of a longer piece the
# same line break is taken, and so is a piece without any character.
#
# Output seen (Python 3.11):
#     '\n{"city":' ' "Paris"}' {'city': 'Paris'}
#     '' '\n{"city": "Paris"}' {'city': 'Paris'}
#     '\n' '{"city": "Paris"}' ValueError: Unable to parse tool parameter JSON from model. Please ret
# Fails if the last does not raise ValueError, or one of the others is not read.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet anthropic==2.14.0
"$work/env/bin/python" - <<'PYTHON'
import http.server, json, threading
import anthropic

PIECES = [['\n{"city":', ' "Paris"}'], ["", '\n{"city": "Paris"}'], ["\n", '{"city": "Paris"}']]

def events(pieces):
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None,
               "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}
    yield {"type": "message_start", "message": message}
    call = {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}
    yield {"type": "content_block_start", "index": 0, "content_block": call}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": piece}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": None}, "usage": {"output_tokens": 9}}
    yield {"type": "message_stop"}

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for event in events(PIECES[int(asked["messages"][0]["content"])]):
            self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.server_port}", api_key="-", max_retries=0)
found = []
for number, pieces in enumerate(PIECES):
    assert json.loads("".join(pieces)) == {"city": "Paris"}
    try:
        with client.messages.stream(model="m", max_tokens=99, messages=[{"role": "user", "content": str(number)}]) as stream:
            found.append(stream.get_final_message().content[0].input)
    except ValueError as error:
        found.append(f"ValueError: {error}"[:70])
    print(*map(repr, pieces), found[-1])
assert found[:2] == [{"city": "Paris"}] * 2, "the other pieces are read otherwise"
assert str(found[2]).startswith("ValueError"), "a blank piece is taken now"
PYTHON
