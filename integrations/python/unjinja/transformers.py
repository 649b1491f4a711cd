"""Gives a tokenizer of transformers what it needs to read the model's output: `tokenizer.parse_response`.

    import unjinja.transformers
    print(unjinja.transformers.attach(tokenizer))
    message = tokenizer.parse_response(output, prefix=prompt, tools=tools)

Nothing here imports transformers before it is needed, and nothing needs PyTorch.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._json import value_of
from ._data import Loss
from ._lib import Message, Model, RequestError, Tools
from ._tokenizer import owner_of, template_text, token_text

__all__ = ["Attached", "attach", "message_of"]


@dataclass(frozen=True, repr=False)
class Attached:
    """What `attach` did. As a text, it is a sentence for people.

    Args:
        how: `"template"` if `parse_response` reads with `tokenizer.response_template`, and `"parser"` if it is ours now.
        model: The model that was made of the chat template.
        losses: What a response template loses. Empty if nothing is lost, or if the model has none.
        notes: What the user of a response template should know.
        has_template: Whether `tokenizer.response_template` was set. A model that is not supported, or has no template, has none.
    """

    how: Literal["template", "parser"]
    model: Model
    losses: list[Loss]
    notes: list[str]
    has_template: bool = True

    def __str__(self) -> str:
        lost = "; ".join(f"{loss.kind}: {loss.sentence}" for loss in self.losses)
        if self.how == "template":
            done = f"tokenizer.response_template was set; it loses {lost}" if lost else "tokenizer.response_template was set"
        elif not self.has_template:
            done = "tokenizer.parse_response is unjinja's; there is no response template of this chat template"
        elif lost:
            done = (
                f"tokenizer.parse_response is unjinja's, because a response template would lose {lost}; "
                "tokenizer.response_template was set too, for what reads it without parse_response: that loses this"
            )
        else:
            done = "tokenizer.parse_response is unjinja's; tokenizer.response_template was set too"
        if self.model.status == "supported":
            return done
        how_much = "only in part" if self.model.status == "partial" else "not"
        return f"{done}; the chat template is understood {how_much}: {'; '.join(self.model.gaps)}"

    def __repr__(self) -> str:
        gaps = f", gaps: {self.model.gaps}" if self.model.gaps else ""
        return f"Attached({self.how}: {self.model!r}, {len(self.losses)} losses{gaps})"


def attach(
    tokenizer: Any,
    *,
    how: Literal["auto", "template", "parser"] = "auto",
    chat_template: str | None = None,
    model: Model | None = None,
    count: int = 200,
) -> Attached:
    """Makes `tokenizer.parse_response` read what the model of this tokenizer writes, and says how.

    If a response template for the installed version of transformers can express the format, it becomes `tokenizer.response_template`: `save_pretrained` stores it, and
    streaming with `get_response_parser` works. If it would lose something, `parse_response` of this tokenizer is replaced by ours,
    which takes the same arguments and returns the same dicts. The response template is set then too, because trainers ask for it
    before they call `parse_response` (TRL), and streams read with it: `losses` says what these lose.

    Args:
        tokenizer: A tokenizer, fast or slow, or a processor that has one.
        how: `"auto"` (the default) decides as above; `"template"` and `"parser"` decide it.
        chat_template: The text or the name of a template, if it is not the tokenizer's default.
        model: Is used instead of one made of the template.
        count: How many random conversations are tried with the response template.

    Raises LoadError if the chat template gives no model, and RequestError if there is none or an argument is wrong.
    """
    if how not in ("auto", "template", "parser"):
        raise RequestError(f'how: {how!r} is unknown; use "auto", "template" or "parser"')
    if count < 1:
        raise RequestError(f"count: {count} conversations show nothing; use 1 or more")
    owner = owner_of(tokenizer)
    if model is None:
        text = template_text(tokenizer, owner, chat_template)
        if text is None:
            raise RequestError("this tokenizer has no chat template; pass one as chat_template, or pass a model")
        model = Model.from_template(text, bos_token=token_text(owner, "bos"), eos_token=token_text(owner, "eos"))
    losses: list[Loss] = []
    notes: list[str] = []
    response_template = None
    # A model without a template, or one that is not supported, has no export.
    if how == "template" or (model.template is not None and model.status != "unsupported"):
        export = model.export(count=count)
        losses, notes = export.losses, export.notes
        if _reads(export.response_template):
            response_template = export.response_template
        elif how == "template":
            raise RequestError("this version of transformers cannot read the response template, which needs 5.24")
    has_template = response_template is not None
    # One of another chat template would be stored with the tokenizer, and streams would read by it.
    if has_template or getattr(owner, "response_template", None) is not None:
        owner.response_template = response_template
    if how == "template" or (how == "auto" and has_template and not losses):
        owner.__dict__.pop("parse_response", None)
        return Attached("template", model, losses, notes)
    owner.parse_response = _ParseResponse(owner, model)
    return Attached("parser", model, losses, notes, has_template)


def message_of(message: Message) -> dict[str, Any]:
    """A message in the form of transformers: empty fields are left out, and arguments are values and not text. Arguments that
    are no JSON even when they are completed stay text.

    Args:
        message: What `Model.parse` or a stream returned.
    """
    result: dict[str, Any] = {"role": "assistant"}
    if message.reasoning_content:
        result["reasoning_content"] = message.reasoning_content
    if message.content:
        result["content"] = message.content
    if message.tool_calls:
        result["tool_calls"] = []
    for call in message.tool_calls:
        try:
            arguments = value_of(call.closed_arguments())
        except ValueError:
            arguments = call.arguments
        written: dict[str, Any] = {"type": "function", "function": {"name": call.name, "arguments": arguments}}
        if call.id is not None:
            written["id"] = call.id
        result["tool_calls"].append(written)
    return result


class _ParseResponse:
    """`parse_response` of one tokenizer. It is copied and pickled with the tokenizer that it belongs to."""

    def __init__(self, tokenizer: Any, model: Model) -> None:
        self.tokenizer, self.model = tokenizer, model

    def __call__(
        self,
        response: Any,
        schema: dict[str, Any] | None = None,
        *,
        prefix: Any = None,
        tools: Sequence[dict[str, Any] | Callable[..., Any]] | None = None,
    ) -> Any:
        """Reads an output: a text or token ids, or a batch of them. `prefix` is the prompt, and `""` if there is none. The result
        is a message as a dict, or a list of messages for a batch. A `schema` is given to transformers."""
        if schema is not None:
            return type(self.tokenizer).parse_response(self.tokenizer, response, schema, prefix=prefix, tools=tools)
        if prefix is None:
            raise ValueError("parse_response needs prefix=, the prompt: it may have begun the turn; pass an empty text if there is none")
        outputs, is_batch = self._texts(response)
        prompts, is_prompt_each = self._texts(prefix) if not _is_empty_list(prefix) else ([""], False)
        if not is_prompt_each:
            prompts = prompts * len(outputs)
        elif len(prompts) != len(outputs):
            raise ValueError(f"there are {len(outputs)} responses and {len(prompts)} prefixes; pass one prefix, or one for each response")
        offered = Tools(tools) if tools else None
        messages = [
            message_of(self.model.parse(output, tools=offered, prompt=prompt or None))
            for output, prompt in zip(outputs, prompts, strict=True)
        ]
        return messages if is_batch else messages[0]

    def _texts(self, value: Any) -> tuple[list[str], bool]:
        """The texts of an argument, and whether it is a batch."""
        if isinstance(value, str):
            return [value], False
        if isinstance(value, (list, tuple)) and (not value or isinstance(value[0], str)):
            return list(value), True
        decoded = self.tokenizer.decode(value)
        return ([decoded], False) if isinstance(decoded, str) else (list(decoded), True)

    def __deepcopy__(self, memo: dict[int, Any]) -> _ParseResponse:
        return _ParseResponse(copy.deepcopy(self.tokenizer, memo), self.model)


def _reads(response_template: dict[str, Any]) -> bool:
    """Whether the version of transformers that is installed can read a response template: 5.24 is the first to read calls as in Python."""
    if response_template["fields"].get("tool_calls", {}).get("content") != "python-call-list":
        return True
    try:
        from transformers.utils.chat_parsing.content_parsers import CONTENT_PARSERS
    except ImportError:
        return False
    return "python-call-list" in CONTENT_PARSERS


def _is_empty_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and not value
