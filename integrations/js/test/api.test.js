// Each part of the interface, used once as a person would.

import assert from "node:assert/strict";
import test from "node:test";
import { inspect } from "node:util";

import init, { knownModels, lintTemplate, lintTokenizerConfig, Message, Model, Prompt, RequestError, Tools } from "../lib/node.js";
import { CALL, gguf, pieces, plain, SHORT, template, WEATHER } from "./support.js";

const tools = [WEATHER];
const qwen = Model.known("Qwen/Qwen3-0.6B");
const short = Model.fromTemplate(SHORT);
const asked = [{ role: "user", content: "Hello!" }];

test("a model says what it is", async () => {
  await init();
  assert.equal(qwen.name, "qwen_qwen3_0_6b");
  assert.equal(qwen.status, "supported");
  assert.deepEqual(qwen.gaps, []);
  assert.equal(inspect(qwen), "Model { name: 'qwen_qwen3_0_6b', status: 'supported', gaps: [] }");
  const known = knownModels().find(({ name }) => name === qwen.name);
  assert.deepEqual(known.ids, ["Qwen/Qwen3-0.6B", "Qwen/Qwen3-{size}"]);
  assert.equal(qwen.template, null);
  assert.deepEqual(qwen.variables, []);
  assert.deepEqual(qwen.reasoningMarkers, ["<think>", "</think>"].map((marker, at) => qwen.reasoningMarkers[at] ?? marker));
  assert.match(qwen.reasoningMarkers.join(""), /<think>.*<\/think>/s);
  assert.match(qwen.spec, /^\[template\]|\n\[template\]/);
  assert.ok(qwen.preservedTokens.includes("<tool_call>"));
  assert.equal(short.template, SHORT);
  assert.equal(short.reasoningMarkers, null);
  const named = Model.fromTemplate(template("qwen3"), { name: "mine" });
  assert.equal(named.name, "mine");
  assert.ok(named.variables.includes("enable_thinking"), named.variables.join());
});

test("a whole output is parsed", () => {
  const message = qwen.parse(CALL, { tools });
  assert.ok(message instanceof Message);
  assert.equal(message.reasoningContent, "Rain?");
  assert.equal(message.content, "I look.");
  const [call] = message.toolCalls;
  assert.deepEqual([call.id, call.name, call.complete], [null, "get_weather", true]);
  assert.deepEqual(call.argumentsValue(), { city: "Zürich 🌧", days: 2 });
  assert.deepEqual(message.diagnostics, []);
  assert.deepEqual(plain(qwen.parse(new TextEncoder().encode(CALL), { tools })), plain(message));
});

test("the options are those of Rust", () => {
  const reads = (output, options) => qwen.parse(output, { tools, ...options });
  assert.equal(reads(CALL, { extractReasoning: false }).reasoningContent, "");
  assert.equal(reads(CALL, { toolChoice: "none", unparsed: "separate" }).diagnostics[0].kind, "forbidden_call");
  const named = { type: "function", function: { name: "other" } };
  const both = [WEATHER, named];
  assert.match(reads(CALL, { tools: both, toolChoice: named, unparsed: "separate" }).unparsed, /^\s*<tool_call>/);
  assert.equal(reads(CALL + CALL.slice(CALL.indexOf("<tool")), { parallelToolCalls: false }).toolCalls.length, 1);
  const cut = CALL.slice(0, CALL.indexOf("rich"));
  assert.equal(reads(cut).toolCalls[0].arguments, '{"city": "Zü');
  assert.equal(reads(cut).toolCalls[0].closedArguments(), '{"city": "Zü"}');
  assert.equal(reads(cut, { cutCalls: "close" }).toolCalls[0].arguments, '{"city": "Zü"}');
  assert.equal(reads(cut, { cutCalls: "drop" }).toolCalls.length, 0);
  assert.equal(reads("llo", { thinking: false, continueFrom: "He" }).content, "Hello");
  assert.equal(reads('```json\n{"a": 1}\n```', { thinking: false, jsonResponse: true }).content, '{"a": 1}');
  const prompt = "<|im_start|>assistant\n<think>\n";
  assert.equal(reads("Hm.\n<tool_call>\n{}</tool_call></think>A", { prompt, callsEndReasoning: false }).content, "A");
});

test("an output is read in pieces", () => {
  const stream = qwen.stream({ tools });
  const events = pieces(CALL, 4).flatMap((piece) => stream.push(piece));
  assert.equal(stream.channel, null);
  events.push(...stream.finish());
  const texts = (type) => events.filter((event) => event.type === type);
  assert.equal(texts("reasoning").map((event) => event.text).join(""), "Rain?");
  assert.deepEqual(texts("tool_call_start"), [{ type: "tool_call_start", index: 0, name: "get_weather", id: null }]);
  assert.deepEqual(texts("tool_call_end"), [{ type: "tool_call_end", index: 0, complete: true }]);
  const json = texts("tool_call_arguments").map((event) => event.json).join("");
  assert.deepEqual(JSON.parse(json), { city: "Zürich 🌧", days: 2 });
  assert.deepEqual(plain(stream.message), plain(qwen.parse(CALL, { tools })));
  // A push after the end begins another turn.
  assert.deepEqual(stream.push("<think>\nHm"), [{ type: "reasoning", text: "Hm" }]);
  assert.equal(stream.channel, "reasoning");
  assert.deepEqual(stream.push("</th"), []);
  assert.deepEqual(new TextDecoder().decode(stream.held), "</th");
  assert.deepEqual(new TextDecoder().decode(stream.reset()), "</th");
  assert.equal(stream.message.reasoningContent, "");
});

test("characters are cut anywhere", () => {
  const text = "a🌧b";
  const units = qwen.stream({ thinking: false });
  const read = [...text].flatMap((character) => character.split("")).flatMap((unit) => units.push(unit));
  assert.equal([...read, ...units.finish()].map((event) => event.text).join(""), text);
  const alone = qwen.stream({ thinking: false });
  alone.push("a\ud83c");
  alone.finish();
  assert.equal(alone.message.content, "a\ufffd");
  const mixed = qwen.stream({ thinking: false });
  mixed.push("a\ud83c");
  mixed.push(new TextEncoder().encode("b"));
  mixed.finish();
  assert.equal(mixed.message.content, "a\ufffdb");
});

test("tokens tell a marker from text that spells one", () => {
  const stream = qwen.stream({ tools, thinking: false, specialTokens: ["<tool_call>", "</tool_call>"] });
  stream.pushToken("<tool_call>");
  stream.pushToken("x");
  stream.finish();
  assert.equal(stream.message.content, "<tool_call>x");
  assert.deepEqual(stream.tokenCounts, { reasoning: 0, content: 2 });
});

test("a stream of pieces becomes a stream of events", async () => {
  async function* output() {
    yield* pieces(CALL, 3);
  }
  const events = [];
  for await (const event of qwen.stream({ tools }).read(output())) events.push(event);
  assert.equal(events.at(-1).type, "tool_call_end");
  const through = ReadableStream.from(output()).pipeThrough(qwen.stream({ tools }).transform());
  const others = [];
  for await (const event of through) others.push(event);
  assert.deepEqual(others, events);
});

test("OpenAI's chunks", async () => {
  const options = { model: "m", id: "chatcmpl-1", created: 7, includeUsage: true };
  const chunks = qwen.stream({ tools }).openaiChunks(options);
  const all = pieces(CALL, 5).flatMap((piece) => chunks.push(piece));
  all.push(...chunks.finish({ usage: { prompt_tokens: 3, completion_tokens: 5 } }));
  assert.deepEqual(all[0].choices[0].delta.role, "assistant");
  assert.ok(all.every(({ id, created, model }) => id === "chatcmpl-1" && created === 7 && model === "m"));
  const calls = all.flatMap((chunk) => chunk.choices).flatMap((choice) => choice.delta.tool_calls ?? []);
  assert.match(calls[0].id, /^call_[0-9A-Za-z]{24}$/);
  assert.equal(calls[0].function.name, "get_weather");
  assert.deepEqual(JSON.parse(calls.map((call) => call.function.arguments).join("")), { city: "Zürich 🌧", days: 2 });
  assert.equal(all.at(-2).choices[0].finish_reason, "tool_calls");
  assert.equal(all.at(-1).usage.total_tokens, 8);
  // Another answer has another id, and the time of now.
  const [next] = chunks.push("<think>\nHm");
  assert.match(next.id, /^chatcmpl-[0-9A-Za-z]{24}$/);
  assert.ok(Math.abs(next.created - Date.now() / 1000) < 5);
  const read = [];
  const named = qwen.stream({ tools }).openaiChunks({ reasoning: "reasoning" });
  for await (const chunk of named.read(pieces(CALL, 9))) read.push(chunk);
  assert.equal(read[0].choices[0].delta.reasoning, "Rain?".slice(0, read[0].choices[0].delta.reasoning.length));
  assert.equal(read.at(-1).choices[0].finish_reason, "tool_calls");
});

test("Anthropic's events", () => {
  const writer = qwen.stream({ tools }).anthropicEvents({ model: "m" });
  const all = pieces(CALL, 5).flatMap((piece) => writer.push(piece));
  all.push(...writer.finish({ finishReason: "stop", usage: { input_tokens: 3, output_tokens: 5 } }));
  assert.match(all[0].message.id, /^msg_[0-9A-Za-z]{24}$/);
  const starts = all.filter((event) => event.type === "content_block_start").map((event) => event.content_block.type);
  assert.deepEqual(starts, ["thinking", "text", "tool_use"]);
  const json = all.map((event) => event.delta?.partial_json ?? "").join("");
  assert.deepEqual(JSON.parse(json), { city: "Zürich 🌧", days: 2 });
  assert.equal(all.at(-2).delta.stop_reason, "tool_use");
  assert.equal(all.at(-1).type, "message_stop");
});

test("what a parser returns is taken back, with the results in the order of the calls", () => {
  const call = (at) => ({ id: `call0000${at}`, type: "function", function: { name: "get_weather", arguments: `{"city": "Ulm${at}"}` } });
  const result = (at) => ({ role: "tool", tool_call_id: `call0000${at}`, content: `Osktarn${at}.` });
  for (const name of ["qwen3", "channels", "message_headers", "python_calls", "xml_parameters", "named_ids"]) {
    const model = Model.fromTemplate(template(name));
    const said = [["", ""], ["I look.", ""], ...(model.reasoningMarkers ? [["", "Hm, so."], ["I look.", "Hm, so."]] : [])];
    for (const ids of [[], [0], [0, 1]]) {
      for (const [content, thought] of said) {
        const message = { role: "assistant", content, reasoning_content: thought, tool_calls: ids.map(call) };
        const after = ids.length ? ids.toReversed().map(result) : [{ role: "user", content: "And now?" }];
        const prompt = model.prompt([...asked, message, ...after], { tools: [WEATHER], thinking: thought ? true : undefined });
        assert.deepEqual(prompt.missing, [], prompt.text);
        assert.ok(ids.length < 2 || prompt.text.indexOf("Osktarn0.") < prompt.text.indexOf("Osktarn1."), prompt.text);
      }
    }
  }
});

test("prompts, and messages that go back into them", () => {
  const prompt = short.prompt(asked);
  assert.ok(prompt instanceof Prompt);
  assert.deepEqual(prompt.missing, []);
  assert.deepEqual([prompt.text, prompt.turn, `${prompt}`], ["<user>Hello!</><assistant>", "<assistant>", prompt.text]);
  const message = short.parse("Good morning!</>", { prompt });
  assert.equal(message.content, "Good morning!");
  const next = short.prompt([...asked, message, { role: "user", content: "Bye!" }]);
  assert.equal(next.text, "<user>Hello!</><assistant>Good morning!</><user>Bye!</><assistant>");
  assert.equal(short.prompt(asked, { addGenerationPrompt: false }).text, "<user>Hello!</>");
  assert.equal(short.turnOf(prompt.text), "<assistant>");
  const other = Model.fromTemplate(template("qwen3"));
  assert.notEqual(other.prompt(asked, { thinking: false }).text, other.prompt(asked, { thinking: true }).text);
  assert.equal(
    other.prompt(asked, { variables: { enable_thinking: false } }).text,
    other.prompt(asked, { thinking: false }).text,
  );
  assert.match(other.prompt(asked, { tools }).text, /get_weather/);
});

test("the date in a prompt is the local one, or the one that is given", () => {
  const dated = Model.fromTemplate(`{{ strftime_now("%d %B %Y, %H:%M") }}${SHORT}`);
  const now = new Date(2026, 4, 1, 23, 30);
  const prompt = dated.prompt(asked, { now });
  assert.match(prompt.text, /^01 May 2026, 23:30<user>/);
  assert.equal(prompt.parts.at(-1).end, prompt.text.length);
  assert.match(dated.request(asked, { now }).prompt.text, /^01 May 2026, 23:30<user>/);
  assert.match(dated.prompt(asked, { now: new Date(1969, 11, 31, 1, 2) }).text, /^31 December 1969, 01:02/);
  const day = () => new Date().toLocaleDateString("en-GB", { day: "2-digit", month: "long", year: "numeric" });
  const days = [day(), dated.prompt(asked).text.split(",")[0], day()];
  assert.ok(days[1] === days[0] || days[1] === days[2], days);
  for (const wrong of ["2026-05-01", 5, new Date("x"), null]) assert.throws(() => dated.prompt(asked, { now: wrong }), RequestError);
});

test("calls get ids that stay", () => {
  const message = qwen.parse(CALL, { tools });
  const { tool_calls: calls, ...rest } = message.toOpenAI();
  assert.deepEqual(rest, { role: "assistant", content: "I look.", reasoning_content: "Rain?" });
  assert.equal(message.toOpenAI().tool_calls[0].id, calls[0].id);
  const kimi = Model.known("moonshotai/Kimi-K2-Instruct");
  const output =
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{"city": "A"}<|tool_call_end|><|tool_calls_section_end|>';
  const again = kimi.parse(output, { tools });
  assert.equal(again.toOpenAI().tool_calls[0].id, "functions.get_weather:0");
  const later = again.toOpenAI({ callIds: ["functions.get_weather:0"] });
  assert.equal(later.tool_calls[0].id, "functions.get_weather:1");
});

test("tools are read once", () => {
  const list = new Tools(tools);
  assert.deepEqual(list.names, ["get_weather"]);
  assert.deepEqual(list.toArray(), tools);
  assert.deepEqual(new Tools(JSON.stringify(tools)).names, ["get_weather"]);
  assert.deepEqual(plain(qwen.parse(CALL, { tools: list })), plain(qwen.parse(CALL, { tools })));
});

test("grammars", () => {
  const grammar = qwen.grammar({ tools, toolChoice: "required" });
  assert.match(grammar.text, /^root ::=/m);
  assert.equal(grammar.lazy, false);
  const tag = JSON.parse(qwen.grammar({ tools, kind: "xgrammar" }).text);
  assert.equal(tag.type, "structural_tag");
  assert.match(qwen.grammar({ tools, kind: "llguidance" }).text, /start:/);
  assert.ok(qwen.grammar({ tools }).triggers.length > 0);
  assert.match(qwen.grammar({ responseSchema: { type: "integer" }, thinking: false }).text, /root/);
  const request = Model.fromTemplate(template("qwen3")).request(asked, { tools, toolChoice: "required" });
  for (const free of [{ openObjects: true }, { freeWhiteSpace: true }, { textBefore: 9 }, { maxReasoning: 9 }]) {
    assert.notEqual(qwen.grammar({ tools, toolChoice: "required", ...free }).text, grammar.text);
    assert.notEqual(request.grammar(free).text, request.grammar().text);
  }
  assert.throws(() => qwen.grammar({ textBefore: -1 }), /textBefore/);
});

test("a request has all that belongs together", () => {
  const model = Model.fromTemplate(template("qwen3"));
  const request = model.request(asked, { tools, toolChoice: "required", thinking: true });
  assert.match(request.prompt.text, /get_weather/);
  assert.match(request.grammar().text, /get_weather/);
  assert.equal(request.parse(CALL).toolCalls.length, 1);
  const stream = request.stream();
  stream.push(CALL);
  stream.finish();
  assert.equal(stream.message.toolCalls.length, 1);
  assert.match(request.callId("get_weather"), /^call_/);
  assert.equal(request.callId("get_weather", "mine"), "mine");
});

test("a model from tokenizer_config.json", () => {
  const config = { chat_template: SHORT + "{{ bos_token }}", bos_token: "<s>", eos_token: { content: "</s>" } };
  for (const given of [config, JSON.stringify(config), new TextEncoder().encode(JSON.stringify(config))]) {
    const model = Model.fromTokenizerConfig(given, { name: "mine" });
    assert.equal(model.prompt(asked).text, "<user>Hello!</><assistant><s>");
  }
  const named = { chat_template: [{ name: "default", template: "x" }, { name: "tool_use", template: SHORT }] };
  assert.equal(Model.fromTokenizerConfig(named, { variant: "tool_use" }).prompt(asked).turn, "<assistant>");
  const apart = Model.fromTokenizerConfig({ bos_token: "<s>" }, { template: `{{ bos_token }}${SHORT}` });
  assert.equal(apart.prompt(asked).text, "<s><user>Hello!</><assistant>");
});

test("a model from a GGUF file, of which the header is read", async () => {
  const keys = { "tokenizer.chat_template": `{{ bos_token }}${SHORT}`, "tokenizer.ggml.bos_token_id": 1 };
  const small = gguf({ ...keys, "tokenizer.ggml.tokens": ["a", "<s>"] });
  assert.equal((await Model.fromGguf(small)).prompt(asked).text, "<s><user>Hello!</><assistant>");
  const bytes = new Uint8Array(await small.arrayBuffer());
  assert.equal((await Model.fromGguf(bytes)).prompt(asked).text, "<s><user>Hello!</><assistant>");
  // The metadata are longer than what is read at first, and the weights are not read.
  const tokens = Array.from({ length: 150_000 }, (_, at) => (at === 1 ? "<s>" : `token number ${at}`));
  const large = gguf({ ...keys, "tokenizer.ggml.tokens": tokens }, 64 << 20);
  let read = 0;
  const slice = large.slice.bind(large);
  large.slice = (start, end) => {
    const part = slice(start, end);
    read += part.size;
    return part;
  };
  assert.equal((await Model.fromGguf(large)).prompt(asked).text, "<s><user>Hello!</><assistant>");
  assert.ok(read < 24 << 20, `${read} bytes were read`);
});

test("a model goes to a worker and comes from a spec", () => {
  const model = Model.fromTemplate(`{{ bos_token }}${SHORT}`, { bosToken: "<s>", name: "mine" });
  const again = Model.fromJSON(structuredClone(model.toJSON()));
  assert.equal(again.name, "mine");
  assert.equal(again.spec, model.spec);
  assert.equal(again.prompt(asked).text, model.prompt(asked).text);
  const spec = Model.fromSpec(qwen.spec);
  assert.deepEqual(plain(spec.parse(CALL)), plain(qwen.parse(CALL)));
  assert.equal(Model.fromJSON(plain(qwen)).template, null);
});

test("faults of templates, and response templates", () => {
  assert.deepEqual(lintTemplate(SHORT).filter((finding) => finding.severity === "warning"), []);
  const [syntax] = lintTemplate("{% for m in messages %}");
  assert.equal(syntax.severity, "error");
  assert.equal(syntax.line, 1);
  const made = short.export({ count: 20 });
  assert.deepEqual([made.tried, made.held, made.losses], [20, 20, []]);
  assert.equal(made.responseTemplate.start_anchor, "<assistant>");
  const config = { chat_template: SHORT, response_template: made.responseTemplate };
  const good = lintTokenizerConfig(config, { count: 20 });
  assert.deepEqual(good.filter((finding) => finding.target === "response_template" && finding.severity === "error"), []);
  const wrong = { ...made.responseTemplate, start_anchor: "<user>" };
  const bad = lintTokenizerConfig({ chat_template: SHORT, response_template: wrong }, { count: 20 });
  assert.ok(bad.some((finding) => finding.target === "response_template"), JSON.stringify(bad));
});
