"""The part of `unjinja` that is written in Rust."""

from collections.abc import AsyncIterable, AsyncIterator, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, TypeAlias, final

from typing_extensions import disjoint_base

from ._prompt import Prompt

__all__ = [
    "Diagnostic",
    "Event",
    "Grammar",
    "GrammarError",
    "LoadError",
    "Message",
    "Model",
    "OpenAIChunks",
    "RenderError",
    "RequestError",
    "Stream",
    "ToolCall",
    "Tools",
    "ToolsError",
    "UnjinjaError",
    "__version__",
    "command",
]

__version__: str

def command(arguments: Sequence[str]) -> int: ...

_Path: TypeAlias = str | PathLike[str]
_ToolList: TypeAlias = Tools | Sequence[Any] | str
_ReasoningName: TypeAlias = Literal["reasoning_content", "reasoning"]
_Where: TypeAlias = Literal["content", "separate"]

class UnjinjaError(ValueError): ...
class LoadError(UnjinjaError): ...
class RenderError(UnjinjaError): ...
class ToolsError(UnjinjaError): ...
class GrammarError(UnjinjaError): ...
class RequestError(UnjinjaError): ...

@final
class Tools:
    def __new__(cls, tools: Sequence[Any] | str) -> Tools: ...
    @property
    def names(self) -> list[str]: ...
    def __len__(self) -> int: ...

@final
class Diagnostic:
    @property
    def kind(self) -> str: ...
    @property
    def call(self) -> int | None: ...
    @property
    def at(self) -> int | None: ...
    @property
    def detail(self) -> str: ...
    @property
    def expected(self) -> str: ...
    @property
    def message(self) -> str: ...

@final
class ToolCall:
    @property
    def id(self) -> str | None: ...
    @property
    def name(self) -> str: ...
    @property
    def arguments(self) -> str: ...
    @property
    def complete(self) -> bool: ...
    def arguments_value(self) -> Any: ...
    def closed_arguments(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@final
class Message:
    @property
    def reasoning_content(self) -> str: ...
    @property
    def content(self) -> str: ...
    @property
    def unparsed(self) -> str: ...
    @property
    def tool_calls(self) -> list[ToolCall]: ...
    @property
    def diagnostics(self) -> list[Diagnostic]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...

@disjoint_base
class Event:
    @final
    class Reasoning(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("text",)
        def __new__(cls, text: str) -> Event.Reasoning: ...
        @property
        def text(self) -> str: ...
    @final
    class Content(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("text",)
        def __new__(cls, text: str) -> Event.Content: ...
        @property
        def text(self) -> str: ...

    @final
    class Unparsed(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("text",)
        def __new__(cls, text: str) -> Event.Unparsed: ...
        @property
        def text(self) -> str: ...

    @final
    class ToolCallStart(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("index", "name", "id")
        def __new__(cls, index: int, name: str, id: str | None = None) -> Event.ToolCallStart: ...
        @property
        def index(self) -> int: ...
        @property
        def name(self) -> str: ...
        @property
        def id(self) -> str | None: ...

    @final
    class ToolCallId(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("index", "id")
        def __new__(cls, index: int, id: str) -> Event.ToolCallId: ...
        @property
        def index(self) -> int: ...
        @property
        def id(self) -> str: ...

    @final
    class ToolCallArguments(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("index", "json")
        def __new__(cls, index: int, json: str) -> Event.ToolCallArguments: ...
        @property
        def index(self) -> int: ...
        @property
        def json(self) -> str: ...

    @final
    class ToolCallEnd(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("index", "complete")
        def __new__(cls, index: int, complete: bool) -> Event.ToolCallEnd: ...
        @property
        def index(self) -> int: ...
        @property
        def complete(self) -> bool: ...

    @final
    class Diagnostic(Event):
        __match_args__: ClassVar[tuple[str, ...]] = ("diagnostic",)
        def __new__(cls, diagnostic: Diagnostic) -> Event.Diagnostic: ...
        @property
        def diagnostic(self) -> Diagnostic: ...

@final
class Grammar:
    @property
    def text(self) -> str: ...
    @property
    def lazy(self) -> bool: ...
    @property
    def triggers(self) -> list[tuple[str, str]]: ...
    @property
    def preserved_tokens(self) -> list[str]: ...
    @property
    def stops(self) -> list[str]: ...
    @property
    def prefill(self) -> str: ...
    @property
    def widened(self) -> list[str]: ...

@final
class Model:
    @staticmethod
    def from_pretrained(path: _Path, *, cache: _Path | None = None, overlay: str | None = None) -> Model: ...
    @staticmethod
    def from_template(
        text: str,
        *,
        name: str | None = None,
        bos_token: str | None = None,
        eos_token: str | None = None,
        cache: _Path | None = None,
        overlay: str | None = None,
    ) -> Model: ...
    @staticmethod
    def from_gguf(path: _Path, *, cache: _Path | None = None, overlay: str | None = None) -> Model: ...
    @staticmethod
    def from_spec(text: str, *, overlay: str | None = None) -> Model: ...
    @staticmethod
    def known(name: str) -> Model: ...
    @property
    def name(self) -> str: ...
    @property
    def spec(self) -> str: ...
    @property
    def status(self) -> Literal["supported", "partial", "unsupported"]: ...
    @property
    def gaps(self) -> list[str]: ...
    @property
    def template(self) -> str | None: ...
    @property
    def preserved_tokens(self) -> list[str]: ...
    @property
    def reasoning_markers(self) -> tuple[str, str] | None: ...
    def render(
        self,
        messages: Sequence[Any],
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        add_generation_prompt: bool = True,
        **variables: Any,
    ) -> Prompt: ...
    def turn_of(self, prompt: str) -> str: ...
    def parse(
        self,
        output: str | bytes,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        prompt: str | None = None,
        continue_from: str | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        calls_end_reasoning: bool = True,
        json_response: bool = False,
        unparsed: _Where = "content",
    ) -> Message: ...
    def stream(
        self,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        prompt: str | None = None,
        continue_from: str | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        calls_end_reasoning: bool = True,
        json_response: bool = False,
        unparsed: _Where = "content",
        special_tokens: Sequence[str] | None = None,
    ) -> Stream: ...
    def grammar(
        self,
        tools: _ToolList | None = None,
        kind: Literal["gbnf", "xgrammar", "llguidance"] = "gbnf",
        *,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        thinking: bool | None = None,
        prompt: str | None = None,
        response_schema: Mapping[str, Any] | bool | None = None,
    ) -> Grammar: ...

@final
class Stream:
    def push(self, piece: str | bytes) -> list[Event]: ...
    def push_token(self, token: str | bytes, special: bool = False) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def reset(self) -> bytes: ...
    @property
    def message(self) -> Message: ...
    @property
    def channel(self) -> Literal["reasoning", "content"] | None: ...
    @property
    def token_counts(self) -> dict[str, int]: ...
    def openai_chunks(
        self,
        *,
        model: str | None = None,
        id: str | None = None,
        created: int | None = None,
        reasoning: _ReasoningName = "reasoning_content",
        include_usage: bool = False,
        diagnostics: bool = False,
        close_arguments: bool = False,
        call_ids: Sequence[str] | None = None,
    ) -> OpenAIChunks: ...
    def read(self, pieces: AsyncIterable[str | bytes]) -> AsyncIterator[Event]: ...

@final
class OpenAIChunks:
    def push(self, piece: str | bytes) -> list[dict[str, Any]]: ...
    def push_token(self, token: str | bytes, special: bool = False) -> list[dict[str, Any]]: ...
    def finish(self, finish_reason: str = "stop", usage: Mapping[str, int] | None = None) -> list[dict[str, Any]]: ...
