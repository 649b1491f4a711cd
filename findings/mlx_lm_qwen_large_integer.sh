#!/usr/bin/env bash
# mlx-lm 0.32.2 (PyPI): the parser of the calls of Qwen3-Coder reads an integer as a float and makes an integer of that. Python's integers
# have no limit, so that one expects the digits to stay; above 2^53 they do not. The number of a message or an order, which is of this size
# in many services, becomes that of another one, and no error comes. The parsers for GLM 4.7 and MiniMax M2 keep the digits.
#
# Output seen (Python 3.11; schema {"type": "integer"}):
#     qwen3_coder: 9007199254740993 is read as 9007199254740992, 1184467440737095517 as 1184467440737095424
#     glm47: 9007199254740993 is read as 9007199254740993, 1184467440737095517 as 1184467440737095517
#     minimax_m2: 9007199254740993 is read as 9007199254740993, 1184467440737095517 as 1184467440737095517
# Fails if the first keeps a number, or one of the others does not.
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

NUMBERS = (9007199254740993, 1184467440737095517)
for name in CALLS:
    one, two = found = [read(name, number, {"type": "integer"}) for number in NUMBERS]
    print(f"{name}: {NUMBERS[0]} is read as {one}, {NUMBERS[1]} as {two}")
    kept = [value == number for value, number in zip(found, NUMBERS)]
    assert all(type(value) is int for value in found)
    assert kept == [name != "qwen3_coder"] * 2, f"{name} reads large integers otherwise now"
PYTHON
