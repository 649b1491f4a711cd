"""The examples in docstrings and in the README run."""

from __future__ import annotations

import doctest

from shared import ROOT, WEATHER

import unjinja
import unjinja._prompt


def test_docstrings() -> None:
    for module in (unjinja, unjinja._prompt):
        result = doctest.testmod(module)
        assert result.failed == 0
    tests = [test for test in doctest.DocTestFinder().find(unjinja) if test.examples]
    names = {test.name for test in tests}
    assert {"unjinja", "unjinja.Model", "unjinja.Stream", "unjinja.Message", "unjinja.OpenAIChunks"} <= names


def test_the_readme() -> None:
    result = doctest.testfile(str(ROOT / "integrations" / "python" / "README.md"), module_relative=False, encoding="utf-8")
    assert result.failed == 0 and result.attempted >= 10


def test_the_three_lines_of_the_readme() -> None:
    text = (ROOT / "integrations" / "python" / "README.md").read_text(encoding="utf-8")
    code = text.split("```python\n", 1)[1].split("```", 1)[0]
    assert len(code.splitlines()) == 3
    names = {"output": "<think>\nHm.\n</think>\n\nYes.", "tools": WEATHER}
    exec(code.replace("path/to/model", str(ROOT / "templates" / "qwen3.jinja")), names)
    message = names["message"]
    assert isinstance(message, unjinja.Message) and message.content == "Yes."
