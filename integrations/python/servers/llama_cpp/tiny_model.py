"""A model of llama.cpp that has learned nothing, as GGUF, with the tokenizer of the same vocabulary: a token for each byte, and special
tokens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from gguf import GGUFWriter, TokenType
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

WIDTH, HEADS, INNER, LAYERS, CONTEXT = 32, 2, 64, 1, 8192

# llama.cpp needs at least one pair of letters that are a token together.
PAIR = ("Ā", "Ā")


def vocabulary() -> list[str]:
    """The ordinary tokens."""
    return [*sorted(pre_tokenizers.ByteLevel.alphabet()), "".join(PAIR)]


def make(folder: Path, template: str, special: Sequence[str], tags: Sequence[str] = (), bos: str | None = None) -> Path:
    """Writes `model.gguf` and `tokenizer.json`. `special` are special tokens, of which the second ends a turn; `tags` are added tokens that
    are not marked as special."""
    ordinary = vocabulary()
    tokenizer = Tokenizer(models.BPE(vocab={text: number for number, text in enumerate(ordinary)}, merges=[PAIR]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in special])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in tags])
    tokenizer.save(str(folder / "tokenizer.json"))

    path = folder / "model.gguf"
    file = GGUFWriter(str(path), "llama")
    for add, value in (
        (file.add_context_length, CONTEXT),
        (file.add_embedding_length, WIDTH),
        (file.add_block_count, LAYERS),
        (file.add_feed_forward_length, INNER),
        (file.add_head_count, HEADS),
        (file.add_vocab_size, tokenizer.get_vocab_size()),
        (file.add_layer_norm_rms_eps, 1e-5),
    ):
        add(value)
    kinds = [TokenType.NORMAL] * len(ordinary) + [TokenType.CONTROL] * len(special) + [TokenType.USER_DEFINED] * len(tags)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list([*ordinary, *special, *tags])
    file.add_token_types(kinds)
    file.add_token_merges([" ".join(PAIR)])
    file.add_eos_token_id(tokenizer.token_to_id(special[1]))
    file.add_add_bos_token(bos is not None)
    if bos is not None:
        file.add_bos_token_id(tokenizer.token_to_id(bos))
    file.add_chat_template(template)

    random = np.random.default_rng(1)

    def add(name: str, *shape: int) -> None:
        file.add_tensor(name, (random.standard_normal(shape) / shape[-1] ** 0.5).astype(np.float32))

    def norm(name: str) -> None:
        file.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    add("token_embd.weight", tokenizer.get_vocab_size(), WIDTH)
    for layer in range(LAYERS):
        norm(f"blk.{layer}.attn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{part}.weight", WIDTH, WIDTH)
        norm(f"blk.{layer}.ffn_norm.weight")
        for part, to, width in (("ffn_gate", INNER, WIDTH), ("ffn_up", INNER, WIDTH), ("ffn_down", WIDTH, INNER)):
            add(f"blk.{layer}.{part}.weight", to, width)
    norm("output_norm.weight")
    add("output.weight", tokenizer.get_vocab_size(), WIDTH)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()
    return path


def serve(path: Path) -> Any:
    """llama.cpp's own server with this model. It ends with the object; `listening_address` says where it is."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(path)
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = CONTEXT, 1, False, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.sampling.seed = 1
    params.port = 0
    return xllamacpp.Server(params)
