// transformers.js: its tokenizer, its streamer and its pipeline are real; only the model is told what to write.

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";

import { TextGenerationPipeline, TextStreamer } from "@huggingface/transformers";
import { Model } from "unjinja";

import { template, tinyModel, tinyTokenizer, tools } from "./tiny.js";

const templates = join(process.env.UNJINJA_ROOT, "templates");
const OUTPUT =
  '<think>\nRain ?\n</think>\n\nI look . 🌧 !\n<tool_call>\n' +
  '{"name": "get_weather", "arguments": {"city": "Zürich 🌧 !", "note": "a , b"}}\n</tool_call><|im_end|>';
const special = ["<|im_start|>", "<|im_end|>", "<think>", "</think>", "<tool_call>", "</tool_call>"];
const tokenizer = tinyTokenizer({ template: template("qwen3"), special, config: { eos_token: "<|im_end|>" } });
const model = Model.fromTokenizerConfig(tokenizer.config);
const prompt = model.prompt([{ role: "user", content: "Rain?" }], { tools });

/** What the streamer hands out for an output. */
async function streamed(output, options) {
  const generator = new TextGenerationPipeline({ task: "text-generation", model: tinyModel(tokenizer, [output]), tokenizer });
  const pieces = [];
  const streamer = new TextStreamer(tokenizer, { skip_prompt: true, callback_function: (text) => pieces.push(text), ...options });
  const [{ generated_text: text }] = await generator(prompt.text, {
    add_special_tokens: false,
    return_full_text: false,
    streamer,
  });
  assert.deepEqual(generator.model.prompts, [prompt.text]);
  return { pieces, text };
}

test("the streamer hands out the whole output, if it is told to", async () => {
  const { pieces, text } = await streamed(OUTPUT, { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  assert.equal(pieces.join(""), OUTPUT);
  assert.ok(pieces.length > 5);
  const stream = model.stream({ prompt, tools });
  for (const piece of pieces) stream.push(piece);
  stream.finish();
  const { reasoningContent, content, toolCalls } = stream.message;
  assert.deepEqual([reasoningContent, content], ["Rain ?", "I look . 🌧 !"]);
  assert.deepEqual(toolCalls[0].argumentsValue(), { city: "Zürich 🌧 !", note: "a , b" });
  // What the pipeline returns has lost the markers. The page says so.
  assert.deepEqual(model.parse(text, { prompt, tools }).toolCalls, []);
  // And so has the streamer by default, which changes spaces as well.
  const usual = await streamed(OUTPUT, { skip_special_tokens: false });
  assert.notEqual(usual.pieces.join(""), OUTPUT);
});

test("what `generate` returns is decoded with its special tokens", async () => {
  const fake = tinyModel(tokenizer, [OUTPUT]);
  const inputs = tokenizer(prompt.text, { add_special_tokens: false });
  const all = (await fake.generate(inputs)).tolist()[0];
  const written = all.slice(inputs.input_ids.dims[1]);
  const text = tokenizer.decode(written, { skip_special_tokens: false, clean_up_tokenization_spaces: false });
  assert.equal(text, OUTPUT);
  assert.equal(model.parse(text, { prompt, tools }).toolCalls.length, 1);
});

test("prompts are those of `apply_chat_template`", (t) => {
  const call = { id: "abcdefghi", type: "function", function: { name: "get_weather", arguments: { city: "Paris" } } };
  const conversations = [
    [{ role: "user", content: "Hello!" }],
    [
      { role: "system", content: "Be short." },
      { role: "user", content: "Hello!" },
      { role: "assistant", content: "Hi." },
      { role: "user", content: "Rain?" },
    ],
    [
      { role: "user", content: "Rain?" },
      { role: "assistant", content: "", tool_calls: [call] },
      { role: "tool", tool_call_id: "abcdefghi", name: "get_weather", content: "rain" },
    ],
  ];
  const config = { bos_token: "<s>", eos_token: "</s>" };
  const differ = [];
  let equal = 0;
  let failed = 0;
  const files = readdirSync(templates).filter((file) => file.endsWith(".jinja"));
  for (const name of files.map((file) => file.slice(0, -".jinja".length))) {
    const theirs = tinyTokenizer({ template: template(name), special, config });
    const ours = Model.fromTokenizerConfig(theirs.config);
    for (const [at, messages] of conversations.entries()) {
      const given = at === 2 ? { tools } : {};
      let expected;
      try {
        expected = theirs.apply_chat_template(messages, { tokenize: false, add_generation_prompt: true, ...given });
      } catch {
        failed += 1;
        continue;
      }
      // Theirs adds an object to a text, which Python refuses.
      if (expected.includes("[object Map]")) differ.push(`${name}, conversation ${at + 1}: an object in a text`);
      else if (ours.prompt(messages, { ...given, asGiven: true }).text === expected) equal += 1;
      else differ.push(`${name}, conversation ${at + 1}`);
    }
    ours.dispose();
  }
  t.diagnostic(`${equal} prompts are equal, and transformers.js cannot render ${failed}`);
  // The second writes a dictionary into a text, which transformers.js does as JSON and Python with single quotes.
  assert.deepEqual(differ, ["call_id_marker, conversation 3: an object in a text", "python_dict, conversation 3"]);
  assert.ok(equal >= 119, `${equal} prompts are equal`);
});
