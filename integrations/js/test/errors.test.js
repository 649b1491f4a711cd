// Every error: its class, the place, and what to do.

import assert from "node:assert/strict";
import test from "node:test";

import {
  GrammarError,
  lintTemplate,
  LoadError,
  Model,
  RenderError,
  RequestError,
  StateError,
  Tools,
  ToolsError,
  UnjinjaError,
} from "../lib/node.js";
import { gguf, SHORT, WEATHER } from "./support.js";

const qwen = Model.known("Qwen/Qwen3-0.6B");
const short = Model.fromTemplate(SHORT);
const asked = [{ role: "user", content: "Hello!" }];

/** Something throws an error of this class with this text. */
function fails(run, type, text) {
  assert.throws(run, (error) => {
    assert.ok(error instanceof type, `${error.constructor.name}: ${error.message}`);
    assert.ok(error instanceof UnjinjaError);
    assert.equal(error.name, type.name);
    assert.match(error.message, text);
    return true;
  });
}

test("errors of loading", async () => {
  fails(() => Model.fromTemplate("{% for m in messages %}"), LoadError, /template\.jinja:1[^]*= next: correct the template/);
  fails(() => Model.fromTemplate("./qwen3.jinja"), LoadError, /looks like a path or the id of a model\n[^]*= next: pass the text/);
  fails(() => Model.fromTemplate(SHORT, { name: "mine", overlay: "x = " }), LoadError, /overlay:1/);
  fails(() => Model.fromSpec("[template]"), LoadError, /spec\.toml/);
  fails(() => Model.known("qwen_qwenn3_0_6b"), LoadError, /did you mean qwen_qwen3_0_6b/);
  fails(() => Model.fromTokenizerConfig({}), LoadError, /tokenizer_config\.json/);
  fails(() => Model.fromTokenizerConfig("{"), LoadError, /tokenizer_config\.json/);
  const named = { chat_template: [{ name: "a", template: "x" }, { name: "b", template: SHORT }] };
  fails(() => Model.fromTokenizerConfig(named), LoadError, /several templates\n {2}= next: name one as `variant`: "a", "b"/);
  fails(() => Model.fromTokenizerConfig(named, { variant: "c" }), LoadError, /no template "c"\n {2}= next: use one of "a", "b"/);
  await assert.rejects(Model.fromGguf(new Uint8Array([1, 2, 3])), LoadError);
  await assert.rejects(Model.fromGguf(new Blob(["GGUF"])), LoadError);
  await assert.rejects(Model.fromGguf(gguf({ "general.architecture": "llama" })), /model\.gguf/);
});

test("errors of rendering", () => {
  fails(() => qwen.prompt(asked), RenderError, /made from a spec[^]*= next: load the model from its chat template/);
  const strict = Model.fromTemplate(`{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}${SHORT}`);
  fails(() => strict.prompt([{ role: "system", content: "x" }], { asGiven: true }), RenderError, /no system[^]*= next: change the conversation/);
});

test("errors of tools", () => {
  fails(() => new Tools([{ name: 3 }]), ToolsError, /tools\[0\]\.name/);
  fails(() => qwen.parse("", { tools: "[" }), ToolsError, /this text is no JSON/);
  fails(() => qwen.stream({ tools: [{}] }), ToolsError, /tools\[0\]/);
  fails(() => short.prompt(asked, { tools: {} }), ToolsError, /tools/);
});

test("errors of grammars", () => {
  fails(() => qwen.grammar({ tools: [], toolChoice: "required" }), GrammarError, /tool/);
  const other = { type: "function", function: { name: "other" } };
  fails(() => qwen.grammar({ tools: [WEATHER], toolChoice: other }), GrammarError, /other/);
});

test("errors of arguments", () => {
  const wrong = [
    [{ toolChoise: "auto" }, /^toolChoise: there is no option of this name; did you mean `toolChoice`\?\n {2}= next: use one of /],
    [{ toolChoice: "some" }, /^toolChoice: "some" is unknown; use "auto"/],
    [{ unparsed: "x" }, /^unparsed: "x" is unknown; use "content"/],
    [{ cutCalls: "x" }, /^cutCalls: "x" is unknown; use "keep"/],
    [{ thinking: 1 }, /^thinking: expected true or false, found 1/],
    [{ prompt: 1 }, /^prompt: expected a Prompt or a string, found 1/],
    [{ continueFrom: [] }, /^continueFrom: expected a string/],
    [{ specialTokens: [1] }, /^specialTokens: expected an array of strings/],
    [{ tools: [{ name: "x", parameters: { limit: 1n } }] }, /^tools\[0\]\.parameters\.limit: it has no form in JSON: a BigInt/],
  ];
  for (const [options, text] of wrong) {
    fails(() => qwen.parse("", options), RequestError, text);
    fails(() => qwen.stream(options), RequestError, text);
  }
  const other = { tools: [WEATHER], toolChoice: { type: "function", function: { name: "other" } } };
  fails(() => qwen.stream(other), RequestError, /^toolChoice: no tool named "other" is offered/);
  const cut = qwen.parse('<tool_call>\n{"name": "f", "arguments": {"a": ', { thinking: false });
  fails(() => cut.toolCalls[0].argumentsValue(), RequestError, /^the arguments of f are not valid JSON[^]*`closedArguments\(\)`/);
  fails(() => qwen.grammar({ kind: "ebnf" }), RequestError, /^kind: "ebnf" is unknown; use one of "gbnf"/);
  fails(() => qwen.grammar({ responseSchema: 3 }), RequestError, /^responseSchema: expected a JSON schema/);
  fails(() => lintTemplate(SHORT, { responseTemplate: { a: 1 } }), RequestError, /^responseTemplate: expected a response template/);
  fails(() => short.prompt("Hello"), RequestError, /^messages: expected an array of messages, found "Hello"/);
  fails(() => short.prompt(asked, { variables: { x: 1 } }), RequestError, /^variables\.x: the template does not read it/);
  fails(() => short.prompt(asked, { variables: { tools: [] } }), RequestError, /use the option `tools`/);
  const round = { role: "user" };
  round.self = round;
  fails(() => short.prompt([round]), RequestError, /^messages\[0\]\.self: it has no form in JSON: an object that is within itself\n/);
  let deep = [];
  for (let level = 0; level < 1000; level++) deep = [deep];
  fails(() => short.prompt([{ role: "user", content: deep }]), RequestError, /nested less deep/);
  const chunks = qwen.stream().openaiChunks();
  fails(() => chunks.finish({ finishReason: "abort" }), RequestError, /gave up/);
  fails(() => chunks.finish({ finishReason: "x" }), RequestError, /^finishReason: "x" is unknown/);
  fails(() => chunks.finish({ usage: {} }), RequestError, /^usage: expected/);
  fails(() => qwen.stream().openaiChunks({ reasoning: "x" }), RequestError, /^reasoning: "x" is unknown/);
  fails(() => qwen.stream().anthropicEvents({ created: 1 }), RequestError, /^created: there is no option/);
});

test("arguments of a wrong type", () => {
  fails(() => qwen.parse(3), RequestError, /^output: expected a string or a Uint8Array, found number/);
  fails(() => qwen.stream().push(null), RequestError, /^piece: expected a string or a Uint8Array, found null/);
  fails(() => qwen.stream().pushToken(3), RequestError, /^token: /);
  fails(() => qwen.parse("", 3), RequestError, /^options: expected an object, found number/);
  fails(() => Model.known(3), RequestError, /^name: expected a string/);
  fails(() => Model.fromTokenizerConfig(3), RequestError, /^config: /);
  fails(() => new Model(), RequestError, /^Model: it has no constructor\n {2}= next: use Model\.known/);
});

test("objects that were disposed of", () => {
  const model = Model.known("qwen_qwen3_0_6b");
  const stream = model.stream();
  const message = model.parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>", { thinking: false });
  model.dispose();
  model.dispose();
  fails(() => model.parse(""), StateError, /^this Model was disposed of; make another/);
  fails(() => message.toOpenAI(), StateError, /^toOpenAI: the ids of calls come from the Model[^]*= next: call `toOpenAI` before/);
  // A stream does not need its model.
  assert.deepEqual(stream.push("<think>\nHm"), [{ type: "reasoning", text: "Hm" }]);
  const chunks = stream.openaiChunks();
  stream[Symbol.dispose]();
  fails(() => stream.push(""), StateError, /^this Stream was disposed of/);
  fails(() => stream.finish(), StateError, /Stream/);
  fails(() => stream.message, StateError, /Stream/);
  // Its chunks are objects of their own.
  assert.equal(chunks.push(".").length, 1);
  chunks.dispose();
  fails(() => chunks.push(""), StateError, /chunks/);
});
