"""The recipes in docs/training.md run, with the packages that they name where those can be had, and with stand-ins for verl."""

from __future__ import annotations

import asyncio
import re
import sys
from types import ModuleType
from typing import Any

import pytest
from shared import ROOT, WEATHER
from tiny import ids_of, tokenizer_json

TEXT = (ROOT / "docs" / "training.md").read_text(encoding="utf-8")
MESSAGES = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": "No."}]


def recipe(heading: str) -> str:
    """The first block of Python after a heading."""
    found = re.search(rf"^### {re.escape(heading)}\n.*?^```python\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
    assert found, heading
    return found[1]


class Inner:
    def to_str(self, pretty: bool = False) -> str:
        return tokenizer_json()


class Tokenizer:
    """As a fast tokenizer of transformers."""

    backend_tokenizer = Inner()
    chat_template = (ROOT / "templates" / "qwen3.jinja").read_text(encoding="utf-8")
    special_tokens_map = {"eos_token": "<|im_end|>"}


class Rows:
    """As a data set of `datasets`, for environments without it."""

    column_names = ["messages"]

    def map(self, function: Any, remove_columns: list[str]) -> list[Any]:
        assert remove_columns == self.column_names
        return [function({"messages": MESSAGES})]


def test_trl_supervised() -> None:
    names: dict[str, Any] = {"tokenizer": Tokenizer(), "dataset": Rows()}
    exec(recipe("TRL: supervised training"), names)
    (row,) = names["dataset"]
    ids, mask = row["input_ids"], row["assistant_masks"]
    assert [id for id, on in zip(ids, mask, strict=True) if on] == ids_of("No.<|im_end|>")
    datasets = pytest.importorskip("datasets")
    names["dataset"] = datasets.Dataset.from_list([{"messages": MESSAGES}])
    exec(recipe("TRL: supervised training"), names)
    assert names["dataset"].column_names == ["input_ids", "assistant_masks"]
    assert names["dataset"][0] == row


def test_trl_grpo() -> None:
    pytest.importorskip("transformers")
    from test_transformers import tokenizer

    made = tokenizer(Tokenizer.chat_template)
    exec(recipe("TRL: GRPO with tools"), {"tokenizer": made})
    assert made.response_template


def test_verl(monkeypatch: pytest.MonkeyPatch) -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>'
    outputs = [ids_of("<think>\nI look.\n</think>\n\n" + call), ids_of("<think>\nDry.\n</think>\n\nNo.<|im_end|>")]
    seen: list[list[int]] = []

    class Output:
        def __init__(self, **fields: Any) -> None:
            self.__dict__.update(fields)

    class Server:
        async def generate(self, request_id: str, *, prompt_ids: list[int], sampling_params: Any) -> Any:
            seen.append(prompt_ids)
            return Output(token_ids=outputs[len(seen) - 1])

    class Base:
        tokenizer = Tokenizer()
        server_manager = Server()

    module = ModuleType("verl.experimental.agent_loop.agent_loop")
    vars(module).update(AgentLoopBase=Base, AgentLoopOutput=Output, register=lambda name: lambda loop: loop)
    for name in ("verl", "verl.experimental", "verl.experimental.agent_loop"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = {}
    exec(recipe("verl: an agent loop"), names)

    async def call_tool(call: Any) -> str:
        assert call.arguments_value() == {"city": "Paris"}
        return "dry"

    made = asyncio.run(names["UnjinjaAgentLoop"]().run({}, raw_prompt=MESSAGES[:1], tools=WEATHER, call_tool=call_tool))
    ids = made.prompt_ids + made.response_ids
    assert seen == [made.prompt_ids, ids[: len(ids) - len(outputs[1])]] and seen[1][: len(seen[0]) + len(outputs[0])] == seen[0] + outputs[0]
    assert [id for id, on in zip(made.response_ids, made.response_mask, strict=True) if on] == outputs[0] + outputs[1]
    assert made.num_turns == 2


def test_renderers() -> None:
    pytest.importorskip("renderers")
    from unjinja import Encoder

    encoder = Encoder.from_tokenizer(Tokenizer())
    call = ids_of('<think>\nI look.\n</think>\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call><|im_end|>')
    names: dict[str, Any] = {"tokenizer": Tokenizer(), "messages": MESSAGES, "tools": WEATHER, "results": [{"role": "tool", "content": "dry"}]}
    names |= {"prompt_ids": encoder.encode(MESSAGES[:1], tools=WEATHER).ids, "completion_ids": call}
    exec(recipe("prime-rl and verifiers"), names)
    assert sum(names["rendered"].sampled_mask) == len(ids_of("No.<|im_end|>"))
    assert names["bridged"].token_ids[len(names["prompt_ids"]) :][: len(call)] == call
