"""The model of a tokenizer's chat template."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from .._lib import LoadError, Model
from . import _host


def model_of(tokenizer: Any, *, calls: bool) -> Model:
    """The model of the tokenizer's own chat template. `calls` says whether its calls must be understood.

    A template is analysed once in a process; the analysis takes milliseconds.
    """
    template = _template_of(tokenizer)
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
        "chat_template.jinja or in tokenizer_config.json; a template that is only given as --chat-template or in a request "
        "is not seen by vLLM's parsers."
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
