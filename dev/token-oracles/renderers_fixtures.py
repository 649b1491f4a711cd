"""Takes the fixtures out of the source package of `renderers`, and lets its renderers say which tokens a model samples.

    python renderers_fixtures.py SDIST TOKENIZERS CORPUS OUT

SDIST is the file of `pip download --no-deps --no-binary renderers renderers==0.1.12`. The README describes the files in OUT. This script
must not be called `renderers.py`: Python would import it in place of the package.
"""

import ast
import inspect
import json
import re
import sys
import tarfile
from pathlib import Path

import drawn
import masks
import renderers.base
from renderers.configs import config_from_name
from tokenizers import AddedToken
from transformers import AutoTokenizer
from transformers.utils import chat_template_utils

# A renderer, the template of the corpus that it stands for, and a tokenizer. Tokens that the renderer lacks are added to it.
PAIRS = (
    ("qwen3", "templates/Qwen-Qwen3-0.6B", "qwen3"),
    ("qwen3.5", "templates/Qwen3.5-4B", "qwen3"),
    ("llama-3", "templates/meta-llama-Llama-3.2-3B-Instruct", "llama3_1"),
    ("gpt-oss", "templates/openai-gpt-oss-120b", "gptoss"),
    ("deepseek-v3", "wide/templates/deepseekv3-trl", "deepseek_v3"),
    ("glm-4.5", "templates/GLM-4.6", "qwen3"),
    ("kimi-k2", "templates/Kimi-K2-Instruct", "qwen3"),
    ("minimax-m2", "templates/MiniMax-M2", "qwen3"),
    ("nemotron-3", "templates/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "qwen3"),
    ("gemma4", "templates/google-gemma-4-31B-it", "gemma3"),
)
# The date that renderers write, where they would take that of today, and what tells the template another one.
CONFIGURED = {"gpt-oss": {"conversation_start_date": "2026-01-15"}}
VARIABLES = {"llama-3": {"date_string": "26 Jul 2024"}}
MISSING = re.compile(r"[Ss]pecial token '?\"?(.+?)'?\"? not (?:found )?in")


def read(sdist, name):
    with tarfile.open(sdist) as archive:
        member = next(each for each in archive.getmembers() if each.name.endswith(name))
        return archive.extractfile(member).read().decode()


def parse_tests(sdist):
    """Each test that parses a response: where it is, the texts in it, and its source."""
    with tarfile.open(sdist) as archive:
        names = [each.name for each in archive.getmembers() if re.search(r"/tests/test_.*\.py$", each.name)]
    for name in sorted(names):
        source = read(sdist, name)
        for test in ast.parse(source).body:
            if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test"):
                continue
            text = ast.get_source_segment(source, test)
            if "parse_response(" not in text:
                continue
            doc = ast.get_docstring(test)
            texts = [each.value for each in ast.walk(test) if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            texts = [each for each in texts if inspect.cleandoc(each) != doc and len(each) > 8]
            models = sorted(set(re.findall(r"_qwen\w*\(\)|\"[\w.-]+/[\w.-]+\"", text)))
            file = name.partition("/")[2]
            yield {"file": file, "test": test.name, "about": doc, "models": models, "texts": texts, "source": text}


def create(name, folder):
    """The renderer with its tokenizer, to which the tokens are added that it asks for."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    added = []
    while True:
        try:
            config = config_from_name(name).model_copy(update=CONFIGURED.get(name, {}))
            return renderers.create_renderer(tokenizer, config), tokenizer, added
        except (AssertionError, ValueError) as error:
            missing = MISSING.search(str(error))
            if not missing or missing[1] in added:
                raise
            added.append(missing[1])
            tokenizer.add_tokens([AddedToken(missing[1], special=True, normalized=False)], special_tokens=True)


def runs(flags):
    """The ranges of tokens whose flag is set."""
    ranges = []
    for i, flag in enumerate(flags):
        if flag and ranges and ranges[-1][1] == i:
            ranges[-1][1] = i + 1
        elif flag:
            ranges.append([i, i + 1])
    return ranges


def parsed(response):
    calls = [{"name": c.name, "arguments": c.arguments, "status": c.status, "id": c.id} for c in response.tool_calls]
    return {
        "content": response.content,
        "reasoning_content": response.reasoning_content,
        "tool_calls": calls,
        "reasoning_complete": response.reasoning_complete,
    }


def line(name, renderer, tokenizer, template, kind, messages, rest):
    tools, generation = rest.get("tools"), rest.get("add_generation_prompt", False)
    rendered = renderer.render(messages, tools=tools, add_generation_prompt=generation)
    ids = rendered.token_ids
    sampled = runs(rendered.sampled_mask)
    text = tokenizer.decode(ids, skip_special_tokens=False, clean_up_tokenization_spaces=False)
    context = {"messages": messages, "tools": tools, "documents": None, "add_generation_prompt": generation}
    context["messages"] = chat_template_utils._alias_reasoning_fields(messages)
    context.update(tokenizer.special_tokens_map, **VARIABLES.get(name, {}))
    result = {
        "renderer": name,
        "conversation": kind,
        "context": context,
        "ids": ids,
        "text": text,
        "sampled": sampled,
        "content": runs(rendered.is_content),
        "message_of_token": rendered.message_indices,
    }
    try:
        result["template_agrees"] = rendered_by(template, context) == text
    except Exception as error:
        result["template_error"] = f"{type(error).__name__}: {error}"
    if sampled and messages[-1]["role"] == "assistant":
        start, end = sampled[-1]
        prompt, completion = ids[:start], ids[start:end]
        result["parsed"] = parsed(renderer.parse_response(completion, tools=tools, prompt_ids=prompt))
        following = {"role": "user", "content": "And then?"}
        bridge = renderer.bridge_to_next_turn(prompt, completion, [following], tools=tools)
        result["bridge"] = {"messages": [following], "ids": bridge and bridge.token_ids}
    return result


def rendered_by(template, context):
    """What the template writes. If it wants arguments as JSON text, the context gets them so."""
    try:
        return template.render(**context)
    except TypeError:
        messages = [masks.with_string_arguments(each) if "tool_calls" in each else each for each in context["messages"]]
        text = template.render(**{**context, "messages": messages})
        context["messages"] = messages
        return text


def rendered(tokenizers, corpus):
    for name, template, folder in PAIRS:
        source = (corpus / f"{template}.jinja").read_text("utf-8")
        compiled = chat_template_utils._compile_jinja_template(source)
        try:
            renderer, tokenizer, added = create(name, tokenizers / folder)
        except Exception as error:
            yield {"renderer": name, "error": f"{type(error).__name__}: {error}"}
            continue
        for seed in range(2):
            for kind, messages, rest in masks.kinds(masks.Writer(f"{name}{seed}")):
                if "enable_thinking" in rest:
                    continue
                about = {"tokenizer": folder, "added": added, "template": f"{template}.jinja"}
                about["prefix_stable"] = renderer.is_prefix_stable
                try:
                    yield {**about, **line(name, renderer, tokenizer, compiled, f"{kind}/{seed}", messages, rest)}
                except Exception as error:
                    yield {**about, "renderer": name, "conversation": f"{kind}/{seed}", "error": f"{type(error).__name__}: {error}"}


def protocol():
    """The methods of the protocol, with their signatures, and the fields of what they return."""
    lines = ["# The protocol `Renderer` of renderers 0.1.12", ""]
    for protocol in (renderers.base.Renderer, renderers.base.MultimodalRenderer, renderers.base.Tokenizer, renderers.base.OffsetTokenizer):
        lines += [f"## {protocol.__name__}", ""]
        for base in reversed(protocol.__mro__):
            for name, annotation in vars(base).get("__annotations__", {}).items():
                lines.append(f"- attribute `{name}: {annotation}`")
            for name, member in vars(base).items():
                if isinstance(member, property):
                    result = inspect.signature(member.fget).return_annotation
                    lines.append(f"- property `{name} -> {result}`")
                elif inspect.isfunction(member) and not name.startswith("_") or name == "__call__":
                    lines.append(f"- method `{name}{inspect.signature(member)}`")
        lines.append("")
    for kind in ("RenderedTokens", "ParsedResponse", "ParsedToolCall", "RenderedConversation"):
        fields = getattr(renderers.base, kind).__dataclass_fields__
        lines += [f"## {kind} (a dataclass)", "", *(f"- `{name}: {field.type}`" for name, field in fields.items()), ""]
    statuses = ", ".join(f"`{status}`" for status in renderers.base.ToolCallParseStatus)
    lines += [f"`ToolCallParseStatus` is one of {statuses}.", "", "## Which model has which renderer", ""]
    lines += [f"- `{model}`: {name}" for model, name in renderers.base.MODEL_RENDERER_MAP.items()]
    return "\n".join(lines) + "\n"


def main():
    sdist, tokenizers, corpus, out = map(Path, sys.argv[1:5])
    out.mkdir(exist_ok=True)
    chat_template_utils.datetime = drawn.FixedTime
    fixture = json.loads(read(sdist, "/tests/fixtures/prefix_stability.json"))
    cases = [{**case, **fixture["scenarios"][case["scenario"]]} for case in fixture["cases"]]
    masks.write(out / "prefix_stability.jsonl", cases)
    masks.write(out / "parse_tests.jsonl", parse_tests(sdist))
    (out / "protocol.md").write_text(protocol(), "utf-8")
    masks.write(out / "rendered.jsonl", rendered(tokenizers, corpus))


if __name__ == "__main__":
    main()
