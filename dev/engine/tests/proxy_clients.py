"""Asks proxies in front of random models with both official clients, and prints what each of them assembles.

The argument is the folder of clients.py. Standard input is a JSON list of {"url", "tools", "seed", "max_tokens", "logit_bias"}.
Each line of the output is the JSON of one answer, as clients.py prints it; "turn" is the index in the list.
"""

import json
import sys

import anthropic
import openai

sys.path.insert(0, sys.argv[1])
from clients import ask_anthropic, ask_openai  # noqa: E402


def main():
    for turn, plan in enumerate(json.load(sys.stdin)):
        extra = {"seed": plan["seed"], "logit_bias": plan["logit_bias"]}
        one = openai.OpenAI(base_url=f"{plan['url']}/v1", api_key="none", max_retries=0)
        ask_openai(one, turn, tools=plan["tools"], tool_choice="required", max_tokens=plan["max_tokens"],
                   extra_body={**extra, "reasoning_effort": "none"})
        inputs = [
            {"name": tool["function"]["name"], "description": tool["function"]["description"],
             "input_schema": tool["function"]["parameters"]}
            for tool in plan["tools"]
        ]
        two = anthropic.Anthropic(base_url=plan["url"], api_key="none", max_retries=0)
        ask_anthropic(two, turn, tools=inputs, tool_choice={"type": "any"}, max_tokens=plan["max_tokens"],
                      thinking={"type": "disabled"}, extra_body=extra)


main()
