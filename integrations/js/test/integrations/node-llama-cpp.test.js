// node-llama-cpp, with its own llama.cpp and a model of random weights: what is right about an output is owed to a grammar.

import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { getLlama, JinjaTemplateChatWrapper, LlamaChat, LlamaText } from "node-llama-cpp";
import { Model, RequestError } from "unjinja";
import { complete, llamaTextOf, UnjinjaChatWrapper } from "unjinja/node-llama-cpp";

import { randomModel } from "./random-model.js";
import { template } from "./support.js";

const functions = {
  get_weather: {
    description: "The weather of a place.",
    params: { type: "object", properties: { days: { enum: [1, 2, 3] } }, required: ["days"], additionalProperties: false },
  },
};
const tools = Object.entries(functions).map(([name, { description, params }]) => ({
  type: "function",
  function: { name, description, parameters: params },
}));
const markers = ["<|im_start|>", "<tool_call>", "</tool_call>", "<think>", "</think>"];

const folder = mkdtempSync(join(tmpdir(), "unjinja-"));
const llama = await getLlama({ gpu: false, build: "never", skipDownload: true, logLevel: "fatal" });
const modelPath = join(folder, "random.gguf");
writeFileSync(modelPath, randomModel({ template: template("qwen3"), ends: ["<|im_end|>"], special: markers }));
const loaded = await llama.loadModel({ modelPath });
const context = await loaded.createContext({ contextSize: 2048, sequences: 2, threads: 1 });
const sequence = context.getSequence();
test.after(async () => {
  await llama.dispose();
  rmSync(folder, { recursive: true });
});

const model = Model.fromTemplate(loaded.fileInfo.metadata.tokenizer.chat_template);

const plain = (text) =>
  text.values
    .map((value) => (typeof value === "string" ? value : value.value.replace(/^BOS$/, "<s>").replace(/^EOS$/, "</s>")))
    .join("");

test("a completion is read token by token: a grammar makes the random model call", async () => {
  const prompt = model.prompt([{ role: "user", content: "Rain?" }], { tools, thinking: false });
  // The grammar of calls that the model decides on begins at their marker: used from the start, it makes the model call at once.
  const { text: grammar } = model.grammar({ tools, prompt, parallelToolCalls: false });
  const stream = model.stream({ prompt, tools });
  const events = [];
  const options = { grammar: await llama.createGrammar({ grammar }), maxTokens: 300, temperature: 1, seed: 5 };
  for await (const event of complete(sequence, prompt, stream, options)) events.push(event);
  const { toolCalls, content, diagnostics } = stream.message;
  assert.deepEqual([toolCalls.length, content.trim(), diagnostics], [1, "", []]);
  assert.equal(toolCalls[0].name, "get_weather");
  assert.ok(toolCalls[0].complete);
  assert.ok([1, 2, 3].includes(toolCalls[0].argumentsValue().days));
  assert.deepEqual(events.at(0), { type: "tool_call_start", index: 0, name: "get_weather", id: null });
  assert.ok(events.some(({ type }) => type === "tool_call_end"));
});

test("whoever stops reading stops the model, and a failure is thrown", async () => {
  const prompt = model.prompt([{ role: "user", content: "Rain?" }], { thinking: false });
  let tokens = 0;
  const grammar = await llama.createGrammar({ grammar: "root ::= [a-z]{300,300}" });
  const options = { grammar, maxTokens: 400, temperature: 1, seed: 7, onToken: (given) => (tokens += given.length) };
  for await (const event of complete(sequence, prompt, model.stream({ prompt }), options)) {
    assert.equal(typeof event.type, "string");
    break;
  }
  assert.ok(tokens < 100, `${tokens} tokens were written for nobody`);
  const signal = AbortSignal.abort(new Error("enough"));
  await assert.rejects(async () => {
    for await (const event of complete(sequence, prompt, model.stream({ prompt }), { ...options, signal })) assert.ok(event);
  }, /enough/);
  const broken = { ...options, onToken: () => assert.fail("a bug of the caller") };
  await assert.rejects(async () => {
    for await (const event of complete(sequence, prompt, model.stream({ prompt }), broken)) assert.ok(event);
  }, /a bug of the caller/);
});

test("what somebody wrote holds no special token, whatever it spells", () => {
  const prompt = model.prompt([{ role: "user", content: "a<|im_end|>b" }]);
  const text = llamaTextOf(prompt);
  assert.equal(plain(text), prompt.text);
  const ends = text.tokenize(loaded.tokenizer).filter((token) => loaded.detokenize([token], true) === "<|im_end|>");
  assert.equal(ends.length, 1);
});

test("the wrapper: LlamaChat reads a call by the syntax that was found, and goes on after the result", async () => {
  // The random model would hardly ever call, so that it is made to.
  class Calling extends UnjinjaChatWrapper {
    generateContextState(options) {
      return { ...super.generateContextState(options), noPrefixTrigger: { type: "functionCall", inject: LlamaText([]) } };
    }
  }
  const chat = new LlamaChat({ contextSequence: context.getSequence(), chatWrapper: new Calling(model, { thinking: false }) });
  const history = [
    { type: "user", text: "Rain?" },
    { type: "model", response: [] },
  ];
  const { functionCalls } = await chat.generateResponse(history, {
    functions,
    maxParallelFunctionCalls: 1,
    maxTokens: 200,
    temperature: 1,
    seed: 3,
    documentFunctionParams: true,
  });
  assert.equal(functionCalls.length, 1);
  const [{ functionName, params, raw }] = functionCalls;
  assert.equal(functionName, "get_weather");
  assert.ok([1, 2, 3].includes(params.days));
  const written = plain(LlamaText.fromJSON(raw));
  assert.deepEqual(model.parse(written, { tools, thinking: false }).toolCalls[0].argumentsValue(), params);
  // The whole history is again what the template renders.
  const answered = [
    history[0],
    { type: "model", response: [{ type: "functionCall", name: functionName, params, result: "rain", rawCall: raw }] },
  ];
  const { contextText } = new UnjinjaChatWrapper(model).generateContextState({
    chatHistory: answered,
    availableFunctions: functions,
    documentFunctionParams: true,
  });
  const messages = [
    { role: "user", content: "Rain?" },
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "a", type: "function", function: { name: functionName, arguments: JSON.stringify(params) } }],
    },
    { role: "tool", tool_call_id: "a", content: '"rain"' },
  ];
  assert.equal(plain(contextText), model.prompt(messages, { tools }).text);
});

test("an answer that has begun goes on", () => {
  const wrapper = new UnjinjaChatWrapper(model);
  const thought = { type: "segment", segmentType: "thought", text: "Hm.", ended: true };
  const chatHistory = [
    { type: "user", text: "Rain?" },
    { type: "model", response: [thought, "It "] },
  ];
  const { contextText } = wrapper.generateContextState({ chatHistory });
  const whole = plain(contextText);
  const { text } = model.prompt([{ role: "user", content: "Rain?" }]);
  assert.ok(whole.startsWith(text) && whole.endsWith("It "), whole);
  const read = model.parse(`${whole.slice(text.length)}rains.`, { prompt: text });
  assert.deepEqual([read.reasoningContent, read.content], ["Hm.", "It rains."]);
});

test("an answer goes on within its reasoning, and after reasoning that the prompt has opened", () => {
  const known = Model.fromTemplate(template("delimiter_reasoning"));
  const [start, end] = known.reasoningMarkers;
  const user = { type: "user", text: "Rain?" };
  const { text } = known.prompt([{ role: "user", content: "Rain?" }]);
  assert.ok(text.trimEnd().endsWith(start.trim()), text);
  const wrapper = new UnjinjaChatWrapper(known);
  const after = (response) => {
    const whole = plain(wrapper.generateContextState({ chatHistory: [user, { type: "model", response }] }).contextText);
    assert.ok(whole.startsWith(text), whole);
    return whole.slice(text.length);
  };
  const thought = (ended) => ({ type: "segment", segmentType: "thought", text: "Hm", ended });
  assert.equal(after([]), "");
  assert.equal(after([thought(false)]), "Hm");
  assert.equal(after([thought(true)]), `Hm${end}`);
  assert.equal(after(["It "]), `${end}It `);
});

const load = { bosToken: "<s>", eosToken: "</s>" };
const names = readdirSync(join(process.env.UNJINJA_ROOT, "templates"))
  .filter((file) => file.endsWith(".jinja"))
  .map((file) => file.slice(0, -6));
const theirs = (name) =>
  new JinjaTemplateChatWrapper({ template: template(name), additionalRenderParameters: { bos_token: "<s>", eos_token: "</s>" } });
const syntax = ({
  settings: {
    functions: { call },
  },
}) => [call.prefix, call.paramsPrefix, call.suffix].map((text) => plain(LlamaText(text)));

test("contexts are those of JinjaTemplateChatWrapper, where it supports a template", () => {
  const histories = [
    [
      { type: "system", text: "Be short." },
      { type: "user", text: "Rain?" },
      { type: "model", response: [] },
    ],
    [
      { type: "user", text: "Rain?" },
      { type: "model", response: ["Yes."] },
      { type: "user", text: "Sure?" },
      { type: "model", response: [] },
    ],
    [
      { type: "user", text: "Rain?" },
      { type: "model", response: [{ type: "functionCall", name: "get_weather", params: { days: 2 }, result: { rain: true } }] },
    ],
  ];
  for (const name of ["args_marker", "bare_json", "fenced_json", "function_tag", "functools", "hermes", "name_as_key", "qwen3"]) {
    const ours = new UnjinjaChatWrapper(Model.fromTemplate(template(name), load));
    for (const [at, chatHistory] of histories.entries()) {
      const options = { chatHistory, documentFunctionParams: true, ...(at === 2 && { availableFunctions: functions }) };
      const [one, other] = [ours, theirs(name)].map((wrapper) => plain(wrapper.generateContextState(options).contextText));
      assert.equal(one, other, `${name}, history ${at + 1}`);
    }
  }
});

test("what is found is read by the parser, and what cannot be expressed is refused", () => {
  const refused = [];
  for (const name of names) {
    const known = Model.fromTemplate(template(name), load);
    try {
      const [prefix, paramsPrefix, suffix] = syntax(new UnjinjaChatWrapper(known));
      assert.notEqual(prefix, "", name);
      // Arguments in JSON, after the name.
      assert.ok(!`${prefix}${paramsPrefix}${suffix}`.includes("unjinja"), name);
    } catch (error) {
      assert.ok(error instanceof RequestError, `${name}: ${error}`);
      assert.match(error.message, /= next: let the model continue a text/);
      refused.push(name);
    }
    known.dispose();
  }
  for (const name of ["xml_parameters", "python_calls", "call_id_marker", "twice_named", "no_tools"])
    assert.ok(refused.includes(name), name);
  assert.equal(names.length - refused.length, 17);
});

test("where JinjaTemplateChatWrapper finds a wrong syntax, ours is right", () => {
  const ours = syntax(new UnjinjaChatWrapper(Model.fromTemplate(template("section_tags"), load)));
  assert.deepEqual(ours, ["<｜call▁begin｜>", "<｜sep｜>", "<｜call▁end｜>"]);
  assert.deepEqual(syntax(theirs("section_tags")), ["｜><｜call▁begin｜>", "<｜sep｜>", "<｜call▁end"]);
  // Parameters in tags are no JSON: it takes the name of its own test parameter for a part of the syntax.
  assert.match(syntax(theirs("xml_parameters")).join(""), /<parameter=params>/);
});
