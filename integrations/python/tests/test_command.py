"""The command that the wheel contains."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from shared import ROOT

COMMAND = [sys.executable, "-m", "unjinja"]


def is_installed() -> bool:
    try:
        distribution("unjinja")
    except PackageNotFoundError:
        return False
    return True


# `.ci/python --one` builds no wheel.
of_the_wheel = pytest.mark.skipif(not is_installed(), reason="the package is not installed from a wheel")


def run(*arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], input=text, capture_output=True, encoding="utf-8", check=False)


def test_it_is_complete() -> None:
    shown = run("--help")
    assert shown.returncode == 0
    for command in ("analyze", "check", "explain", "export", "grammar", "lint", "parse", "serve", "verify"):
        assert f"\n  {command} " in shown.stdout, command
    assert run("--version").stdout == f"unjinja {__import__('unjinja').__version__}\n"


def test_it_parses_and_has_exit_codes(tmp_path: Path) -> None:
    template = str(ROOT / "templates" / "qwen3.jinja")
    answer = run("parse", "--template", template, "--format", "openai", "-", text="<think>\nHm.\n</think>\n\nYes.")
    assert answer.returncode == 0, answer
    assert json.loads(answer.stdout)["choices"][0]["message"]["content"] == "Yes."
    assert run("nonsense").returncode == 2
    missing = run("analyze", str(tmp_path / "missing.jinja"))
    assert missing.returncode == 2 and "error:" in missing.stderr


@of_the_wheel
def test_the_script_is_installed() -> None:
    script = Path(sys.executable).with_name("unjinja")
    assert b"qwen" in subprocess.run([script, "list"], capture_output=True, check=True).stdout


def test_an_output_that_is_closed() -> None:
    closed = subprocess.run(["sh", "-c", '"$0" -m unjinja --version >&-', sys.executable], capture_output=True, text=True, check=False)
    assert (closed.returncode, closed.stderr) == (0, "")


@of_the_wheel
@pytest.mark.parametrize("name", ["LICENSE-APACHE", "LICENSE-MIT"])
def test_the_wheel_has_the_texts_of_its_licences(name: str) -> None:
    (text,) = [file for file in distribution("unjinja").files or () if file.name == name]
    assert text.read_text(encoding="utf-8") == (ROOT / name).read_text(encoding="utf-8")
