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


def test_a_wrong_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))  # its cache is empty
    with pytest.raises(unjinja.LoadError, match=r"no/such/file.*\n  = next: ") as caught:
        Model.from_pretrained("no/such/file.jinja")
    assert isinstance(caught.value, ValueError)
    with pytest.raises(unjinja.LoadError, match="the folder holds no template"):
        Model.from_pretrained(tmp_path)
    with pytest.raises(unjinja.LoadError, match="this is not a GGUF file"):
        (tmp_path / "x.gguf").write_bytes(b"GGXX")
        Model.from_gguf(tmp_path / "x.gguf")
    with pytest.raises(unjinja.LoadError, match="`unjinja fetch acme/Robin-7B`"):
        Model.from_pretrained("acme/Robin-7B")
    assert Model.from_pretrained("Qwen/Qwen3-32B").name == "qwen_qwen3_0_6b"


def test_a_broken_template() -> None:
    with pytest.raises(unjinja.LoadError, match=r"template\.jinja:2"):
        Model.from_template("{% for m in messages %}\n{{ m.content }")
    with pytest.raises(unjinja.LoadError, match="next"):
        Model.from_template("Hello")
    with pytest.raises(unjinja.LoadError):
        Model.from_spec("spec_version = 1\nnonsense = 1")


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


def cycle() -> list[Any]:
    made: list[Any] = []
    made.append(made)
    return made


def tool_of(value: Any) -> list[Any]:
    return [{"type": "function", "function": {"name": "f", "parameters": value}}]


@pytest.mark.parametrize(
    ("tools", "says"),
    [
        ([{"function": object()}], r"tools\[0\]\.function: a value of type object has no JSON form"),
        ((tool for tool in WEATHER), "tools: a value of type generator"),
        (b"[]", "tools: a value of type bytes"),
        ({1: 2}, "tools: the key 1 is no text"),
        (cycle(), "nested deeper than 128 levels"),
        (tool_of({"default": float("nan")}), r"tools\[0\]\.function\.parameters\.default: JSON has no number nan"),
        (tool_of({"maximum": 10**30}), r"parameters\.maximum: the number does not fit into 64 bits"),
        (tool_of({"description": "\ud800"}), r"parameters\.description: '\\ud800' has half a character"),
        ("\ud800", "tools: "),
    ],
)
def test_tools_without_a_json_form(qwen3: Model, tools: Any, says: str) -> None:
    with pytest.raises(unjinja.ToolsError, match=says):
        qwen3.parse("x", tools=tools)


def test_values_without_a_json_form(qwen3: Model) -> None:
    with pytest.raises(unjinja.RequestError, match=r"messages\[0\]\.content: a value of type object"):
        qwen3.render([{"role": "user", "content": object()}])
    with pytest.raises(unjinja.RequestError, match=r"messages\[0\]\.content: JSON has no number nan"):
        qwen3.render([{"role": "user", "content": float("nan")}])
    with pytest.raises(TypeError, match="expected str or bytes, found int"):
        qwen3.parse(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected str or bytes, found list"):
        qwen3.stream().push([])  # type: ignore[arg-type]
    with pytest.raises(unjinja.RequestError, match="separate"):
        qwen3.parse("x", unparsed="nowhere")  # type: ignore[arg-type]
    with pytest.raises(unjinja.RequestError, match="tool_choice"):
        qwen3.grammar(WEATHER, tool_choice="sometimes")


@pytest.mark.parametrize("schema", [3, "text", [], 0.5])
def test_a_schema_that_is_none(qwen3: Model, schema: Any) -> None:
    with pytest.raises(unjinja.RequestError, match="response_schema: expected a JSON schema"):
        qwen3.grammar(None, response_schema=schema)
    assert qwen3.grammar(None, response_schema=True).text


def test_an_end_that_is_none(qwen3: Model) -> None:
    chunks = qwen3.stream().openai_chunks(include_usage=True)
    with pytest.raises(unjinja.RequestError, match="finish_reason: \"banana\" is unknown"):
        chunks.finish("banana")
    with pytest.raises(unjinja.RequestError, match="gave up"):
        chunks.finish("abort")
    wrong: list[Any] = [3, {}, {"prompt_tokens": 1}, {"prompt_tokens": -1, "completion_tokens": 2}, {"prompt_tokens": "1", "completion_tokens": 2}]
    for usage in wrong:
        with pytest.raises(unjinja.RequestError, match="usage: expected a dict with the numbers prompt_tokens and completion_tokens"):
            chunks.finish("stop", usage)
    # None of these has ended the answer.
    last = chunks.finish("eos_token", {"prompt_tokens": 1, "completion_tokens": 2})
    assert last[0]["choices"][0]["finish_reason"] == "stop" and last[-1]["usage"]["total_tokens"] == 3


def test_messages_name_no_functions_of_rust(tmp_path: Path) -> None:
    (tmp_path / "x.gguf").write_bytes(b"GGXX")
    with pytest.raises(unjinja.LoadError) as no_gguf:
        Model.from_gguf(tmp_path / "x.gguf")
    with pytest.raises(unjinja.RenderError) as no_template:
        Model.known("qwen_qwen3_0_6b").render([])
    for caught in (no_gguf, no_template):
        assert "from_file" not in str(caught.value) and "::" not in str(caught.value)


@pytest.mark.parametrize("server", ["sglang", "vllm"])
def test_a_plug_in_without_its_server(server: str) -> None:
    if importlib.util.find_spec(server):
        pytest.skip(f"{server} is installed here")
    with pytest.raises(ImportError, match=f"and it is not installed here. Install it: pip install {server}"):
        importlib.import_module(f"unjinja.{server}").register()
