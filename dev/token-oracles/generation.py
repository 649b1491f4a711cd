"""Compares templates with `{% generation %}` with what transformers makes of them.

    python generation.py LINES

LINES is the file that `UNJINJA_GENERATION_LINES` names in a run of `integrations/export/tests/training.rs`: for each template the
original, the marked one, and conversations with their text and the bytes that the model writes. For every conversation transformers
must write the same text with both templates, and mark exactly these bytes. The first conversations of each template also go through
`apply_chat_template(return_assistant_tokens_mask=True)` with a tokenizer that has one token for each byte.
"""

import collections
import json
import sys

import jinja2
from transformers.utils import chat_template_utils

from drawn import FixedTime
from masks import byte_ranges, byte_tokenizer, render

WITH_TOKENS = 4


def merged(ranges):
    """Without empty ranges; those that touch are one."""
    found = []
    for start, end in ranges:
        if start == end:
            continue
        if found and found[-1][1] == start:
            found[-1][1] = end
        else:
            found.append([start, end])
    return found


def token_ranges(tokenizer, source, context):
    """The bytes that the mask of `apply_chat_template` has. A token is a byte."""
    rest = {name: value for name, value in context.items() if name != "messages"}
    encoded = tokenizer.apply_chat_template(
        context["messages"], chat_template=source, tokenize=True, return_dict=True, return_assistant_tokens_mask=True, **rest
    )
    return merged([at, at + 1] for at, marked in enumerate(encoded["assistant_masks"]) if marked)


def rendered(source, context, marks=False):
    try:
        return render(source, context, marks), None
    except (jinja2.TemplateError, TypeError, ValueError, KeyError, AttributeError) as raised:
        return None, f"{type(raised).__name__}: {raised}"


def compare(line, tokenizer, counts):
    """Counts the conversations of a template, and returns the first difference."""
    first = None
    for number, one in enumerate(line["conversations"]):
        context = one["context"]
        original, error = rendered(line["original"], context)
        marked, marked_error = rendered(line["source"], context, marks=True)
        if original is None or marked is None:
            is_same = original is None and marked is None
            counts["refused by both" if is_same else "refused by one"] += 1
            first = first if is_same else first or f"refused by one: {error} / {marked_error}"
            continue
        text, ranges = marked
        if text != original:
            counts["another text"] += 1
            first = first or f"another text: {original!r} / {text!r}"
        elif original != one["text"]:
            # transformers copies the reasoning to every name that it has, and some templates then write it twice or otherwise.
            counts["transformers hands over another conversation"] += 1
        else:
            found, wanted = merged(byte_ranges(text, ranges)), merged(one["mask"])
            is_same = found == wanted
            if is_same and number < WITH_TOKENS and {"bos_token", "eos_token"} <= context.keys():
                counts["with tokens"] += 1
                is_same = token_ranges(tokenizer, line["source"], context) == wanted
            counts["the same mask" if is_same else "another mask"] += 1
            first = first if is_same else first or f"another mask: {found} / {wanted} of {text!r}"
    return first


def main():
    chat_template_utils.datetime = FixedTime
    tokenizer = byte_tokenizer()
    total, good = collections.Counter(), 0
    with open(sys.argv[1], encoding="utf-8") as lines:
        for row in lines:
            line = json.loads(row)
            counts = collections.Counter()
            difference = compare(line, tokenizer, counts)
            total.update(counts)
            if difference:
                print(f"{line['template']}: {dict(counts)}\n  {difference[:600]}")
            else:
                good += 1
            total["templates"] += 1
    print(f"{good} of {total['templates']} templates: {dict(total)}")
    sys.exit(good != total["templates"])


if __name__ == "__main__":
    main()
