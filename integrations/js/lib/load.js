// How the module is loaded.

import { isReady, useModule } from "./runtime.js";

let loading;

/** Compiles the module of a source: its bytes, a compiled module, a response, or where it is. */
async function compiledOf(source) {
  const from = await source;
  if (from instanceof WebAssembly.Module) return from;
  if (from instanceof ArrayBuffer || ArrayBuffer.isView(from)) return WebAssembly.compile(from);
  const response = typeof Response === "function" && from instanceof Response ? from : await fetch(from);
  if (!response.ok) {
    throw new Error(`${response.url}: the module cannot be loaded: ${response.status} ${response.statusText}`);
  }
  // A server that does not know the type `application/wasm` is no reason to fail.
  return WebAssembly.compile(await response.arrayBuffer());
}

/** Loads the module, once. Another call returns the same promise, unless the first failed. */
export function load(source) {
  if (isReady()) return Promise.resolve();
  loading ??= compiledOf(source).then(useModule);
  loading.catch(() => {
    loading = undefined;
  });
  return loading;
}
