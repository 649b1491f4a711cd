#!/usr/bin/env bash
# mlx-lm 0.32.2 (PyPI): the parsers of the calls of GLM 4.7 and MiniMax M2 strip each text in a call of all white space at both ends. A tool
# that edits files is given the lines to replace without the indentation of the first one and without the last line break: they are then
# not found in the file, or are put back at another depth. The parser for Qwen3-Coder takes off one line break, which its template writes.
#
# Output seen (Python 3.11; schema {"type": "string"}):
#     written: '    if done:\n        return\n'
#     qwen3_coder: '    if done:\n        return\n'
#     glm47: 'if done:\n        return'
#     minimax_m2: 'if done:\n        return'
# Fails if one of the last two keeps the text, or the first one does not.
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

TEXT = "    if done:\n        return\n"
print(f"written: {TEXT!r}")
for name in CALLS:
    found = read(name, TEXT, {"type": "string"})
    print(f"{name}: {found!r}")
    expected = TEXT if name == "qwen3_coder" else TEXT.strip()
    assert found == expected, f"{name} reads white space otherwise now"
PYTHON
