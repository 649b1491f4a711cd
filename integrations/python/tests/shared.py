"""What the tests share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import unjinja

ROOT = Path(__file__).resolve().parents[3]
TEMPLATES = sorted((ROOT / "templates").glob("*.jinja"))
CORPUS = ROOT.parent / "shared" / "corpus"

WEATHER: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a place.",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
                "required": ["city"],
            },
        },
    }
]


TOOLS: list[dict[str, Any]] = [
    *WEATHER,
    {
        "type": "function",
        "function": {
            "name": "search.web",
            "description": "Searches.",
            "parameters": {
                "type": "object",
                "properties": {"query": {"type": "string"}, "count": {"type": "integer"}, "exact": {"type": "boolean"}},
                "required": ["query"],
            },
        },
    },
]


def _call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": "call00001", "type": "function", "function": {"name": name, "arguments": arguments}}


TURNS: list[dict[str, Any]] = [
    {"content": "It rains. <b>é</b> 3 < 4"},
    {"content": "A first line.\n\nA second one with \"quotes\" and {braces}."},
    {"content": "It rains.", "reasoning_content": "Hm, where?\nPerhaps there."},
    {"content": "", "tool_calls": [_call("get_weather", city="Paris", days=2)]},
    {"content": "", "tool_calls": [_call("search.web", query="a \"b\" <c> é\nd", count=3, exact=True)]},
    {"content": "", "reasoning_content": "I look.", "tool_calls": [_call("get_weather", city="Zürich")]},
    {"content": "", "tool_calls": [_call("get_weather", city="A"), _call("search.web", query="B")]},
    {"content": "Let me look.", "tool_calls": [_call("get_weather", city="Paris")]},
]


def load(path: Path) -> unjinja.Model:
    """The model of a template of the project. Some write special tokens, which a file of this kind does not give."""
    overlay = path.with_suffix(".overlay.toml")
    return unjinja.Model.from_template(
        path.read_text(encoding="utf-8"),
        name=path.stem,
        bos_token="<s>",
        eos_token="</s>",
        overlay=overlay.read_text(encoding="utf-8") if overlay.is_file() else None,
    )


def turns_of(model: unjinja.Model) -> list[tuple[str, str]]:
    """Prompts, and the turns that the template writes behind them."""
    pairs = []
    for turn in TURNS:
        asked = {"role": "user", "content": "Rain?"}
        try:
            whole = model.render([asked, {"role": "assistant", **turn}], tools=TOOLS, add_generation_prompt=False)
        except ValueError:
            continue  # the template refuses it
        # A turn in the history may not begin as the prompt does that asks for it.
        prompts = [model.render([asked], tools=TOOLS, thinking=thinking) for thinking in (None, True, False)]
        begun = [str(prompt) for prompt in prompts if whole.startswith(prompt)]
        # Otherwise the prompt is cut behind the last marker that both have.
        shared = os.path.commonprefix([whole, prompts[0]])
        shared = re.sub(r"[^>\]\n]*\Z", "", shared)
        output = whole[len((begun or [shared])[0]) :].removesuffix("</s>")
        # Where only the end of the reasoning is marked, a model never writes a turn behind anything but the whole prompt.
        cut = [shared if (model.reasoning_markers or ("",))[0] else str(prompts[0])]
        pairs.append(((begun or cut)[0], output))
    return pairs


def need_corpus() -> None:
    """Skips a test that needs the corpus, but fails it where the corpus is required."""
    if CORPUS.is_dir():
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"the corpus is required here, and {CORPUS} does not exist")
    pytest.skip(f"needs the corpus, and {CORPUS} does not exist")
