"""Runs the real readers of response templates, for tests that compare them with ours.

Reads one JSON object per line from standard input and answers each with one line. The only argument names the reader:
`transformers`, which is installed, or `vllm=FOLDER` or `sglang=FOLDER`, whose source is unpacked in that folder. Of vLLM and
SGLang the validators and the classes that serve are run as they are. What these classes import of the rest of
the servers (request types, loggers, abstract parsers) is replaced by empty classes, so that no GPU library is needed.

A request has `template`, or the name of one that transformers ships as `shipped`; `prompt`, `chunks` and `tools`. The answer
has `refused` (the reader does not accept the template), `error` (the kind of exception), or what was read: `fields` and
`events` of transformers, and of the two servers what their users get: `reasoning`, `content` and `calls`. The request `"list"` is answered with the names of the shipped templates, and
`"shipped": NAME` without `chunks` with the template.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import logging
import os
import sys
import types

KINDS = (KeyError, RecursionError, AttributeError, TypeError, ValueError)


class Stub:
    """Stands for any class of a server that only carries values."""

    def __init__(self, *args, **kwargs):
        self.__dict__.update(kwargs)

    def __init_subclass__(cls, **kwargs):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return None

    def warning(self, *args, **kwargs):
        pass

    info = debug = warning_once = warning


class StubModule(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (Stub,), {})
        if name == "init_logger":
            made = lambda _: Stub()  # noqa: E731
        setattr(self, name, made)
        return made


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules in `real` in their folder, and makes empty ones of all others of the package."""

    def __init__(self, package, folder, real):
        self.package, self.folder, self.real = package, folder, real

    def find_spec(self, name, path, target=None):
        if name != self.package and not name.startswith(self.package + "."):
            return None
        if any(name == real or name.startswith(real + ".") for real in self.real):
            base = os.path.join(self.folder, *name.split("."))
            if os.path.isdir(base):
                return importlib.util.spec_from_file_location(
                    name, os.path.join(base, "__init__.py"), submodule_search_locations=[base]
                )
            return importlib.util.spec_from_file_location(name, base + ".py")
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        return StubModule(spec.name)

    def exec_module(self, module):
        pass


def error_of(error):
    kind = next((kind for kind in KINDS if isinstance(error, kind)), type(error))
    return {"error": kind.__name__, "message": str(error)[:300]}


def dumps(value):
    return json.dumps(value, ensure_ascii=False)


def event_of(event):
    kind = event["type"].removeprefix("region_")
    if kind == "chunk":
        return [kind, event["field"], event["text"], event["dirty"]]
    if kind == "close":
        return [kind, event["field"], dumps(event["value"])]
    return [kind, event["field"]]


class Transformers:
    def __init__(self, _folder):
        from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS
        from transformers.utils.chat_parsing import ResponseParser
        from transformers.utils.chat_parsing.response_templates import load_response_template

        self.parser, self.load = ResponseParser, load_response_template
        self.shipped = {names[0]: template for names, template in _RESPONSE_TEMPLATE_FALLBACKS.items()}

    def validate(self, template):
        self.load(template)

    def read(self, request):
        parser = self.parser(request["template"], prefix=request["prompt"], tools=request["tools"])
        events = list(parser.initial_events)
        for chunk in request["chunks"]:
            events += parser.feed(chunk)
        message, last = parser.finalize()
        return {"fields": dumps(message), "events": [event_of(event) for event in events + last]}


class Vllm:
    def __init__(self, folder):
        real = ["vllm.parser.chat_parsing", "vllm.parser.response_template", "vllm.parser.response_template_grammar"]
        sys.meta_path.insert(0, Finder("vllm", folder, real))
        sys.meta_path.insert(0, Finder("openai", folder, []))
        self.serving = importlib.import_module("vllm.parser.response_template")

        class Delta(Stub):
            tool_calls = ()

        self.serving.DeltaMessage = Delta

    def validate(self, template):
        self.serving.validate_response_template_for_serving(template)

    def read(self, request):
        stream = self.serving._ResponseStream(
            self.serving._streaming_template(request["template"]),
            prefix=request["prompt"],
            tools=request["tools"],
            parse_reasoning=True,
            include_reasoning=True,
            parse_tools=True,
            new_tool_call_id=lambda name: name,
        )
        reasoning, content, calls = "", "", []
        chunks = request["chunks"] or [""]
        for number, chunk in enumerate(chunks):
            delta = stream.feed(chunk, finished=number + 1 == len(chunks))
            if delta is None:
                continue
            reasoning += delta.__dict__.get("reasoning") or ""
            content += delta.__dict__.get("content") or ""
            calls += [[call.function.name, call.function.arguments] for call in delta.tool_calls]
        return {"reasoning": reasoning, "content": content, "calls": calls}


class Sglang:
    def __init__(self, folder):
        real = [
            "sglang.srt.parser.chat_parsing",
            "sglang.srt.parser.response_template",
            "sglang.srt.function_call.response_template_structural_tag",
            "sglang.srt.function_call.core_types",
            "sglang.srt.function_call.kimik3_structural_tag",
        ]
        sys.meta_path.insert(0, Finder("sglang", folder, real))
        environ = importlib.import_module("sglang.srt.environ")

        class Setting:
            def __init__(self, value):
                self.value = value

            def get(self):
                return self.value

        environ.envs = types.SimpleNamespace(
            SGLANG_FORWARD_UNKNOWN_TOOLS=Setting(False), SGLANG_TOOL_STRICT_LEVEL=Setting(0)
        )
        environ.ToolStrictLevel = types.SimpleNamespace(OFF=0, FUNCTION=1, PARAMETER=2)
        base = importlib.import_module("sglang.srt.function_call.base_format_detector")

        class Base:
            """The part of the base class that the detector uses: names of tools, and the state of a stream."""

            def __init__(self):
                self.current_tool_id, self.current_tool_name_sent = -1, False
                self.prev_tool_call_arr, self.streamed_args_for_tool = [], []

            def _get_tool_indices(self, tools):
                functions = [tool.get("function", tool) for tool in tools]
                return {function["name"]: index for index, function in enumerate(functions)}

        base.BaseFormatDetector = Base
        self.serving = importlib.import_module("sglang.srt.parser.response_template")

        class Result(Stub):
            normal_text, calls = "", ()

        self.serving.ToolStreamingParseResult = Result

    def validate(self, template):
        self.serving.validate_response_template_for_serving(template)

    def read(self, request):
        template, prompt, tools = request["template"], request["prompt"], request["tools"]
        made = {"response_template": template, "prefix": prompt, "tools": tools}
        reasoner = self.serving.ResponseTemplateReasoningDetector(**made)
        detector = None
        if "tool_calls" in template["fields"]:
            detector = self.serving.ResponseTemplateToolDetector(**made)
        if len(request["chunks"]) < 2:
            found = reasoner.detect_and_parse("".join(request["chunks"]))
            reasoning, normal, calls = found.reasoning_text, found.normal_text, []
            if detector:
                result = detector.detect_and_parse(normal, tools)
                normal, calls = result.normal_text, [[call.name, call.parameters] for call in result.calls]
            return {"reasoning": reasoning, "content": normal, "calls": calls}
        reasoning, content, calls = "", "", {}
        steps = [*map(reasoner.parse_streaming_increment, request["chunks"]), reasoner.finish()]
        for number, step in enumerate(steps):
            reasoning += step.reasoning_text or ""
            results = [step]
            if detector:
                results = [detector.parse_streaming_increment(step.normal_text, tools)]
                results += [detector.finish(tools)] if number + 1 == len(steps) else []
            for result in results:
                content += result.normal_text or ""
                for call in getattr(result, "calls", ()):
                    name, arguments = calls.get(call.tool_index, ("", ""))
                    calls[call.tool_index] = (name + (call.name or ""), arguments + call.parameters)
        # The name of a call is sent before the call is known to be right.
        dropped = detector.incomplete_tool_call_indices if detector else ()
        kept = [[*call] for index, call in sorted(calls.items()) if index not in dropped]
        return {"reasoning": reasoning, "content": content, "calls": kept}


READERS = {"transformers": Transformers, "vllm": Vllm, "sglang": Sglang}


def answer(reader, request):
    if request == "list":
        return {"shipped": list(reader.shipped)}
    if "shipped" in request:
        request["template"] = reader.shipped[request["shipped"]]
        if "chunks" not in request:
            return {"template": request["template"]}
    try:
        reader.validate(request["template"])
    except Exception as error:
        return {"refused": str(error)[:300]}
    try:
        return reader.read(request)
    except Exception as error:
        return error_of(error)


def main():
    name, _, folder = sys.argv[1].partition("=")
    logging.disable(logging.CRITICAL)
    reader = READERS[name](folder)
    for line in sys.stdin:
        print(json.dumps(answer(reader, json.loads(line))), flush=True)


main()
