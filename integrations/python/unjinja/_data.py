"""Results that are data alone. The part of the package that is written in Rust makes them by their fields."""

from __future__ import annotations

import json
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Any, Literal

from ._json import value_of
from ._lib import Label, RequestError, _closed, _sentence


@dataclass(frozen=True, repr=False)
class _Data:
    """What these classes have in common: how they are written, and what their lists are made of."""

    def __init_subclass__(cls) -> None:
        # Where they are imported from, and what `pickle` writes.
        cls.__module__ = "unjinja"

    def __post_init__(self) -> None:
        for one in fields(self):
            if str(one.type).startswith("list["):
                object.__setattr__(self, one.name, list(getattr(self, one.name)))

    def __repr__(self) -> str:
        """The call that makes an equal object. Fields with their default are left out."""
        arguments = []
        for one in fields(self):
            value = getattr(self, one.name)
            default = one.default if one.default_factory is MISSING else one.default_factory()
            if default is MISSING:
                arguments.append(repr(value))
            elif value != default:
                arguments.append(f"{one.name}={value!r}")
        return f"{type(self).__name__}({', '.join(arguments)})"


@dataclass(frozen=True, repr=False)
class _Document(_Data):
    """What the command prints too."""

    def to_dict(self) -> dict[str, Any]:
        """All fields by their names; objects in them are dicts too."""
        return asdict(self)


@dataclass(frozen=True, repr=False)
class ToolCall(_Data):
    """One call of a tool.

    Args:
        name: The function's name.
        arguments: The arguments as JSON text. They may be broken if the call is malformed or incomplete.
        id: The id that the model wrote, or None.
        complete: Whether the model closed the call.
    """

    name: str
    arguments: str
    id: str | None = None
    complete: bool = True

    def arguments_value(self) -> Any:
        """The arguments as a Python value, as `json.loads` reads it. Raises RequestError if they are not JSON."""
        try:
            return value_of(self.arguments)
        except ValueError as error:
            name = json.dumps(self.name, ensure_ascii=False)
            raise RequestError(f"the arguments of {name} cannot be read as JSON: {error}") from None

    def closed_arguments(self) -> str:
        """The arguments, completed so that they are JSON at any moment of a stream."""
        return _closed(self.arguments)

    def to_dict(self) -> dict[str, Any]:
        """OpenAI's form of a call: `type`, `function` with `name` and `arguments`, and `id` if the model wrote one."""
        written = {} if self.id is None else {"id": self.id}
        return {**written, "type": "function", "function": {"name": self.name, "arguments": self.arguments}}


@dataclass(frozen=True, repr=False)
class Diagnostic(_Data):
    """Something unusual about an output. It never means that text was lost. As a text, it is the sentence for people.

    Args:
        kind: Its kind, such as `unknown_tool`. Raises RequestError if there is no such kind.
        call: The position of the call that it concerns, from 0, or None.
        at: The byte of the output from which on it holds, or None.
        detail: The name or text that it concerns.
        expected: What was expected instead.
    """

    kind: str
    call: int | None = None
    at: int | None = None
    detail: str = ""
    expected: str = ""

    def __post_init__(self) -> None:
        _sentence(self)

    @property
    def message(self) -> str:
        """The sentence for people."""
        return _sentence(self)

    def to_dict(self) -> dict[str, Any]:
        """The diagnostic as a dict: `kind`, and what is not empty of `call`, `at`, `detail` and `expected`."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True, repr=False)
class Grammar(_Document):
    """A grammar, and what a sampler needs with it. Made by `Model.grammar`; `print` writes its text.

    Args:
        text: The text of the grammar. Empty if nothing has to be constrained.
        lazy: Whether the grammar holds only from a trigger on.
        triggers: The triggers of a lazy grammar: pairs of a kind (`word` or `pattern`) and a text.
        preserved_tokens: Special tokens that the detokenizer must keep as text.
        stops: Texts that end a turn.
        prefill: The part of the constrained text that the prompt already contains. The sampler must be fed with it first.
        widened: Where the grammar accepts more than the schemas allow, in sentences.
    """

    text: str
    lazy: bool = False
    triggers: list[tuple[str, str]] = field(default_factory=list)
    preserved_tokens: list[str] = field(default_factory=list)
    stops: list[str] = field(default_factory=list)
    prefill: str = ""
    widened: list[str] = field(default_factory=list)

    def __hash__(self) -> int:
        return hash(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, repr=False)
class Finding(_Document):
    """Something in a template that its maintainer should look at.

    >>> import unjinja
    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}"
    >>> [(finding.severity, finding.rule) for finding in unjinja.lint_template(template) if finding.severity != "note"]
    [('warning', 'no-generation-prompt')]

    Args:
        rule: The rule, such as `null-content`. `docs/lint.md` lists them.
        severity: `error`, `warning` or `note`.
        target: What it is about: `chat_template` or `response_template`.
        message: What happens, and to whom.
        help: What to change; empty where nothing can be changed.
        line: The line of the template, from 1, or None where it is not known.
        column: The character in the line, from 1, or None where it is not known.
        conversation: The smallest conversation that shows it, as the variables of a render, or None.
        output: The output of a model that shows it, or None.
        expected: What the template should make of it, or None.
        actual: What it makes of it, or None.
    """

    rule: str
    severity: Literal["error", "warning", "note"]
    target: Literal["chat_template", "response_template"]
    message: str
    help: str = ""
    line: int | None = None
    column: int | None = None
    conversation: dict[str, Any] | None = None
    output: str | None = None
    expected: str | None = None
    actual: str | None = None

    def __str__(self) -> str:
        return f"{self.severity}: {self.rule}: {self.message}"


@dataclass(frozen=True, repr=False)
class Example(_Document):
    """An output that is read as something else than was written.

    Args:
        output: The text of the turn, from the end of the prompt on.
        in_pieces: Whether it is read otherwise only when it arrives in small pieces.
        written: The message that was written: `reasoning_content`, `content` and `tool_calls`.
        read: What is read, in the same form; None if reading failed.
        error: Why reading failed, or None.
    """

    output: str
    in_pieces: bool
    written: dict[str, Any]
    read: dict[str, Any] | None = None
    error: str | None = None


@dataclass(frozen=True, repr=False)
class Loss(_Document):
    """Something that a response template does not express.

    Args:
        kind: Its kind, such as `python_calls`. `docs/response-templates.md` lists them.
        sentence: The sentence for people.
        conversations: How many of the random conversations it changed.
        example: The shortest output that shows it, an `Example` or None.
    """

    kind: str
    sentence: str
    conversations: int
    example: Example | None = None


@dataclass(frozen=True, repr=False)
class Export(_Document):
    """A response template, and what it does not express. Made by `Model.export`.

    >>> import unjinja
    >>> template = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    >>> export = unjinja.Model.from_template(template).export(count=20)
    >>> export.response_template["start_anchor"], export.held, export.tried, export.losses
    ('<assistant>', 20, 20, [])

    Args:
        response_template: The response template, a dict, as it is in `tokenizer_config.json`.
        tried: How many random conversations were tried.
        held: How many of them came back.
        losses: What does not come back, a list of `Loss`.
        notes: What its user should know, and no response template can change, in sentences.
        findings: What `unjinja lint` says of the response template, a list of `Finding`.
    """

    response_template: dict[str, Any]
    tried: int
    held: int
    losses: list[Loss]
    notes: list[str]
    findings: list[Finding] = field(default_factory=list)


def export_of(document: dict[str, Any]) -> Export:
    """An export, of what the command prints."""

    def loss(fields: dict[str, Any]) -> Loss:
        example = fields["example"]
        return Loss(**{**fields, "example": None if example is None else Example(**example)})

    lists = {
        "losses": [loss(one) for one in document["losses"]],
        "findings": [Finding(**one) for one in document["findings"]],
    }
    return Export(**{**document, **lists})


@dataclass(frozen=True, repr=False)
class TrainingTemplate(_Data):
    """A chat template with `{% generation %}` around what the model writes, for `return_assistant_tokens_mask` of transformers. Made by
    `Model.training_template`.

    >>> import unjinja
    >>> template = "{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>' }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
    >>> training = unjinja.Model.from_template(template).training_template()
    >>> "{% generation %}{{ m.content + '<|end|>' }}{% endgeneration %}" in training.source, training.prefix
    (True, 'stable')

    Args:
        source: The template.
        tried: For how many conversations it was tried: each has the same text as before, and the right marks.
        refused: How many further conversations both templates refuse.
        prefix: Whether earlier turns stay as they were written while a conversation goes on. `stable`: they do. `repaired`: they do
            since `change`. `repairable`: they do not, and `change` would repair it. `changes`: they do not, and no change of one
            condition repairs it.
        change: The line of a condition, the condition, and the constant that repairs the template, or None.
        marks_before: For how many of the conversations the marks that the template had are right, and for how many wrong; None if it
            had none.
    """

    source: str
    tried: int
    refused: int
    prefix: Literal["stable", "repaired", "repairable", "changes"]
    change: tuple[int, str, str] | None = None
    marks_before: tuple[int, int] | None = None


@dataclass(frozen=True, repr=False)
class Spelled(_Data):
    """A control token that a text of a conversation spells.

    Args:
        token: The text of the token.
        path: The field in which it begins, such as `messages[1].content`.
        offset: Where it begins and ends in `Encoded.text`, in characters.
    """

    token: str
    path: str
    offset: tuple[int, int]


@dataclass(frozen=True, repr=False)
class Bridge(_Data):
    """What follows a turn that a model wrote, up to where it writes again. `Encoder.bridge` makes it.

    Args:
        ids: The ids to append to those of the prompt and of the turn.
        labels: What each of them is, a list of `Label`; `Label.message` is a position in the whole conversation, the turn included.
            Raises RequestError if there are more or fewer than ids.
        closes_turn: Whether the turn was cut off, so that the first ids are what ends it. The model has not written them.
        message: The turn that the model wrote, as a dict for the conversation.
        same_text: Whether the template writes the turn as the model did. If not, the render of the whole conversation has other white
            space in that turn, or another form of arguments.
    """

    ids: list[int]
    labels: list[Label]
    closes_turn: bool
    message: dict[str, Any]
    same_text: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.labels) != len(self.ids):
            raise RequestError(f"labels: there are {len(self.labels)} and {len(self.ids)} ids; give one for each id")


@dataclass(frozen=True, repr=False)
class Rewrite(_Data):
    """Where a template writes something anew that a model has read or written already. As a text, it is a sentence for people.

    Args:
        message: The position of the assistant's message whose turn, or whose prompt, is changed.
        at: The first byte of the prompt that is another one.
        before: The beginning of what the prompt had there; empty at its end.
        after: The beginning of what it has there once the conversation goes on.
        before_at: The line and the column of the statement of the template that wrote `before`, or None.
        after_at: The line and the column of the statement that writes `after`, or None.
        sentence: The sentence for people.
    """

    message: int
    at: int
    before: str
    after: str
    before_at: tuple[int, int] | None = None
    after_at: tuple[int, int] | None = None
    sentence: str = ""

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, repr=False)
class ReadMessage(_Data):
    """A message of a `ReadConversation`.

    Args:
        message: The message, a dict as OpenAI has it.
        offset: Where all that was written for it begins and ends, with its header, in characters of the transcript. It ends where
            that of the next message begins.
        text_offset: Where its text is: for the assistant the whole turn with its markers.
        parts: What that text is: a list of tuples of where a part begins, where it ends, and what it is, as in `Label.part`.
    """

    message: dict[str, Any]
    offset: tuple[int, int]
    text_offset: tuple[int, int]
    parts: list[tuple[int, int, str]] = field(default_factory=list)


@dataclass(frozen=True, repr=False)
class Alternative(_Data):
    """Other messages for which the template writes the same text.

    Args:
        replaces: The first message of `ReadConversation.messages` that they take the place of, and the one after the last.
        messages: The other messages, a list of dicts; none if the template writes this text of its own accord.
    """

    replaces: tuple[int, int]
    messages: list[dict[str, Any]]


@dataclass(frozen=True, repr=False)
class ReadConversation(_Data):
    """A conversation that was read back. `ConversationReader.read` makes it. All offsets are characters of `transcript`.

    Args:
        messages: The messages, in order, a list of `ReadMessage`.
        tools: The tools that it offers, where the template describes them in JSON; else none.
        tools_offset: Where tools are described, whether they could be read or not, or None.
        open_turn: Whether it ends in a turn of the assistant that is not over, such as a generation prompt.
        alternatives: What else the transcript can be, a list of `Alternative`.
        difference: The first character that the template does not write for these messages: then something was lost, or the
            transcript was not written by this template. None if it writes the same text.
        unread: Where text stands before the first message that is not what the template begins with.
        transcript: The transcript as text. Where ids are no UTF-8, it has U+FFFD.
    """

    messages: list[ReadMessage]
    tools: list[dict[str, Any]] = field(default_factory=list)
    tools_offset: tuple[int, int] | None = None
    open_turn: bool = False
    alternatives: list[Alternative] = field(default_factory=list)
    difference: int | None = None
    unread: tuple[int, int] = (0, 0)
    transcript: str = ""
