#!/usr/bin/env bash
# llguidance 1.9.1 (PyPI): under a JSON schema (also `{}`, any JSON, and `%json` in Lark) no string may have the escape of a letter: `é`
# cannot be written as `\u00e9`. Only control characters may (`\u001b`). Python's `json.dumps` writes just that form: a model that has seen
# arguments so in its prompt, and goes on in the same way, is turned away at each such letter. A slash may not be escaped either (`\/`, as
# PHP writes it). The same holds for names of members. All of it is JSON of the same strings.
#
# Output seen (Python 3.11):
#     taken: "é"  "\n"  "\u001b"
#     refused: "\u00e9"  "\u4f60"  "\ud83d\ude00"  "\/"  {"\u00e9": 1}
# Fails if one of the refused is taken, or one of the taken refused.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/env"
"$work/env/bin/pip" install --quiet --no-deps llguidance==1.9.1
"$work/env/bin/python" - <<'PYTHON'
import json
from llguidance import LLMatcher, LLTokenizer

def takes(text):
    data = list(text.encode())
    said = set()
    for grammar in (LLMatcher.grammar_from_json_schema("{}"), LLMatcher.grammar_from_lark("start: %json {}")):
        matcher = LLMatcher(LLTokenizer("byte"), grammar, log_level=0)
        said.add(matcher.try_consume_tokens(data) == len(data) and matcher.is_accepting())
    assert len(said) == 1, "the two ways differ"
    return said.pop()

TAKEN = ['"é"', r'"\n"', r'"\u001b"']
REFUSED = [json.dumps("é"), json.dumps("你"), json.dumps("😀"), r'"\/"', json.dumps({"é": 1})]
for text in TAKEN + REFUSED:
    json.loads(text)  # all of it is JSON
print("taken:", *filter(takes, TAKEN + REFUSED))
print("refused:", *(text for text in TAKEN + REFUSED if not takes(text)))
assert all(map(takes, TAKEN)), "what was taken is refused"
assert not any(map(takes, REFUSED)), "what was refused is taken now"
PYTHON
