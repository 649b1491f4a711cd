"""vLLM's server and released chat templates: every turn that they write comes back, whole and streamed."""

from __future__ import annotations

from pathlib import Path

import pytest
from shared import need_corpus
from vllm_cases import corpus_cases, corpus_template
from vllm_serving import Server, chat_request, derender, derender_stream, make_folder, pieces_of, register

import unjinja

RELEASED = [
    "Apertus-8B-Instruct.jinja",
    "GLM-4.6.jinja",
    "Kimi-K2-Instruct.jinja",
    "MiniMax-M2.jinja",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja",
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja",
    "Qwen-Qwen3-0.6B.jinja",
    "Qwen3-Coder.jinja",
    "deepseek-ai-DeepSeek-V3.1.jinja",
    "google-gemma-4-31B-it.jinja",
    "meta-llama-Llama-3.1-8B-Instruct.jinja",
    "mistralai-Ministral-3-14B-Reasoning-2512.jinja",
    "mistralai-Mistral-Nemo-Instruct-2407.jinja",
    "openai-gpt-oss-120b.jinja",
]


@pytest.mark.parametrize("name", RELEASED)
def test_every_turn_comes_back(name: str, tmp_path: Path) -> None:
    need_corpus()
    register()
    template = corpus_template("templates", name).read_text(encoding="utf-8")
    special = unjinja.Model.from_template(template).preserved_tokens
    server = Server(make_folder(tmp_path, template, special))
    asked = 0
    for case in corpus_cases("turns.jsonl", {name}):
        chat = chat_request(server.name, case.tools)
        prompt, output = server.ids(case.prompt), server.ids(case.output)
        whole = derender(server, chat, prompt, output)
        if not case.tools:
            assert not whole["tool_calls"]
        assert case.differs(whole) is None, f"{case.name}: {case.output!r}"
        # Many tokens at once, as with speculative decoding; and one character after the other, without HTTP.
        assert derender_stream(server, chat, prompt, pieces_of(output, 50)) == whole, case.name
        assert server.stream(chat, prompt, list(case.output)) == whole, case.name
        asked += 1
    server.close()
    assert asked >= 7
