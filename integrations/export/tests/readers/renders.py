#!/usr/bin/env python3
"""Compares `unjinja render --as transformers-5.24` with `apply_chat_template` of transformers 5.24, text by text.

    renders.py UNJINJA CORPUS

Twelve conversations are rendered with each template below CORPUS. Both must write the same text or both refuse. Prints the differences and
the numbers; status 1 if there is a difference.
"""

import datetime
import json
import subprocess
import sys
from pathlib import Path

from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

BOS, EOS = "<s>", "</s>"
USER = {"role": "user", "content": "Rain in Zürich?"}
TOOL = {
    "type": "function",
    "function": {
        "name": "get_rain",
        "description": "The rain of a day, in mm.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "day": {"type": "integer"}},
            "required": ["city"],
        },
    },
}
CALL = {"id": "call_001", "type": "function", "function": {"name": "get_rain", "arguments": {"city": "Zürich", "day": 2}}}
CALLS = {"role": "assistant", "content": "", "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "call_001", "name": "get_rain", "content": '{"mm": 3.5}'}
# All that an SDK's message object has, as `model_dump()` writes it.
DUMPED = {"role": "assistant", "content": None, "refusal": None, "audio": None, "function_call": None, "tool_calls": [CALL]}
ANSWER = {"role": "assistant", "content": "3.5 mm.", "tool_calls": None, "refusal": None, "name": None}
SHAPES = {
    "user": ([USER], {}),
    "system": ([{"role": "system", "content": "Be brief."}, USER], {}),
    "offered": ([USER], {"tools": [TOOL]}),
    "answer with nulls": ([USER, ANSWER, USER], {}),
    "call": ([USER, CALLS, RESULT], {"tools": [TOOL]}),
    "call with nulls": ([USER, DUMPED, RESULT], {"tools": [TOOL]}),
    "null result": ([USER, CALLS, RESULT | {"content": None}], {"tools": [TOOL]}),
    "reasoning_content": ([USER, CALLS | {"reasoning_content": "Look."}, RESULT], {"tools": [TOOL]}),
    "thinking": ([USER, CALLS | {"thinking": "Look."}, RESULT], {"tools": [TOOL]}),
    "reasoning": ([USER, CALLS | {"reasoning": "Look.", "reasoning_content": None}, RESULT], {"tools": [TOOL]}),
    "all names": ([USER, ANSWER | {"reasoning": "A.", "thinking": "B.", "reasoning_content": ""}, USER], {}),
    "no prompt": ([USER, {"role": "assistant", "content": " Dry. ", "reasoning": "Look."}], {"add_generation_prompt": False}),
}


class Noon(datetime.datetime):
    """The time that both are told."""

    @classmethod
    def now(cls, tz=None):
        return cls(2026, 1, 15, 12)


def theirs(template, messages, options):
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(WordLevel({}, "")), bos_token=BOS, eos_token=EOS)
    try:
        return tokenizer.apply_chat_template(
            messages, chat_template=template, tokenize=False, **({"add_generation_prompt": True} | options)
        )
    except Exception:  # Whatever the template raises.
        return None


def ours(unjinja, folder, names):
    """What `unjinja render` writes for each template and conversation; None for a refusal."""
    always = {"tools": None, "documents": None, "add_generation_prompt": True, "bos_token": BOS, "eos_token": EOS}
    lines = []
    for name in names:
        for shape, (messages, options) in SHAPES.items():
            context = always | {"messages": messages} | options
            lines.append(json.dumps({"id": json.dumps([name, shape]), "template": name, "context": context}))
    command = [unjinja, "render", "--jsonl", "--as", "transformers-5.24", "--templates", folder]
    done = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True)
    written = map(json.loads, done.stdout.splitlines())
    return {tuple(json.loads(line["id"])): line.get("text") for line in written}


def main(unjinja, corpus):
    chat_template_utils.datetime = Noon
    templates = same = refused = asked = 0
    for folder in sorted(Path(corpus).glob("**/templates")):
        names = sorted(path.name for path in folder.glob("*.jinja") if "reports" not in path.parts)
        written = ours(unjinja, folder, names)
        templates += len(names)
        for name in names:
            for shape, conversation in SHAPES.items():
                text = theirs((folder / name).read_text(encoding="utf-8"), *conversation)
                asked += 1
                if (name, shape) not in written or text != written[name, shape]:
                    print(f"{name}, {shape}:\n  theirs {text!r}\n  ours   {written.get((name, shape))!r}")
                else:
                    same += text is not None
                    refused += text is None
    print(f"{templates} templates, {len(SHAPES)} conversations: {same} texts and {refused} refusals of {asked} are the same")
    return 1 if same + refused < asked or same < 5000 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
