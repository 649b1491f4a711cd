"""Bad input: every error is an exception of the package, with its place and what to do next."""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest
from shared import WEATHER

import unjinja
from unjinja import Model, Tools


def test_a_wrong_path(tmp_path: Path) -> None:
    with pytest.raises(unjinja.LoadError, match=r"no/such/file.*\n  = next: ") as caught:
        Model.from_pretrained("no/such/file.jinja")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(unjinja.LoadError, match="this folder has no chat template"):
        Model.from_pretrained(tmp_path)
    with pytest.raises(unjinja.LoadError, match="this is not a GGUF file"):
        (tmp_path / "x.gguf").write_bytes(b"GGXX")
        Model.from_gguf(tmp_path / "x.gguf")


def test_a_broken_template() -> None:
    with pytest.raises(unjinja.LoadError, match=r"template\.jinja:2"):
        Model.from_template("{% for m in messages %}\n{{ m.content }")
    with pytest.raises(unjinja.LoadError, match="next"):
        Model.from_template("Hello")
    with pytest.raises(unjinja.LoadError):
        Model.from_spec("spec_version = 3\nnonsense = 1")


def test_a_template_that_refuses_a_conversation(qwen3: Model) -> None:
    raising = (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}{% endif %}"
        "<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    with pytest.raises(unjinja.RenderError, match="no tools here"):
        Model.from_template(raising).render([{"role": "tool", "content": "x"}])
    with pytest.raises(unjinja.RenderError, match="has no template"):
        Model.known("qwen_qwen3_0_6b").render([])
    with pytest.raises(unjinja.RequestError, match="messages"):
        qwen3.render("Hello")


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ({"name": "x"}, "tools"),
        ([{"type": "function"}], "function"),
        ([1], "tools|tool"),
        ("not JSON", "tools: "),
        (5, "tools|list"),
    ],
)
def test_a_list_of_tools_that_is_none(tools: Any, says: str) -> None:
    with pytest.raises(unjinja.ToolsError, match=says):
        Tools(tools)


def test_values_without_a_json_form(qwen3: Model) -> None:
    with pytest.raises(TypeError, match=r"tools\[0\]\.function: a value of type object"):
        qwen3.parse("x", tools=[{"function": object()}])
    deep: list[Any] = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="nested deeper"):
        qwen3.parse("x", tools=deep)
    with pytest.raises(TypeError, match="expected str or bytes, found int"):
        qwen3.parse(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected str or bytes, found list"):
        qwen3.stream().push([])  # type: ignore[arg-type]
    with pytest.raises(unjinja.RequestError, match="separate"):
        qwen3.parse("x", unparsed="nowhere")  # type: ignore[arg-type]
    with pytest.raises(unjinja.RequestError, match="tool_choice"):
        qwen3.grammar(WEATHER, tool_choice="sometimes")


@pytest.mark.parametrize("server", ["sglang", "vllm"])
def test_a_plug_in_without_its_server(server: str) -> None:
    if importlib.util.find_spec(server):
        pytest.skip(f"{server} is installed here")
    with pytest.raises(ImportError, match=f"and it is not installed here. Install it: pip install {server}"):
        importlib.import_module(f"unjinja.{server}").register()
