"""Reads what language models write: reasoning, content and tool calls, for any chat template.

>>> import unjinja
>>> model = unjinja.Model.known("qwen_qwen3_0_6b")
>>> tools = [{"type": "function", "function": {"name": "now", "parameters": {"type": "object"}}}]
>>> message = model.parse('<tool_call>\\n{"name": "now", "arguments": {"zone": "UTC"}}\\n</tool_call>', tools=tools)
>>> message.tool_calls[0].name, message.tool_calls[0].arguments_value()
('now', {'zone': 'UTC'})
"""

from ._lib import (
    Diagnostic,
    Event,
    Example,
    Export,
    Finding,
    Grammar,
    GrammarError,
    LoadError,
    Loss,
    Message,
    Model,
    OpenAIChunks,
    RenderError,
    Request,
    RequestError,
    Span,
    Stream,
    ToolCall,
    Tools,
    ToolsError,
    UnjinjaError,
    __version__,
    lint,
    lint_template,
)
from ._prompt import Prompt

__all__ = [
    "Diagnostic",
    "Event",
    "Example",
    "Export",
    "Finding",
    "Grammar",
    "GrammarError",
    "LoadError",
    "Loss",
    "Message",
    "Model",
    "OpenAIChunks",
    "Prompt",
    "RenderError",
    "Request",
    "RequestError",
    "Span",
    "Stream",
    "ToolCall",
    "Tools",
    "ToolsError",
    "UnjinjaError",
    "__version__",
    "lint",
    "lint_template",
]
