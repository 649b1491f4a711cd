#!/usr/bin/env bash
# mlx-lm 0.32.2 (PyPI): the parsers of the calls of Qwen3-Coder and MiniMax M2 make null of the text `null`, whatever its case, also where
# the schema says that the parameter is a string. Calls in tags have no quotes, so that the schema alone says what is text; it is looked at
# too late. Whoever is called Null, or searches the code for NULL, loses the argument, and a tool that checks its input refuses the call.
# The parser for GLM 4.7 keeps the text.
#
# Output seen (Python 3.11; schema {"type": "string"}):
#     qwen3_coder: null is read as None, Null as None, NULL as None, none as 'none'
#     minimax_m2: null is read as None, Null as None, NULL as None, none as 'none'
#     glm47: null is read as 'null', Null as 'Null', NULL as 'NULL', none as 'none'
# Fails if one of the first two keeps the text, or the third one does not.
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

TEXTS = ("null", "Null", "NULL", "none")
found = {}
for name in ("qwen3_coder", "minimax_m2", "glm47"):
    found[name] = [read(name, text, {"type": "string"}) for text in TEXTS]
    first, *rest = (f"{text} {{}}as {value!r}" for text, value in zip(TEXTS, found[name]))
    print(f"{name}:", ", ".join([first.format("is read "), *(one.format("") for one in rest)]))
assert found["qwen3_coder"] == found["minimax_m2"] == [None, None, None, "none"], "the text stays a text now"
assert found["glm47"] == list(TEXTS), "the text is lost here too now"
PYTHON
