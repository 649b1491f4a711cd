"""The plug-in for vLLM: a tool parser and a reasoning parser of the name `unjinja`, for any chat template.

Where unjinja is installed next to vLLM, vLLM finds it by itself (entry point `vllm.general_plugins`):

    vllm serve MODEL --enable-auto-tool-choice --tool-call-parser unjinja --reasoning-parser unjinja

Both parsers read the model's own chat template, and both share one reading of the output. See `docs/vllm.md`.

Importing this package needs no vLLM; the two classes do.
"""

from __future__ import annotations

from typing import Any

NAME = "unjinja"

_MODULES = {"UnjinjaToolParser": f"{__name__}.tools", "UnjinjaReasoningParser": f"{__name__}.reasoning"}

__all__ = ["NAME", "register"]


def register() -> None:
    """Registers both parsers with vLLM, without importing them. vLLM calls this in each of its processes."""
    from ._host import reasoning_parsers, tool_parsers

    for managed, name in ((tool_parsers(), "UnjinjaToolParser"), (reasoning_parsers(), "UnjinjaReasoningParser")):
        managed.register_lazy_module(NAME, _MODULES[name], name)


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_MODULES[name]), name)
