"""Writes which bytes of a conversation the training templates of TRL mark as the model's, and TRL's test for stable prefixes.

    python masks.py CORPUS OUT

CORPUS is the corpus of CONTRIBUTING.md; `masks.jsonl`, `prefix.jsonl` and `refused.json` are written to the folder OUT. The README
describes their lines. TRL is installed without its dependencies: only its templates and the file `chat_template_utils.py` are used.
"""

import collections
import json
import random
import re
import shutil
import sys
import types
from pathlib import Path

import jinja2
import tokenizers
from transformers import PreTrainedTokenizerFast
from transformers.utils import chat_template_utils

from drawn import Drawn, FixedTime

# trl.data_utils imports pyarrow and datasets; the functions used here need it for images alone.
stub = types.ModuleType("trl.data_utils")
stub.prepare_multimodal_messages = None
sys.modules["trl.data_utils"] = stub

from trl import chat_template_utils as trl_templates  # noqa: E402

OPEN, CLOSE = "\U0010fffc", "\U0010fffd"
CONVERSATIONS_PER_KIND = 5

# What the tokenizers of these families call the beginning of a text and its end.
BOS_EOS = {
    "deepseek": ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>"),
    "llama3": ("<|begin_of_text|>", "<|eot_id|>"),
    "gemma": ("<bos>", "<eos>"),
    "diffusion_gemma": ("<bos>", "<eos>"),
    "cohere": ("<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>"),
    "phi3": ("<s>", "<|endoftext|>"),
    "lfm2": ("<|startoftext|>", "<|im_end|>"),
    "gptoss": ("<|startoftext|>", "<|return|>"),
    "qwen": ("", "<|im_end|>"),
}

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "find_place",
            "description": "Finds a place",
            "parameters": {
                "type": "object",
                "properties": {
                    "place": {"type": "string", "description": "the place"},
                    "limit": {"type": "integer", "description": "how many"},
                },
                "required": ["place"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "ping", "description": "Does nothing", "parameters": {"type": "object", "properties": {}}},
    },
]


class Writer(Drawn):
    """Random messages."""

    MOST_WORDS = 6

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.calls = 0

    def user(self):
        return {"role": "user", "content": f"Please say {self.words()}."}

    def answer(self, content=None, **members):
        return {"role": "assistant", "content": f"Here is {self.words()}." if content is None else content, **members}

    def call(self):
        self.calls += 1
        arguments = {"place": self.words()}
        if self.random.random() < 0.5:
            arguments["limit"] = self.random.randint(1, 99)
        return {"id": f"call{self.calls:05}", "type": "function", "function": {"name": "find_place", "arguments": arguments}}

    def results(self, message):
        return [
            {"role": "tool", "tool_call_id": call["id"], "name": "find_place", "content": json.dumps({"found": self.words()})}
            for call in message["tool_calls"]
        ]


def kinds(w):
    """A name, messages and further variables for each kind of conversation."""
    system = {"role": "system", "content": f"Be {w.words()}."}
    thought = {"reasoning_content": f"I consider {w.words()}."}
    long_thought = {"reasoning_content": f"I consider {w.words()}.\n\nThen {w.words()}\n- {w.words()}"}
    tools = {"tools": TOOLS}
    yield "plain", [w.user(), w.answer()], {}
    yield "unicode", [w.user(), w.answer(f"caf\u00e9 \U0001f600 {w.words()} 漢字")], {}
    yield "multiline", [w.user(), w.answer(f"{w.words()}\n\n- {w.words()}\n```json\n{{\"a\": 1}}\n```")], {}
    yield "edges", [w.user(), w.answer(f"  {w.words()} \n"), w.user(), w.answer(f"\n{w.words()}\n\n")], {}
    yield "empty", [w.user(), w.answer("")], {}
    yield "system", [system, w.user(), w.answer()], {}
    yield "multi_turn", [w.user(), w.answer(), w.user(), w.answer(), w.user(), w.answer()], {}
    yield "system_multi_turn", [system, w.user(), w.answer(), w.user(), w.answer()], {}
    yield "prompt", [w.user(), w.answer(), w.user()], {"add_generation_prompt": True}
    yield "inline_think", [w.user(), w.answer(f"<think>\n{w.words()}\n</think>\n\n{w.words()}"), w.user(), w.answer()], {}
    yield "tools_offered", [w.user(), w.answer()], tools
    one, two = w.answer("", tool_calls=[w.call()]), w.answer("", tool_calls=[w.call(), w.call()])
    yield "call", [w.user(), one], tools
    yield "content_call", [w.user(), w.answer(tool_calls=[w.call()])], tools
    yield "two_calls", [w.user(), two], tools
    yield "call_result", [w.user(), one, *w.results(one)], {**tools, "add_generation_prompt": True}
    yield "call_result_answer", [system, w.user(), one, *w.results(one), w.answer()], tools
    yield "two_results_answer", [w.user(), two, *w.results(two), w.answer(), w.user(), w.answer()], tools
    yield "reasoning", [w.user(), w.answer(**thought)], {}
    yield "reasoning_multi_turn", [w.user(), w.answer(**thought), w.user(), w.answer(**long_thought)], {}
    yield "thinking_off", [w.user(), w.answer()], {"enable_thinking": False}
    yield "reasoning_call", [w.user(), {**one, **long_thought}], tools
    yield "reasoning_call_result_answer", [w.user(), {**one, **thought}, *w.results(one), w.answer(**long_thought)], tools


def with_parts(message):
    """The content as a list of parts, which templates for images want."""
    return {**message, "content": [{"type": "text", "text": message["content"]}]}


def with_string_arguments(message):
    calls = [
        {**call, "function": {**call["function"], "arguments": json.dumps(call["function"]["arguments"])}}
        for call in message["tool_calls"]
    ]
    return {**message, "tool_calls": calls}


def render(source, context, marks=False):
    rest = {name: value for name, value in context.items() if name != "messages"}
    texts, marked = chat_template_utils.render_jinja_template(
        [context["messages"]], chat_template=source, return_assistant_tokens_mask=marks, **rest
    )
    return (texts[0], marked[0]) if marks else texts[0]


def accepted(source, context):
    """The context in the first form that the template takes and whose first user message it writes; else the last error."""
    forms = [lambda m: m, lambda m: with_string_arguments(m) if "tool_calls" in m else m, with_parts]
    error = "the user's message is not written"
    for form in forms:
        changed = {**context, "messages": [form(message) for message in context["messages"]]}
        user = next(message for message in context["messages"] if message["role"] == "user")
        try:
            if user["content"] in render(source, changed):
                return changed, None
        except (jinja2.TemplateError, TypeError, ValueError) as raised:
            error = f"{type(raised).__name__}: {raised}"
    return None, error


def byte_ranges(text, ranges):
    return [[len(text[:start].encode()), len(text[:end].encode())] for start, end in ranges]


def second_opinion(source, context):
    """The ranges again: each block writes a character before and after itself, and these are looked for in the text.

    transformers counts what was written before the block, which is less than all where a block is in a macro or a capture.
    """
    # Not the cached template, whose blocks must stay as they are.
    template = chat_template_utils._cached_compile_jinja_template(source)
    tracker = next(each for name, each in template.environment.extensions.items() if "AssistantTracker" in name)
    tracker._generation_support = lambda caller: OPEN + caller() + CLOSE
    text = template.render(**context)
    ranges, at, start = [], 0, 0
    for piece in re.split(f"([{OPEN}{CLOSE}])", text):
        if piece == OPEN:
            start = at
        elif piece == CLOSE:
            ranges.append([start, at])
        else:
            at += len(piece.encode())
    return ranges


def bos_eos(name):
    fitting = [family for family in BOS_EOS if name.startswith(family)]
    return BOS_EOS[max(fitting, key=len)] if fitting else ("<s>", "</s>")


def masks(folder, refused):
    for training in sorted(folder.glob("*_training.jinja")):
        name = training.name.removesuffix("_training.jinja")
        original = folder / f"{name}.jinja"
        source, original_source = training.read_text("utf-8"), original.read_text("utf-8")
        bos, eos = bos_eos(name)
        for seed in range(CONVERSATIONS_PER_KIND):
            for kind, messages, rest in kinds(Writer(f"{name}{seed}")):
                given = {"messages": messages, "tools": None, "documents": None, "add_generation_prompt": False, **rest}
                given.update(bos_token=bos, eos_token=eos)
                context, error = accepted(source, given)
                if error:
                    refused[name][f"{kind}: {error}"[:160]] += 1
                    continue
                # As in transformers, which copies the reasoning to every name that it has.
                context["messages"] = chat_template_utils._alias_reasoning_fields(context["messages"])
                text, marked = render(source, context, marks=True)
                ranges = byte_ranges(text, marked)
                line = {
                    "template": f"chat_templates/{original.name}",
                    "training": f"chat_templates/{training.name}",
                    "conversation": f"{kind}/{seed}",
                    "context": context,
                    "text": text,
                    "mask": ranges,
                }
                again = second_opinion(source, context)
                if again != ranges:
                    line["mask_by_marks"] = again
                try:
                    original_text = render(original_source, context)
                    if original_text != text:
                        line["original_text"] = original_text
                except (jinja2.TemplateError, TypeError, ValueError) as raised:
                    line["original_error"] = f"{type(raised).__name__}: {raised}"
                yield line


def byte_tokenizer(**special_tokens):
    """One token for each byte: two texts have a common prefix of tokens where they have one of bytes."""
    alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE({letter: i for i, letter in enumerate(sorted(alphabet))}, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special_tokens)


def prefix(tokenizer, path, name):
    tokenizer.chat_template = path.read_text("utf-8")
    line = {"template": name, "prefix_preserving": None}
    for field, test in (
        ("prefix_preserving", trl_templates.is_chat_template_prefix_preserving),
        ("supports_tool_calling", trl_templates.supports_tool_calling),
    ):
        try:
            line[field] = test(tokenizer)
        except Exception as raised:
            line.setdefault("error", f"{type(raised).__name__}: {raised}")
    return line


def write(path, lines):
    with path.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def main():
    corpus, out = map(Path, sys.argv[1:3])
    out.mkdir(exist_ok=True)
    chat_template_utils.datetime = FixedTime
    folder = Path(trl_templates.__file__).parent / "chat_templates"
    shutil.copytree(folder, out / "templates", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "*.md", "__pycache__"))
    refused = collections.defaultdict(collections.Counter)
    write(out / "masks.jsonl", masks(folder, refused))
    (out / "refused.json").write_text(json.dumps(refused, ensure_ascii=False, indent=1), "utf-8")
    tokenizer = byte_tokenizer(bos_token="<s>", eos_token="</s>")
    named = [(path, f"chat_templates/{path.name}") for path in sorted(folder.glob("*.jinja"))]
    for path in sorted(corpus.glob("**/*.jinja")):
        named.append((path, path.relative_to(corpus).as_posix()))
    write(out / "prefix.jsonl", (prefix(tokenizer, path, name) for path, name in named))


if __name__ == "__main__":
    main()
