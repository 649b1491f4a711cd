"""canitoolcall adapter: replays fixtures through the `unjinja` command.

unjinja derives a parser from a model's chat template. There are no parsers with names, so the configuration is a template. It is
`ORG--MODEL.jinja`, if one of the folders has it; otherwise `models.tsv`, next to this file, names one. Nothing here knows a format.

Each parse is one run of `unjinja parse --template FILE --format json`. For a stream, `--stream` is added, and standard input is a
datagram socket: one read of the command receives one group of tokens, so that groups never merge. The events it prints are
accumulated as a client does. With `--cut-calls drop`, a call that is cut short is none. There is one exception, which
`parser_config` states: a call is added when its end arrives, and only if unjinja does not report its arguments as broken. That is
the rule of `expected_error`: such a call must not reach a client.

Environment (pass with `canitoolcall run --env NAME=VALUE`):

UNJINJA             the command; default: `unjinja` from PATH
UNJINJA_TEMPLATES   folders with the templates, separated as in PATH; the folder `templates` next to this file is added
UNJINJA_MODELS      the table of models; default: `models.tsv` next to this file
UNJINJA_TOKENIZERS  a folder with folders ORG--MODEL that hold `tokenizer.json`, `tekken.json` or `tiktoken.model`; without it,
                    `huggingface_hub` is asked if it is installed
UNJINJA_UNPARSED    `content` or `separate` (default): where broken markup goes
"""

from __future__ import annotations

import base64
import errno
import hashlib
import importlib
import json
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, ClassVar

from canitoolcall.adapters.base import Adapter, AdapterUnavailable, ReplayInput, Support, ToolSpec
from canitoolcall.chunking import TokensPerStep
from canitoolcall.fixtures import load_families
from canitoolcall.results import ParsedToolCall, ParseResult, StreamAccumulator

HERE = Path(__file__).resolve().parent
READ_SIZE = 4096
"""What `unjinja parse --stream` reads at once; a longer group arrives in several pieces."""
TIMEOUT_S = 60.0
DROPPED = ("malformed_arguments",)
"""What unjinja reports of a call that is not delivered."""
TOKENIZER_FILES = ("tekken.json", "tokenizer.json", "tiktoken.model")


# --------------------------------------------------------------------------- models and templates


@dataclass(frozen=True)
class Template:
    """The template that is read for a model, and how close it is to the model's own: `own`, `exact` or `nearest`."""

    path: Path
    match: str


def read_models(path: Path) -> dict[str, tuple[str, str]]:
    """The name of a template and its match, for each model of a table."""
    rows = (line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:])
    return {row[0]: (row[1], row[2]) for row in rows if len(row) >= 3}


def file_stem(repo: str) -> str:
    return repo.replace("/", "--")


# --------------------------------------------------------------------------- pieces of a stream


@dataclass(frozen=True)
class Pieces:
    """The smallest pieces in which an output can arrive: a number for each, and its bytes."""

    units: list[int]
    texts: Mapping[int, bytes]
    special: frozenset[int]
    source: str


class Vocabulary:
    """The bytes of each token id, read from a tokenizer's file. Only decoding is needed, so no tokenizer library is."""

    def __init__(self, path: Path) -> None:
        self.texts: dict[int, bytes] = {}
        self.special: set[int] = set()
        read = {"tekken.json": self._tekken, "tokenizer.json": self._tokenizers, "tiktoken.model": self._tiktoken}
        read[path.name](path)

    def _tekken(self, path: Path) -> None:
        file = json.loads(path.read_text(encoding="utf-8"))
        reserved = int(file["config"]["default_num_special_tokens"])
        for entry in file.get("special_tokens") or ():
            self._add(int(entry["rank"]), entry["token_str"], special=True)
        for entry in file["vocab"]:
            self.texts[reserved + int(entry["rank"])] = base64.b64decode(entry["token_bytes"])

    def _tokenizers(self, path: Path) -> None:
        file = json.loads(path.read_text(encoding="utf-8"))
        byte_level = "ByteLevel" in json.dumps(file.get("decoder"))
        decode = _byte_level_bytes if byte_level else _sentence_piece_bytes
        for token, number in file["model"]["vocab"].items():
            self.texts[number] = decode(token)
        for entry in file.get("added_tokens") or ():
            self._add(int(entry["id"]), entry["content"], special=bool(entry.get("special")))

    def _tiktoken(self, path: Path) -> None:
        for line in path.read_bytes().splitlines():
            token, number = line.split()
            self.texts[int(number)] = base64.b64decode(token)
        config = json.loads((path.parent / "tokenizer_config.json").read_text(encoding="utf-8"))
        for number, entry in config.get("added_tokens_decoder", {}).items():
            self._add(int(number), entry["content"], special=bool(entry.get("special")))

    def _add(self, number: int, text: str, special: bool) -> None:
        self.texts[number] = text.encode()
        if special:
            self.special.add(number)


@cache
def _byte_of_char() -> dict[str, int]:
    """GPT-2's table: printable bytes are themselves, the others are characters from U+0100."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (byte for byte in range(0x100) if byte not in printable)
    return {chr(byte): byte for byte in printable} | {chr(0x100 + n): byte for n, byte in enumerate(others)}


def _byte_level_bytes(token: str) -> bytes:
    table = _byte_of_char()
    return bytes(table[char] for char in token) if all(char in table for char in token) else token.encode()


def _sentence_piece_bytes(token: str) -> bytes:
    if re.fullmatch(r"<0x[0-9A-F]{2}>", token):
        return bytes([int(token[3:5], 16)])
    return token.replace("\u2581", " ").encode()


@cache
def vocabulary(repo: str, revision: str) -> Vocabulary | str:
    """The tokens of a model, or why there are none."""
    folder = os.environ.get("UNJINJA_TOKENIZERS")
    if folder:
        paths = (Path(folder) / file_stem(repo) / name for name in TOKENIZER_FILES)
        path = next((path for path in paths if path.is_file()), None)
        return Vocabulary(path) if path else f"no tokenizer of {repo} in UNJINJA_TOKENIZERS"
    try:
        hub = importlib.import_module("huggingface_hub")
    except ImportError:
        return "huggingface_hub is not installed, and UNJINJA_TOKENIZERS is not set"
    reason = "no known file"
    for name in TOKENIZER_FILES:
        try:
            path = Path(hub.hf_hub_download(repo, name, revision=revision))
            if name == "tiktoken.model":
                hub.hf_hub_download(repo, "tokenizer_config.json", revision=revision)
            return Vocabulary(path)
        except Exception as error:  # missing, gated or offline: the text is split instead, and the results say so
            reason = f"{type(error).__name__}"
    return f"no tokenizer of {repo}: {reason}"


def token_pieces(raw: ReplayInput) -> Pieces | str:
    """The tokens of an output, or why they are unknown. They must spell the output, or the tokenizer is another."""
    if raw.token_ids is None or raw.tokenizer is None:
        return "the fixture has no token ids"
    known = vocabulary(raw.tokenizer.repo, raw.tokenizer.revision)
    if isinstance(known, str):
        return known
    if any(number not in known.texts for number in raw.token_ids):
        return "the tokenizer lacks ids of the fixture"
    spelled = b"".join(known.texts[number] for number in raw.token_ids)
    if spelled != raw.text.encode():
        return "the tokenizer spells the ids differently"
    source = f"token ids ({raw.tokenizer.repo}@{raw.tokenizer.revision})"
    return Pieces(list(raw.token_ids), known.texts, frozenset(known.special), source)


def text_pieces(raw: ReplayInput, markers: Collection[str], reason: str) -> Pieces:
    """An output cut without its tokenizer: the family's markers stay whole, other text becomes pieces of at most five letters."""
    longest_first = sorted(markers, key=len, reverse=True)
    marker = "|".join(map(re.escape, longest_first))
    cut = re.compile((marker + "|" if marker else "") + r" ?[^\W\d_]{1,5}|\s+|.", re.DOTALL)
    numbers: dict[bytes, int] = {}
    units, special = [], set()
    for found in cut.finditer(raw.text):
        number = numbers.setdefault(found[0].encode(), len(numbers))
        units.append(number)
        if found[0] in markers:
            special.add(number)
    texts = {number: text for text, number in numbers.items()}
    return Pieces(units, texts, frozenset(special), f"pieces of text, markers whole ({reason})")


# --------------------------------------------------------------------------- the adapter


class UnjinjaAdapter(Adapter):
    name: ClassVar[str] = "unjinja"
    pinned_version: ClassVar[str] = "0.1.0"
    supports_text_deltas: ClassVar[bool] = True
    tokens_per_step: ClassVar[TokensPerStep] = "many"
    """unjinja is a library and runs in any server, so deltas of several tokens count."""

    def __init__(self) -> None:
        env = os.environ
        self.command = env.get("UNJINJA", "unjinja")
        self.unparsed = env.get("UNJINJA_UNPARSED", "separate")
        self.models = read_models(Path(env.get("UNJINJA_MODELS", HERE / "models.tsv")))
        folders = [Path(folder) for folder in env.get("UNJINJA_TEMPLATES", "").split(os.pathsep) if folder]
        self.folders = [*folders, HERE / "templates"]
        self.temporary = Path(tempfile.mkdtemp(prefix="canitoolcall-unjinja-"))

    def close(self) -> None:
        shutil.rmtree(self.temporary, ignore_errors=True)

    # -- engine identity

    @cached_property
    def binary(self) -> str:
        path = shutil.which(self.command)
        if path is None:
            raise AdapterUnavailable(f"no command {self.command!r}: install unjinja, or set UNJINJA to its path")
        return path

    def version(self) -> str:
        shown = subprocess.run([self.binary, "--version"], capture_output=True, text=True, check=True, timeout=TIMEOUT_S)
        return shown.stdout.split()[-1]

    def engine_details(self) -> dict[str, Any]:
        return {"command_sha256": _sha256(Path(self.binary)), "unparsed": self.unparsed}

    # -- coverage and configuration

    def supports(self, family: str, model: str) -> Support:
        found = self._find(model)
        return Support(True) if isinstance(found, Template) else Support(False, found)

    def _find(self, model: str) -> Template | str:
        """The template of a model, or why there is none."""
        names = [(f"{file_stem(model)}.jinja", "own")]
        if model in self.models:
            names.append(self.models[model])
        for name, match in names:
            for folder in self.folders:
                if (folder / name).is_file():
                    return Template(folder / name, match)
        return f"no folder of UNJINJA_TEMPLATES has {' or '.join(name for name, _ in names)}"

    def _template(self, raw: ReplayInput) -> Template:
        found = self._find(raw.model)
        if isinstance(found, str):
            raise FileNotFoundError(found)
        return found

    def parser_config(self, raw: ReplayInput) -> dict[str, Any]:
        template = self._template(raw)
        return {
            "template": template.path.name,
            "template_sha256": _sha256(template.path),
            "template_match": template.match,
            "thinking": raw.thinking,
            "generation_prompt": raw.generation_prompt,
            "unparsed": self.unparsed,
            "calls_not_delivered": list(DROPPED),
            "calls_in_streams": "delivered at their end",
            "stop_token_appended": None,
            "nonstream_entrypoint": "unjinja parse --format json",
            "stream_entrypoint": "unjinja parse --stream --format json, one read for each group of at most 4096 bytes",
            "pieces": self._pieces(raw).source,
        }

    # -- pieces

    @cached_property
    def _markers(self) -> dict[str, tuple[str, ...]]:
        return {slug: tuple(family.markers) for slug, family in load_families().items()}

    def _pieces(self, raw: ReplayInput) -> Pieces:
        pieces = token_pieces(raw)
        if isinstance(pieces, Pieces):
            return pieces
        return text_pieces(raw, {*self._markers.get(raw.family, ()), *raw.stop_tokens}, pieces)

    def units(self, raw: ReplayInput) -> list[int]:
        return self._pieces(raw).units

    def special_token_ids(self, raw: ReplayInput) -> Collection[int] | None:
        return self._pieces(raw).special

    # -- parses

    def parse(self, raw: ReplayInput, tools: Sequence[ToolSpec]) -> ParseResult:
        ran = subprocess.run(self._arguments(raw, tools), input=raw.text.encode(), capture_output=True, timeout=TIMEOUT_S)
        _check(ran.returncode, ran.stderr)
        document = json.loads(ran.stdout)
        message, dropped = document["message"], {*map(dropped_call, document["diagnostics"])}
        calls = (call for index, call in enumerate(message["tool_calls"]) if index not in dropped)
        return ParseResult(
            content=message["content"] or None,
            reasoning_content=message["reasoning_content"] or None,
            tool_calls=tuple(ParsedToolCall(call["name"], call["arguments"]) for call in calls),
        )

    def parse_stream(self, raw: ReplayInput, chunks: Sequence[Sequence[int]], tools: Sequence[ToolSpec]) -> ParseResult:
        texts = self._pieces(raw).texts
        return self._stream(raw, [b"".join(texts[unit] for unit in chunk) for chunk in chunks], tools)

    def parse_stream_text(self, raw: ReplayInput, deltas: Sequence[str], tools: Sequence[ToolSpec]) -> ParseResult:
        return self._stream(raw, [delta.encode() for delta in deltas], tools)

    def _stream(self, raw: ReplayInput, groups: Sequence[bytes], tools: Sequence[ToolSpec]) -> ParseResult:
        arguments = [*self._arguments(raw, tools), "--stream"]
        with tempfile.TemporaryFile(dir=self.temporary) as out, tempfile.TemporaryFile(dir=self.temporary) as errors:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            with ours, theirs:
                process = subprocess.Popen(arguments, stdin=theirs.fileno(), stdout=out, stderr=errors)
                theirs.close()
                try:
                    _feed(ours, groups)
                    code = process.wait(TIMEOUT_S)
                finally:
                    process.kill()
                    process.wait()
            out.seek(0)
            errors.seek(0)
            _check(code, errors.read())
            return accumulate(json.loads(line) for line in out)

    def _arguments(self, raw: ReplayInput, tools: Sequence[ToolSpec]) -> list[str]:
        arguments = [self.binary, "parse", "--format", "json", "--template", str(self._template(raw).path)]
        arguments += ["--unparsed", self.unparsed, "--cut-calls", "drop", "--tools", self._tools_file(tools)]
        if raw.thinking is not None:
            arguments += ["--thinking", "on" if raw.thinking else "off"]
        if raw.generation_prompt is not None:
            arguments += [f"--generation-prompt={raw.generation_prompt}"]
        return arguments

    def _tools_file(self, tools: Sequence[ToolSpec]) -> str:
        text = json.dumps(list(tools), ensure_ascii=False)
        path = self.temporary / f"{hashlib.sha256(text.encode()).hexdigest()}.json"
        if not path.exists():
            path.write_text(text, encoding="utf-8")
        return str(path)


def dropped_call(diagnostic: Mapping[str, Any]) -> int | None:
    """The index of the call that a diagnostic keeps from the client."""
    return diagnostic["call"] if diagnostic["kind"] in DROPPED else None


def accumulate(events: Iterator[Mapping[str, Any]]) -> ParseResult:
    """The message that a client has at the end of a stream."""
    client = StreamAccumulator()
    names: dict[int, str] = {}
    arguments: dict[int, str] = {}
    dropped: set[int | None] = set()
    for event in events:
        match event["event"]:
            case "content":
                client.add_content(event["text"])
            case "reasoning":
                client.add_reasoning(event["text"])
            case "tool_call_start":
                names[event["index"]], arguments[event["index"]] = event["name"], ""
            case "tool_call_arguments":
                arguments[event["index"]] += event["json"]
            case "diagnostic":
                dropped.add(dropped_call(event["diagnostic"]))
            case "tool_call_end" if event["index"] not in dropped:
                client.append_tool_call(names[event["index"]], arguments[event["index"]])
    return client.result()


def _feed(to: socket.socket, groups: Sequence[bytes]) -> None:
    """Sends each group as one datagram, and an empty one for the end: a read of no bytes."""
    to.settimeout(TIMEOUT_S)
    with suppress(ConnectionError):  # the command has ended; its exit code says why
        for group in groups:
            for start in range(0, len(group), READ_SIZE):
                _send(to, group[start : start + READ_SIZE])
        _send(to, b"")


def _send(to: socket.socket, datagram: bytes) -> None:
    while True:
        try:
            to.send(datagram)
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # macOS says so while the queue is full; Linux waits
                raise
            time.sleep(0.001)


def _check(code: int, errors: bytes) -> None:
    """unjinja accepts any output, so a failure is one of the harness: a wrong template or option."""
    if code != 0:
        raise RuntimeError(f"unjinja ended with {code}: {errors.decode(errors='replace').strip()}")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
