"""Adds tokenizers with unusual added tokens to a folder of tokenizers, and reports which file decides what.

    python quirks.py TOKENIZERS

TOKENIZERS holds folders with `tokenizer.json` and, mostly, `tokenizer_config.json`. For each name in QUIRKS that is there, a
folder `quirk_NAME` is written beside it, and for the names in CONFIG_ALONE a folder `config_NAME`, in which only
`tokenizer_config.json` has the unusual tokens. Then `decides.json` is written: for each tokenizer, the class that transformers makes of
it, and where the loaded tokenizer is not the one that `tokenizer.json` describes.
"""

import json
import sys
from pathlib import Path

FLAGS = ("content", "lstrip", "rstrip", "single_word", "normalized", "special")


def token(content, **flags):
    return {"content": content, **{flag: flags.get(flag, False) for flag in FLAGS[1:]}}


# A token that exists already gets these flags. Each list has a token that strips white space, one of white space, one that must be a
# word, one that is found in normalized text, and one that is the beginning of another. No two are the same after normalization:
# which one is found would be random, and another one each time that the tokenizer is loaded.
QUIRKS = {
    "qwen3": [
        token("<|im_end|>", lstrip=True, rstrip=True, special=True),
        token("<think>", rstrip=True),
        token("<tool_call>", normalized=True),
        token("<|im", special=True),
        token("<|im_start|>assistant", special=True),
        token("\n\n"),
        token("   "),
        token("weather", single_word=True),
        token("caf\u00e9", normalized=True),
    ],
    "llama2": [
        token("<s>", normalized=True, special=True),
        token("</s>", rstrip=True, special=True),
        token("<|user|>", lstrip=True, special=True),
        token("<|", special=True),
        token("<|assistant|>\n", special=True),
        token("  "),
        token("\n\n", lstrip=True),
        token("Paris", single_word=True),
        token(" the", normalized=True),
    ],
    "minilm": [
        token("[MASK]", lstrip=True, special=True),
        token("<|im_end|>", rstrip=True, special=True),
        token("<|Other|>", normalized=True, special=True),
        token("<|im_start|>", normalized=True, special=True),
        token("<|im_start|>user", special=True),
        token("\n"),
        token("Weather", normalized=True, single_word=True),
        token("paris", normalized=True),
        token("<tool", normalized=False),
    ],
}

CONFIG_ALONE = ("qwen3",)


def with_quirks(tokenizer, config, quirks):
    """Changes both files: the flags of tokens that exist, and new tokens at the end of the vocabulary."""
    added = tokenizer["added_tokens"]
    vocabulary = tokenizer["model"]["vocab"]
    ids = dict(vocabulary) if isinstance(vocabulary, dict) else {piece: i for i, (piece, _) in enumerate(vocabulary)}
    ids.update((t["content"], t["id"]) for t in added)
    free = max(ids.values()) + 1
    decoder = {str(t["id"]): {flag: t[flag] for flag in FLAGS} for t in added}
    for quirk in quirks:
        at = ids.get(quirk["content"])
        if at is None:
            at, free = free, free + 1
        added[:] = [t for t in added if t["id"] != at] + [{"id": at, **quirk}]
        decoder[str(at)] = quirk
    added.sort(key=lambda t: t["id"])
    tokenizer["truncation"] = tokenizer["padding"] = None
    config["added_tokens_decoder"] = decoder
    # Without this, special tokens that the class names itself get the flags of the class.
    config["tokenizer_class"] = "TokenizersBackend"


def write_quirks(folder):
    for name, quirks in QUIRKS.items():
        source, target = folder / name, folder / f"quirk_{name}"
        if not source.is_dir():
            continue
        files = {}
        for file in ("tokenizer.json", "tokenizer_config.json"):
            files[file] = json.loads((source / file).read_text("utf-8"))
        written = (source / "tokenizer.json").read_text("utf-8")
        with_quirks(files["tokenizer.json"], files["tokenizer_config.json"], quirks)
        write(target, json.dumps(files["tokenizer.json"], ensure_ascii=False), files["tokenizer_config.json"])
        if name in CONFIG_ALONE:
            write(folder / f"config_{name}", written, files["tokenizer_config.json"])


def write(target, tokenizer, config):
    target.mkdir(exist_ok=True)
    (target / "tokenizer.json").write_text(tokenizer, "utf-8")
    (target / "tokenizer_config.json").write_text(json.dumps(config, ensure_ascii=False), "utf-8")


def differences(written, loaded):
    """What the loaded tokenizer has that `tokenizer.json` does not say, or the other way round."""
    found = {}
    for part in ("normalizer", "pre_tokenizer", "post_processor", "decoder", "truncation", "padding"):
        if written.get(part) != loaded.get(part):
            found[part] = {"file": written.get(part), "loaded": loaded.get(part)}
    for key in ("type", "unk_token", "byte_fallback", "fuse_unk", "ignore_merges", "dropout", "vocab"):
        before, after = written["model"].get(key), loaded["model"].get(key)
        if (before or None) != (after or None):
            found[f"model.{key}"] = "differs" if key == "vocab" else {"file": before, "loaded": after}
    before, after = ({t["id"]: t for t in each["added_tokens"]} for each in (written, loaded))
    changed = [i for i in sorted(before.keys() | after.keys()) if before.get(i) != after.get(i)]
    if changed:
        found["added_tokens"] = [{"file": before.get(i), "loaded": after.get(i)} for i in changed]
    return found


def decides(source):
    from transformers import AutoTokenizer

    config_file = source / "tokenizer_config.json"
    config = json.loads(config_file.read_text("utf-8")) if config_file.exists() else {}
    written = json.loads((source / "tokenizer.json").read_text("utf-8"))
    tokenizer = AutoTokenizer.from_pretrained(source)
    decoder = config.get("added_tokens_decoder") or {}
    by_id = {str(t["id"]): t for t in written["added_tokens"]}
    return {
        "tokenizer_class": config.get("tokenizer_class"),
        "loaded_class": type(tokenizer).__name__,
        "special_tokens_map": tokenizer.special_tokens_map,
        "added_tokens": len(by_id),
        "added_tokens_decoder": len(decoder),
        "flags_that_the_two_files_disagree_on": [
            {"tokenizer.json": by_id.get(i), "tokenizer_config.json": entry}
            for i, entry in decoder.items()
            if i not in by_id or any(by_id[i][flag] != entry.get(flag) for flag in FLAGS)
        ],
        "loaded_is_not_the_file": differences(written, json.loads(tokenizer.backend_tokenizer.to_str())),
    }


def main():
    folder = Path(sys.argv[1])
    write_quirks(folder)
    report = {source.parent.name: decides(source.parent) for source in sorted(folder.glob("*/tokenizer.json"))}
    (folder / "decides.json").write_text(json.dumps(report, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
