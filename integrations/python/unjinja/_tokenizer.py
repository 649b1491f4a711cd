"""Where a tokenizer is, and what one of transformers knows about its chat template. Nothing here imports transformers."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._lib import RequestError


def source_of(tokenizer: Any) -> tuple[str, str]:
    """Where a tokenizer is: `json` and the text of a `tokenizer.json`, `folder` and the folder of a model, or `file` and another file."""
    if isinstance(tokenizer, str) and tokenizer.lstrip().startswith("{"):
        return "json", tokenizer
    if isinstance(tokenizer, (str, os.PathLike)):
        path = Path(tokenizer)
        if path.name == "tokenizer.json" and path.is_file():
            return "folder", str(path.parent)
        return "folder" if path.is_dir() else "file", str(path)
    owner = owner_of(tokenizer)
    backend = getattr(owner, "backend_tokenizer", None)
    to_str = getattr(owner if backend is None else backend, "to_str", None)
    if to_str is None:
        raise TypeError(
            "tokenizer: expected a path, the text of a tokenizer.json, or a fast tokenizer, "
            f"found {type(tokenizer).__name__}; a slow tokenizer has no tokenizer.json: load it with use_fast=True"
        )
    return "json", to_str()


def template_of(tokenizer: Any, wanted: str | None) -> tuple[str, dict[str, Any]]:
    """The text of the chat template of a tokenizer or a processor, and its special tokens by their names in the template."""
    owner = owner_of(tokenizer)
    text = template_text(tokenizer, owner, wanted)
    if text is None:
        raise RequestError("this tokenizer has no chat template; pass one as chat_template, or pass a model to Encoder")
    return text, special_tokens(owner)


def owner_of(tokenizer: Any) -> Any:
    """The tokenizer of a processor; a tokenizer itself."""
    return getattr(tokenizer, "tokenizer", None) or tokenizer


def template_text(tokenizer: Any, owner: Any, wanted: str | None) -> str | None:
    """The text of the chat template: the wanted one, or the default. Some tokenizers have several by name."""
    templates: list[Any] = [getattr(which, "chat_template", None) for which in (tokenizer, owner)]
    if wanted is not None:
        named = [template for template in templates if isinstance(template, dict)]
        for by_name in named:
            if wanted in by_name:
                return str(by_name[wanted])
        if "{" in wanted:
            return wanted
        names = ", ".join(sorted({str(name) for by_name in named for name in by_name}))
        known = f"the tokenizer's names are {names}" if names else "the tokenizer has no named templates"
        raise RequestError(f"chat_template: {wanted!r} is no template and no name of one; {known}")
    for template in templates:
        if isinstance(template, dict):
            # The one for tools also renders conversations without tools.
            template = template.get("tool_use") or template.get("default")
        if isinstance(template, str) and template:
            return template
    return None


def special_tokens(owner: Any) -> dict[str, Any]:
    """The special tokens that `apply_chat_template` hands to the template, by name: texts, and lists of texts."""
    tokens: dict[str, Any] = {}
    for name, token in dict(getattr(owner, "special_tokens_map", None) or {}).items():
        tokens[str(name)] = [str(one) for one in token] if isinstance(token, (list, tuple)) else str(token)
    return tokens


def token_text(owner: Any, name: str) -> str | None:
    """The text of `bos` or `eos`, if the tokenizer has it."""
    token = getattr(owner, f"{name}_token", None)
    return token if isinstance(token, str) else None
