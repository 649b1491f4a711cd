// The middleware for the AI SDK, with `generateText` and `streamText` of the real package and its own mock of a model.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import test from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, jsonSchema, Output, simulateReadableStream, streamText, tool, wrapLanguageModel } from "ai";
import { convertReadableStreamToArray, MockLanguageModelV4 } from "ai/test";
import { Model, RequestError } from "unjinja";
import { chatTemplateMiddleware, rawCompletionFetch } from "unjinja/ai-sdk";

import { CALL, pieces, template } from "./support.js";

const model = Model.fromTemplate(template("qwen3"));
const usage = {
  inputTokens: { total: 3, noCache: 3, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: 5, text: 5, reasoning: undefined },
};
const done = (unified = "stop") => ({ finishReason: { unified, raw: unified }, usage });
const weather = tool({
  description: "The weather of a place.",
  inputSchema: jsonSchema({
    type: "object",
    properties: { city: { type: "string" }, days: { type: "integer" } },
    required: ["city"],
  }),
  execute: async ({ city, days }) => ({ city, days, weather: "rain" }),
});
const tools = { get_weather: weather };
const ANSWER = "<think>\nNow I know.\n</think>\n\nIt rains in Zürich 🌧.<|im_end|>";

/** A model that continues texts: it writes these outputs, one after the other, in pieces of so many characters. */
function writes(outputs, { size = 4, reason } = {}) {
  let [streams, wholes] = [0, 0];
  return new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text: outputs[wholes++] }], warnings: [], ...done(reason) }),
    doStream: async () => ({
      stream: simulateReadableStream({
        initialDelayInMs: null,
        chunkDelayInMs: null,
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "0" },
          ...pieces(outputs[streams++], size).map((delta) => ({ type: "text-delta", id: "0", delta })),
          { type: "text-end", id: "0" },
          { type: "finish", ...done(reason) },
        ],
      }),
    }),
  });
}

const wrapped = (inner, options) =>
  wrapLanguageModel({ model: inner, middleware: chatTemplateMiddleware({ model, ...options }) });
const sent = (call) => call.prompt[0].content[0].text;

test("generateText: a loop of two steps", async () => {
  const inner = writes([CALL, ANSWER]);
  const result = await generateText({
    model: wrapped(inner),
    tools,
    prompt: "Rain?",
    system: "Be short.",
    stopWhen: isStepCount(5),
  });
  assert.equal(result.text, "It rains in Zürich 🌧.");
  assert.equal(result.reasoningText, "Now I know.");
  assert.equal(result.finishReason, "stop");
  assert.equal(result.steps.length, 2);
  const [first] = result.steps;
  assert.equal(first.finishReason, "tool-calls");
  assert.equal(first.text, "I look.");
  assert.equal(first.reasoningText, "Rain?");
  const [call] = first.toolCalls;
  assert.deepEqual([call.toolName, call.input], ["get_weather", { city: "Zürich 🌧", days: 2 }]);
  assert.deepEqual(first.toolResults[0].output, { city: "Zürich 🌧", days: 2, weather: "rain" });
  // What the model was asked is what the template says.
  const asked = [
    { role: "system", content: "Be short." },
    { role: "user", content: "Rain?" },
  ];
  const {
    description,
    inputSchema: { jsonSchema: parameters },
  } = weather;
  const offered = [{ type: "function", function: { name: "get_weather", description, parameters } }];
  assert.equal(sent(inner.doGenerateCalls[0]), model.prompt(asked, { tools: offered }).text);
  const message = { ...model.parse(CALL, { tools: offered }).toOpenAI() };
  message.tool_calls[0].id = call.toolCallId;
  const answered = {
    role: "tool",
    tool_call_id: call.toolCallId,
    name: "get_weather",
    content: JSON.stringify(first.toolResults[0].output),
  };
  assert.equal(sent(inner.doGenerateCalls[1]), model.prompt([...asked, message, answered], { tools: offered }).text);
  for (const name of ["tools", "toolChoice", "responseFormat", "reasoning"]) {
    assert.ok(
      inner.doGenerateCalls.every((given) => given[name] === undefined),
      name,
    );
  }
});

test("streamText: a loop of two steps, in pieces of any size", async () => {
  let expected;
  for (const size of [1, 2, 3, 5, 8, 1000]) {
    const result = streamText({
      model: wrapped(writes([CALL, ANSWER], { size })),
      tools,
      prompt: "Rain?",
      stopWhen: isStepCount(5),
    });
    const joined = [];
    for await (const part of result.fullStream) {
      const last = joined.at(-1);
      const text = part.text ?? part.delta;
      if (part.type.endsWith("-delta") && last?.type === part.type) last.text += text;
      else if (part.type.endsWith("-delta")) joined.push({ type: part.type, text });
      else joined.push({ type: part.type });
    }
    const types = joined.map(({ type }) => type).filter((type) => !type.startsWith("tool-input") || type === "tool-input-start");
    assert.deepEqual(types, [
      "start",
      "start-step",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-end",
      "tool-input-start",
      "tool-call",
      "tool-result",
      "finish-step",
      "start-step",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-end",
      "finish-step",
      "finish",
    ]);
    const steps = (await result.steps).map(({ text, reasoningText, finishReason, toolCalls, usage: { outputTokens } }) => ({
      text,
      reasoningText,
      finishReason,
      outputTokens,
      calls: toolCalls.map(({ toolName, input }) => ({ toolName, input })),
    }));
    expected ??= steps;
    assert.deepEqual(steps, expected, `in pieces of ${size}`);
    assert.equal(steps[0].finishReason, "tool-calls");
    assert.deepEqual(steps[0].calls, [{ toolName: "get_weather", input: { city: "Zürich 🌧", days: 2 } }]);
    assert.equal(await result.text, "It rains in Zürich 🌧.");
    const inputs = joined.filter(({ type }) => type === "tool-input-delta");
    assert.deepEqual(JSON.parse(inputs.map(({ text }) => text).join("")), { city: "Zürich 🌧", days: 2 });
  }
});

test("a stream cut anywhere loses nothing and opens nothing that stays open", async () => {
  const texts = pieces(CALL, 1);
  for (let length = 0; length <= texts.length; length++) {
    const cut = texts.slice(0, length).join("");
    const middleware = chatTemplateMiddleware({ model });
    const prompt = [{ role: "user", content: [{ type: "text", text: "Rain?" }] }];
    const params = await middleware.transformParams({ type: "stream", params: { prompt } });
    const inner = writes([cut], { size: 3, reason: "length" });
    const { stream } = await middleware.wrapStream({ doStream: () => inner.doStream(params), params });
    const parts = await convertReadableStreamToArray(stream);
    const open = new Set();
    for (const part of parts) {
      if (part.type.endsWith("-start") && part.type !== "stream-start") open.add(part.id);
      if (part.type.endsWith("-delta")) assert.ok(open.has(part.id), `a part without a beginning, after ${length} characters`);
      if (part.type.endsWith("-end")) open.delete(part.id);
    }
    assert.deepEqual([...open], [], `parts without an end, after ${length} characters`);
    assert.equal(parts.at(-1).type, "finish");
    assert.equal(parts.at(-1).finishReason.unified, "length");
    const all = (type) =>
      parts
        .filter((part) => part.type === type)
        .map(({ delta }) => delta)
        .join("");
    const message = model.parse(cut);
    assert.equal(all("reasoning-delta"), message.reasoningContent);
    assert.equal(all("text-delta"), message.content);
    assert.equal(all("tool-input-delta"), message.toolCalls[0]?.arguments ?? "");
  }
});

test("a call that is cut off is not executed", async () => {
  let runs = 0;
  const counted = { get_weather: { ...weather, execute: () => runs++ } };
  const cut = CALL.slice(0, CALL.indexOf("rich"));
  const result = streamText({ model: wrapped(writes([cut], { reason: "length" })), tools: counted, prompt: "Rain?" });
  await result.consumeStream();
  assert.equal(runs, 0);
  assert.equal(await result.finishReason, "length");
  const [call] = await result.toolCalls;
  assert.equal(call.invalid, true);
});

test("several calls have different ids, also over the steps", async () => {
  const [before, after] = [CALL.indexOf("<tool_call>"), "\n"];
  const twice = CALL + after + CALL.slice(before);
  const result = await generateText({
    model: wrapped(writes([twice, twice, ANSWER])),
    tools,
    prompt: "Rain?",
    stopWhen: isStepCount(5),
  });
  const ids = result.steps.flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId));
  assert.equal(ids.length, 4);
  assert.equal(new Set(ids).size, 4);
});

test("ids that a format counts go on over the steps, also in a stream", async () => {
  const counted = Model.fromTemplate(template("indexed_ids"));
  const call = (city) =>
    `<|calls_open|><|call_open|>functions.get_weather:0<|call_args|>{"city": "${city}"}<|call_close|><|calls_close|>`;
  const middleware = chatTemplateMiddleware({ model: counted });
  assert.equal(counted.parse(call("A")).toolCalls[0].id, "functions.get_weather:0");
  const result = streamText({
    model: wrapLanguageModel({ model: writes([call("A"), call("B"), "Rain."]), middleware }),
    tools,
    prompt: "Rain?",
    stopWhen: isStepCount(5),
  });
  await result.consumeStream();
  const ids = (await result.steps).flatMap(({ toolCalls }) => toolCalls.map(({ toolCallId }) => toolCallId));
  assert.deepEqual(ids, ["functions.get_weather:0", "functions.get_weather:1"]);
});

test("choices of tools, and what nothing ensures is said", async () => {
  const inner = writes(["<think>\n\n</think>\n\nNo.", CALL]);
  const none = await generateText({ model: wrapped(inner), tools, toolChoice: "none", prompt: "Rain?" });
  assert.ok(!sent(inner.doGenerateCalls[0]).includes("get_weather"));
  assert.deepEqual(none.warnings, []);
  const required = await generateText({ model: wrapped(inner), tools, toolChoice: "required", prompt: "Rain?" });
  assert.deepEqual(
    required.warnings.map(({ type, feature }) => [type, feature]),
    [["unsupported", "toolChoice"]],
  );
});

test("grammars go where the provider wants them", async () => {
  const inner = writes([CALL]);
  const grammar = { kind: "gbnf", providerOptions: ({ text }) => ({ llama: { grammar: text } }) };
  const result = await generateText({
    model: wrapped(inner, { grammar }),
    tools,
    toolChoice: "required",
    prompt: "Rain?",
    providerOptions: { llama: { user: "me" } },
  });
  assert.deepEqual(result.warnings, []);
  const { llama } = inner.doGenerateCalls[0].providerOptions;
  assert.equal(llama.user, "me");
  assert.match(llama.grammar, /^root ::=[^]*get_weather/m);
  const answers = writes(['```json\n{"days": 2}\n```']);
  const output = Output.object({
    schema: jsonSchema({ type: "object", properties: { days: { type: "integer" } }, required: ["days"] }),
  });
  const structured = await generateText({
    model: wrapped(answers, { grammar, thinking: false }),
    output,
    prompt: "How many days?",
  });
  assert.deepEqual(structured.output, { days: 2 });
  assert.match(answers.doGenerateCalls[0].providerOptions.llama.grammar, /days/);
});

test("the effort of reasoning switches it", async () => {
  const inner = writes(["No.", "<think>\nHm.\n</think>\n\nNo."]);
  await generateText({ model: wrapped(inner), reasoning: "none", prompt: "Rain?" });
  await generateText({ model: wrapped(inner), reasoning: "high", prompt: "Rain?" });
  const asked = [{ role: "user", content: "Rain?" }];
  assert.deepEqual(
    inner.doGenerateCalls.map(sent),
    [false, true].map((thinking) => model.prompt(asked, { thinking }).text),
  );
});

test("what a text cannot carry is an error", async () => {
  const content = [
    { type: "text", text: "What is this?" },
    { type: "file", data: new Uint8Array(3), mediaType: "image/png" },
  ];
  await assert.rejects(generateText({ model: wrapped(writes([ANSWER])), messages: [{ role: "user", content }] }), (error) => {
    assert.match(`${error.message} ${error.cause?.message ?? ""}`, /a part of the type file, and a text prompt cannot carry it/);
    return true;
  });
});

test("a provider's completion model, over HTTP: the server gets the prompt as the template renders it", async () => {
  const bodies = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const part of request) text += part;
    bodies.push(JSON.parse(text));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const output = bodies.length === 1 ? CALL : ANSWER;
    for (const piece of pieces(output, 7)) {
      response.write(
        `data: ${JSON.stringify({ id: "1", model: "m", choices: [{ text: piece, index: 0, finish_reason: null }] })}\n\n`,
      );
    }
    response.write(
      `data: ${JSON.stringify({ id: "1", model: "m", choices: [{ text: "", index: 0, finish_reason: "stop" }] })}\n\n`,
    );
    response.end("data: [DONE]\n\n");
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const provider = createOpenAICompatible({
    name: "local",
    baseURL: `http://127.0.0.1:${server.address().port}/v1`,
    fetch: rawCompletionFetch(),
  });
  const inner = provider.completionModel("m");
  const providerOptions = { local: { skip_special_tokens: false } };
  const result = streamText({ model: wrapped(inner), tools, prompt: "Rain?", providerOptions, stopWhen: isStepCount(5) });
  assert.equal(await result.text, "It rains in Zürich 🌧.");
  assert.equal(bodies.length, 2);
  const [first] = bodies;
  assert.ok(
    first.prompt.startsWith("<|im_start|>") && first.prompt.endsWith("<|im_start|>assistant\n"),
    JSON.stringify(first.prompt),
  );
  assert.equal(first.stop, undefined);
  assert.equal(first.skip_special_tokens, false);
  server.close();
});

test("other requests go on as they are, and a stop may be one text", async () => {
  const sent = [];
  const send = rawCompletionFetch(async (_, init) => sent.push(init?.body));
  const bodies = ["no JSON", "null", "[]", '"x"', "", JSON.stringify({ prompt: "x", stop: "y" }), new Uint8Array(1), undefined];
  for (const body of bodies) await send("http://x", { body });
  await send("http://x");
  assert.deepEqual(sent, [...bodies, undefined]);
  const prompt = "user:\nHello\n\nassistant:\n";
  for (const [stop, left] of [["\nuser:"], ["end", ["end"]], [["\nuser:", "end"], ["end"]], [null], [undefined]]) {
    await send("http://x", { body: JSON.stringify({ prompt, stop }) });
    assert.deepEqual(JSON.parse(sent.at(-1)), { prompt: "Hello", ...(left && { stop: left }) });
  }
});

test("wrong arguments of the middleware", () => {
  const wrong = [
    [undefined, /^options: expected an object, found undefined$/],
    [null, /^options: expected an object, found null$/],
    [{}, /^model: expected a Model, found undefined\n {2}= next: make one from the chat template/],
    [{ model: "qwen3" }, /^model: expected a Model, found string/],
    [{ model: new (class Model {})() }, /^model: this Model is of another copy of unjinja\n {2}= next: /],
    [{ model, grammar: "gbnf" }, /^grammar: expected an object, found string/],
    [{ model, grammar: { kind: "gbnf" } }, /^grammar\.providerOptions: expected a function/],
    [{ model, think: true }, /^think: there is no option of this name\n {2}= next: use one of model, /],
  ];
  for (const [options, text] of wrong) {
    const refused = (error) => error instanceof RequestError && text.test(error.message);
    assert.throws(() => chatTemplateMiddleware(options), refused, String(text));
  }
});

test("a loop of two steps with version 6 of the AI SDK", async () => {
  const [six, { MockLanguageModelV3 }] = await Promise.all([import("ai6"), import("ai6/test")]);
  const inner = new MockLanguageModelV3(writes([CALL, ANSWER]));
  const model6 = six.wrapLanguageModel({ model: inner, middleware: chatTemplateMiddleware({ model }) });
  const asked = { model: model6, tools: { get_weather: six.tool(weather) }, prompt: "Rain?", stopWhen: six.stepCountIs(5) };
  const whole = await six.generateText(asked);
  const streamed = six.streamText(asked);
  for (const steps of [whole.steps, await streamed.steps]) {
    assert.deepEqual(
      steps.map(({ text, reasoningText, finishReason }) => [text, reasoningText, finishReason]),
      [
        ["I look.", "Rain?", "tool-calls"],
        ["It rains in Zürich 🌧.", "Now I know.", "stop"],
      ],
    );
    assert.deepEqual(steps[0].toolCalls[0].input, { city: "Zürich 🌧", days: 2 });
  }
});
