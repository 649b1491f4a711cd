"""The real server, started by its command line, found by its entry point, asked over HTTP: no GPU, no engine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import httpx
import pytest
from shared import ROOT
from vllm_cases import BOS, EOS, TOOLS, Case, own_cases, own_model
from vllm_serving import FLAGS, chat_request, derender, derender_stream, make_folder, pieces_of

FORMATS = ["qwen3", "xml_parameters", "channels"]


class Http:
    """A server in a process of its own."""

    def __init__(self, folder: Path, place: Path) -> None:
        from vllm.tokenizers import get_tokenizer

        self.name, self.tokenizer = str(folder), get_tokenizer(str(folder))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self._client = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
        command = [sys.executable, "-m", "vllm.entrypoints.cli.main", "launch", "render", "--model", str(folder), *FLAGS]
        paths = [str(entry_point(place)), *sys.path]
        self._log = open(place / "log", "w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [*command, "--host", "127.0.0.1", "--port", str(port)],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)},
            cwd=place,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        for _ in range(600):
            if self._process.poll() is not None:
                break
            try:
                if self._client.get("/health").status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            time.sleep(0.2)
        self.close()
        pytest.fail("the server does not start:\n" + (place / "log").read_text(encoding="utf-8")[-3000:])

    def post(self, route: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = self._client.post(route, json=body)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def ids(self, text: str) -> list[int]:
        return list(self.tokenizer.encode(text, add_special_tokens=False))

    def close(self) -> None:
        self._client.close()
        self._process.terminate()
        self._process.wait(30)
        self._log.close()


def entry_point(place: Path) -> Path:
    """A folder with the package's entry points, where the package is not installed."""
    made = place / "points"
    made.mkdir()
    try:
        distribution("unjinja")
    except PackageNotFoundError:
        project = tomllib.loads((ROOT / "integrations/python/pyproject.toml").read_text(encoding="utf-8"))["project"]
        info = made / "unjinja-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: unjinja\nVersion: 0\n", encoding="utf-8")
        points = project["entry-points"]["vllm.general_plugins"]
        lines = "".join(f"{name} = {value}\n" for name, value in points.items())
        (info / "entry_points.txt").write_text(f"[vllm.general_plugins]\n{lines}", encoding="utf-8")
    return made


@pytest.fixture(scope="module", params=FORMATS)
def asked(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Http, list[Case]]]:
    template = ROOT / "templates" / f"{request.param}.jinja"
    place = tmp_path_factory.mktemp(request.param)
    text = template.read_text(encoding="utf-8")
    server = Http(make_folder(place / "model", text, own_model(template).preserved_tokens, BOS, EOS), place)
    yield server, own_cases(template)
    server.close()


def test_the_client_receives_the_message(asked: tuple[Http, list[Case]]) -> None:
    server, cases = asked
    for case in cases:
        chat = chat_request(server.name, case.tools)
        prompt, output = server.ids(case.prompt), server.ids(case.output)
        whole = derender(server, chat, prompt, output)
        assert not case.tools or case.differs(whole) is None, case.name
        assert derender_stream(server, chat, prompt, pieces_of(output, 16)) == whole, case.name


def test_the_server_renders_the_prompt_and_asks_for_the_markers(asked: tuple[Http, list[Case]]) -> None:
    server, cases = asked
    chat = chat_request(server.name, TOOLS, tool_choice="required")
    rendered = server.post("/v1/chat/completions/render", chat)
    assert rendered["sampling_params"]["skip_special_tokens"] is False
    assert rendered["sampling_params"]["structured_outputs"]["structural_tag"]
    # The turn that the prompt begins is read as the model continues it.
    first = next(case for case in cases if case.calls and case.prompt.endswith(server.tokenizer.decode(rendered["token_ids"])[-40:]))
    assert first.differs(derender(server, chat, rendered["token_ids"], server.ids(first.output))) is None
