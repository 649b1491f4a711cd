#!/usr/bin/env bash
# pydantic-ai-slim 2.68.0 (PyPI): where a model writes a sentence before it calls a tool ("Let me look."), as most do, `Agent.run_stream`
# takes the sentence for the final answer: the tool is run, its result goes nowhere, no second request is made, and no error comes. The same
# agent, model and stream with `Agent.run_stream_events` or `Agent.run` send the result and end with the answer. So a server whose models
# write such preambles breaks an agent that worked with one whose models do not.
#
# Output seen (Python 3.11):
#     call alone, run_stream: requests 2, tool run 1 times, answer 'It rains.'
#     text and call, run_stream: requests 1, tool run 1 times, answer 'Let me look.'
#     text and call, run_stream_events: requests 2, tool run 1 times, answer 'It rains.'
# Fails if the second makes another request or does not run the tool, or the others end otherwise.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet 'pydantic-ai-slim[openai]==2.68.0'
"$work/env/bin/python" - <<'PYTHON'
import asyncio, http.server, json, threading
from pydantic_ai import Agent, AgentRunResultEvent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

requests, runs = [], []

def piece(delta, finish=None):
    return {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        requests.append(asked)
        call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
        if asked["messages"][-1]["role"] == "tool":
            pieces = [piece({"role": "assistant", "content": "It rains."}), piece({}, "stop")]
        else:
            text = [{"content": "Let me look."}] if asked["messages"][-1]["content"] == "text and call" else []
            pieces = [*map(piece, [{"role": "assistant"}, *text, {"tool_calls": [call]}]), piece({}, "tool_calls")]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write("".join(f"data: {json.dumps(p)}\n\n" for p in pieces).encode() + b"data: [DONE]\n\n")

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
provider = OpenAIProvider(base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="-")
agent = Agent(OpenAIChatModel("m", provider=provider))

@agent.tool_plain
def weather() -> str:
    runs.append(1)
    return "rain"

async def run_stream(prompt):
    async with agent.run_stream(prompt) as result:
        return await result.get_output()

async def run_stream_events(prompt):
    async with agent.run_stream_events(prompt) as events:
        async for event in events:
            if isinstance(event, AgentRunResultEvent):
                return event.result.output

async def ask(prompt, how):
    requests.clear()
    runs.clear()
    answer = await how(prompt)
    print(f"{prompt}, {how.__name__}: requests {len(requests)}, tool run {len(runs)} times, answer {answer!r}")
    return len(requests), len(runs), answer

async def main():
    assert await ask("call alone", run_stream) == (2, 1, "It rains."), "a call alone ends otherwise"
    assert await ask("text and call", run_stream) == (1, 1, "Let me look."), "a call after text ends otherwise now"
    assert await ask("text and call", run_stream_events) == (2, 1, "It rains."), "events end otherwise"

asyncio.run(main())
PYTHON
