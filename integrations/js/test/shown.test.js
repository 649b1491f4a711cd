// What this package shows is what Rust shows: explanations, whose text each piece of a prompt is, and the spans of outputs. .ci/js has
// Rust write the files.

import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import test from "node:test";

import { compareTemplates, explainTemplate, explainTokenizerConfig, Model, Tools } from "../lib/node.js";
import { LoadError, RenderError, RequestError } from "../lib/node.js";
import { CALL, pieces, plain, SHORT, template, WEATHER } from "./support.js";

const folder = process.env.UNJINJA_REFERENCE;
const skip = !folder && "UNJINJA_REFERENCE is not set";

/** Runs a check with each line of a file. */
async function each(t, file, least, check) {
  let count = 0;
  for await (const line of createInterface({ input: createReadStream(`${folder}/${file}.jsonl`) })) {
    check(JSON.parse(line));
    count += 1;
  }
  assert.ok(count >= least, `${count} lines are too few to show anything`);
  t.diagnostic(`${count} ${file}`);
}

test("explanations are those of Rust", { skip }, (t) =>
  each(t, "explanations", 80, ({ id, text, load, options, explanation }) => {
    assert.equal(explanation.kind, "template");
    assert.ok(explanation.comparisons.length > 5, `${id}: ${explanation.comparisons.length} comparisons`);
    assert.deepEqual(explainTemplate(text, { ...load, ...options }), explanation, id);
    const model = Model.fromTemplate(text, load);
    assert.deepEqual(model.explain(options), explanation, `${id}, of a model`);
    const again = Model.fromJSON(plain(model));
    assert.deepEqual(again.explain(options), explanation, `${id}, of a model from a state`);
    for (const one of [model, again]) one.dispose();
  }),
);

test("the pieces of prompts are those of Rust", { skip }, (t) =>
  each(t, "prompts", 40, ({ id, text, load, messages, tools, parts }) => {
    const model = Model.fromTemplate(text, load);
    if (parts.error !== undefined) {
      assert.throws(() => model.prompt(messages, { tools }), RenderError, id);
      return;
    }
    const prompt = model.prompt(messages, { tools });
    const shown = prompt.parts.map(({ start, end, ...rest }) => ({ text: prompt.text.slice(start, end), ...rest }));
    assert.deepEqual(shown, parts, id);
    const ends = prompt.parts.map(({ end }) => end);
    assert.deepEqual(prompt.parts.map(({ start }) => start), [0, ...ends.slice(0, -1)], id);
    assert.equal(ends.at(-1), prompt.text.length, id);
  }),
);

test("the spans of outputs are those of Rust", { skip }, (t) => {
  let [last, model] = ["", undefined];
  return each(t, "spans", 350, ({ id, template, text, load, options, output, spans }) => {
    if (template !== last) [last, model] = [template, Model.fromTemplate(text, load)];
    const found = model.spans(output, options);
    // The last diagnostics concern the whole output: streams of Rust leave them to the caller.
    const ofAll = ["stripped_tokens", "missing_call", "other_format"];
    const events = (span) => span.events.filter((event) => !ofAll.includes(event.diagnostic?.kind));
    const shown = found.map((span) => ({ text: span.text, events: events(span) }));
    assert.deepEqual(shown.filter((span) => span.text !== "" || span.events.length > 0), spans, id);
    for (const { start, end, text } of found) assert.equal(output.slice(start, end), text, id);
    assert.equal(found.map((span) => span.text).join(""), output, id);
  });
});

test("a prompt says whose text it is", () => {
  const model = Model.fromTemplate(SHORT);
  const messages = [{ role: "user", content: "Hi 👋" }, { role: "assistant", content: "Hello" }, { role: "user", content: "🌧?" }];
  const prompt = model.prompt(messages);
  messages[0].content = "changed later";
  const of = (part) => prompt.parts.filter((one) => one.part === part).map(({ start, end }) => prompt.text.slice(start, end));
  assert.deepEqual(of("content"), ["Hi 👋", "Hello", "🌧?"]);
  assert.deepEqual(of("role"), ["user", "assistant", "user"]);
  const written = prompt.parts.filter((part) => part.byModel);
  assert.deepEqual(written.map(({ start, end }) => prompt.text.slice(start, end)), ["Hello", "</>"]);
  assert.ok(written.every((part) => part.message === 1));
  assert.equal(prompt.messages[0].content, "Hi 👋");
});

test("the prompt of a request says it too, and what tools wrote", () => {
  const model = Model.fromTemplate(template("hermes"));
  const tools = new Tools([WEATHER]);
  const asked = [{ role: "user", content: "Rain?" }];
  const request = model.request(asked, { tools });
  const prompt = model.prompt(asked, { tools });
  assert.deepEqual(request.prompt.parts, prompt.parts);
  const tool = prompt.parts.filter((part) => part.part === "tool").map(({ start, end }) => prompt.text.slice(start, end));
  assert.match(tool.join(""), /get_weather/);
  const none = model.request(asked, { tools, toolChoice: "none" }).prompt;
  assert.ok(none.parts.every((part) => part.part !== "tool"));
});

test("spans come as the output arrives", () => {
  const model = Model.known("Qwen/Qwen3-0.6B");
  const whole = model.spans(CALL, { tools: [WEATHER] });
  for (const size of [1, 3, 1000]) {
    const stream = model.stream({ tools: [WEATHER] });
    const spans = pieces(CALL, size).flatMap((piece) => stream.pushSpans(piece));
    spans.push(...stream.finishSpans());
    assert.equal(spans.map((span) => span.text).join(""), CALL);
    let at = 0;
    for (const { start, end, text } of spans) {
      assert.deepEqual([start, end, CALL.slice(start, end)], [at, at + text.length, text]);
      at = end;
    }
    const text = (list, type) => list.flatMap((span) => span.events).filter((event) => event.type === type);
    assert.equal(text(spans, "reasoning").map((event) => event.text).join(""), "Rain?");
    assert.deepEqual(text(spans, "tool_call_start"), text(whole, "tool_call_start"));
    assert.deepEqual(plain(stream.message), plain(model.parse(CALL, { tools: [WEATHER] })));
    // After the end, another turn begins at 0.
    assert.deepEqual(stream.pushSpans("<think>\n").map(({ start }) => start), [0]);
  }
  const halves = model.stream({ thinking: false });
  const spans = ["a", "👋"[0], "👋"[1], "b", "👋"[0]].flatMap((piece) => halves.pushSpans(piece));
  spans.push(...halves.finishSpans());
  assert.equal(spans.map((span) => span.text).join(""), "a👋b\ufffd");
  assert.throws(() => halves.pushSpans(new Uint8Array(1)), RequestError);
});

test("a template of which no model can be made is explained", () => {
  const broken = explainTemplate("{% for m in messages %}{{ m.content }}");
  assert.deepEqual([broken.outcome, broken.comparisons], ["failed", []]);
  assert.match(broken.reason, /template\.jinja/);
  assert.equal(explainTemplate(SHORT, { name: "mine" }).file, "mine.jinja");
  const config = explainTokenizerConfig({ chat_template: SHORT, eos_token: "</>" }, { output: new TextEncoder().encode("Hé</>") });
  assert.equal(config.outcome, "supported");
  assert.deepEqual(config.output.spans.map((span) => [span.taken, span.start, span.end]), [["content", 0, 3], ["syntax", 3, 6]]);
  const spec = Model.known("Qwen/Qwen3-0.6B").explain({ output: "", prompt: "<|im_start|>assistant\n" });
  assert.deepEqual([spec.kind, spec.file, spec.output.bytes], ["spec", "qwen_qwen3_0_6b.toml", 0]);
  assert.throws(() => explainTemplate(SHORT, { outptu: "x" }), /did you mean/);
});

test("two templates are compared", () => {
  const hermes = template("hermes");
  const same = compareTemplates(hermes, `{# A comment. #}${hermes}`, { turns: 20 });
  assert.deepEqual([same.render.alike, same.read.alike, same.render.difference, same.read.changes], [true, true, null, []]);
  assert.ok(same.render.tried > 20 && same.read.turns.old.tried === 20);
  const model = Model.fromTemplate(hermes);
  const other = compareTemplates(model, hermes.replaceAll("<tool_call>", "<call>"), { turns: 20 });
  assert.deepEqual([other.render.alike, other.read.alike], [false, false]);
  const { conversation, old, new: changed } = other.render.difference;
  assert.ok(conversation.messages.length <= 2, JSON.stringify(conversation));
  assert.match(old.text, /<tool_call>/);
  assert.match(changed.text, /<call>/);
  assert.equal(other.read.changes.find(({ key }) => key === "tools.per_call_start").effect, "breaking");
  const { own, other: read } = other.read.turns.old.difference;
  assert.deepEqual([own.tool_calls.length > 0, read.tool_calls ?? []], [true, []]);
  assert.deepEqual(other.problems, { old: null, new: null });
  assert.throws(() => compareTemplates(hermes, 3), RequestError);
  assert.throws(() => compareTemplates(hermes, "{% if"), LoadError);
  assert.throws(() => compareTemplates(Model.known("Qwen/Qwen3-0.6B"), hermes), RenderError);
});

test("the parser of a model in Rust", () => {
  const qwen = Model.known("Qwen/Qwen3-0.6B");
  assert.match(qwen.rust(), /^\/\/ @generated by unjinja from the format spec `qwen_qwen3_0_6b`[^]*impl Machine for Parser/);
  const unsupported = Model.fromTemplate("{{ messages | tojson }}{% for t in tools or [] %}{{ t }}{% endfor %}");
  if (unsupported.status === "unsupported") assert.throws(() => unsupported.rust(), LoadError);
});
