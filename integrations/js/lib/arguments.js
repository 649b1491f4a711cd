// Checks of arguments. An error says which argument it is, what was expected and what was found.

import { RequestError } from "./errors.js";

/** The error for an argument that is something else. */
export function wrong(name, expected, value, next) {
  const found = value === null ? "null" : Array.isArray(value) ? "an array" : typeof value;
  return new RequestError(`${name}: expected ${expected}, found ${found}${next === undefined ? "" : `\n  = next: ${next}`}`);
}

/** A text that an argument must be. */
export function textOf(value, name) {
  if (typeof value === "string") return value;
  throw wrong(name, "a string", value);
}

/** Text or bytes, as the module takes them. */
export function pieceOf(piece, name) {
  if (typeof piece === "string" || piece instanceof Uint8Array) return piece;
  if (piece instanceof ArrayBuffer) return new Uint8Array(piece);
  throw wrong(name, "a string or a Uint8Array", piece);
}

/** An object with options. The module checks their names and values. */
export function objectOf(options, name = "options") {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) return options;
  throw wrong(name, "an object", options);
}

/** Options of which the module is told only parts: they have no other names than these. */
export function onlyOptions(options, names) {
  for (const name in objectOf(options)) {
    if (names.includes(name)) continue;
    const known = names.length === 1 ? names[0] : `one of ${names.join(", ")}`;
    throw new RequestError(`${name}: there is no option of this name\n  = next: use ${known}`);
  }
  return options;
}

const OF_TOKENS = ["special"];

/** The option `special` of a token. */
export function specialOf(options) {
  const { special } = onlyOptions(options, OF_TOKENS);
  if (typeof special === "boolean") return special;
  if (special === undefined || special === null) return false;
  throw wrong("special", "true or false", special);
}

/** An object of a class of the package. `called` is the name of the class: bundlers shorten the one that it has. */
export function instanceOf(type, called, value, name, next) {
  if (value instanceof type) return value;
  if (value?.constructor?.name === called) {
    const other = "install one copy, which all packages use";
    throw new RequestError(`${name}: this ${called} is of another copy of unjinja\n  = next: ${other}`);
  }
  throw wrong(name, `a ${called}`, value, next);
}
