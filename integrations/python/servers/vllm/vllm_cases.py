"""What the tests ask: the project's cases for each wire format, and the turns and outputs of the corpus."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from shared import CORPUS, ROOT, TEMPLATES

import unjinja

TOOLS: list[dict[str, Any]] = json.loads((ROOT / "tests/cases/tools.json").read_text(encoding="utf-8"))

# Options of a parser that no request to vLLM sets.
_NOT_ASKED = {"parallel_tool_calls", "callable", "extract_reasoning", "calls_end_reasoning", "json_response", "unparsed", "known_failure"}


@dataclass
class Case:
    """An output, and the message that must be read from it."""

    name: str
    output: str
    prompt: str
    tools: list[dict[str, Any]]
    reasoning: str
    content: str
    calls: list[dict[str, Any]]
    thinking: bool | None = None
    exact: bool = True
    not_asserted: list[str] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)

    def differs(self, message: dict[str, Any]) -> str | None:
        """What a message has that is not expected. None if it is the expected one."""
        names, wanted = [[call["name"] for call in calls] for calls in (message["tool_calls"], self.calls)]
        if "tool_calls" not in self.not_asserted:
            if names != wanted:
                return f"calls {names}, not {wanted}"
            for call, want in zip(message["tool_calls"], self.calls):
                if "text" in want and want["text"] != call["arguments"]:
                    return f"arguments {call['arguments']!r}, not {want['text']!r}"
                if "arguments" in want and value(call["arguments"]) != value(want["arguments"]):
                    return f"arguments {call['arguments']!r}, not {want['arguments']!r}"
        for name, want_text in (("reasoning", self.reasoning), ("content", self.content)):
            if name in self.not_asserted:
                continue
            text = message[name]
            same = text == want_text if self.exact else text.strip() == want_text.strip()
            if not same:
                return f"{name} {text!r}, not {want_text!r}"
        return None


def value(arguments: Any) -> Any:
    """Arguments as a value. What breaks off is closed; what is no JSON then is compared without white space."""
    if not isinstance(arguments, str):
        return arguments
    for text in (arguments.strip() or "{}", _closed(arguments)):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return "no JSON: " + re.sub(r"\s", "", arguments)


def _closed(text: str) -> str:
    open_, quoted, escaped = [], False, False
    for letter in text:
        if quoted:
            quoted, escaped = escaped or letter != '"', not escaped and letter == "\\"
        elif letter == '"':
            quoted = True
        elif letter in "{[":
            open_.append("}" if letter == "{" else "]")
        elif letter in "}]" and open_:
            open_.pop()
    return text + '"' * quoted + "".join(reversed(open_))


@cache
def own_model(template: Path) -> unjinja.Model:
    """The model of a template of the project, as the plug-in loads it."""
    return unjinja.Model.from_template(template.read_text(encoding="utf-8"), bos_token=BOS, eos_token=EOS)


BOS, EOS = "<s>", "</s>"


def own_cases(template: Path) -> list[Case]:
    """The cases of a template of the project that a request to vLLM can ask."""
    model = own_model(template)
    with open(ROOT / "tests/cases" / f"{template.stem}.toml", "rb") as file:
        cases = tomllib.load(file)["case"]
    made = []
    for case in cases:
        if _NOT_ASKED & case.keys() or not case["output"]:  # vLLM refuses an output without tokens
            continue
        tools = TOOLS if case.get("tools", True) else []
        prompt = model.render([{"role": "user", "content": "Hello!"}], tools=tools or None, thinking=case.get("thinking"))
        text = str(prompt)
        if "generation_prompt" in case:
            text = text[: len(text) - len(prompt.turn)] + case["generation_prompt"]
        made.append(
            Case(
                name=case["name"],
                output=case["output"],
                prompt=text,
                tools=tools,
                reasoning=case.get("reasoning", ""),
                content=case.get("content", ""),
                calls=case.get("call", []),
                thinking=case.get("thinking"),
            )
        )
    return made


def corpus_template(folder: str, name: str) -> Path:
    """A released template."""
    return CORPUS / ("templates" if folder == "templates" else f"{folder}/templates") / name


def corpus_cases(file: str, names: set[str] | None = None) -> Iterator[Case]:
    """The cases of `turns.jsonl` or `outputs.jsonl` that a request to vLLM can ask, of the named templates."""
    tool_sets = json.loads((CORPUS / "turn_tools.json").read_text(encoding="utf-8"))
    with open(CORPUS / file, encoding="utf-8") as lines:
        for line in lines:
            case = json.loads(line)
            if names is not None and case["template"] not in names:
                continue
            if case["extract_reasoning"] is False or case["json_schema"] or case["continue_final_message"] != "none":
                continue
            tools = tool_sets[case["tools"]] if isinstance(case["tools"], str) else case["tools"]
            want = case["expect"]
            renamed = {"reasoning_content": "reasoning"}
            yield Case(
                name=case["id"],
                output=case["output"],
                prompt=case.get("generation_prompt", ""),
                tools=tools or [],
                reasoning=want.get("reasoning_content") or "",
                content=want.get("content") or "",
                calls=want.get("tool_calls") or [],
                thinking=case["enable_thinking"],
                exact=False,
                not_asserted=[renamed.get(name, name) for name in case.get("not_asserted", [])],
                about=case,
            )


def own_templates() -> list[Path]:
    """The templates of the project, one or more for each wire format."""
    return TEMPLATES
