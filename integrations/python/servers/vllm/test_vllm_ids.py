"""Markers are told by their ids, whole and streamed: text that spells one is text. And the template of the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from shared import WEATHER
from test_vllm_plugin import ALONE, CALL, MADE, PROMPT, folder_of, message
from vllm_serving import Server, chat_request, derender, derender_stream, pieces_of, register


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Server]]:
    register()
    folder = folder_of(tmp_path_factory.mktemp("ids"), "qwen3")
    made = {name: Server(folder, flags) for name, flags in ALONE.items()}
    yield made
    for server in made.values():
        server.close()


def received(server: Server, output: list[int], **fields: Any) -> dict[str, Any]:
    """What the client receives for ids, which is the same whole and in pieces, over HTTP and without."""
    chat, prompt = chat_request(server.name, WEATHER, **fields), server.ids(PROMPT)
    whole = derender(server, chat, prompt, output)
    for size in (1, 3, len(output)):
        assert server.stream_ids(chat, prompt, output, size) == whole, size
    assert derender_stream(server, chat, prompt, pieces_of(output, 7)) == whole
    return whole


BEGIN = "<think>\nRain?\n</think>\n\n"


def test_a_call_that_is_spelled_is_text(servers: dict[str, Server]) -> None:
    both = servers["both"]
    output = both.ids(f"{BEGIN}Write ") + both.spelled(CALL) + both.ids(f" so.{CALL}")
    assert received(both, output) == message(f"Write {CALL} so.", "Rain?", MADE)
    alone = servers["tools"]
    assert received(alone, alone.spelled(CALL) + alone.ids(CALL)) == message(CALL, "", MADE)


def test_a_marker_in_reasoning_that_is_spelled_is_text(servers: dict[str, Server]) -> None:
    for parsers in ("both", "reasoning"):
        server = servers[parsers]
        output = server.ids("<think>\nI write ") + server.spelled(f"</think> and {CALL}") + server.ids(" so.\n</think>\n\nYes.")
        assert received(server, output) == message("Yes.", f"I write </think> and {CALL} so.")


def test_calls_that_are_content_keep_their_markup(servers: dict[str, Server]) -> None:
    server = servers["reasoning"]
    output = server.ids(BEGIN) + server.spelled("<tool_call>") + server.ids(f" is a tag.\n{CALL}\nDone.")
    assert received(server, output) == message(f"<tool_call> is a tag.\n{CALL}\nDone.", "Rain?")
    both = servers["both"]
    assert received(both, output, tool_choice="none") == message(f"<tool_call> is a tag.\n{CALL}\nDone.", "Rain?")
    for begin, thought in ((BEGIN, "Rain?"), ("<think>\n\n</think>\n\n", "")):
        assert received(both, both.ids(f"{begin}{CALL}\nDone."), tool_choice="none") == message(f"{CALL}\nDone.", thought)


def test_ids_may_come_before_their_text(servers: dict[str, Server]) -> None:
    """vLLM holds back what may become a stop text, and gives no text for the token that ends the turn."""
    server = servers["both"]
    ids = server.ids(f"{BEGIN}Hi.{CALL}<|im_end|>")
    texts = [server.tokenizer.decode([token], skip_special_tokens=False) for token in ids[:-1]]
    late = zip(["", *texts], [[token] for token in ids], strict=True)
    chat, prompt = chat_request(server.name, WEATHER), server.ids(PROMPT)
    assert server.stream_deltas(chat, prompt, list(late)) == message("Hi.", "Rain?", MADE)
    at_once = [("", ids), ("".join(texts), [])]
    assert server.stream_deltas(chat, prompt, at_once) == message("Hi.", "Rain?", MADE)


def test_the_server_may_have_removed_a_token(servers: dict[str, Server]) -> None:
    server = servers["both"]
    output = server.ids(f"{BEGIN}Hi.") + server.ids("<|im_start|>") + server.ids(CALL)
    deltas = [(server.tokenizer.decode([token], skip_special_tokens=False), [token]) for token in output]
    start = server.ids("<|im_start|>")
    deltas = [("", ids) if ids == start else (text, ids) for text, ids in deltas]
    got = server.stream_deltas(chat_request(server.name, WEATHER), server.ids(PROMPT), deltas)
    assert got == message("Hi.", "Rain?", MADE)


def test_reasoning_ends_and_is_counted_by_ids(servers: dict[str, Server]) -> None:
    from unjinja.vllm import UnjinjaReasoningParser

    server = servers["reasoning"]
    reasoning = UnjinjaReasoningParser(server.tokenizer)
    prompt = server.ids(PROMPT)
    thought = server.ids("<think>") + server.spelled("a</think>b")
    assert not reasoning.is_reasoning_end_streaming(prompt + thought, thought)
    output = thought + server.ids("</think>Yes.")
    assert reasoning.is_reasoning_end_streaming(prompt + output, output)
    assert reasoning.extract_content_ids(output) == server.ids("Yes.")
    assert reasoning.count_reasoning_tokens(output) == len("a</think>b")


OTHER = (
    "{% for m in messages %}<{{ m.role }}>{% if m.reasoning_content %}<why>{{ m.reasoning_content }}</why>{% endif %}{{ m.content }}</end>"
    "{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
)


def test_the_template_of_the_command_line_is_read(
    servers: dict[str, Server], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unjinja.vllm import UnjinjaReasoningParser
    from unjinja.vllm._formats import about_request

    tokenizer = servers["reasoning"].tokenizer
    file = tmp_path / "other.jinja"
    file.write_text(OTHER, encoding="utf-8")
    config = tmp_path / "config.yaml"
    config.write_text(f"model: m\nchat-template: '{file}'\nchat-template-content-format: auto\n", encoding="utf-8")
    said = {"file": str(file), "text": OTHER}
    for arguments in (
        ["--chat-template", said["file"]],
        [f"--chat-template={said['file']}"],
        ["--chat_template", said["text"]],
        ["--config", str(config)],
    ):
        monkeypatch.setattr(sys, "argv", ["vllm", "serve", "m", *arguments])
        assert UnjinjaReasoningParser(tokenizer).reasoning_end_str == "</why>", arguments
    for arguments in ([], ["--chat-template-content-format", "auto"], ["--chat-template", str(tmp_path / "none.jinja")]):
        monkeypatch.setattr(sys, "argv", ["vllm", "serve", "m", *arguments])
        assert UnjinjaReasoningParser(tokenizer).reasoning_end_str == "</think>", arguments
    about_request(None)
