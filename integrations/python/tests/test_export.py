"""Response templates of chat templates, and findings about templates: what the commands `export` and `lint` print."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from shared import ROOT, TEMPLATES

import unjinja
from unjinja import LoadError, Model



def command(*arguments: str) -> Any:
    """What the command prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", "unjinja", *arguments, "--format", "json"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_every_template_is_exported_as_by_the_command(path: Path) -> None:
    export = Model.from_pretrained(path).export(count=40)
    assert export.to_dict() == command("export", str(path), "--for", "transformers", "--count", "40")
    assert export.held == export.tried or export.losses


def test_a_loss_has_an_output_that_shows_it() -> None:
    export = Model.from_pretrained(ROOT / "templates" / "lines_of_calls.jinja").export()
    loss = next(loss for loss in export.losses if loss.kind == "python_calls")
    assert "Python" in loss.sentence and loss.example is not None
    example = loss.example
    assert "(" in example.output and example.written["tool_calls"]
    assert example.read != example.written
    assert (example.read is None) == (example.error is not None)


def test_what_cannot_be_exported(qwen3: Model) -> None:
    with pytest.raises(TypeError):
        qwen3.export("ollama")  # type: ignore[arg-type, call-arg]
    with pytest.raises(unjinja.RenderError, match="has no template"):
        Model.known("qwen_qwen3_0_6b").export()


def as_json(finding: unjinja.Finding) -> dict[str, Any]:
    names = ("rule", "severity", "target", "message", "help", "line", "column")
    return {name: getattr(finding, name) for name in (*names, "conversation", "output", "expected", "actual")}


@pytest.mark.parametrize("name", ["qwen3", "channels", "python_calls", "no_tools"])
def test_findings_are_those_of_the_command(name: str) -> None:
    path = ROOT / "templates" / f"{name}.jinja"
    (printed,) = command("lint", str(path))
    found = unjinja.lint(path)
    assert [as_json(finding) for finding in found] == printed["findings"]
    assert found and all(str(finding).startswith(finding.severity) for finding in found)


def test_a_template_that_is_given_as_text() -> None:
    text = (
        "{% for m in messages %}\n<|{{ m.role }}|>{{ m.content + '<|end|>' }}"
        "{% for c in m.tool_calls or [] %}<|call|>{{ c.function | tojson }}<|end|>{% endfor %}{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>{% endif %}"
    )
    found = {finding.rule: finding for finding in unjinja.lint_template(text)}
    null = found["null-content"]
    assert (null.severity, null.line, null.target) == ("error", 2, "chat_template")
    assert null.conversation is not None and null.conversation["messages"]
    (broken,) = unjinja.lint_template("{% if x %}")
    assert (broken.rule, broken.severity) == ("syntax-error", "error")
    plain = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}[assistant]"
    rules = {finding.rule for finding in unjinja.lint_template(plain, special_tokens=[])}
    assert "text-opens-turn" in rules


def test_the_response_template_of_a_model(tmp_path: Path, qwen3: Model) -> None:
    assert qwen3.template is not None
    good = qwen3.export().response_template
    bad = json.loads(json.dumps(good).replace("</tool_call>", "</call>"))
    for template, expected in ((good, set()), (bad, {"response-conversation"})):
        config = {"chat_template": qwen3.template, "eos_token": "<|im_end|>", "response_template": template}
        (tmp_path / "tokenizer_config.json").write_text(json.dumps(config), encoding="utf-8")
        found = unjinja.lint(tmp_path)
        rules = {finding.rule for finding in found if finding.target == "response_template" and finding.severity == "error"}
        assert rules == expected
    found = unjinja.lint_template(qwen3.template, response_template={"fields": {"content": {}}, "x": 1})
    assert "response-invalid" in {finding.rule for finding in found}
    with pytest.raises(unjinja.RequestError, match="fields"):
        unjinja.lint_template(qwen3.template, response_template={})
    (tmp_path / "empty").mkdir()
    with pytest.raises(unjinja.LoadError, match="the folder holds no template"):
        unjinja.lint(tmp_path / "empty")


# Each takes seconds.
@pytest.mark.parametrize("path", TEMPLATES[::9], ids=lambda path: path.stem)
def test_templates_are_marked_for_training_as_by_the_command(path: Path) -> None:
    model = Model.from_pretrained(path)
    document = command("export", str(path), "--for", "training")
    if document["obstacle"]:
        with pytest.raises(LoadError, match=re.escape(document["obstacle"]["sentence"])):
            model.training_template()
        return
    training = model.training_template()
    assert (training.source, training.tried, training.refused) == (document["chat_template"], document["tried"], document["refused"])
    assert training.prefix == document["prefix"] and (training.prefix == "repairable") == (training.change is not None)
    before = document["marks_before"]
    assert training.marks_before == (None if before is None else (before["right"], before["wrong"]))
    if training.prefix == "repairable":
        kept = model.training_template(keep_prefix=True)
        assert kept.prefix == "repaired" and kept.change == training.change and kept.source != training.source
        assert Model.from_template(kept.source).training_template().prefix == "stable"
