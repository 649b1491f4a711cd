"""Writes the token ids that transformers makes of conversations, one JSON line each, for a comparison with `unjinja-tokens`.

    python ids.py TOKENIZERS CORPUS OUT [TOKENIZER…]

TOKENIZERS holds folders with `tokenizer.json` and `tokenizer_config.json`. CORPUS is the corpus of CONTRIBUTING.md. For each
tokenizer and each of TEMPLATES, the control tokens that the template writes are added to the tokenizer, unless it has them.
The README describes a line. What a template refuses is counted in `OUT.refused.json`.
"""

import collections
import json
import re
import sys
from pathlib import Path

import jinja2
from tokenizers import AddedToken, Tokenizer
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

from drawn import FixedTime

TEMPLATES = (
    "Qwen-Qwen3-0.6B",
    "meta-llama-Llama-3.1-8B-Instruct",
    "deepseek-ai-DeepSeek-V3.1",
    "google-gemma-2-2b-it",
    "mistralai-Mistral-Nemo-Instruct-2407",
    "GLM-4.6",
    "openai-gpt-oss-120b",
    "Kimi-K2-Instruct",
    "microsoft-Phi-3.5-mini-instruct",
    "ibm-granite-granite-3.3-2B-Instruct",
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use",
    "HuggingFaceTB-SmolLM3-3B",
)

# Markers of these forms are special tokens; those of TAGS are tokens, but not special.
SPECIAL = re.compile(
    r"<\|[^<>|\s]+\|>|<｜[^<>|\s]+｜>|<(?:start|end)_of_turn>"
    r"|\[/?(?:INST|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\]|\[gMASK\]|<sop>"
)
TAGS = re.compile(r"</?(?:think|tool_call|tool_response|tools|arg_key|arg_value|scratch_pad)>")

ODD_TEXT = (
    "cafe\u0301 caf\u00e9 \ufb01ne\u200b \u00a0\u3000\t\tx\r\n\r\n\n 12345678 \U0001f468\u200d\U0001f469\u200d\U0001f467 "
    "\U000e0001 漢字かな\u202eabc\u202c A\u030a   \n"
)


def conversations(corpus, template):
    """Names and contexts: the conversations of the corpus, its turns of this template, and two of our own."""
    for each in json.loads((corpus / "conversations.json").read_text("utf-8")):
        context = dict(each["context"])
        # The tokenizer brings its own.
        del context["bos_token"], context["eos_token"]
        yield each["name"], context
    tools = json.loads((corpus / "turn_tools.json").read_text("utf-8"))
    for line in (corpus / "turns.jsonl").read_text("utf-8").splitlines():
        turn = json.loads(line)
        if turn["folder"] == "templates" and turn["template"] == f"{template}.jinja":
            yield turn["id"], context_of_turn(turn, tools[turn["tools"]])
    messages = [{"role": "user", "content": ODD_TEXT}, {"role": "assistant", "content": ODD_TEXT}]
    yield "odd_text", {"messages": messages, "add_generation_prompt": False}


def context_of_turn(turn, tools):
    expected = turn["expect"]
    message = {"role": "assistant", "content": expected["content"]}
    if expected["reasoning_content"]:
        message["reasoning_content"] = expected["reasoning_content"]
    if expected["tool_calls"]:
        message["tool_calls"] = [
            {"id": f"call{i:05}", "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}
            for i, call in enumerate(expected["tool_calls"])
        ]
    context = {"messages": turn["messages"] + [message], "add_generation_prompt": False}
    if tools:
        context["tools"] = tools
    if turn["enable_thinking"] is not None:
        context["enable_thinking"] = turn["enable_thinking"]
    return context


def spelled(tokens):
    """A conversation in which each party spells control tokens."""
    text = " ".join(tokens)
    messages = [
        {"role": "user", "content": f"What is {text}?"},
        {"role": "assistant", "content": f"{tokens[0]} is {''.join(tokens)}."},
        {"role": "user", "content": tokens[-1]},
    ]
    return "spelled", {"messages": messages, "add_generation_prompt": True}


def strings(value):
    """All texts of a context, names of members too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield name
            yield from strings(member)
    elif isinstance(value, list):
        for member in value:
            yield from strings(member)


def control_tokens(source, contexts):
    """The control tokens that a template writes: those of its literals, and those of its renders that no conversation spells."""
    texts = [chat_template_utils._get_template_literal_text(source)]
    compiled = chat_template_utils._compile_jinja_template(source)
    for context in contexts:
        try:
            text = compiled.render(**{"tools": None, "documents": None, **context})
        except Exception:
            continue
        given = "\0".join(strings(context))
        texts.extend(marker for marker in SPECIAL.findall(text) if marker not in given)
    special = sorted({marker for text in texts for marker in SPECIAL.findall(text)})
    tags = sorted({marker for text in texts for marker in TAGS.findall(text)})
    return [(marker, True) for marker in special] + [(marker, False) for marker in tags]


def added_token(content, special):
    return AddedToken(content, special=special, normalized=False)


def add_missing(tokenizer, tokens):
    """Adds the tokens that the tokenizer has not added yet, and says which."""
    known = tokenizer.added_tokens_encoder
    missing = [(content, special) for content, special in tokens if content not in known]
    for special in (True, False):
        new = [added_token(content, special) for content, each in missing if each == special]
        tokenizer.add_tokens(new, special_tokens=special)
    flags = dict(lstrip=False, rstrip=False, single_word=False, normalized=False)
    return [
        {"id": tokenizer.added_tokens_encoder[content], "content": content, **flags, "special": special}
        for content, special in missing
    ]


def seen_by_template(tokenizer, context):
    """The context as the template gets it: transformers drops members that are None, and copies the reasoning."""
    given = {"tools": None, "documents": None, **context}
    messages = [{name: value for name, value in message.items() if value is not None} for message in given["messages"]]
    given["messages"] = chat_template_utils._alias_reasoning_fields(messages)
    return {**given, **tokenizer.special_tokens_map}


def is_plain(tokenizer, given):
    """Whether no text of the conversation spells an added token, with or without normalization."""
    normalizer = tokenizer.backend_tokenizer.normalizer
    normalize = normalizer.normalize_str if normalizer else str
    texts = list(strings(given))
    text, normalized = "\0".join(texts), "\0".join(map(normalize, texts))
    for token in tokenizer.added_tokens_decoder.values():
        if token.content in text or (token.normalized and normalize(token.content) in normalized):
            return False
    return True


def from_file(folder, added):
    """The tokenizer of `tokenizer.json` alone, with the same tokens added; lengths are never cut."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.add_special_tokens([added_token(t["content"], True) for t in added if t["special"]])
    tokenizer.add_tokens([added_token(t["content"], False) for t in added if not t["special"]])
    return tokenizer


def sanitized(tokenizer, messages, options):
    """The ids in which no control token of the conversation counts, or why transformers cannot say."""
    try:
        return tokenizer.apply_chat_template(messages, **options, sanitize_control_tokens=True)
    except ValueError as error:
        return f"{type(error).__name__}: {error}"


def line(tokenizer, file_tokenizer, context):
    """What is written of one conversation; the template may raise."""
    messages, rest = context["messages"], {name: value for name, value in context.items() if name != "messages"}
    given = seen_by_template(tokenizer, context)
    text = tokenizer.apply_chat_template(messages, **rest, tokenize=False)
    # The context that is written down must be the one that was rendered.
    assert text == chat_template_utils._compile_jinja_template(tokenizer.chat_template).render(**given)
    options = {**rest, "tokenize": True, "return_dict": False}
    ids = tokenizer.apply_chat_template(messages, **options)
    result = {"context": given, "text": text, "ids": ids, "plain": is_plain(tokenizer, context)}
    file_ids = file_tokenizer.encode(text, add_special_tokens=False).ids
    if file_ids != ids:
        result["file_ids"] = file_ids
    if not result["plain"]:
        result["sanitized"] = sanitized(tokenizer, messages, options)
    return result


def lines(folder, corpus, template, refused):
    source = (corpus / "templates" / f"{template}.jinja").read_text("utf-8")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.chat_template = source
    contexts = list(conversations(corpus, template))
    tokens = control_tokens(source, [context for _, context in contexts])
    added = add_missing(tokenizer, tokens)
    file_tokenizer = from_file(folder, added)
    contexts.append(spelled([content for content, _ in tokens] or ["</s>"]))
    for name, context in contexts:
        try:
            result = line(tokenizer, file_tokenizer, context)
        except (jinja2.TemplateError, TypeError, ValueError, KeyError) as error:
            refused[template][f"{name}: {type(error).__name__}: {error}"[:160]] += 1
            continue
        yield {"tokenizer": folder.name, "class": type(tokenizer).__name__, "template": f"templates/{template}.jinja",
               "conversation": name, "added": added, **result}


def main():
    tokenizers, corpus, out = map(Path, sys.argv[1:4])
    chat_template_utils.datetime = FixedTime
    names = sys.argv[4:] or sorted(path.parent.name for path in tokenizers.glob("*/tokenizer.json"))
    refused = collections.defaultdict(collections.Counter)
    with out.open("w", encoding="utf-8") as file:
        for name in names:
            for template in TEMPLATES:
                for each in lines(tokenizers / name, corpus, template, refused):
                    file.write(json.dumps(each, ensure_ascii=False) + "\n")
    out.with_suffix(".refused.json").write_text(json.dumps(refused, ensure_ascii=False, indent=1), "utf-8")


if __name__ == "__main__":
    main()
