#!/usr/bin/env bash
# mistral-common 1.13.1 (PyPI), tokenizers of version 3 (Mistral Nemo and others): the result of a tool is a text, but is read as JSON and
# written anew where it happens to be some. The version "3.10" reaches the model as 3.1, the empty text as {}, the word Infinity as a
# number, 20 digits as 1.2345678901234567e+19, and of a log line {"a": 1, "a": 2} one member is left. With version 7 the text stays.
#
# Output seen (Python 3.11):
#     version 3: '3.10' -> 3.1, '' -> {}, '12345678901234567890.5' -> 1.2345678901234567e+19, '{"a": 1, "a": 2}' -> {"a": 2}
#     version 7: all as they are
# Fails if version 3 keeps one of these texts, or version 7 changes one.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet mistral-common==1.13.1
"$work/env/bin/python" - <<'PYTHON'
import json, pathlib, tempfile
import mistral_common
from mistral_common.protocol.instruct.messages import AssistantMessage, ToolMessage, UserMessage
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.tool_calls import Function, FunctionCall, Tool, ToolCall
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

def version_7():  # the same vocabulary, as its file says it for version 7
    path = pathlib.Path(mistral_common.__file__).with_name("data") / "tekken_240911.json"
    data = json.loads(path.read_text())
    data["config"]["version"] = "v7"
    with tempfile.TemporaryDirectory() as folder:
        changed = pathlib.Path(folder) / "tekken.json"
        changed.write_text(json.dumps(data))
        return MistralTokenizer.from_file(changed)

def written(tokenizer, result):
    call = ToolCall(id="123456789", function=FunctionCall(name="f", arguments="{}"))
    messages = [UserMessage(content="Go"), AssistantMessage(tool_calls=[call]), ToolMessage(content=result, tool_call_id=call.id, name="f")]
    tool = Tool(function=Function(name="f", description="", parameters={}))
    text = tokenizer.encode_chat_completion(ChatCompletionRequest(messages=messages, tools=[tool])).text
    text = text[text.index("[TOOL_RESULTS]") + len("[TOOL_RESULTS]") : text.index("[/TOOL_RESULTS]")]
    if "[TOOL_CONTENT]" in text:
        return text.partition("[TOOL_CONTENT]")[2]
    return text.partition('{"content": ')[2].rpartition(', "call_id"')[0]

RESULTS = ["3.10", "", "12345678901234567890.5", '{"a": 1, "a": 2}']
v3, v7 = MistralTokenizer.v3(is_tekken=True), version_7()
print("version 3:", ", ".join(f"{result!r} -> {written(v3, result)}" for result in RESULTS))
print("version 7:", ", ".join(f"{result!r} -> {written(v7, result)}" for result in RESULTS))
assert [written(v7, result) for result in RESULTS] == RESULTS, "version 7 changes a text"
assert all(written(v3, result) not in (result, json.dumps(result)) for result in RESULTS), "version 3 keeps a text now"
PYTHON
