#!/usr/bin/env bash
# transformers 5.24.0 (PyPI): a response template (`parse_response`) whose `content` is all text outside the marked regions, as text with no
# further option, keeps the last stretch of text only. A line break that stands between two calls, or after the last one, is such a stretch:
# it is stripped to nothing, takes the place of the answer that stood before the calls, and as an empty field is then left out. The message
# has the calls and no content, though the events of the stream showed it. Qwen and many others write a line break there. With `"repeats":
# true, "join": ""` and no stripping the text stays.
#
# Output seen (Python 3.11; content of the message):
#     'I look.\n<call>'                     'I look.', streamed ['I look.\n']
#     'I look.\n<call>\n'                   None, streamed ['I look.\n', '\n']
#     'I look.\n<call>\n<call>'             None, streamed ['I look.\n', '\n']
#     'I look.\n<call>\n<call>', join       'I look.\n\n', streamed ['I look.\n', '\n']
# Fails if the content of the second or third is kept, or that of the first or last is not.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet transformers==5.24.0
"$work/env/bin/python" - 2>/dev/null <<'PYTHON'
from transformers.utils.chat_parsing import ResponseParser

HEADER = "<|im_start|>assistant\n"
CALL = '<tool_call>{"name": "look", "arguments": {}}</tool_call>'
CALLS = {"open": "<tool_call>", "close": "</tool_call>", "repeats": True, "content": "json",
         "transform": {"type": "function", "function": "{content}"}}

def content(output, **options):
    template = {"start_anchor": HEADER, "fields": {"content": {"content": "text", **options}, "tool_calls": CALLS}}
    parser = ResponseParser(template, prefix=HEADER)
    events = parser.feed(output)
    message, last = parser.finalize()
    assert len(message["tool_calls"]) == output.count(CALL)
    streamed = [e["text"] for e in events + last if e["type"] == "region_chunk" and e["field"] == "content"]
    shown = repr(output.replace(CALL, "<call>")) + (", join" if options else "")
    print(f"{shown:<37} {message.get('content')!r}, streamed {streamed}")
    assert "".join(streamed) == output.replace(CALL, "")
    return message.get("content")

assert content(f"I look.\n{CALL}") == "I look.", "text before one call is lost"
assert content(f"I look.\n{CALL}\n") is None, "a line break at the end keeps the text now"
assert content(f"I look.\n{CALL}\n{CALL}") is None, "a line break between calls keeps the text now"
assert content(f"I look.\n{CALL}\n{CALL}", repeats=True, join="", content_args={"strip": False}) == "I look.\n\n", "join loses text"
PYTHON
