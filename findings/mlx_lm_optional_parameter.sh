#!/usr/bin/env bash
# mlx-lm 0.32.2 (PyPI): the parsers of calls look at `type` of a parameter, and Pydantic writes an optional one with `anyOf` instead. For
# GLM 4.7 each such text is then read as JSON or as Python: the text 42 becomes a number and true becomes a boolean, so that an optional
# string is no string. For Qwen3-Coder it is the other way round: an optional number or boolean stays a text, and 'false' is true in Python.
# The same parameter without `| None` is right in both. Only the parser for MiniMax M2 reads `anyOf`.
#
# Output seen (Python 3.11):
#     str | None, written 42: qwen3_coder '42', glm47 42, minimax_m2 '42'
#     str | None, written true: qwen3_coder 'true', glm47 True, minimax_m2 'true'
#     int | None, written 42: qwen3_coder '42', glm47 42, minimax_m2 42
#     bool | None, written false: qwen3_coder 'false', glm47 False, minimax_m2 False
# Fails if the value is read otherwise by one of the three, or a parameter that is not optional is read wrong.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps mlx-lm==0.32.2 regex==2026.11.19
"$work/env/bin/python" - <<'PYTHON'
import importlib.util, pathlib

def parser(name):  # without the package itself, which imports mlx
    folder = pathlib.Path(importlib.util.find_spec("mlx_lm").submodule_search_locations[0]) / "tool_parsers"
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.parse_tool_call

CALLS = {
    "qwen3_coder": "<function=f>\n<parameter=x>\n%s\n</parameter>\n</function>",
    "glm47": "f<arg_key>x</arg_key><arg_value>%s</arg_value>",
    "minimax_m2": '<invoke name="f">\n<parameter name="x">%s</parameter>\n</invoke>',
}

def read(name, written, schema):
    parameters = {"type": "object", "properties": {"x": schema}}
    tools = [{"type": "function", "function": {"name": "f", "parameters": parameters}}]
    return parser(name)(CALLS[name] % written, tools)["arguments"]["x"]

TYPES = {"str": "string", "int": "integer", "bool": "boolean"}
for hint, written, right, expected in (
    ("str", "42", "42", ["42", 42, "42"]),
    ("str", "true", "true", ["true", True, "true"]),
    ("int", "42", 42, ["42", 42, 42]),
    ("bool", "false", False, ["false", False, False]),
):
    plain = {"type": TYPES[hint]}
    found = [read(name, written, {"anyOf": [plain, {"type": "null"}]}) for name in CALLS]
    print(f"{hint} | None, written {written}:", ", ".join(f"{name} {value!r}" for name, value in zip(CALLS, found)))
    assert repr(found) == repr(expected), "optional parameters are read otherwise now"
    assert all(repr(read(name, written, plain)) == repr(right) for name in CALLS), "a plain parameter is read wrong"
PYTHON
