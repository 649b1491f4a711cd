// A tokenizer with a token for each byte, and a model that writes what it is told: no model can be downloaded in the tests. The model is
// faked where transformers.js would ask it, in `generate`; all else is its own code.

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { PreTrainedTokenizer, Tensor } from "@huggingface/transformers";

// How byte-level tokenizers write a byte.
const visible = [...Array(256).keys()].filter(
  (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174,
);
const bytes = [...Array(256).keys()].map((byte) => {
  const at = visible.indexOf(byte);
  return String.fromCodePoint(
    at >= 0 ? byte : 256 + [...Array(256).keys()].filter((other) => !visible.includes(other)).indexOf(byte),
  );
});

/** A tokenizer with these special tokens, and other tokens of their own. */
export function tinyTokenizer({ template, special, added = [], config = {} }) {
  const names = [...special, ...added];
  const tokens = names.map((content, at) => ({
    id: 256 + at,
    content,
    special: at < special.length,
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
  }));
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  const json = {
    version: "1.0",
    added_tokens: tokens,
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: { type: "BPE", vocab: Object.fromEntries([...bytes, ...names].map((text, id) => [text, id])), merges: [] },
  };
  return new PreTrainedTokenizer(json, { tokenizer_class: "PreTrainedTokenizer", chat_template: template, ...config });
}

/** A model that writes these outputs, one after the other. */
export function tinyModel(tokenizer, outputs) {
  return {
    config: {},
    prompts: [],
    async generate({ input_ids, streamer }) {
      const prompt = input_ids.tolist()[0];
      this.prompts.push(tokenizer.decode(prompt, { skip_special_tokens: false }));
      const written = tokenizer.encode(outputs.shift(), { add_special_tokens: false }).map(BigInt);
      streamer?.put([prompt]);
      for (const token of written) streamer?.put([[token]]);
      streamer?.end();
      const all = [...prompt, ...written];
      return new Tensor("int64", BigInt64Array.from(all), [1, all.length]);
    },
  };
}

/** A template of the project. */
export function template(name) {
  return readFileSync(join(process.env.UNJINJA_ROOT, "templates", `${name}.jinja`), "utf8");
}

export const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a place.",
      parameters: { type: "object", properties: { city: { type: "string" }, note: { type: "string" } }, required: ["city"] },
    },
  },
];
