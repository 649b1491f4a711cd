"""The tool parser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._prompt import Prompt
from . import _host
from ._formats import model_of, specials_for
from ._host import ToolParser, delta_message, extracted_calls
from ._ids import state
from ._output import Output, tools_of
from .reasoning import keep_markers, partner_of


class UnjinjaToolParser(ToolParser):
    """Reads calls by the model's chat template, and all else that stands around them.

    With the reasoning parser of this package, both share one stream, and this one reads it. Alone, it leaves reasoning in the
    content, with its markers, as vLLM wants where no reasoning parser is chosen.
    """

    engine_based_streaming = True
    # Calls that are demanded come in the model's own format too.
    supports_required_and_named = False
    # vLLM asks for a structural tag only where this is set. Its registry has no tag of this name: `get_structural_tag` has.
    structural_tag_model = "unjinja"
    # vLLM sets this where no reasoning parser is chosen.
    skip_reasoning_parsing = False

    def __init__(self, tokenizer: Any, tools: list[Any] | None = None) -> None:
        partner = partner_of(tokenizer)
        super().__init__(tokenizer, tools)
        model = model_of(tokenizer, calls=True)
        _host.tell_ids()
        self.output = partner.output if partner else Output(model, specials_for(model, tokenizer), tokenizer)
        self.output.tools = tools_of(tools)
        self._shared = partner is not None
        if partner:
            partner.has_tool_parser = True

    # What the server asks for before the model writes.

    def adjust_request(self, request: Any) -> Any:
        """Keeps the markers in the text."""
        return keep_markers(super().adjust_request(request))

    def get_structural_tag(self, request: Any, *, reasoning: bool = False, strict_level: Any = None) -> Any:
        """The grammar of the calls that this request may make, with the schemas of all tools. None if nothing is promised.

        The grammar has the reasoning and begins with the first token. A copy of the request says that vLLM joins the grammar
        with that of a structured output, which begins behind the reasoning: so does this one then.
        """
        choice = _choice(request.tool_choice)
        tools = tools_of(request.tools)
        if choice is None or not tools or not _host.constrains_calls():
            return None
        model, turn = self.output.model, self.output.turn
        options: dict[str, Any] = {"thinking": self.output.thinking, "prompt": turn}
        is_own = request is self.output.request
        if self._shared and not reasoning and not (is_own and _host.begins_at_once(request)):
            options = {"thinking": False, "prompt": self._behind_reasoning(turn)}
        parallel = getattr(request, "parallel_tool_calls", None) is not False
        grammar = model.grammar(tools, "xgrammar", tool_choice=choice, parallel_tool_calls=parallel, **options)
        return _host.structural_tag(grammar.text) if grammar.text else None

    def _behind_reasoning(self, turn: Prompt | None) -> Prompt | None:
        """What a prompt has of the turn, with the reasoning closed that it opens."""
        model = self.output.model
        markers = model.reasoning_markers
        if turn is None or markers is None or not state(model, turn)[1]:
            return turn
        return Prompt(turn + markers[1], turn + markers[1])

    # What it makes of an output.

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        """Reads a whole output, or says what the reasoning parser read of it."""
        whole, self.output.parsed = self.output.parsed, None
        if whole is None:
            self._know(request)
            whole = self.output.parse(model_output, self.output.take_ids(), calls=self._makes_calls(request))
        return extracted_calls(whole.calls, whole.content)

    def extract_tool_calls_streaming(
        self,
        previous_text: str,
        current_text: str,
        delta_text: str,
        previous_token_ids: Sequence[int],
        current_token_ids: Sequence[int],
        delta_token_ids: Sequence[int],
        request: Any,
    ) -> Any:
        """Reads on. The answer may hold reasoning, content and pieces of several calls."""
        self._know(request)
        ids = self.output.take_ids() or delta_token_ids
        return delta_message(self.output.push(delta_text, ids, calls=self._makes_calls(request)))

    def finish_streaming(self) -> Any:
        """What was held back until the end."""
        return delta_message(self.output.finish())

    def _know(self, request: Any) -> None:
        if not self.output.tools:
            self.output.tools = tools_of(getattr(request, "tools", None))

    def _makes_calls(self, request: Any) -> bool:
        """Whether calls are calls. vLLM drops those of requests that want none; as content, they are not lost."""
        served = self._shared or self.skip_reasoning_parsing
        return not (served and getattr(request, "tool_choice", None) == "none")


def _choice(choice: Any) -> Any:
    """`tool_choice`, as OpenAI writes it: a word or the name of a function. None if it promises nothing that is known."""
    if choice in ("auto", "required"):
        return choice
    fields = choice if isinstance(choice, Mapping) else choice.model_dump() if hasattr(choice, "model_dump") else {}
    name = (fields.get("function") or fields).get("name")
    return {"type": "function", "function": {"name": name}} if name else None
