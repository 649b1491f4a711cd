"""The model of the server's chat template: the one on the command line, else the tokenizer's."""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from .._lib import LoadError, Model
from . import _host
from ._tokens import Specials, specials_of


def model_of(tokenizer: Any, *, calls: bool) -> Model:
    """The model of the chat template: that of `--chat-template`, if this process was started with it, else the tokenizer's own. `calls`
    says whether its calls must be understood.

    A template is analysed once in a process; the analysis takes milliseconds.
    """
    template = _given(tuple(sys.argv)) or _template_of(tokenizer)
    model = _loaded(template, _token(tokenizer, "bos_token"), _token(tokenizer, "eos_token"))
    if calls and model.status == "unsupported":
        gaps = "\n".join(f"- {gap}" for gap in model.gaps)
        raise LoadError(
            f"unjinja does not understand the calls that this model's chat template writes:\n{gaps}\n"
            "Choose another parser for --tool-call-parser (--reasoning-parser unjinja works alone), or run "
            "`unjinja lint` on the model's folder to see what would help."
        )
    return model


def _template_of(tokenizer: Any) -> str:
    advice = (
        "unjinja reads a model's output by its chat template, and {}. Put the template into the model's folder, as "
        "chat_template.jinja or in tokenizer_config.json, or name it with --chat-template; a template in a request is not seen "
        "by vLLM's parsers."
    )
    get = getattr(tokenizer, "get_chat_template", None)
    template: Any = None
    if callable(get):
        try:
            # Several templates: the one with tools is the one whose calls must be read.
            template = get(tools=[{}])
        except (TypeError, ValueError) as error:
            raise LoadError(advice.format(f"this tokenizer gives none ({error})")) from error
    else:
        template = getattr(tokenizer, "chat_template", None)
    if isinstance(template, str) and template:
        return template
    kind = type(tokenizer).__name__
    raise LoadError(advice.format(f"this tokenizer ({kind}) has none"))


def _on_command_line(arguments: Sequence[str]) -> str | None:
    """What the command line says for `--chat-template`, or the file that it names with `--config`. vLLM gives this to no parser."""
    found, config = None, None
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        name = name.replace("_", "-")
        if name in ("--chat-template", "--config"):
            value = value if equals else "".join(arguments[at + 1 : at + 2])
            found, config = (value, config) if name == "--chat-template" else (found, value)
    if found is None and config and Path(config).is_file():
        text = Path(config).read_text(encoding="utf-8", errors="replace")
        line = re.search(r"^chat[-_]template\s*:\s*(.+?)\s*$", text, re.MULTILINE)
        found = line.group(1).strip("\"'") if line else None
    return found or None


@lru_cache(maxsize=4)
def _given(arguments: tuple[str, ...]) -> str | None:
    """The template of the command line, read as vLLM reads it: a file, or the template itself. None if there is none."""
    given = _on_command_line(arguments)
    if given is None:
        return None
    try:
        template = Path(given).read_text(encoding="utf-8")
    except (OSError, ValueError):
        if not re.search(r"[{}\n]", given):
            _host.logger().warning(
                "unjinja: --chat-template names %r, which cannot be read here: outputs are read by the template of the model's "
                "tokenizer. If they differ, put the template into the model's folder, as chat_template.jinja.",
                given,
            )
            return None
        template = given
    _host.logger().info("unjinja: outputs are read by the chat template that the command line names")
    return template


def about_request(request: Any) -> None:
    """Warns if a request brings a template of its own: the parsers know one template, and only the server's."""
    if getattr(request, "chat_template", None):
        _of_request()


@lru_cache(maxsize=1)
def _of_request() -> None:
    _host.logger().warning(
        "unjinja: a request has a chat_template of its own. Outputs are read by the server's template; if the formats differ, start a "
        "server with that template."
    )


def specials_for(model: Model, tokenizer: Any) -> Specials:
    """The special tokens of a tokenizer, with what is a marker of the model. They are looked up once for a tokenizer."""
    try:
        known = _specials.setdefault(tokenizer, {})
    except TypeError:  # a tokenizer that cannot be a key
        return specials_of(model, tokenizer)
    template = model.template or ""
    if template not in known:
        known[template] = specials_of(model, tokenizer)
    return known[template]


_specials: weakref.WeakKeyDictionary[Any, dict[str, Specials]] = weakref.WeakKeyDictionary()


def _token(tokenizer: Any, name: str) -> str | None:
    token = getattr(tokenizer, name, None)
    return None if token is None else str(token)


def _load(template: str, bos_token: str | None, eos_token: str | None) -> Model:
    try:
        model = Model.from_template(template, bos_token=bos_token, eos_token=eos_token)
    except LoadError as error:
        raise LoadError(f"unjinja cannot read this model's chat template: {error}") from error
    if model.status != "supported":
        _host.logger().warning("unjinja: parts of the chat template are not understood: %s", "; ".join(model.gaps))
    return model


_loaded = lru_cache(maxsize=16)(_load)
