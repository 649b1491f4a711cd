"""A small tokenizer that the tests make themselves: each byte is a token, and markers are added tokens."""

from __future__ import annotations

import json

# What the template `qwen3` of the project writes: whether the tokenizer marks it as special.
QWEN3 = {
    "<|im_start|>": True,
    "<|im_end|>": True,
    "<|endoftext|>": True,
    "<think>": False,
    "</think>": False,
    "<tool_call>": False,
    "</tool_call>": False,
    "<tool_response>": False,
    "</tool_response>": False,
}


def letters() -> list[str]:
    """What byte-level tokenizers write for each byte."""
    visible = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in visible]
    return [chr(byte if byte in visible else 256 + hidden.index(byte)) for byte in range(256)]


def tokenizer_json(added: dict[str, bool] | None = None) -> str:
    """The text of a `tokenizer.json`. The id of a byte is the byte, and those of added tokens follow from 256 on."""
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    tokens = enumerate((QWEN3 if added is None else added).items(), start=256)
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {"id": id, "content": text, "special": special, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
                for id, (text, special) in tokens
            ],
            "normalizer": None,
            "pre_tokenizer": level,
            "post_processor": None,
            "decoder": level,
            "model": {
                "type": "BPE",
                "dropout": None,
                "unk_token": None,
                "continuing_subword_prefix": None,
                "end_of_word_suffix": None,
                "fuse_unk": False,
                "byte_fallback": False,
                "ignore_merges": False,
                "vocab": {letter: byte for byte, letter in enumerate(letters())},
                "merges": [],
            },
        }
    )


def ids_of(text: str, added: dict[str, bool] | None = None) -> list[int]:
    """The ids of a text in which every marker is a token."""
    markers = list(QWEN3 if added is None else added)
    ids: list[int] = []
    at = 0
    while at < len(text):
        marker = next((marker for marker in markers if text.startswith(marker, at)), None)
        if marker is None:
            ids.extend(text[at].encode())
            at += 1
        else:
            ids.append(256 + markers.index(marker))
            at += len(marker)
    return ids
