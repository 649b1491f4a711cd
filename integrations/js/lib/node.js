// The package in Node.js, Deno and Bun: the module is read from disk at first use, so `init` may be left out. It is the one that has
// everything, because nobody downloads it.

import { readFileSync } from "node:fs";

import { notReady } from "./errors.js";
import { load } from "./load.js";
import { haveFull, whenNeeded } from "./runtime.js";

export * from "./api.js";

const FILE = "unjinja-full.wasm";

function bytes() {
  try {
    return readFileSync(new URL("./unjinja-full.wasm", import.meta.url));
  } catch (cause) {
    const next =
      "leave `unjinja` out of the bundle (`serverExternalPackages` of Next.js, `external` of others), or `await init(bytes)` first";
    throw notReady(`${FILE} is not next to its code, which a bundler may have moved: ${cause.message}`, next, cause);
  }
}

whenNeeded(() => {
  const found = bytes();
  try {
    return new WebAssembly.Module(found);
  } catch (cause) {
    throw notReady(`${FILE} cannot be compiled: ${cause.message}`, "install the package again", cause);
  }
}, FILE);

export async function init(source) {
  if (source === undefined) haveFull();
  else await load(source, { replaces: true });
}

export default init;
