"""unjinja next to vLLM's own parsers, for the same models: how many messages come back, whole and streamed.

    python python/servers/vllm/compare.py [--lost FILE] [--only NAME]

Asks vLLM's server code with the turns that released templates write (`turns.jsonl`) and with what models and the test suites of
other parsers wrote (`outputs.jsonl`). The tokenizer has a token for each marker and for each byte. `streamed`: a delta is one
token. `long deltas`: a delta has 24 tokens, as with speculative decoding. `--lost` writes the outputs that the built-in parsers lose and unjinja reads.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests")]
import conftest  # noqa: E402, F401
from vllm_cases import Case, corpus_cases, corpus_template  # noqa: E402
from vllm_serving import Server, chat_request, derender, make_folder, register  # noqa: E402

import unjinja  # noqa: E402

# Folder and template, and what vLLM's documents advise for the model: --tool-call-parser, --reasoning-parser.
MODELS: list[tuple[str, str, str | None, str | None]] = [
    ("templates", "Apertus-8B-Instruct.jinja", "apertus", None),
    ("templates", "ByteDance-Seed-OSS.jinja", "seed_oss", "seed_oss"),
    ("templates", "GLM-4.6.jinja", "glm45", "glm45"),
    ("templates", "GLM-4.7-Flash.jinja", "glm47", "glm45"),
    ("templates", "GigaChat3-10B-A1.8B.jinja", "gigachat3", None),
    ("templates", "Kimi-K2-Instruct.jinja", "kimi_k2", None),
    ("templates", "Kimi-K2-Thinking.jinja", "kimi_k2", "kimi_k2"),
    ("templates", "LFM2-8B-A1B.jinja", "lfm2", None),
    ("templates", "MiniMax-M2.jinja", "minimax_m2", "minimax_m2"),
    ("templates", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16.jinja", "qwen3_coder", "nemotron_v3"),
    ("templates", "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use.jinja", "hermes", None),
    ("templates", "NousResearch-Hermes-3-Llama-3.1-8B-tool_use.jinja", "hermes", None),
    ("templates", "Qwen-Qwen2.5-7B-Instruct.jinja", "hermes", None),
    ("templates", "Qwen-Qwen3-0.6B.jinja", "hermes", "qwen3"),
    ("templates", "Qwen3-Coder.jinja", "qwen3_coder", None),
    ("templates", "Qwen3.5-4B.jinja", "qwen3_coder", "qwen3"),
    ("templates", "StepFun3.5-Flash.jinja", "step3p5", "step3p5"),
    ("templates", "deepseek-ai-DeepSeek-V3.1.jinja", "deepseek_v31", "deepseek_v3"),
    ("templates", "deepseek-ai-DeepSeek-V3.2.jinja", "deepseek_v32", "deepseek_v3"),
    ("templates", "google-gemma-4-31B-it.jinja", "gemma4", "gemma4"),
    ("templates", "ibm-granite-granite-3.3-2B-Instruct.jinja", "granite", "granite"),
    ("templates", "ibm-granite-granite-4.0.jinja", "granite4", None),
    ("templates", "meta-llama-Llama-3.1-8B-Instruct.jinja", "llama3_json", None),
    ("templates", "meta-llama-Llama-3.3-70B-Instruct.jinja", "llama3_json", None),
    ("templates", "mistralai-Ministral-3-14B-Reasoning-2512.jinja", "mistral", "mistral"),
    ("templates", "mistralai-Mistral-Nemo-Instruct-2407.jinja", "mistral", None),
    ("wide", "deepseek-ai-deepseek-v4.jinja", "deepseek_v4", "deepseek_v4"),
    ("wide", "deepseekv3-vllm.jinja", "deepseek_v3", None),
    ("wide", "granite-20b-fc-vllm.jinja", "granite-20b-fc", None),
    ("wide", "inkling-fixed-miles.jinja", "inkling", "inkling"),
    ("wide", "internlm2-tool-vllm.jinja", "internlm", None),
    ("wide", "kimi-k2.5.jinja", "kimi_k2", "kimi_k2"),
    ("wide", "phi4-mini-vllm.jinja", "phi4_mini_json", None),
    ("wide", "qwen3.6-35b-a3b.jinja", "qwen3_coder", "qwen3"),
    ("wild", "glm-4.5.jinja", "glm45", "glm45"),
    ("wild", "granite-3.2-2b-instruct.jinja", "granite", "granite"),
    ("wild", "jamba-axolotl.jinja", "jamba", None),
    ("wild", "llama4-pythonic-vllm.jinja", "llama4_pythonic", None),
    ("wild", "qwen3-next-instruct.jinja", "hermes", None),
    ("wild", "xlam-qwen-vllm.jinja", "xlam", None),
]

# Tokens that these parsers demand, and that the template does not write.
DEMANDED = {"llama3_json": ["<|python_tag|>"]}
# Tokens at which these models stop. The server drops them.
STOPS = ("<|tool_response>", "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "</s>", "<|endoftext|>")

WAYS = ("whole", "streamed", "long deltas")
FILES = ("turns.jsonl", "outputs.jsonl")


def answer(server: Server, case: Case, way: str) -> dict[str, Any] | str:
    """What the client receives, or what goes wrong."""
    # Turns were rendered with the switch. What was really written says nothing about it: the server's default holds.
    rendered = not case.name.startswith(("suite/", "thread/"))
    switch = {"enable_thinking": case.thinking, "thinking": case.thinking} if rendered else {}
    chat = chat_request(server.name, case.tools, chat_template_kwargs=switch)
    prompt, output = server.ids(case.prompt), server.ids(case.output)
    try:
        if way == "whole":
            return derender(server, chat, prompt, output)
        return server.stream_ids(chat, prompt, output, 1 if way == "streamed" else 24)
    except (Exception, AssertionError) as error:  # a parser's failure is its answer
        return f"{type(error).__name__}: {error}"


def verdict(case: Case, got: dict[str, Any] | str) -> str | None:
    if isinstance(got, str):
        return got
    if not case.tools:
        # vLLM drops the calls of a request that offers no tools, whatever the parser.
        case.not_asserted = [*case.not_asserted, "tool_calls"]
    return case.differs(got)


def counts(right: Mapping[tuple[str, str], int], who: str) -> str:
    return " " + ", ".join(str(right.get((who, way), 0)) for way in WAYS) + " |"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--lost", type=Path)
    arguments.add_argument("--only")
    options = arguments.parse_args()
    register()
    totals: dict[tuple[str, str, str], int] = defaultdict(int)
    asked: dict[str, int] = defaultdict(int)
    lost = []
    print(f"Right of all: {', '.join(WAYS)}.\n")
    print("| template | vLLM's parsers | turns | vLLM | unjinja | outputs | vLLM | unjinja |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for folder, name, tools, reasoning in MODELS:
        if options.only and options.only not in name:
            continue
        template = corpus_template(folder, name).read_text(encoding="utf-8")
        special = [*unjinja.Model.from_template(template).preserved_tokens, *DEMANDED.get(tools or "", [])]
        flags = {
            "vLLM": ["--enable-auto-tool-choice"] * bool(tools)
            + (["--tool-call-parser", tools] if tools else [])
            + (["--reasoning-parser", reasoning] if reasoning else []),
            "unjinja": ["--enable-auto-tool-choice", "--tool-call-parser", "unjinja", "--reasoning-parser", "unjinja"],
        }
        row = f"| {name.removesuffix('.jinja')} | {tools or '-'}, {reasoning or '-'} |"
        with tempfile.TemporaryDirectory() as place:
            path = make_folder(Path(place), template, special)
            servers: dict[str, Server | str] = {}
            for who, chosen in flags.items():
                try:
                    servers[who] = Server(path, chosen)
                except (Exception, SystemExit) as error:
                    servers[who] = f"{type(error).__name__}: {error}"
                    print(f"{name}: {who}: {error}", file=sys.stderr)
            for file in FILES:
                right: dict[tuple[str, str], int] = defaultdict(int)
                cases = [case for case in corpus_cases(file, {name}) if case.about["folder"] == folder and case.output]
                for case in cases:
                    for stop in STOPS:
                        case.output = case.output.removesuffix(stop)
                    said: dict[tuple[str, str], str | None] = {}
                    for who, server in servers.items():
                        for way in WAYS:
                            got = server if isinstance(server, str) else answer(server, case, way)
                            said[who, way] = verdict(case, got)
                            right[who, way] += said[who, way] is None
                    if not any(said["unjinja", way] for way in WAYS) and any(said["vLLM", way] for way in WAYS):
                        reasons = {way: said["vLLM", way] for way in WAYS}
                        lost.append({"id": case.name, "template": name, "parsers": [tools, reasoning], "output": case.output,
                                     "class": case.about.get("class"), "source": case.about.get("source"), "vLLM": reasons})
                    elif any(said["unjinja", way] for way in WAYS):
                        lost.append({"id": case.name, "template": name, "output": case.output, "prompt": case.prompt,
                                     "unjinja": {way: said["unjinja", way] for way in WAYS}, "vLLM": {way: said["vLLM", way] for way in WAYS}})
                row += f" {len(cases)} |" + "".join(counts(right, who) for who in flags)
                asked[file] += len(cases)
                for key, count in right.items():
                    totals[(file, *key)] += count
            for server in servers.values():
                if not isinstance(server, str):
                    server.close()
        print(row, flush=True)
    row = "| all | |"
    for file in FILES:
        right = {(who, way): count for (asked_of, who, way), count in totals.items() if asked_of == file}
        row += f" {asked[file]} |" + "".join(counts(right, who) for who in ("vLLM", "unjinja"))
    print(row)
    if options.lost:
        options.lost.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in lost), encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "CRITICAL")
    main()
