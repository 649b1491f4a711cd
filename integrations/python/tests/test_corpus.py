"""The turns that released templates write come back, whole and in pieces."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from shared import CORPUS, need_corpus

from unjinja import Model


@cache
def model_of(folder: str, template: str) -> Model:
    inside = CORPUS / ("templates" if folder == "templates" else f"{folder}/templates")
    return Model.from_pretrained(inside / template)


def arguments(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str) else text


def test_turns_come_back_whole_and_in_pieces() -> None:
    need_corpus()
    tool_sets = json.loads((CORPUS / "turn_tools.json").read_text(encoding="utf-8"))
    right = asked = differ = 0
    with open(CORPUS / "turns.jsonl", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            if number % 7:  # each seventh turn: all of them take the Rust tests, which are faster
                continue
            case = json.loads(line)
            tools = tool_sets[case["tools"]] if isinstance(case["tools"], str) else case["tools"]
            options: dict[str, Any] = {
                "tools": tools or None,
                "prompt": case["generation_prompt"],
                "parallel_tool_calls": case["parallel_tool_calls"],
                "extract_reasoning": case["extract_reasoning"],
            }
            model = model_of(case["folder"], case["template"])
            message = model.parse(case["output"], **options)
            stream = model.stream(**options)
            for piece in re.findall(r"(?s).{1,4}", case["output"]):
                stream.push(piece)
            stream.finish()
            differ += stream.message != message
            want = case["expect"]
            calls = [(call["name"], arguments(call["arguments"])) for call in want["tool_calls"]]
            asked += 1
            right += (
                message.content.strip() == (want["content"] or "").strip()
                and message.reasoning_content.strip() == (want["reasoning_content"] or "").strip()
                and [(call.name, arguments(call.closed_arguments())) for call in message.tool_calls] == calls
            )
    print(f"{right} of {asked} turns come back")
    assert differ == 0
    assert asked > 900
    assert right >= 0.99 * asked


def test_parsed_turns_render_as_they_were() -> None:
    need_corpus()
    tool_sets = json.loads((CORPUS / "turn_tools.json").read_text(encoding="utf-8"))
    asked = right = 0
    with open(CORPUS / "turns.jsonl", encoding="utf-8") as lines:
        cases = [case for case in map(json.loads, lines) if case["expect"]["tool_calls"]]
    for number, case in enumerate(cases):
        if case["folder"] != "templates" and number % 7:
            continue
        tools = tool_sets[case["tools"]] if isinstance(case["tools"], str) else case["tools"]
        model = model_of(case["folder"], case["template"])
        message = model.parse(case["output"], tools=tools, prompt=case["generation_prompt"])
        options: dict[str, Any] = {"tools": tools, "thinking": case["enable_thinking"], "add_generation_prompt": False}
        # Both forms of a message: the object, and its dict.
        texts = [model.render([*case["messages"], turn], **options) for turn in (message, message.to_dict())]
        asked += 1
        right += all(case["output"] in text for text in texts)
    print(f"{right} of {asked} turns render as they were")
    assert asked > 900
    assert right >= 0.99 * asked
