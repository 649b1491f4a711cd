"""Runs the tests of `renderers` that parse responses, and writes what its parsers were asked and what they said.

    python renderers_parses.py SDIST TOKENIZERS OUT.jsonl

SDIST is the folder of the unpacked source package; the environment has `TIKTOKEN_ENCODINGS_BASE`, as for `harmony.py`. Its tests load tokenizers by the names of models; here each model gets one of TOKENIZERS,
and the tokens that its renderer asks for are added to it. The README describes the lines of OUT.
"""

import functools
import importlib
import json
import pkgutil
import sys
from pathlib import Path

import pytest
import renderers
import renderers.base
from tokenizers import AddedToken
from transformers import AutoTokenizer

from renderers.deepseek_v4 import _DSML, _LATEST_REMINDER, _TASK_TOKENS

from renderers_fixtures import parsed

# The tokenizer of a model, by the beginning of its name. All others get that of Qwen 3.
TOKENIZERS = {
    "meta-llama/": "llama3_1",
    "openai/gpt-oss": "gptoss",
    "deepseek-ai/": "deepseek_v3",
    "google/gemma-4": "gemma3",
}
FILES = (
    "test_parse_response.py",
    "test_parse_response_robustness.py",
    "test_parsers.py",
    "test_reasoning_boundaries.py",
    "test_tool_arg_type_preservation.py",
    "test_glm_tool_name_validation.py",
    "test_deepseek_v4.py",
    "test_gemma4.py",
    "test_hy3.py",
    "test_inkling.py",
    "test_laguna_m1.py",
    "test_laguna_xs21.py",
    "test_llama_3.py",
)


class Loader:
    """Stands in for `load_tokenizer`: nothing is fetched."""

    def __init__(self, folder):
        self.folder = folder

    @functools.lru_cache(None)
    def load(self, model):
        name = next((name for begin, name in TOKENIZERS.items() if model.startswith(begin)), "qwen3")
        tokenizer = AutoTokenizer.from_pretrained(self.folder / name)
        tokenizer.name_or_path = model
        known = tokenizer.convert_tokens_to_ids

        def convert(tokens):
            """A token that a renderer asks for is added, if it has the form of one."""
            is_tag = isinstance(tokens, str) and tokens != "" and not (tokens[0].isalnum() or tokens[-1].isalnum() or " " in tokens)
            if is_tag and tokenizer.backend_tokenizer.token_to_id(tokens) is None:
                tokenizer.add_tokens([AddedToken(tokens, special=True, normalized=False)], special_tokens=True)
                tokenizer.added_here.append(tokens)
            return known(tokens)

        tokenizer.added_here = []
        tokenizer.folder_name = name
        tokenizer.convert_tokens_to_ids = convert
        if "DeepSeek-V4" in model:
            # Its renderer does not ask for these by name.
            for token in ("<｜User｜>", "<｜Assistant｜>", "<think>", "</think>", _DSML, _LATEST_REMINDER, *_TASK_TOKENS.values()):
                convert(token)
        return tokenizer


class Recorder:
    """A plug-in of pytest that keeps the calls of each test, and drops those of tests that fail."""

    def __init__(self):
        self.lines, self.calls, self.depth, self.failed = [], [], 0, []

    def wrap(self, kind):
        inner = kind.parse_response

        @functools.wraps(inner)
        def outer(renderer, token_ids, *args, **options):
            self.depth += 1
            try:
                response = inner(renderer, token_ids, *args, **options)
            finally:
                self.depth -= 1
            if self.depth == 0:
                self.keep(renderer, token_ids, options, response)
            return response

        kind.parse_response = outer

    def keep(self, renderer, ids, options, response):
        tokenizer = getattr(renderer, "_tokenizer", None)
        if not hasattr(tokenizer, "folder_name"):
            return
        ids = list(ids)
        prompt = options.get("prompt_ids")
        self.calls.append(
            {
                "renderer": type(renderer).__name__,
                "model": tokenizer.name_or_path,
                "tokenizer": tokenizer.folder_name,
                "added": list(tokenizer.added_here),
                "prompt": None if prompt is None else tokenizer.decode(list(prompt), skip_special_tokens=False),
                "tools": options.get("tools"),
                "ids": ids,
                "text": tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False),
                "parsed": parsed(response),
            }
        )

    def pytest_runtest_setup(self, item):
        self.calls = []

    def pytest_runtest_makereport(self, item, call):
        if call.when != "call":
            return
        name = item.nodeid.rpartition("tests/")[2]
        if call.excinfo is None:
            self.lines.extend({"test": name, **each} for each in self.calls)
        elif not call.excinfo.errisinstance(pytest.skip.Exception):
            self.failed.append(f"{name}: {call.excinfo.exconly()[:160]}")


def main():
    sdist, tokenizers, out = (Path(each).resolve() for each in sys.argv[1:4])
    loader, recorder = Loader(tokenizers), Recorder()
    renderers.base.load_tokenizer = loader.load
    if hasattr(renderers, "load_tokenizer"):
        renderers.load_tokenizer = loader.load
    for module in pkgutil.iter_modules(renderers.__path__, "renderers."):
        try:
            found = vars(importlib.import_module(module.name)).values()
        except ImportError:
            continue
        for kind in {each for each in found if isinstance(each, type) and "parse_response" in vars(each)}:
            if not getattr(kind.parse_response, "__wrapped__", None) and not getattr(kind, "_is_protocol", False):
                recorder.wrap(kind)
    sys.path[:0] = [str(sdist), str(sdist / "tests")]
    files = [str(sdist / "tests" / file) for file in FILES]
    pytest.main(["-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "--rootdir", str(sdist), *files], plugins=[recorder])
    with out.open("w", encoding="utf-8") as file:
        for line in recorder.lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    out.with_suffix(".failed.json").write_text(json.dumps(recorder.failed, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
