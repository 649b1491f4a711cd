"""What the tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import unjinja

ROOT = Path(__file__).resolve().parents[2]
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


def need_corpus() -> None:
    """Skips a test that needs the corpus, but fails it where the corpus is required."""
    if CORPUS.is_dir():
        return
    if os.environ.get("CI") == "true":
        pytest.fail(f"the corpus is required here, and {CORPUS} does not exist")
    pytest.skip(f"needs the corpus, and {CORPUS} does not exist")
