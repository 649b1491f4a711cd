"""vLLM's server and the wire formats of `templates/`: the client receives the message, whole and streamed, however it is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from vllm_cases import BOS, EOS, Case, own_cases, own_model, own_templates
from vllm_serving import Received, Server, chat_request, derender, derender_stream, make_folder, pieces_of, register

TEMPLATES = own_templates()


@pytest.fixture(scope="module", params=TEMPLATES, ids=lambda path: path.stem)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, list[Case]]]:
    register()
    template: Path = request.param
    text = template.read_text(encoding="utf-8")
    folder = make_folder(tmp_path_factory.mktemp(template.stem), text, own_model(template).preserved_tokens, BOS, EOS)
    server = Server(folder)
    tokens = own_model(template).preserved_tokens
    # A model writes a special token whole, so letters of one at the end of an output are text.
    yield server, [case for case in own_cases(template) if not ends_inside(case.output, tokens)]
    server.close()


def ends_inside(output: str, tokens: Sequence[str]) -> bool:
    return any(output.endswith(token[:length]) for token in tokens for length in range(1, len(token)))


def test_the_client_receives_the_message(asked: tuple[Server, list[Case]]) -> None:
    server, cases = asked
    assert cases
    for case in cases:
        chat = chat_request(server.name, case.tools)
        prompt, output = server.ids(case.prompt), server.ids(case.output)
        whole = derender(server, chat, prompt, output)
        if case.tools:  # vLLM drops the calls of a request that offers no tools
            assert case.differs(whole) is None, case.name
        for size in (1, 7, len(output)):
            assert derender_stream(server, chat, prompt, pieces_of(output, size)) == whole, f"{case.name}, in {size} tokens"


def test_every_cut_gives_the_same(asked: tuple[Server, list[Case]]) -> None:
    """In two deltas, cut between any two characters; the streaming code of the server, without HTTP."""
    server, cases = asked
    case = max(cases, key=lambda case: (len(case.calls) > 1, bool(case.reasoning), -len(case.output)))
    chat, prompt = chat_request(server.name, case.tools), server.ids(case.prompt)
    whole = derender(server, chat, prompt, server.ids(case.output))
    for cut in range(len(case.output) + 1):
        assert server.stream(chat, prompt, [case.output[:cut], case.output[cut:]]) == whole, f"{case.name}, cut at {cut}"
    assert server.stream(chat, prompt, list(case.output)) == whole
