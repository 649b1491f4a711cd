"""Writes conversations that openai-harmony renders to token ids, beside the same conversations for a chat template of gpt-oss.

    TIKTOKEN_ENCODINGS_BASE=FOLDER python harmony.py TOKENIZER TEMPLATE OUT

FOLDER holds `o200k_base.tiktoken`, TOKENIZER is the `tokenizer.json` of gpt-oss, and TEMPLATE its template in the corpus.
The README describes the lines of OUT.
"""

import json
import random
import sys
from pathlib import Path

import jinja2
import openai_harmony as harmony
from tokenizers import Tokenizer
from transformers.utils import chat_template_utils

from drawn import Drawn, FixedTime

CONVERSATIONS = 500
DATE = "2026-01-15"
START = "<|start|>assistant"
PROSE = [
    "caf\u00e9 \U0001f600 漢字 {}",
    "{}\n\n- {}\n  - {}\n",
    "```python\nprint('{}')\n```",
    "  {} ",
    "12345.678 {}",
    "{}\t{}\r\n{}",
    "<b>{}</b> & \"{}\"",
]


class Conversation(Drawn):
    """One random conversation in both forms: messages of harmony, and messages for the template."""

    FORMS = PROSE

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.harmony = []
        self.messages = []
        self.effort = self.random.choice(["low", "medium", "high"])
        self.tools = self.random.random() < 0.6
        self.completion = self.random.random() < 0.4
        self.open()
        for turn in range(self.random.randint(1, 4)):
            self.user()
            self.answer()
        if self.completion:
            self.user()
            if self.tools and self.random.random() < 0.5:
                self.call()

    def open(self):
        effort = harmony.ReasoningEffort(self.effort.capitalize())
        system = harmony.SystemContent.new().with_reasoning_effort(effort).with_conversation_start_date(DATE)
        self.harmony.append(harmony.Message.from_role_and_content(harmony.Role.SYSTEM, system))
        developer = harmony.DeveloperContent.new()
        told = self.random.random() < 0.6
        if told:
            instructions = f"Be {self.words()}."
            developer = developer.with_instructions(instructions)
            self.messages.append({"role": self.random.choice(["developer", "system"]), "content": instructions})
        if self.tools:
            tools = [harmony.ToolDescription.new(t["name"], t["description"], t.get("parameters")) for t in FUNCTIONS]
            developer = developer.with_function_tools(tools)
        if told or self.tools:
            self.harmony.append(harmony.Message.from_role_and_content(harmony.Role.DEVELOPER, developer))

    def user(self):
        text = self.prose()
        self.harmony.append(harmony.Message.from_role_and_content(harmony.Role.USER, text))
        self.messages.append({"role": "user", "content": text})

    def assistant(self, channel, text):
        message = harmony.Message.from_role_and_content(harmony.Role.ASSISTANT, text).with_channel(channel)
        self.harmony.append(message)
        return message

    def think(self, message):
        if self.random.random() < 0.7:
            message["thinking"] = self.prose()
            self.assistant("analysis", message["thinking"])

    def call(self):
        message = {"role": "assistant"}
        self.think(message)
        if "thinking" not in message and self.random.random() < 0.3:
            message["content"] = self.prose()
            self.assistant("commentary", message["content"])
        function = self.random.choice(FUNCTIONS)
        arguments = {} if function["name"] == "ping" else {"place": self.words(), "limit": self.random.randint(1, 99)}
        message["tool_calls"] = [{"type": "function", "function": {"name": function["name"], "arguments": arguments}}]
        self.messages.append(message)
        recipient = f"functions.{function['name']}"
        called = self.assistant("commentary", json.dumps(arguments, ensure_ascii=False))
        self.harmony[-1] = called.with_recipient(recipient).with_content_type(self.random.choice(["json", "<|constrain|>json"]))
        result = json.dumps({"found": self.words()})
        author = harmony.Author.new(harmony.Role.TOOL, recipient)
        # The template writes a result as a JSON string.
        written = json.dumps(result, ensure_ascii=False)
        answered = harmony.Message.from_author_and_content(author, written).with_channel("commentary").with_recipient("assistant")
        self.harmony.append(answered)
        self.messages.append({"role": "tool", "content": result})

    def answer(self):
        if self.tools:
            for _ in range(self.random.choice([0, 1, 1, 2])):
                self.call()
        message = {"role": "assistant"}
        self.think(message)
        message["content"] = self.prose()
        self.assistant("final", message["content"])
        self.messages.append(message)

    def context(self):
        tools = [{"type": "function", "function": function} for function in FUNCTIONS] if self.tools else None
        return {
            "messages": self.messages,
            "tools": tools,
            "documents": None,
            "add_generation_prompt": self.completion,
            "reasoning_effort": self.effort,
            "bos_token": "<|startoftext|>",
            "eos_token": "<|return|>",
        }


FUNCTIONS = [
    {
        "name": "find_place",
        "description": "Finds a place",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "the place"},
                "limit": {"type": "integer", "description": "how many"},
            },
            "required": ["place", "limit"],
        },
    },
    {"name": "ping", "description": "Does nothing"},
]


def mask(text):
    """The bytes that the model wrote: its messages without the first header of a turn, which the prompt writes.

    No text of these conversations spells a token, so that the text can be cut at `<|start|>`.
    """
    ranges, at, by_assistant = [], 0, False
    for piece in text.split("<|start|>"):
        if not piece:
            continue
        whole = len(("<|start|>" + piece).encode())
        if piece.startswith("assistant"):
            start = at if by_assistant else at + len(START)
            if start < at + whole:
                ranges.append([start, at + whole])
            by_assistant = True
        else:
            by_assistant = False
        at += whole
    assert at == len(text.encode())
    joined = []
    for start, end in ranges:
        if joined and joined[-1][1] == start:
            joined[-1][1] = end
        else:
            joined.append([start, end])
    return joined


def line(encoding, tokenizer, template, number):
    conversation = Conversation(number)
    rendered = harmony.Conversation.from_messages(conversation.harmony)
    if conversation.completion:
        ids = encoding.render_conversation_for_completion(rendered, harmony.Role.ASSISTANT)
    else:
        ids = encoding.render_conversation_for_training(rendered)
    text = encoding.decode_utf8(ids)
    context = conversation.context()
    result = {
        "conversation": number,
        "kind": "completion" if conversation.completion else "training",
        "harmony": rendered.to_dict(),
        "text": text,
        "ids": ids,
        "mask": mask(text),
        "tokenizer_json_agrees": tokenizer.encode(text, add_special_tokens=False).ids == ids,
        "context": context,
    }
    try:
        result["template_text"] = template.render(**context)
        result["template_agrees"] = result["template_text"] == text
        result["template_mask"] = mask(result["template_text"])
        result["template_ids"] = tokenizer.encode(result["template_text"], add_special_tokens=False).ids
    except (jinja2.TemplateError, TypeError) as error:
        result["template_error"] = f"{type(error).__name__}: {error}"
    return result


def main():
    tokenizer, template, out = map(Path, sys.argv[1:4])
    chat_template_utils.datetime = FixedTime
    template = chat_template_utils._compile_jinja_template(template.read_text("utf-8"))
    encoding = harmony.load_harmony_encoding(harmony.HarmonyEncodingName.HARMONY_GPT_OSS)
    tokenizer = Tokenizer.from_file(str(tokenizer))
    with out.open("w", encoding="utf-8") as file:
        for number in range(CONVERSATIONS):
            file.write(json.dumps(line(encoding, tokenizer, template, number), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
