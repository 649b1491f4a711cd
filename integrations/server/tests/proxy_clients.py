"""Asks a proxy with both official clients, and prints what each of them assembles or raises.

The arguments are the addresses of two proxies: for turns, and for faults. Standard input is JSON: {"turns": [{"model", "seed"}], "faults": [{"fault"}], "tools"}.
Each line of the output is the JSON of one answer, as clients.py prints it, or {"fault", "client", "streamed", "raised",
"message"}.
"""

import json
import sys

import anthropic
import openai

from clients import ASK, ask_anthropic, ask_openai, ask_responses, show


def fault(client, name, streamed, ask):
    """Prints what a client raises. A client that raises nothing would take half an answer for a whole one."""
    try:
        ask()
    except (openai.OpenAIError, anthropic.AnthropicError) as error:
        show(fault=name, client=client, streamed=streamed, raised=type(error).__name__, message=str(error))
    else:
        show(fault=name, client=client, streamed=streamed, raised=None, message="")


def whole_and_streamed(client, name, create, **request):
    fault(client, name, False, lambda: create(**request))
    fault(client, name, True, lambda: list(create(**request, stream=True)))


def clients(url):
    return (
        openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0),
        anthropic.Anthropic(base_url=url, api_key="none", max_retries=0),
    )


def main():
    plan = json.load(sys.stdin)
    one, two = clients(sys.argv[1])
    inputs = [
        {"name": tool["function"]["name"], "description": tool["function"].get("description", ""),
         "input_schema": tool["function"]["parameters"]}
        for tool in plan["tools"]
    ]
    for turn, asked in enumerate(plan["turns"]):
        extra = {"seed": asked["seed"]}
        ask_openai(one, turn, model=asked["model"], tools=plan["tools"], extra_body=extra)
        ask_anthropic(two, turn, model=asked["model"], tools=inputs, extra_body=extra)
        functions = [tool["function"] for tool in plan["tools"]]
        ask_responses(one, turn, functions, model=asked["model"], extra_body=extra)
    one, two = clients(sys.argv[2])
    for name in plan["faults"]:
        request = {"model": plan["turns"][0]["model"], "messages": ASK, "max_tokens": 100, "extra_body": {"fault": name}}
        whole_and_streamed("openai", name, one.chat.completions.create, **request)
        whole_and_streamed("anthropic", name, two.messages.create, **request)
        request = {"model": request["model"], "input": "Rain?", "extra_body": {"fault": name}}
        whole_and_streamed("responses", name, one.responses.create, **request)


main()
