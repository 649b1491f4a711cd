// Values as JSON, on their way into the module.

import { RequestError } from "./errors.js";

// The escapes of a text in JSON: two halves of a character, one half, and others.
const ESCAPES = /\\(?:u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|u(d[89a-f][0-9a-f]{2})|[^])/gi;

/** JSON in which half a character is replaced by U+FFFD, as in texts that are encoded: Rust's texts have no such halves. */
export function wellFormed(text) {
  if (!/\\ud/i.test(text)) return text;
  return text.replace(ESCAPES, (escape, _, half) => (half === undefined ? escape : "\ufffd"));
}

const NAME = /^[\p{L}_$][\p{L}\p{N}_$]*$/u;

function stepTo(name, inArray) {
  if (inArray) return `[${name}]`;
  return NAME.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}

/** Where a value has something without a form in JSON, and what that is. */
function problemOf(value, path, around) {
  if (typeof value === "bigint") return [path, "a BigInt"];
  if (typeof value !== "object" || value === null) return undefined;
  if (around.includes(value)) return [path, "an object that is within itself"];
  if (typeof value.toJSON === "function") {
    try {
      JSON.stringify(value);
      return undefined;
    } catch (error) {
      return [path, error?.message ?? String(error)];
    }
  }
  around.push(value);
  for (const name of Object.keys(value)) {
    const found = problemOf(value[name], path + stepTo(name, Array.isArray(value)), around);
    if (found !== undefined) return found;
  }
  around.pop();
  return undefined;
}

function located(values, name, error) {
  try {
    const found = problemOf(values, name, []);
    if (found !== undefined) return found;
  } catch {
    // A value that nests too deep, or that cannot be read.
  }
  return [name || Object.keys(values).join(", "), String(error?.message ?? error).split("\n")[0]];
}

/** A value as JSON: arguments by their names, or the one of this name. What has no form in JSON is an error with its place. */
export function jsonOf(values, name = "") {
  try {
    return wellFormed(JSON.stringify(values) ?? "null");
  } catch (error) {
    const [path, why] = located(values, name, error);
    throw new RequestError(`${path.replace(/^\./, "")}: it has no form in JSON: ${why}\n  = next: pass what JSON can express`, {
      cause: error,
    });
  }
}
