// Arguments: halves of characters, values without a form in JSON, options that are none, and objects that were disposed of.

import assert from "node:assert/strict";
import test from "node:test";

import {
  compareTemplates,
  explainTemplate,
  explainTokenizerConfig,
  lintTemplate,
  lintTokenizerConfig,
  Model,
  RequestError,
  StateError,
  Tools,
} from "../lib/node.js";
import { wellFormed } from "../lib/json.js";
import { gguf, SHORT, template, WEATHER } from "./support.js";

const qwen = Model.known("Qwen/Qwen3-0.6B");
const short = Model.fromTemplate(SHORT);
const hermes = Model.fromTemplate(template("hermes"));
const asked = [{ role: "user", content: "Hello!" }];
const CALLED = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';

/** Something throws this error. */
function fails(run, text, type = RequestError) {
  assert.throws(run, (error) => {
    assert.equal(error.constructor, type, error.stack);
    assert.match(error.message, text);
    return true;
  });
}

// The first half of a character of two, and the second.
const [HIGH, LOW] = ["\ud83d", "\ude00"];

test("half a character is replaced wherever it is: in messages, tools, options, names and templates", () => {
  assert.equal(short.prompt([{ role: "user", content: `cut ${HIGH}` }]).text, "<user>cut \ufffd</><assistant>");
  const mixed = short.prompt([{ role: "user", content: `${LOW}x${HIGH}${LOW}${LOW}${HIGH}` }]);
  assert.equal(mixed.text, "<user>\ufffdx😀\ufffd\ufffd</><assistant>");
  // A text that only spells an escape stays.
  const spelled = "\\ud83d \\\\ud83d \\\\\\ud83d \\u0041 \n\u0001";
  assert.equal(short.prompt([{ role: "user", content: spelled }]).text, `<user>${spelled}</><assistant>`);
  assert.equal(Model.fromTemplate(`${HIGH}${SHORT}`).prompt(asked).text, "\ufffd<user>Hello!</><assistant>");

  const described = (text) => {
    const parameters = { type: "object", properties: { [text]: { enum: [text] } } };
    return [{ name: "f", description: text, parameters }];
  };
  const whole = hermes.prompt(asked, { tools: described("cut \ufffd") }).text;
  const halves = described(`cut ${HIGH}`);
  assert.ok(whole.includes("cut \ufffd"));
  for (const tools of [halves, JSON.stringify(halves), new Tools(halves), new Tools(JSON.stringify(halves))]) {
    const prompt = hermes.prompt(asked, { tools });
    assert.equal(prompt.text, whole);
    assert.ok(prompt.parts.length > 0);
  }
  const [tool] = new Tools(JSON.stringify(described("😀 \\ud83d")).replace("😀", "\\ud83d\\ude00")).toArray();
  assert.equal(tool.description, "😀 \\ud83d");

  assert.equal(qwen.parse("Hm", { continueFrom: `<think>\n${HIGH}` }).reasoningContent, "\ufffdHm");
  fails(() => qwen.parse("", { [`a${HIGH}`]: 1 }), /^a\ufffd: there is no option/);
  const config = { chat_template: SHORT, eos_token: HIGH, [HIGH]: LOW };
  const text = JSON.stringify(config);
  for (const given of [config, text, new TextEncoder().encode(text), new TextEncoder().encode(text).buffer]) {
    assert.equal(Model.fromTokenizerConfig(given).prompt(asked).text, "<user>Hello!</><assistant>");
    assert.ok(Array.isArray(lintTokenizerConfig(given)));
    assert.equal(explainTokenizerConfig(given).kind, "template");
  }
  const called = { name: "f", arguments: JSON.stringify({ a: HIGH }) };
  const message = { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function", function: called }] };
  assert.ok(hermes.prompt([...asked, message]).text.includes('"f"'));
});

test("escapes in JSON: pairs stay, in any case of letters", () => {
  const whole = ['"\\ud83d\\ude00"', '"\\uD83D\\uDE00"', '"\\\\ud83d"', '"\\n\\u00e9"', '"😀"', '""'];
  for (const json of whole) assert.equal(wellFormed(json), json);
  const halves = ['"\\ud83d"', '"\\uD83D"', '"\\ude00"', '"\\\\\\ud83d"', '"\\ude00\\ud83d"', '"\\ud83d\\\\ude00"'];
  for (const json of [...halves, '"\\ud83d\\ud83d\\ude00"']) {
    const value = wellFormed(json);
    assert.equal(JSON.parse(value), JSON.parse(json).toWellFormed());
    assert.notEqual(value, json);
  }
});

test("what has no form in JSON is an error with its place", () => {
  const round = { type: "object" };
  round.properties = { "a b": { items: [1, round] } };
  const shared = { type: "string" };
  const broken = {
    toJSON() {
      throw new Error("no form");
    },
  };
  const wrong = [
    [
      () => qwen.parse("", { tools: [{ name: "f", parameters: round }] }),
      /^tools\[0\]\.parameters\.properties\["a b"\]\.items\[1\]: .*: an object that is within itself\n {2}= next: pass what JSON/,
    ],
    [() => new Tools([{ name: "f", parameters: { maximum: 3n } }]), /^tools\[0\]\.parameters\.maximum: it has no form in JSON: a BigInt\n/],
    [() => short.prompt([{ role: "user", content: 1n }]), /^messages\[0\]\.content: .*a BigInt/],
    [() => short.prompt(asked, { variables: { x: 1n } }), /^variables\.x: .*a BigInt/],
    [() => Model.fromTemplate(SHORT, { name: 1n }), /^name: .*a BigInt/],
    [() => Model.fromTokenizerConfig({ a: [1n] }), /^config\.a\[0\]: .*a BigInt/],
    [() => qwen.grammar({ responseSchema: { a: broken } }), /^responseSchema\.a: it has no form in JSON: no form/],
    [() => qwen.stream().openaiChunks({ created: 5n }), /^created: .*a BigInt/],
    [() => qwen.stream().openaiChunks().finish({ usage: { prompt_tokens: 1n } }), /^usage\.prompt_tokens: .*a BigInt/],
    [() => lintTemplate(SHORT, { count: 5n }), /^count: .*a BigInt/],
    [() => qwen.request(asked, { thinking: 1n }), /^thinking: .*a BigInt/],
  ];
  for (const [run, text] of wrong) fails(run, text);
  // The same object twice is no circle.
  assert.equal(new Tools([{ name: "f", parameters: { type: "object", properties: { a: shared, b: shared } } }]).names[0], "f");
  let deep = [];
  for (let level = 0; level < 100_000; level++) deep = [deep];
  fails(() => short.prompt([{ role: "user", content: deep }]), /has no form in JSON/);
});

test("options that are no object, and options of an unknown name, are refused by all methods", () => {
  const stream = qwen.stream();
  const chunks = qwen.stream().openaiChunks();
  const message = qwen.parse(CALLED, { thinking: false });
  const request = hermes.request(asked);
  const methods = [
    (options) => Model.fromTemplate(SHORT, options),
    (options) => Model.fromTokenizerConfig({ chat_template: SHORT }, options),
    (options) => Model.fromSpec(qwen.spec, options),
    (options) => short.prompt(asked, options),
    (options) => qwen.parse("", options),
    (options) => qwen.stream(options),
    (options) => qwen.spans("", options),
    (options) => qwen.explain(options),
    (options) => qwen.grammar(options),
    (options) => hermes.export(options),
    (options) => hermes.request(asked, options),
    (options) => request.grammar(options),
    (options) => stream.pushToken("x", options),
    (options) => stream.openaiChunks(options),
    (options) => stream.anthropicEvents(options),
    (options) => chunks.pushToken("x", options),
    (options) => chunks.finish(options),
    (options) => message.toOpenAI(options),
    (options) => lintTemplate(SHORT, options),
    (options) => lintTokenizerConfig({ chat_template: SHORT }, options),
    (options) => explainTemplate(SHORT, options),
    (options) => explainTokenizerConfig({ chat_template: SHORT }, options),
    (options) => compareTemplates(SHORT, SHORT, options),
  ];
  for (const method of methods) {
    for (const [options, found] of [[null, "null"], [5, "number"], ["x", "string"], [[], "an array"]]) {
      fails(() => method(options), new RegExp(`^options: expected an object, found ${found}$`), RequestError);
    }
    fails(() => method({ nosuch: 1 }), /^nosuch: there is no option of this name/);
  }
  for (const special of ["yes", 1, {}]) {
    for (const reader of [stream, chunks]) {
      fails(() => reader.pushToken("x", { special }), /^special: expected true or false, found /);
    }
  }
  for (const special of [undefined, null, false]) assert.deepEqual(qwen.stream().pushToken("", { special }), []);
  fails(() => message.toOpenAI({ callIds: [1] }), /^callIds: expected an array of strings/);
  fails(() => Model.fromJSON("{}"), /^state: expected an object, found string/);
  fails(() => Model.fromJSON(null), /^state: expected an object, found null/);
});

test("what is read piece by piece has to be pieces", async () => {
  for (const [pieces, found] of [[null, "null"], [undefined, "undefined"], [5, "number"], [{}, "object"]]) {
    for (const reader of [qwen.stream(), qwen.stream().openaiChunks()]) {
      const text = new RegExp(`^RequestError: pieces: expected an iterable or asynchronous iterable of pieces, found ${found}$`);
      await assert.rejects(reader.read(pieces).next(), text);
    }
  }
  await assert.rejects(qwen.stream().read([3]).next(), /^RequestError: piece: expected a string or a Uint8Array, found number$/);
});

test("a GGUF file is a Blob or bytes: a path is told what to do", async () => {
  const refused = (file, text) =>
    assert.rejects(Model.fromGguf(file), (error) => error instanceof RequestError && text.test(error.message));
  const path = /^file: expected a Blob or a Uint8Array, found string\n {2}= next: if this is a path, pass `await openAsBlob\(path\)`/;
  await refused("/models/a.gguf", path);
  await refused(5, /^file: expected a Blob or a Uint8Array, found number\n {2}= next: pass a Blob/);
  await refused(new Response("GGUF"), /found object\n {2}= next: .*`await response\.blob\(\)`/);
  await refused(undefined, /found undefined/);
  const file = gguf({ "general.architecture": "llama", "tokenizer.chat_template": SHORT });
  await assert.rejects(Model.fromGguf(file, 5), /^RequestError: options: expected an object, found number/);
  for (const given of [file, await file.arrayBuffer(), new Uint8Array(await file.arrayBuffer())]) {
    assert.equal((await Model.fromGguf(given)).prompt(asked).text, "<user>Hello!</><assistant>");
  }
});

test("what is disposed of: the parts of a prompt do not need its tools, ids of calls that were made stay", () => {
  for (const given of [[WEATHER], JSON.stringify([WEATHER])]) {
    const tools = new Tools(given);
    const prompt = hermes.prompt(asked, { tools });
    tools.dispose();
    const described = prompt.parts.filter(({ part }) => part === "tool").map(({ start, end }) => prompt.text.slice(start, end));
    assert.ok(described.join("").includes("get_weather"));
    fails(() => tools.toArray(), /^this Tools was disposed of/, StateError);
  }
  const model = Model.fromTemplate(template("hermes"));
  const [early, late, text] = [CALLED, CALLED, "Hello!"].map((output) => model.parse(output));
  const before = early.toOpenAI();
  model.dispose();
  assert.deepEqual(early.toOpenAI(), before);
  assert.equal(text.toOpenAI().content, "Hello!");
  fails(() => late.toOpenAI(), /^toOpenAI: the ids of calls come from the Model/, StateError);
  fails(() => hermes.prompt([...asked, late]), /^toOpenAI: the ids of calls come from the Model/, StateError);
});
