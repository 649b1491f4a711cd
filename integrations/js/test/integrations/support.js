// What the tests of the integrations share. They run in a folder of their own, where the packed package is installed, so
// UNJINJA_ROOT says where the repository is.

import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A template of the project. */
export function template(name) {
  return readFileSync(join(process.env.UNJINJA_ROOT, "templates", `${name}.jinja`), "utf8");
}

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
