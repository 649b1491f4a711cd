// How the module is loaded.

import { notReady, RequestError } from "./errors.js";
import { isReady, useModule } from "./runtime.js";

// The first bytes of WebAssembly.
const MAGIC = [0x00, 0x61, 0x73, 0x6d];

const NEXT_ADDRESS =
  "have the server send lib/unjinja.wasm of the package (or unjinja-full.wasm) from there, or pass its address or its bytes to `init`";
const NEXT_BYTES = "pass the bytes of lib/unjinja.wasm of the package, or of unjinja-full.wasm";

async function compiled(bytes, what, next, note = "") {
  try {
    return await WebAssembly.compile(bytes);
  } catch (cause) {
    const view = ArrayBuffer.isView(bytes) ? bytes : new Uint8Array(bytes);
    const start = new Uint8Array(view.buffer, view.byteOffset, Math.min(view.byteLength, MAGIC.length));
    const isWasm = start.length === MAGIC.length && MAGIC.every((byte, at) => start[at] === byte);
    const why = isWasm ? cause.message : `it is no WebAssembly${note}`;
    throw notReady(`${what} cannot be compiled: ${why}`, next, cause);
  }
}

/** The bytes of a response. `what` says which it is. */
async function bytesOf(response, what) {
  if (!response.ok) {
    throw notReady(`${what} cannot be loaded: ${response.status} ${response.statusText}`.trim(), NEXT_ADDRESS);
  }
  try {
    return await response.arrayBuffer();
  } catch (cause) {
    throw notReady(`${what} cannot be read: ${cause.message}`, "pass a response whose body nobody has read", cause);
  }
}

async function fetched(from, what) {
  try {
    return await fetch(from);
  } catch (cause) {
    const why = cause.cause?.message ? `${cause.message} (${cause.cause.message})` : cause.message;
    throw notReady(`${what} cannot be fetched: ${why}`, NEXT_ADDRESS, cause);
  }
}

async function awaited(source) {
  try {
    return await source;
  } catch (cause) {
    throw notReady(`the promise that was given to \`init\` failed: ${cause?.message ?? cause}`, NEXT_ADDRESS, cause);
  }
}

const isOf = (value, name) => typeof globalThis[name] === "function" && value instanceof globalThis[name];

/** The module of a source, compiled, and what it is called in errors. */
async function compiledOf(source) {
  const from = await awaited(source);
  if (from instanceof WebAssembly.Module) return [from, "the module that was given"];
  if (from instanceof ArrayBuffer || ArrayBuffer.isView(from)) {
    const what = `the source of ${from.byteLength} bytes`;
    return [await compiled(from, what, NEXT_BYTES), what];
  }
  const isResponse = isOf(from, "Response");
  if (!isResponse && typeof from !== "string" && !(from instanceof URL) && !isOf(from, "Request")) {
    const found = from === null ? "null" : typeof from;
    const expected = "an address, bytes, a response or a compiled module";
    throw new RequestError(`source: expected ${expected}, found ${found}\n  = next: leave it out, or ${NEXT_BYTES}`);
  }
  const address = typeof from === "string" || from instanceof URL ? String(from) : from.url;
  const what = address === "" ? "the response" : address;
  const response = isResponse ? from : await fetched(from, what);
  // A server that does not know the type `application/wasm` is no reason to fail. One that sends a page instead of an error is.
  const bytes = await bytesOf(response, what);
  const type = response.headers.get("content-type");
  return [await compiled(bytes, what, NEXT_ADDRESS, type === null ? "" : `: the server sent ${type}`), what];
}

// What is being loaded, and whether it has to be the large module.
let loading;

/**
 * Loads the module, once. Another call waits for the same, unless that failed. The large module takes the place of the small one: what
 * was made before stays where it is.
 *
 * @param full whether it has to be the large module
 * @param replaces whether a small module that is there is no reason to do nothing
 */
export function load(source, { full = false, replaces = full } = {}) {
  if (isReady(replaces)) return Promise.resolve();
  if (loading !== undefined && (loading.full || !replaces)) return loading.done;
  const done = compiledOf(source).then(([module, what]) => useModule(module, what, full));
  const mine = { full, done };
  loading = mine;
  const over = () => {
    if (loading === mine) loading = undefined;
  };
  done.then(over, over);
  return done;
}
