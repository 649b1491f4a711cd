// The package in Node.js, Deno and Bun: the module is read from disk at first use, so `init` may be left out. It is the one that has
// everything, because nobody downloads it.

import { readFileSync } from "node:fs";

import { StateError } from "./errors.js";
import { load } from "./load.js";
import { instance, whenNeeded } from "./runtime.js";

export * from "./api.js";

function bytes() {
  try {
    return readFileSync(new URL("./unjinja-full.wasm", import.meta.url));
  } catch (cause) {
    const next =
      "leave `unjinja` out of the bundle (`serverExternalPackages` of Next.js, `external` of others), or `await init(bytes)` first";
    const why = `unjinja-full.wasm is not next to its code, which a bundler may have moved: ${cause.message}`;
    throw new StateError(`unjinja is not ready: ${why}\n  = next: ${next}`, { cause });
  }
}

whenNeeded(() => new WebAssembly.Module(bytes()));

export async function init(source) {
  if (source === undefined) instance();
  else await load(source);
}

export default init;
