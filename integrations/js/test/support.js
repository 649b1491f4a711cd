// What the tests share.

import { readFileSync } from "node:fs";

export const ROOT = new URL("../../../", import.meta.url);

/** A template of the project. */
export function template(name) {
  return readFileSync(new URL(`templates/${name}.jinja`, ROOT), "utf8");
}

export const WEATHER = {
  type: "function",
  function: {
    name: "get_weather",
    description: "The weather of a place.",
    parameters: {
      type: "object",
      properties: { city: { type: "string" }, days: { type: "integer" } },
      required: ["city"],
    },
  },
};

/** A template that is as short as one can be. */
export const SHORT =
  "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/** An output of Qwen3 with a call. */
export const CALL =
  '<think>\nRain?\n</think>\n\nI look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 🌧", "days": 2}}\n</tool_call>';

/** A text in pieces of so many characters. */
export function pieces(text, size) {
  const characters = [...text];
  const parts = [];
  for (let at = 0; at < characters.length; at += size) parts.push(characters.slice(at, at + size).join(""));
  return parts;
}

/** A value as JSON sees it: without classes. */
export function plain(value) {
  return JSON.parse(JSON.stringify(value));
}

/** The bytes of a GGUF file with these keys, whose values are texts, numbers and lists of texts. */
export function gguf(keys, weights = 0) {
  const parts = [];
  const u32 = (value) => parts.push(new Uint8Array(new Uint32Array([value]).buffer));
  const u64 = (value) => parts.push(new Uint8Array(new BigUint64Array([BigInt(value)]).buffer));
  const text = (value) => {
    const bytes = new TextEncoder().encode(value);
    u64(bytes.length);
    parts.push(bytes);
  };
  parts.push(new TextEncoder().encode("GGUF"));
  u32(3);
  u64(0);
  u64(Object.keys(keys).length);
  for (const [key, value] of Object.entries(keys)) {
    text(key);
    if (typeof value === "string") {
      u32(8);
      text(value);
    } else if (typeof value === "number") {
      u32(4);
      u32(value);
    } else {
      u32(9);
      u32(8);
      u64(value.length);
      value.forEach(text);
    }
  }
  parts.push(new Uint8Array(weights));
  return new Blob(parts);
}
