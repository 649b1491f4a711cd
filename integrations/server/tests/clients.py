"""Asks the server of tests/clients.rs with both official clients, and prints what each of them assembles.

The argument is the server's address and the number of turns. Each line of the output is the JSON of one answer:
{"turn", "client", "streamed", "message", "reason", "usage", "id"}, or {"error", …} for requests that must be refused.
"""

import json
import sys

import anthropic
import openai
from openai.lib.streaming.chat import ChatCompletionStreamState

FUNCTION = {"name": "get_weather", "description": "The weather.", "parameters": {"type": "object", "properties": {}}}
INPUT = {"name": "get_weather", "description": "The weather.", "input_schema": FUNCTION["parameters"]}
ASK = [{"role": "user", "content": "Rain?"}]


def show(**answer):
    print(json.dumps(answer), flush=True)


def of_openai(turn, streamed, completion):
    choice = completion.choices[0]
    message = choice.message
    found = {"role": message.role, "content": message.content}
    for field in ("reasoning_content", "reasoning", "unparsed", "diagnostics"):
        if getattr(message, field, None) is not None:
            found[field] = getattr(message, field)
    if message.tool_calls:
        found["tool_calls"] = [
            {"id": call.id, "type": call.type,
             "function": {"name": call.function.name, "arguments": call.function.arguments}}
            for call in message.tool_calls
        ]
    usage = [completion.usage.prompt_tokens, completion.usage.completion_tokens]
    show(turn=turn, client="openai", streamed=streamed, message=found, reason=choice.finish_reason, usage=usage,
         id=completion.id)


def of_anthropic(turn, streamed, message):
    fields = ("type", "text", "thinking", "signature", "id", "name", "input")
    blocks = [
        {field: getattr(block, field) for field in fields if getattr(block, field, None) is not None}
        for block in message.content
    ]
    usage = [message.usage.input_tokens, message.usage.output_tokens]
    show(turn=turn, client="anthropic", streamed=streamed, message={"role": message.role, "content": blocks},
         reason=message.stop_reason, usage=usage, id=message.id)


def of_responses(turn, streamed, response):
    found = {"content": response.output_text, "reasoning": "", "calls": []}
    for item in response.output:
        if item.type == "reasoning":
            found["reasoning"] += "".join(part.text for part in item.content or [])
        elif item.type == "function_call":
            found["calls"].append({"id": item.call_id, "name": item.name, "arguments": item.arguments})
    found["unparsed"] = getattr(response, "unparsed", None) or ""
    show(turn=turn, client="responses", streamed=streamed, message=found, reason=response.status,
         usage=[response.usage.input_tokens, response.usage.output_tokens], id=response.id)


def ask_responses(client, turn, tools, **more):
    request = {"model": "m", "input": "Rain?", "tools": [{"type": "function", **tool} for tool in tools], **more}
    of_responses(turn, False, client.responses.create(**request))
    of_responses(turn, True, collected(client, request))


def collected(client, request):
    """The response of the last event, and its parts as the events before it give them."""
    parts, ended, numbers = {}, None, []
    for event in client.responses.create(**request, stream=True):
        numbers.append(event.sequence_number)
        if event.type.endswith(".delta"):
            parts[event.item_id] = parts.get(event.item_id, "") + event.delta
        elif event.type in ("response.completed", "response.incomplete"):
            ended = event.response
    assert numbers == list(range(len(numbers))), numbers
    for item in ended.output:
        whole = item.arguments if item.type == "function_call" else "".join(part.text for part in item.content)
        assert parts.get(item.id, "") == whole, (item, parts)
    return ended


def ask_openai(client, turn, **more):
    request = {"model": "m", "messages": ASK, "tools": [{"type": "function", "function": FUNCTION}], **more}
    of_openai(turn, False, client.chat.completions.create(**request))
    request["stream_options"] = {"include_usage": True}
    try:
        with client.chat.completions.stream(**request) as stream:
            for _ in stream:
                pass
            completion = stream.get_final_completion()
    except openai.LengthFinishReasonError:
        # With tools, the helper refuses answers that were cut short. What it is built of does not.
        state = ChatCompletionStreamState()
        for chunk in client.chat.completions.create(**request, stream=True):
            state.handle_chunk(chunk)
        completion = state.current_completion_snapshot
    of_openai(turn, True, completion)


def ask_anthropic(client, turn, **more):
    request = {"model": "m", "messages": ASK, "tools": [INPUT], "max_tokens": 100, **more}
    of_anthropic(turn, False, client.messages.create(**request))
    with client.messages.stream(**request) as stream:
        for _ in stream:
            pass
        of_anthropic(turn, True, stream.get_final_message())


def refused(client, kind, ask):
    try:
        ask()
    except kind as error:
        body = error.body.get("error", error.body)
        show(error=error.status_code, client=client, param=body.get("param"), kind=body.get("type"),
             message=body.get("message"))
    else:
        show(error=None, client=client)


def main():
    address, turns = sys.argv[1], int(sys.argv[2])
    one = openai.OpenAI(base_url=f"{address}/0/v1", api_key="none", max_retries=0)
    two = anthropic.Anthropic(base_url=f"{address}/0", api_key="none", max_retries=0)
    for turn in range(turns):
        ask_openai(one.with_options(base_url=f"{address}/{turn}/v1"), turn)
        ask_anthropic(two.with_options(base_url=f"{address}/{turn}"), turn)
        ask_responses(one.with_options(base_url=f"{address}/{turn}/v1"), turn, [FUNCTION])
    refused("openai", openai.BadRequestError, lambda: one.chat.completions.create(model="m", messages=ASK, n=99))
    refused("openai", openai.BadRequestError, lambda: one.responses.create(model="m", input="Hi", background=True))
    refused("anthropic", anthropic.BadRequestError,
            lambda: two.messages.create(model="m", max_tokens=9, messages=ASK,
                                        extra_body={"container": "c"}))


if __name__ == "__main__":
    main()
