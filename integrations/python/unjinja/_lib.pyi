"""The part of `unjinja` that is written in Rust."""

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from os import PathLike
from typing import Any, ClassVar, Literal, NoReturn, Protocol, TypeAlias, TypedDict, final

from typing_extensions import disjoint_base

from ._data import Bridge, Diagnostic, Export, Finding, Grammar, ReadConversation, Rewrite, Spelled, ToolCall, TrainingTemplate
from ._prompt import Prompt

__all__ = [
    "BridgeError",
    "ConversationReader",
    "Decoded",
    "EncodeError",
    "Encoded",
    "Encoder",
    "Event",
    "GrammarError",
    "Label",
    "LoadError",
    "Message",
    "Model",
    "OpenAIChunks",
    "RenderError",
    "Request",
    "RequestError",
    "Span",
    "Stream",
    "TokenStream",
    "Tools",
    "ToolsError",
    "UnjinjaError",
    "__version__",
    "_closed",
    "_message",
    "_model",
    "_sentence",
    "command",
    "lint",
    "lint_template",
]

__version__: str

def command(arguments: Sequence[str]) -> int: ...

# What `pickle` calls.
def _message(
    fields: tuple[Any, ...], shape: tuple[str, tuple[str, str] | None], ids: Sequence[str] | None
) -> Message: ...
def _model(spec: str, template: str | None, bos: str | None, eos: str | None, others: Mapping[str, Any]) -> Model: ...

# What classes of `_data` call.
def _closed(arguments: str) -> str: ...
def _sentence(diagnostic: Diagnostic) -> str: ...

_Path: TypeAlias = str | PathLike[str]
_ToolList: TypeAlias = Tools | Callable[..., Any] | Sequence[Any] | str
_Reduced: TypeAlias = tuple[Any, tuple[Any, ...]]
_ReasoningName: TypeAlias = Literal["reasoning_content", "reasoning"]
_Where: TypeAlias = Literal["content", "separate"]
_CutCalls: TypeAlias = Literal["keep", "close", "drop"]
_SpelledTokens: TypeAlias = Literal["text", "refuse", "trust"]
_Part: TypeAlias = Literal["role", "reasoning", "content", "call", "tool_result", "tool", "variable", "markup"]

# A tensor or an array.
class _Tensor(Protocol):
    def tolist(self) -> Any: ...

_Ids: TypeAlias = Sequence[int] | _Tensor
_Messages: TypeAlias = Sequence[Any]
_Rows: TypeAlias = Sequence[Any]

class _TrainingSample(TypedDict):
    input_ids: list[int]
    assistant_masks: list[int]

# A tokenizer of `tokenizers`.
class _Tokenizer(Protocol):
    def to_str(self, pretty: bool = False) -> str: ...

# A fast tokenizer of transformers.
class _FastTokenizer(Protocol):
    @property
    def backend_tokenizer(self) -> _Tokenizer: ...

# A processor of transformers.
class _Processor(Protocol):
    @property
    def tokenizer(self) -> Any: ...

def lint(
    path: _Path,
    *,
    response_template: Mapping[str, Any] | None = None,
    overlay: str | None = None,
    count: int = 200,
) -> list[Finding]: ...
def lint_template(
    text: str,
    *,
    name: str | None = None,
    bos_token: str | None = None,
    eos_token: str | None = None,
    special_tokens: Sequence[str] | None = None,
    response_template: Mapping[str, Any] | None = None,
    overlay: str | None = None,
    count: int = 200,
) -> list[Finding]: ...

class UnjinjaError(ValueError): ...
class LoadError(UnjinjaError): ...
class RenderError(UnjinjaError): ...
class ToolsError(UnjinjaError): ...
class GrammarError(UnjinjaError): ...
class RequestError(UnjinjaError): ...
class EncodeError(UnjinjaError): ...
class BridgeError(UnjinjaError): ...

@final
class Tools:
    def __new__(cls, tools: _ToolList) -> Tools: ...
    @property
    def names(self) -> list[str]: ...
    def to_list(self) -> list[dict[str, Any]]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...

@final
class Message:
    __match_args__: ClassVar[tuple[Literal["content"], Literal["reasoning_content"], Literal["tool_calls"]]] = ("content", "reasoning_content", "tool_calls")
    def __new__(
        cls,
        content: str = "",
        reasoning_content: str = "",
        tool_calls: Sequence[ToolCall] = (),
        unparsed: str = "",
        diagnostics: Sequence[Diagnostic] = (),
    ) -> Message: ...
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
    def to_dict(self, *, call_ids: Sequence[str] | None = None) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...

@disjoint_base
class Event:
    @property
    def kind(
        self,
    ) -> Literal[
        "reasoning",
        "content",
        "unparsed",
        "tool_call_start",
        "tool_call_id",
        "tool_call_arguments",
        "tool_call_end",
        "diagnostic",
    ]: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...
    @final
    class Reasoning(Event):
        __match_args__: ClassVar[tuple[Literal["text"]]] = ("text",)
        def __new__(cls, text: str) -> Event.Reasoning: ...
        @property
        def text(self) -> str: ...
    @final
    class Content(Event):
        __match_args__: ClassVar[tuple[Literal["text"]]] = ("text",)
        def __new__(cls, text: str) -> Event.Content: ...
        @property
        def text(self) -> str: ...

    @final
    class Unparsed(Event):
        __match_args__: ClassVar[tuple[Literal["text"]]] = ("text",)
        def __new__(cls, text: str) -> Event.Unparsed: ...
        @property
        def text(self) -> str: ...

    @final
    class ToolCallStart(Event):
        __match_args__: ClassVar[tuple[Literal["index"], Literal["name"], Literal["id"]]] = ("index", "name", "id")
        def __new__(cls, index: int, name: str, id: str | None = None) -> Event.ToolCallStart: ...
        @property
        def index(self) -> int: ...
        @property
        def name(self) -> str: ...
        @property
        def id(self) -> str | None: ...

    @final
    class ToolCallId(Event):
        __match_args__: ClassVar[tuple[Literal["index"], Literal["id"]]] = ("index", "id")
        def __new__(cls, index: int, id: str) -> Event.ToolCallId: ...
        @property
        def index(self) -> int: ...
        @property
        def id(self) -> str: ...

    @final
    class ToolCallArguments(Event):
        __match_args__: ClassVar[tuple[Literal["index"], Literal["json"]]] = ("index", "json")
        def __new__(cls, index: int, json: str) -> Event.ToolCallArguments: ...
        @property
        def index(self) -> int: ...
        @property
        def json(self) -> str: ...

    @final
    class ToolCallEnd(Event):
        __match_args__: ClassVar[tuple[Literal["index"], Literal["complete"]]] = ("index", "complete")
        def __new__(cls, index: int, complete: bool) -> Event.ToolCallEnd: ...
        @property
        def index(self) -> int: ...
        @property
        def complete(self) -> bool: ...

    @final
    class Diagnostic(Event):
        __match_args__: ClassVar[tuple[Literal["diagnostic"]]] = ("diagnostic",)
        def __new__(cls, diagnostic: Diagnostic) -> Event.Diagnostic: ...
        @property
        def diagnostic(self) -> Diagnostic: ...

@final
class Span:
    __match_args__: ClassVar[tuple[Literal["text"], Literal["events"], Literal["channel"]]] = ("text", "events", "channel")
    def __new__(
        cls, text: str, events: Sequence[Event] = (), channel: Literal["reasoning", "content"] | None = None
    ) -> Span: ...
    @property
    def text(self) -> str: ...
    @property
    def events(self) -> list[Event]: ...
    @property
    def channel(self) -> Literal["reasoning", "content"] | None: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...

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
    def variables(self) -> list[str]: ...
    @property
    def preserved_tokens(self) -> list[str]: ...
    @property
    def reasoning_markers(self) -> tuple[str, str] | None: ...
    def export(self, *, count: int = 200, seed: int = 1) -> Export: ...
    def training_template(self, *, keep_prefix: bool = False) -> TrainingTemplate: ...
    def render(
        self,
        messages: Sequence[Any],
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        add_generation_prompt: bool = True,
        as_given: bool = False,
        **variables: Any,
    ) -> Prompt: ...
    def request(
        self,
        messages: Sequence[Any],
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        response_schema: Mapping[str, Any] | bool | None = None,
        unparsed: _Where = "content",
        cut_calls: _CutCalls = "keep",
        **variables: Any,
    ) -> Request: ...
    def turn_of(self, prompt: str) -> str: ...
    def parse(
        self,
        output: str | bytes,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        prompt: str | None = None,
        continue_from: str | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        calls_end_reasoning: bool = True,
        json_response: bool = False,
        unparsed: _Where = "content",
        cut_calls: _CutCalls = "keep",
    ) -> Message: ...
    def stream(
        self,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        prompt: str | None = None,
        continue_from: str | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        calls_end_reasoning: bool = True,
        json_response: bool = False,
        unparsed: _Where = "content",
        cut_calls: _CutCalls = "keep",
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
        open_objects: bool = False,
        free_white_space: bool = False,
        text_before: int = 0,
        max_reasoning: int | None = None,
    ) -> Grammar: ...
    def __copy__(self) -> Model: ...
    def __deepcopy__(self, _memo: dict[int, Any], /) -> Model: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...

@final
class Request:
    @property
    def prompt(self) -> Prompt: ...
    def parse(self, output: str | bytes) -> Message: ...
    def stream(self) -> Stream: ...
    def grammar(
        self,
        kind: Literal["gbnf", "xgrammar", "llguidance"] = "gbnf",
        *,
        open_objects: bool = False,
        free_white_space: bool = False,
        text_before: int = 0,
        max_reasoning: int | None = None,
    ) -> Grammar: ...
    def call_id(self, name: str, written: str | None = None) -> str: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Stream:
    def push(self, piece: str | bytes) -> list[Event]: ...
    def push_token(self, token: str | bytes, special: bool = False) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def push_spans(self, piece: str) -> list[Span]: ...
    def finish_spans(self) -> list[Span]: ...
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
        call_ids: Sequence[str] | None = None,
    ) -> OpenAIChunks: ...
    def read(self, pieces: AsyncIterable[str | bytes]) -> AsyncIterator[Event]: ...
    def __reduce__(self) -> NoReturn: ...

@final
class OpenAIChunks:
    def push(self, piece: str | bytes) -> list[dict[str, Any]]: ...
    def push_token(self, token: str | bytes, special: bool = False) -> list[dict[str, Any]]: ...
    def finish(self, finish_reason: str = "stop", usage: Mapping[str, int] | None = None) -> list[dict[str, Any]]: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Label:
    __match_args__: ClassVar[tuple[Literal["message"], Literal["part"], Literal["by_model"]]] = ("message", "part", "by_model")
    def __new__(cls, message: int | None, part: _Part, by_model: bool) -> Label: ...
    @property
    def message(self) -> int | None: ...
    @property
    def part(self) -> _Part: ...
    @property
    def by_model(self) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...

@final
class Encoded:
    def __new__(
        cls,
        ids: Sequence[int],
        labels: Sequence[Label],
        offsets: Sequence[tuple[int, int]],
        text: str,
        messages: Sequence[Mapping[str, Any]],
        spelled: Sequence[Spelled] = (),
    ) -> Encoded: ...
    @property
    def ids(self) -> list[int]: ...
    @property
    def labels(self) -> list[Label]: ...
    @property
    def offsets(self) -> list[tuple[int, int]]: ...
    @property
    def text(self) -> str: ...
    @property
    def messages(self) -> list[dict[str, Any]]: ...
    @property
    def spelled(self) -> list[Spelled]: ...
    @property
    def assistant_mask(self) -> list[bool]: ...
    def training_sample(self) -> _TrainingSample: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def __reduce__(self) -> _Reduced: ...

@final
class Decoded:
    __match_args__: ClassVar[tuple[Literal["message"], Literal["labels"]]] = ("message", "labels")
    def __new__(cls, message: Message, labels: Sequence[Label]) -> Decoded: ...
    @property
    def message(self) -> Message: ...
    @property
    def labels(self) -> list[Label]: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> _Reduced: ...

@final
class ConversationReader:
    def __new__(cls, model: Model | Encoder) -> ConversationReader: ...
    def read(self, transcript: str | Sequence[int]) -> ReadConversation: ...
    def __reduce__(self) -> _Reduced: ...

@final
class TokenStream:
    def push(self, ids: int | _Ids) -> list[Event]: ...
    def finish(self) -> list[Event]: ...
    def reset(self) -> bytes: ...
    @property
    def message(self) -> Message: ...
    @property
    def channel(self) -> Literal["reasoning", "content"] | None: ...
    @property
    def token_counts(self) -> dict[str, int]: ...
    def __reduce__(self) -> NoReturn: ...

@final
class Encoder:
    def __new__(cls, model: Model, tokenizer: _Path | _Tokenizer | _FastTokenizer | _Processor) -> Encoder: ...
    @staticmethod
    def from_pretrained(folder: _Path, *, cache: _Path | None = None, overlay: str | None = None) -> Encoder: ...
    @staticmethod
    def from_tokenizer(
        tokenizer: _FastTokenizer | _Processor,
        *,
        chat_template: str | None = None,
        cache: _Path | None = None,
        overlay: str | None = None,
    ) -> Encoder: ...
    @property
    def model(self) -> Model: ...
    @property
    def control_tokens(self) -> dict[str, int]: ...
    def text_of(self, ids: _Ids) -> str: ...
    def encode(
        self,
        messages: _Messages,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        add_generation_prompt: bool = True,
        as_given: bool = False,
        spelled: _SpelledTokens = "text",
        **variables: Any,
    ) -> Encoded: ...
    def encode_batch(
        self,
        conversations: _Rows,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        add_generation_prompt: bool = True,
        as_given: bool = False,
        spelled: _SpelledTokens = "text",
        threads: int | None = None,
        **variables: Any,
    ) -> list[Encoded]: ...
    def decode(
        self,
        ids: _Ids,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        prompt: str | Encoded | _Ids | None = None,
        continue_from: str | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        calls_end_reasoning: bool = True,
        json_response: bool = False,
        unparsed: _Where = "content",
        cut_calls: _CutCalls = "keep",
    ) -> Decoded: ...
    def decode_batch(
        self,
        outputs: Sequence[_Ids],
        *,
        prompts: Sequence[str | Encoded | _Ids | None] | None = None,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        unparsed: _Where = "content",
        cut_calls: _CutCalls = "keep",
        threads: int | None = None,
    ) -> list[Decoded]: ...
    def stream(
        self,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        prompt: str | Encoded | _Ids | None = None,
        continue_from: str | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        parallel_tool_calls: bool = True,
        extract_reasoning: bool = True,
        calls_end_reasoning: bool = True,
        json_response: bool = False,
        unparsed: _Where = "content",
        cut_calls: _CutCalls = "keep",
    ) -> TokenStream: ...
    def rewrite(
        self, messages: _Messages, *, tools: _ToolList | None = None, thinking: bool | None = None, **variables: Any
    ) -> Rewrite | None: ...
    def bridge(
        self,
        messages: _Messages,
        sampled: _Ids,
        new_messages: _Messages,
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        **variables: Any,
    ) -> Bridge: ...
    def bridge_batch(
        self,
        turns: Sequence[tuple[Any, _Ids, _Messages]],
        *,
        tools: _ToolList | None = None,
        thinking: bool | None = None,
        threads: int | None = None,
        **variables: Any,
    ) -> list[Bridge | BridgeError]: ...
    def __copy__(self) -> Encoder: ...
    def __deepcopy__(self, _memo: dict[int, Any], /) -> Encoder: ...
    def __reduce__(self) -> _Reduced: ...
