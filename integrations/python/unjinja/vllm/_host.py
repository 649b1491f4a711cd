"""What this package uses of vLLM, in one place. All names but two are public in vLLM 0.33: `_grammar_from_parser` of a request, and how
`DelegatingParser.parse` calls its parts.

Without vLLM the modules can still be imported; using them says what is missing.
"""

from __future__ import annotations

from functools import wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

_MISSING = "unjinja.vllm needs vLLM, and it is not installed here. Install it: pip install vllm"

if TYPE_CHECKING:

    class ToolParser:
        """What is used of vLLM's class."""

        tools: list[Any]
        model_tokenizer: Any

        def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None: ...
        def adjust_request(self, request: Any) -> Any: ...

    class ReasoningParser:
        """What is used of vLLM's class."""

        model_tokenizer: Any

        def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None: ...
        def adjust_request(self, request: Any) -> Any: ...

else:
    try:
        from vllm.reasoning.abs_reasoning_parsers import ReasoningParser
        from vllm.tool_parsers.abstract_tool_parser import ToolParser
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise

        class _Missing:
            def __init__(self, *_: object, **__: object) -> None:
                raise ImportError(_MISSING)

            def adjust_request(self, request: object) -> object:
                raise ImportError(_MISSING)

        class ToolParser(_Missing):
            """Stands for vLLM's class."""

        class ReasoningParser(_Missing):
            """Stands for vLLM's class."""


def _of(module: str, name: str) -> Any:
    """A name of vLLM, looked up when it is used: vLLM takes seconds to import, and is no dependency of this package."""
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name != "vllm":
            raise
        raise ImportError(_MISSING) from error


def tool_parsers() -> Any:
    """The registry of tool parsers."""
    return _of("vllm.tool_parsers", "ToolParserManager")


def reasoning_parsers() -> Any:
    """The registry of reasoning parsers."""
    return _of("vllm.reasoning", "ReasoningParserManager")


_PROTOCOL = "vllm.entrypoints.generate.base.protocol"


def delta_message(delta: dict[str, Any] | None) -> Any:
    """vLLM's piece of a streamed message, of a `delta` of a chunk. None if it says nothing."""
    return _of(_PROTOCOL, "DeltaMessage")(**delta) if delta else None


def extracted_calls(calls: list[dict[str, Any]], content: str | None) -> Any:
    """vLLM's account of a whole output, of the calls of a message."""
    function, made = _of(_PROTOCOL, "FunctionCall"), []
    for call in calls:
        named = {"id": call["id"]} if call["id"] else {}
        called = function(name=call["name"], arguments=call["arguments"])
        made.append(_of(_PROTOCOL, "ToolCall")(**named, function=called))
    return _of(_PROTOCOL, "ExtractedToolCallInformation")(tools_called=bool(made), tool_calls=made, content=content)


def structural_tag(text: str) -> Any:
    """XGrammar's structural tag, of its JSON."""
    return _of("xgrammar", "StructuralTag").model_validate_json(text)


def constrains_calls() -> bool:
    """Whether this server constrains calls at all: `VLLM_ENFORCE_STRICT_TOOL_CALLING`."""
    return bool(_of("vllm", "envs").VLLM_ENFORCE_STRICT_TOOL_CALLING)


def begins_at_once(request: Any) -> bool:
    """Has vLLM begin the grammar of a request with the first token of the output, as for grammars that hold the reasoning too.
    False if this request cannot say so."""
    if not getattr(request, "include_reasoning", True):
        return True
    # Requests have no public field for it. vLLM's parsers whose grammars hold the reasoning set this one.
    if not hasattr(request, "_grammar_from_parser"):
        return False
    request._grammar_from_parser = True
    return True


def tell_ids() -> None:
    """Has vLLM's parser tell ours the ids of a whole output. It gets them, and hands on the text alone: a marker that the text spells would
    be one. Where it works in another way, the text decides."""
    try:
        parser = _of("vllm.parser.abstract_parser", "DelegatingParser")
        parse = parser.parse
    except (ImportError, AttributeError):
        return
    if getattr(parse, "_tells_unjinja", False):
        return

    @wraps(parse)
    def telling(self: Any, *args: Any, **kwargs: Any) -> Any:
        ids = kwargs.get("model_output_token_ids") or (args[3] if len(args) > 3 else ())
        # Behind another reasoning parser, the tool parser gets a part of the text.
        first: Any = self._reasoning_parser or self._tool_parser
        if type(first).__module__.startswith(f"{__package__}."):
            first.output.ids = list(ids)
        return parse(self, *args, **kwargs)

    telling._tells_unjinja = True  # type: ignore[attr-defined]
    parser.parse = telling


def logger() -> Any:
    """A logger that vLLM shows: those below its own name are."""
    return _of("vllm.logger", "init_logger")("vllm.plugins.unjinja")
