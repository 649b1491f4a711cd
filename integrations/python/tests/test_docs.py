"""The examples in docstrings and in the README run, every parameter is documented, and the stubs are those of the module."""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from shared import ROOT, WEATHER

import unjinja
import unjinja._prompt
import unjinja.transformers


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


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Everything public that can be called: functions, classes, and their methods."""
    seen: list[tuple[str, Any]] = [(name, vars(unjinja)[name]) for name in unjinja.__all__]
    seen += [(f"transformers.{name}", vars(unjinja.transformers)[name]) for name in unjinja.transformers.__all__]
    for name, value in seen:
        if inspect.isclass(value) and not issubclass(value, Exception):
            # A method is of the class that defines it: `Prompt` has all those of `str`.
            seen += [(f"{name}.{member}", getattr(value, member)) for member in vars(value) if not member.startswith("_")]
        if callable(value):
            yield name, value


def parameters(value: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """The parameters; None for a class that only the package makes."""
    if inspect.isclass(value) and value.__new__ is object.__new__ and value.__init__ is object.__init__:
        return None
    try:
        signature = inspect.signature(value)
    except ValueError:
        return None
    return [parameter for parameter in signature.parameters.values() if parameter.name not in ("self", "cls")]


@pytest.mark.parametrize(("name", "value"), list(callables()), ids=lambda value: value if isinstance(value, str) else "")
def test_every_parameter_is_documented(name: str, value: Callable[..., Any]) -> None:
    doc = inspect.getdoc(value)
    if isinstance(value, type) and issubclass(value, Exception):
        return
    assert doc, f"{name} has no docstring"
    listed = re.findall(r"^ {4}(\w+): \S", doc.split("Args:\n", 1)[1], re.MULTILINE) if "Args:\n" in doc else []
    # Short ones name their parameters in a sentence.
    told = set(listed) | set(re.findall(r"`(\w+)`", doc) if not listed else [])
    names = [parameter.name for parameter in parameters(value) or []]
    assert [parameter for parameter in names if parameter not in told] == [], f"{name} does not document these"
    assert [parameter for parameter in listed if parameter not in names] == [], f"{name} has no such parameters"
    if isinstance(value, type) or listed:
        assert listed == [one for one in names if one in listed], f"{name} documents its parameters in another order"


def test_enough_is_documented() -> None:
    counts = {name: len(parameters(value) or []) for name, value in callables()}
    assert counts["Model.parse"] == 12 and counts["Model.stream"] == 12 and counts["Model.render"] == 6 and counts["Model.request"] == 9
    assert counts["Tools"] == 1 and counts["Finding"] == 11 and counts["Event.ToolCallStart"] == 3
    assert sum(counts.values()) > 120, counts


def stubs() -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods in the stubs of the part that is written in Rust."""
    tree = ast.parse(Path(unjinja.__file__).with_name("_lib.pyi").read_text(encoding="utf-8"))
    bodies: list[tuple[str, list[ast.stmt]]] = [("", tree.body)]
    for prefix, body in bodies:
        for node in body:
            # Private ones are protocols, which the module does not have.
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                bodies.append((f"{prefix}{node.name}.", node.body))
            elif isinstance(node, ast.FunctionDef):
                is_property = any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)
                if not is_property and (node.name == "__new__" or not node.name.startswith("_")):
                    yield prefix + node.name, node


def test_the_stubs_have_the_signatures_of_the_module() -> None:
    """`mypy.stubtest` compares more, where it is installed."""
    compared = 0
    for name, stub in stubs():
        value: Any = unjinja._lib
        for part in name.removesuffix(".__new__").split("."):
            value = getattr(value, part)
        ours = parameters(value)
        assert ours is not None, name
        arguments = stub.args
        positional = [argument.arg for argument in arguments.posonlyargs + arguments.args if argument.arg not in ("self", "cls")]
        named = [argument.arg for argument in arguments.kwonlyargs]
        rest = [arguments.kwarg.arg] if arguments.kwarg else []
        assert [one.name for one in ours] == positional + named + rest, name
        assert [one.name for one in ours if one.kind is one.KEYWORD_ONLY] == named, name
        defaults = [default for default in [*arguments.defaults, *arguments.kw_defaults] if default]
        assert [repr(one.default) for one in ours if one.default is not one.empty] == [ast.unparse(one) for one in defaults], name
        compared += 1
    assert compared > 65
