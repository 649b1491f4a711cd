"""The package makes the same program of a template as the command, with an overlay next to the template and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from shared import CORPUS, ROOT

from unjinja import Model

# Changes every program: each of these formats marks the end of a turn.
OVERLAY = "[alternatives]\n# Only a test knows it.\n'turn.end' = ['<|other|>']\n"


def rust(path: Path, *flags: str) -> str:
    """The Rust that the command makes of a template or a spec."""
    command = [sys.executable, "-m", "unjinja", "codegen", str(path), *flags]
    return subprocess.run(command, capture_output=True, encoding="utf-8", check=True).stdout


def program(template: Path, overlay: str | None = None) -> str:
    """The program that the package makes of a template, as Rust."""
    spec = template.with_name("of_the_package.toml")
    spec.write_text(Model.from_pretrained(template, overlay=overlay).spec, encoding="utf-8")
    return rust(spec)


@pytest.mark.parametrize("name", ["hermes", "qwen3", "python_calls", "xml_parameters"])
def test_the_package_and_the_command_agree(tmp_path: Path, name: str) -> None:
    template = tmp_path / "robin.jinja"
    template.write_bytes((ROOT / "templates" / f"{name}.jinja").read_bytes())
    without = program(template)
    assert without == rust(template)
    template.with_suffix(".overlay.toml").write_text(OVERLAY, encoding="utf-8")
    assert program(template) == rust(template) != without
    # An overlay that is given takes the place of the one next to the template.
    other = tmp_path / "other.toml"
    other.write_text(OVERLAY.replace("other", "another"), encoding="utf-8")
    assert program(template, other.read_text(encoding="utf-8")) == rust(template, "--overlay", str(other)) != rust(template)


@pytest.mark.skipif(not CORPUS.is_dir(), reason="there is no corpus")
@pytest.mark.parametrize("comment", ["", "{# A comment. #}"])
def test_they_agree_about_known_formats(tmp_path: Path, comment: str) -> None:
    template = tmp_path / "robin.jinja"
    known = (CORPUS / "templates" / "openai-gpt-oss-120b.jinja").read_text(encoding="utf-8")
    template.write_text(comment + known, encoding="utf-8")
    assert program(template) == rust(template)
