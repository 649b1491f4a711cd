// web-llm: requests through its own checks, prompts through its own code, grammars through web-xgrammar.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { Model } from "unjinja";

import { CALL, template } from "./support.js";
import { config, conversation, tools } from "./web-llm-data.js";
import { accepts, CreateMLCEngine } from "./web-llm-engine.js";

const model = Model.fromTokenizerConfig(config);
const asked = [{ role: "user", content: "Rain? $& $1 {user_message}" }];
const raw = {
  ...conversation,
  system_template: "{system_message}",
  system_message: "",
  system_prefix_token_ids: undefined,
  roles: { user: "", assistant: "", tool: "" },
  role_templates: undefined,
  role_content_sep: "",
  role_empty_sep: "",
  seps: [""],
};

test("a completion is read as it streams", async () => {
  const engine = await CreateMLCEngine("any", { outputs: [CALL] });
  const prompt = model.prompt(asked, { tools });
  const stream = model.stream({ prompt, tools });
  for await (const chunk of await engine.completions.create({ prompt: prompt.text, stream: true }))
    stream.push(chunk.choices[0].text);
  stream.finish();
  assert.equal(engine.seen[0].prompt, prompt.text);
  assert.deepEqual(stream.message.toolCalls[0].argumentsValue(), { city: "Zürich 🌧", days: 2 });
});

test("with a conversation template of nothing, the message is the prompt", async () => {
  const engine = await CreateMLCEngine("any", { outputs: ["x", "x"] }, { conv_template: raw });
  const prompt = model.prompt(asked, { tools });
  await engine.chat.completions.create({ messages: [{ role: "user", content: prompt.text }], stream: true });
  assert.equal(engine.seen[0].prompt, prompt.text);
  // With the one of the model it is not: the test would see it.
  const usual = await CreateMLCEngine("any", { outputs: ["x"] }, { conv_template: conversation });
  await usual.chat.completions.create({ messages: [{ role: "user", content: prompt.text }], stream: true });
  assert.notEqual(usual.seen[0].prompt, prompt.text);
});

test("web-llm itself refuses tools of such a model", async () => {
  const engine = await CreateMLCEngine("Qwen3-0.6B-q4f16_1-MLC", { outputs: ["x"] }, { conv_template: conversation });
  await assert.rejects(
    engine.chat.completions.create({ messages: asked, tools }),
    /not supported for ChatCompletionRequest.tools/,
  );
});

test("grammars of forced calls compile, take calls and refuse others, for all templates of the project", async () => {
  const files = readdirSync(join(process.env.UNJINJA_ROOT, "templates")).filter((file) => file.endsWith(".jinja"));
  let count = 0;
  for (const name of files.map((file) => file.slice(0, -".jinja".length))) {
    const known = Model.fromTemplate(template(name), { bosToken: "<s>", eosToken: "</s>" });
    const call = { id: "call00000", type: "function", function: { name: "get_weather", arguments: '{"city": "Paris"}' } };
    let output;
    const prompt = known.prompt(asked, { tools, thinking: false });
    try {
      const messages = [...asked, { role: "assistant", content: "", tool_calls: [call] }];
      const whole = known.prompt(messages, { tools, thinking: false, addGenerationPrompt: false }).text;
      if (!whole.startsWith(prompt.text)) continue;
      output = whole.slice(prompt.text.length);
    } catch {
      continue;
    }
    if (known.parse(output, { prompt, tools }).toolCalls.length !== 1) continue;
    // Without what ends the turn: the engine stops there.
    const { text: grammar, stops, prefill } = known.grammar({ prompt, tools, toolChoice: "required" });
    if (prefill !== "") continue;
    for (const stop of stops) output = output.trimEnd().endsWith(stop) ? output.slice(0, output.lastIndexOf(stop)) : output;
    // A call that is demanded comes first, also where the template writes the tags of an empty answer before it.
    output = output.replace(/^<[^<>/\w]*(\w+)[^<>]*><[^<>]*\/\1[^<>]*>/, "");
    const format = { type: "grammar", grammar };
    assert.ok(await accepts(format, output), `${name} refuses ${JSON.stringify(output)}`);
    assert.ok(!(await accepts(format, output.replace("get_weather", "get_time"))), `${name} takes a tool that was not offered`);
    assert.ok(!(await accepts(format, "I do not call.")), `${name} takes an answer without a call`);
    count += 1;
    known.dispose();
  }
  assert.ok(count >= 25, `${count} templates are too few`);
});

test("grammars of forced calls compile for all supported models", async () => {
  const specs = readdirSync(join(process.env.UNJINJA_ROOT, "generated/specs")).filter((file) => /^[^.]+\.toml$/.test(file));
  let count = 0;
  for (const name of specs.map((file) => file.slice(0, -".toml".length))) {
    const known = Model.known(name);
    let grammar;
    try {
      grammar = known.grammar({ tools, toolChoice: "required" }).text;
    } catch (error) {
      assert.match(error.message, /this format has no tool calls/);
      continue;
    }
    // It fails if it does not compile; no output of a call ends in this way.
    assert.equal(await accepts({ type: "grammar", grammar }, "\0"), false, name);
    known.dispose();
    count += 1;
  }
  assert.ok(count >= 60, `${count} models are too few`);
});

test("web-xgrammar 0.1.27 refuses structural tags for XGrammar 0.2", async () => {
  const { text } = model.grammar({ kind: "xgrammar", tools, toolChoice: "required" });
  await assert.rejects(accepts({ type: "structural_tag", structural_tag: text }, CALL));
});
