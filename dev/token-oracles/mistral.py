"""Writes conversations that mistral-common encodes, beside what its own chat template and a converted tokenizer.json make of them.

    python mistral.py OUT

In the folder OUT, each version gets `VERSION.jinja`, `VERSION/tokenizer.json` where transformers can convert the tokenizer, and
lines in `mistral.jsonl`; the README describes them. mistral-common ships SentencePiece tokenizers of v2, v3 and v7, and tekken
ones of v3. Those of v7, v11 and v13 are made of the latter: another version, and a list of all control tokens.
"""

import json
import random
import re
import shutil
import sys
from pathlib import Path

import mistral_common
from mistral_common.integrations.chat_templates.chat_templates import convert_tokenizer_to_chat_template
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode
from mistral_common.tokens.tokenizers.base import SpecialTokenPolicy, SpecialTokens
from mistral_common.tokens.tokenizers.mistral import MistralTokenizer
from transformers import AutoTokenizer
from transformers.integrations.mistral import convert_tekken_tokenizer
from transformers.utils import chat_template_utils

from drawn import Drawn

CONVERSATIONS = 100
SPM = {
    "v2-spm": "mistral_instruct_tokenizer_240216.model.v2",
    "v3-spm": "mistral_instruct_tokenizer_240323.model.v3",
    "v7-spm": "mistral_instruct_tokenizer_241114.model.v7",
}
TEKKEN = ("v3", "v7", "v11", "v13")
PROSE = [
    "caf\u00e9 \U0001f600 漢字 {}",
    "{}\n\n- {}\n  - {}",
    "```python\nprint('{}')\n```",
    "12345.678 {}",
    "{}\t{}\r\n{}",
    "<b>{}</b> & \"{}\"",
]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_place",
            "description": "Finds a place",
            "parameters": {
                "type": "object",
                "properties": {"place": {"type": "string", "description": "the place"}, "limit": {"type": "integer"}},
                "required": ["place"],
            },
        },
    }
]
# The prompt ends and the model begins after these; the model ends with the end of the text.
BEFORE_MODEL = ("[/INST]", "[/TOOL_RESULTS]")
AFTER_RESULT = ("[TOOL_RESULTS]", "[INST]", "[AVAILABLE_TOOLS]")


class Conversation(Drawn):
    FORMS = PROSE

    def __init__(self, seed, version):
        self.random = random.Random(seed)
        self.tools = self.random.random() < 0.6
        self.thinks = version == "v13" and self.random.random() < 0.5
        # v2 has neither names of calls nor more than one.
        self.parallel = not version.startswith("v2")
        self.messages = []
        if self.random.random() < 0.5:
            self.messages.append({"role": "system", "content": f"Be {self.words()}."})
        for _ in range(self.random.randint(1, 3)):
            self.user()
            self.answer()
        if self.random.random() < 0.5:
            self.user()

    def user(self):
        self.messages.append({"role": "user", "content": self.prose()})

    def answer(self):
        if self.tools and self.random.random() < 0.6:
            count = self.random.choice([1, 2]) if self.parallel else 1
            calls = [self.call() for _ in range(count)]
            self.messages.append({"role": "assistant", "content": "", "tool_calls": calls})
            for call in calls:
                # v3 writes a result that is JSON as JSON; its template writes a string.
                content = self.words() if self.random.random() < 0.7 else json.dumps({"found": self.words()})
                self.messages.append({"role": "tool", "tool_call_id": call["id"], "name": "find_place", "content": content})
        content = self.prose()
        if self.thinks:
            thought = {"type": "thinking", "thinking": self.prose(), "closed": True}
            content = [thought, {"type": "text", "text": content}]
        self.messages.append({"role": "assistant", "content": content})

    def call(self):
        arguments = {"place": self.words()}
        if self.random.random() < 0.5:
            arguments["limit"] = self.random.randint(1, 99)
        id = "".join(self.random.choices("abcdefghijk0123456789", k=9))
        function = {"name": "find_place", "arguments": json.dumps(arguments, ensure_ascii=False)}
        return {"id": id, "type": "function", "function": function}

    def context(self):
        return {
            "messages": self.messages,
            "tools": TOOLS if self.tools else None,
            "documents": None,
            "add_generation_prompt": False,
            "bos_token": "<s>",
            "eos_token": "</s>",
        }


def tekken_file(data, version, out):
    """The tekken tokenizer as another version."""
    tekken = json.loads((data / "tekken_240911.json").read_text("utf-8"))
    tekken["config"]["version"] = version
    tekken.pop("multimodal", None)
    # mistral-common takes a tokenizer that has these two for one of v13.
    left_out = () if version == "v13" else (SpecialTokens.begin_think, SpecialTokens.end_think)
    tokens = [token for token in SpecialTokens if token not in left_out]
    tekken["special_tokens"] = [
        {"rank": rank, "token_str": token.value, "is_control": True} for rank, token in enumerate(tokens)
    ]
    path = out / version / "tekken.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(tekken), "utf-8")
    return path


def convert(name, path, out):
    """The tokenizer as a tokenizer.json, which transformers makes of either kind of file."""
    if name in TEKKEN:
        converted = convert_tekken_tokenizer(str(path))
        converted.save_pretrained(out / name)
        return converted
    folder = out / name
    folder.mkdir(exist_ok=True)
    shutil.copy(path, folder / "tokenizer.model")
    config = {"tokenizer_class": "LlamaTokenizer", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "legacy": False}
    (folder / "tokenizer_config.json").write_text(json.dumps(config), "utf-8")
    converted = AutoTokenizer.from_pretrained(folder)
    converted.save_pretrained(folder)
    return converted


def pieces_mask(pieces):
    """Ranges of pieces that the model wrote."""
    ranges, start = [], None
    for i, piece in enumerate(pieces):
        if start is None and i and pieces[i - 1] in BEFORE_MODEL and piece not in AFTER_RESULT:
            start = i
        if start is not None and piece == "</s>":
            ranges.append([start, i + 1])
            start = None
    return ranges


def text_mask(text):
    """Byte ranges that the model wrote, of a text that spells no token elsewhere."""
    markers = "|".join(map(re.escape, (*BEFORE_MODEL, *AFTER_RESULT, "</s>")))
    pieces = [piece for piece in re.split(f"({markers})", text) if piece]
    ends = [0]
    for piece in pieces:
        ends.append(ends[-1] + len(piece.encode()))
    return [[ends[start], ends[end]] for start, end in pieces_mask(pieces)]


def line(name, number, by_mode, template, converted):
    context = Conversation(f"{name}{number}", name).context()
    kind = "training" if context["messages"][-1]["role"] == "assistant" else "prompt"
    tokenizer = by_mode[kind]
    request = ChatCompletionRequest.from_openai(messages=context["messages"], tools=context["tools"])
    encoded = tokenizer.encode_chat_completion(request)
    inner = tokenizer.instruct_tokenizer.tokenizer
    markers = {inner.get_special_token(t): t for t in (*BEFORE_MODEL, *AFTER_RESULT, "</s>")}
    result = {
        "tokenizer": name,
        "conversation": number,
        "kind": kind,
        "context": context,
        "ids": encoded.tokens,
        "text": tokenizer.decode(encoded.tokens, special_token_policy=SpecialTokenPolicy.KEEP),
        "mask_of_ids": pieces_mask([markers.get(id, "") for id in encoded.tokens]),
    }
    try:
        result["template_text"] = template.render(**context)
    except Exception as error:
        result["template_error"] = f"{type(error).__name__}: {error}"
        return result
    result["template_mask"] = text_mask(result["template_text"])
    result["template_ids"] = converted.encode(result["template_text"], add_special_tokens=False)
    result["agrees"] = result["template_ids"] == encoded.tokens
    return result


def main():
    out = Path(sys.argv[1])
    out.mkdir(exist_ok=True)
    data = Path(mistral_common.__file__).parent / "data"
    files = {name: data / file for name, file in SPM.items()}
    files.update((version, tekken_file(data, version, out)) for version in TEKKEN)
    with (out / "mistral.jsonl").open("w", encoding="utf-8") as file:
        for name, path in files.items():
            # A conversation that ends with the model is one for training.
            modes = {"prompt": ValidationMode.test, "training": ValidationMode.finetuning}
            by_mode = {kind: MistralTokenizer.from_file(path, mode=mode) for kind, mode in modes.items()}
            source = convert_tokenizer_to_chat_template(path)
            (out / f"{name}.jinja").write_text(source, "utf-8")
            template = chat_template_utils._compile_jinja_template(source)
            converted = convert(name, path, out)
            for number in range(CONVERSATIONS):
                try:
                    result = line(name, number, by_mode, template, converted)
                except Exception as error:
                    result = {"tokenizer": name, "conversation": number, "error": f"{type(error).__name__}: {error}"}
                file.write(json.dumps(result, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
