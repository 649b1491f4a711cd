"""A renderer for the package `renderers` (verifiers and prime-rl use it), for any chat template.

    from unjinja.renderers import Renderer
    renderer = Renderer(tokenizer)  # a fast tokenizer of transformers, or an unjinja.Encoder

In a config of prime-rl: `name = "custom"` and `import_path = "unjinja.renderers.Renderer"`. It satisfies the protocol
`renderers.Renderer` of version 0.1.12. Images and videos are not rendered.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Literal

from ._json import value_of
from ._data import ToolCall
from ._lib import BridgeError, EncodeError, Encoded, Encoder, Event, Label, RenderError, RequestError

try:
    from pydantic import ConfigDict
    from renderers import BaseRendererConfig, ParsedResponse, ParsedToolCall, RenderedTokens, ToolCallParseStatus, extract_message_tool_names
except ImportError as error:
    raise ImportError(
        f"unjinja.renderers needs the package renderers (0.1.12 was tried), on Python 3.11 or later: {error}\n"
        "  = next: pip install renderers httpx"
    ) from error

__all__ = ["Renderer", "RendererConfig"]

_CALL = {"id": "call00001", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}
_TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "f",
            "description": "A tool.",
            "parameters": {"type": "object", "properties": {"a": {"type": "integer", "description": "A number."}}},
        },
    }
]
_ASKED: dict[str, Any] = {"role": "user", "content": "2 + 2?"}
_RESULT: dict[str, Any] = {"role": "tool", "tool_call_id": "call00001", "name": "f", "content": "4"}
_ANSWERS: tuple[dict[str, Any], ...] = (
    {"role": "assistant", "content": "4"},
    {"role": "assistant", "content": "4", "reasoning_content": "Easy."},
)
_CALLS: tuple[dict[str, Any], ...] = (
    {"role": "assistant", "content": "", "tool_calls": [_CALL]},
    {"role": "assistant", "content": "", "reasoning_content": "I count.", "tool_calls": [_CALL]},
    {"role": "assistant", "content": "I count.", "tool_calls": [_CALL]},
)
_TWO_CALLS: dict[str, Any] = {**_CALLS[1], "tool_calls": [_CALL, {**_CALL, "id": "call00002"}]}
# What a conversation may have been before a turn whose prompt is known by its ids alone.
_BEFORE: tuple[list[dict[str, Any]], ...] = ([_ASKED], [_ASKED, _CALLS[0], _RESULT], [_ASKED, _CALLS[1], _RESULT])
_KINDS = {"role": False, "reasoning": True, "content": True, "call": True, "tool_result": True, "tool": False, "variable": False, "markup": False}


class RendererConfig(BaseRendererConfig):  # type: ignore[misc, unused-ignore]
    """The config of a `Renderer`. Any field but these is a variable of the chat template, such as `enable_thinking`.

    Args:
        name: Always `"unjinja"`.
        thinking_retention: `"all"` also continues a conversation at a new question of the user, `"tool_cycle"` never. The default
            does so where the template is prefix-stable.
    """

    model_config = ConfigDict(frozen=True, extra="allow")
    name: Literal["unjinja"] = "unjinja"
    _allow_opaque_template_kwargs = True


class Renderer:
    """Messages as token ids, and token ids as messages, for any chat template: the protocol `renderers.Renderer`.

    Args:
        tokenizer: An `Encoder`, or a fast tokenizer or a processor of transformers, which has the chat template.
        config: The config. The default has no variables.
    """

    config_class = RendererConfig

    def __init__(self, tokenizer: Any, config: RendererConfig | None = None) -> None:
        self.encoder = tokenizer if isinstance(tokenizer, Encoder) else Encoder.from_tokenizer(tokenizer)
        self.config = config or RendererConfig()
        self._variables: dict[str, Any] = dict(self.config.model_extra or {})

    def render(self, messages: list[Any], *, tools: list[Any] | None = None, add_generation_prompt: bool = False) -> RenderedTokens:
        """The token ids of a conversation, with the message of each and whether the model writes it. `is_content` is true for what the
        model writes, and for the texts of the other messages: content, and the results of calls with their names and ids.

        Args:
            messages: The conversation. Raises RequestError if it has images or videos.
            tools: The tools. They are handed to the template as they are.
            add_generation_prompt: Whether the ids end with the beginning of the assistant's turn.
        """
        if not messages:
            raise RequestError("messages: there are none; give at least one")
        given = [_plain(message, f"messages[{at}]") for at, message in enumerate(messages)]
        encoded = self._encode(given, tools, add_generation_prompt)
        positions = _positions(given, encoded.messages)
        indices = [-1 if label.message is None else positions[label.message] for label in encoded.labels]
        return RenderedTokens(
            token_ids=encoded.ids,
            message_indices=indices,
            sampled_mask=encoded.assistant_mask,
            is_content=[_is_content(label, given, at) for label, at in zip(encoded.labels, indices, strict=True)],
            message_roles=[str(message.get("role") or "") for message in given],
            message_tool_names=extract_message_tool_names(messages),
        )

    def render_ids(self, messages: list[Any], *, tools: list[Any] | None = None, add_generation_prompt: bool = False) -> list[int]:
        """The token ids of a conversation.

        Args:
            messages: The conversation.
            tools: The tools.
            add_generation_prompt: Whether the ids end with the beginning of the assistant's turn.
        """
        given = [_plain(message, f"messages[{at}]") for at, message in enumerate(messages)]
        return self._encode(given, tools, add_generation_prompt).ids

    def parse_response(self, token_ids: list[int], *, tools: list[Any] | None = None, prompt_ids: list[int] | None = None) -> ParsedResponse:
        """Reads what the model wrote. Calls that are broken are given too, with their status.

        Args:
            token_ids: The ids.
            tools: The tools. They decide how arguments are typed.
            prompt_ids: The ids of the prompt, which may have begun the turn.
        """
        ids = [int(id) for id in token_ids]
        ids = ids[: next((at for at, id in enumerate(ids) if id in self._stops), len(ids))]
        stream = self.encoder.stream(tools=_wrapped(tools), prompt=prompt_ids or None, unparsed="separate")
        channels: list[str | None] = []
        events: list[tuple[int, Event]] = []
        for at, id in enumerate(ids):
            channels.append(stream.channel)
            events += [(at, event) for event in stream.push(id)]
        is_open = stream.channel == "reasoning"
        events += [(len(ids), event) for event in stream.finish()]
        message = stream.message
        spans = {index: self._without_space(ids, span) for index, span in _call_spans(events, channels).items()}
        problems: dict[int | None, set[str]] = {}
        for diagnostic in message.diagnostics:
            problems.setdefault(diagnostic.call, set()).add(diagnostic.kind)
        calls = [
            self._parsed_call(call, ids, spans.get(index), problems.get(index, set())) for index, call in enumerate(message.tool_calls)
        ]
        # Markup of calls that have no name yet.
        broken = problems.get(None, set())
        if broken & {"abandoned_call", "incomplete_call"}:
            status = ToolCallParseStatus.UNCLOSED_BLOCK if "incomplete_call" in broken else ToolCallParseStatus.MALFORMED_STRUCTURE
            calls.append(ParsedToolCall(raw=message.unparsed, status=status))
        return ParsedResponse(
            content=message.content,
            reasoning_content=message.reasoning_content or None,
            tool_calls=calls,
            reasoning_complete=not is_open,
        )

    def get_stop_token_ids(self) -> list[int]:
        """The ids of the tokens that end a turn; first the one that ends an answer."""
        return list(self._stops)

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: list[int],
        previous_completion_ids: list[int],
        new_messages: list[Any],
        *,
        tools: list[Any] | None = None,
    ) -> RenderedTokens | None:
        """Continues a turn that was sampled with new messages: none of its ids is made again. None where the template writes anew what
        the model has read, or where that cannot be told: render the whole conversation then.

        Args:
            previous_prompt_ids: The prompt.
            previous_completion_ids: What the model wrote. What comes after the token that ends the turn is left out.
            new_messages: The messages that follow. None of them is the assistant's.
            tools: The tools.
        """
        roles = [str(message.get("role") or "") for message in new_messages]
        if not previous_prompt_ids or not new_messages or "assistant" in roles:
            return None
        if "user" in roles and self.effective_thinking_retention != "all":
            return None
        new = [_plain(message, f"new_messages[{at}]") for at, message in enumerate(new_messages)]
        prompt = [int(id) for id in previous_prompt_ids]
        sampled = [int(id) for id in previous_completion_ids]
        last = max((at for at, id in enumerate(sampled) if id in self._stops), default=len(sampled) - 1)
        sampled = sampled[: last + 1]
        for before in _BEFORE:
            try:
                turn = self._generation_prompt(before, tools)
                if not turn or prompt[-len(turn) :] != turn:
                    continue
                bridge = self.encoder.bridge(before, sampled, new, tools=tools, **self._variables)
            except (BridgeError, EncodeError, RenderError):
                return None
            previous = prompt + sampled
            indices = [_new_index(label, len(before) + 1, len(new)) for label in bridge.labels]
            return RenderedTokens(
                token_ids=previous + bridge.ids,
                message_indices=[-1] * len(previous) + indices,
                sampled_mask=[False] * (len(previous) + len(bridge.ids)),
                is_content=[False] * len(previous)
                + [_is_content(label, new, at) for label, at in zip(bridge.labels, indices, strict=True)],
                message_roles=roles,
                message_tool_names=extract_message_tool_names(new_messages),
            )
        return None

    @cached_property
    def is_prefix_stable(self) -> bool:
        """Whether a conversation that goes on keeps the ids that it had. It is tried with conversations of every kind: answers and calls,
        with reasoning and without, with results of calls and with another question."""
        ends = [[answer] for answer in _ANSWERS] + [[call, _RESULT, answer] for call in _CALLS for answer in _ANSWERS]
        tried = 0
        for first in ends:
            for second in ends:
                conversation = [_ASKED, *first, _ASKED, *second]
                same = self._keeps_ids(conversation)
                if same is False:
                    return False
                tried += same is not None
        return tried > 0

    @cached_property
    def effective_thinking_retention(self) -> Literal["tool_cycle", "all"]:
        """Whether a conversation is continued at a new question of the user: that of the config, or what the template allows."""
        wanted = self.config.thinking_retention
        if wanted is not None:
            return "all" if wanted == "all" else "tool_cycle"
        return "all" if self.is_prefix_stable else "tool_cycle"

    @cached_property
    def _stops(self) -> list[int]:
        """The control token that ends an answer, and the one that ends a call: the last one that the model writes or, in a format without a
        marker for the end, the one that begins the next message. A token that is also inside a turn ends none."""
        control = self.encoder.control_tokens
        turns = ((_ANSWERS[0], _ASKED), (_CALLS[0], _RESULT), (_ANSWERS[1], _ASKED), (_TWO_CALLS, _RESULT))
        alone = [self._end_of_turn([_ASKED, turn]) for turn, _ in turns]
        stops = set(control.values()).difference(*(before for _, _, before in alone))
        found: list[int] = []
        for (turn, more), (last, _, _) in zip(turns, alone, strict=True):
            if last not in stops:
                # What begins the next message is in the mask of a turn that it ends.
                last, after, _ = self._end_of_turn([_ASKED, turn, more])
                last = last if last in stops else after
            found.append(last)
        found.append(control.get(tomllib.loads(self.encoder.model.spec).get("tokens", {}).get("eos"), -1))
        return [id for id in dict.fromkeys(found) if id in stops]

    def _end_of_turn(self, conversation: list[dict[str, Any]]) -> tuple[int, int, list[int]]:
        """The last token that the model writes in a conversation with one turn, the one after it, and those before it; -1 for none."""
        try:
            encoded = self._encode(conversation, _TOOLS, False)
        except (EncodeError, RenderError):
            return -1, -1, []
        written = [at for at, on in enumerate(encoded.assistant_mask) if on]
        if not written:
            return -1, -1, []
        ids, last = encoded.ids, written[-1]
        return ids[last], ids[last + 1] if last + 1 < len(ids) else -1, [ids[at] for at in written[:-1]]

    def _encode(self, messages: Sequence[Any], tools: Any, add_generation_prompt: bool) -> Encoded:
        return self.encoder.encode(messages, tools=tools or None, add_generation_prompt=add_generation_prompt, **self._variables)

    def _generation_prompt(self, messages: list[dict[str, Any]], tools: Any) -> list[int]:
        """The ids that begin the assistant's turn."""
        before = self._encode(messages, tools, False).ids
        prompt = self._encode(messages, tools, True).ids
        return prompt[len(before) :] if prompt[: len(before)] == before else []

    def _keeps_ids(self, conversation: list[dict[str, Any]]) -> bool | None:
        """Whether no longer beginning of a conversation changes the ids of a shorter one. None if the template refuses it."""
        first = next(at for at, message in enumerate(conversation) if message["role"] == "assistant") + 1
        ends = range(first, len(conversation) + 1)
        try:
            parts = [self._encode(conversation[:end], _TOOLS, False).ids for end in ends]
        except (EncodeError, RenderError):
            return None
        done = [at for at, end in enumerate(ends) if conversation[end - 1]["role"] == "assistant"]
        return all(longer[: len(parts[at])] == parts[at] for at in done for longer in parts[at + 1 :])

    def _without_space(self, ids: list[int], span: tuple[int, int]) -> tuple[int, int]:
        """A span without the white space before it, which separates calls."""
        first, end = span
        while first < end and self.encoder.text_of(ids[first : first + 1]).isspace():
            first += 1
        return first, end

    def _parsed_call(self, call: ToolCall, ids: list[int], span: tuple[int, int] | None, problems: set[str]) -> ParsedToolCall:
        try:
            arguments = value_of(call.arguments)
        except ValueError:
            arguments = call.arguments
        status = ToolCallParseStatus.OK
        if "incomplete_call" in problems or not call.complete:
            status = ToolCallParseStatus.UNCLOSED_BLOCK
        elif "malformed_arguments" in problems or not isinstance(arguments, dict):
            status = ToolCallParseStatus.INVALID_JSON
        elif "unknown_tool" in problems:
            status = ToolCallParseStatus.UNKNOWN_TOOL
        raw = self.encoder.text_of(ids[slice(*span)]) if span else call.arguments
        return ParsedToolCall(raw=raw, name=call.name, arguments=arguments, token_span=span, status=status, id=call.id)


def _plain(message: Any, place: str) -> dict[str, Any]:
    """A message in OpenAI's form: parts of thinking become `reasoning_content`."""
    plain = dict(message)
    if "reasoning_content" not in plain and isinstance(plain.get("reasoning"), str):
        plain["reasoning_content"] = plain.pop("reasoning")
    parts = plain.get("content")
    if isinstance(parts, list):
        kinds = {part.get("type") for part in parts if isinstance(part, dict)}
        if kinds - {"text", "thinking"}:
            raise RequestError(f"{place}.content: only text and thinking are rendered, not {sorted(map(str, kinds - {'text', 'thinking'}))}")
        thinking = "".join(str(part["thinking"]) for part in parts if isinstance(part, dict) and part.get("type") == "thinking")
        plain["content"] = [part for part in parts if not (isinstance(part, dict) and part.get("type") == "thinking")]
        if thinking:
            plain["reasoning_content"] = thinking
    return plain


def _positions(given: list[dict[str, Any]], handed: list[dict[str, Any]]) -> list[int]:
    """For each message that the template got its position in the list that was given. A system message may have been moved into another."""
    if len(given) == len(handed):
        return list(range(len(given)))
    positions: list[int] = []
    at = 0
    for message in handed:
        while at < len(given) - 1 and given[at].get("role") != message.get("role"):
            at += 1
        positions.append(min(at, len(given) - 1))
        at += 1
    return positions


def _is_content(label: Label, messages: list[dict[str, Any]], at: int) -> bool:
    """Whether a token is of a message's body. Of the assistant's it is what the model writes."""
    if not 0 <= at < len(messages):
        return False
    return label.by_model if messages[at].get("role") == "assistant" else _KINDS[label.part]


def _new_index(label: Label, before: int, count: int) -> int:
    """The position of a token's message among the new ones."""
    return label.message - before if label.message is not None and before <= label.message < before + count else -1


def _wrapped(tools: Iterable[Any] | None) -> list[Any] | None:
    """Tools in OpenAI's form. A `ToolSpec` has no `function`."""
    if not tools:
        return None
    return [tool if "function" in tool else {"type": "function", "function": dict(tool)} for tool in tools]


def _call_spans(events: list[tuple[int, Event]], channels: list[str | None]) -> dict[int, tuple[int, int]]:
    """For each call the tokens from its first marker to the one with which it is over. `channels` is what was being read before each
    token: None in a call."""
    spans: dict[int, tuple[int, int]] = {}
    begun: dict[int, int] = {}
    over = 0
    for at, event in events:
        if isinstance(event, Event.ToolCallStart):
            first = at
            while first > over and first < len(channels) and channels[first] is None:
                first -= 1
            begun[event.index] = first
        elif isinstance(event, Event.ToolCallEnd) and event.index in begun:
            over = min(at + 1, len(channels))
            spans[event.index] = (begun[event.index], over)
    return spans
