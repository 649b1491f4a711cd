// The package in Node.js, Deno and Bun: the module is read from disk at first use, so `init` may be left out. It is the one that has
// everything, because nobody downloads it.

import { readFileSync } from "node:fs";

import { load } from "./load.js";
import { instance, whenNeeded } from "./runtime.js";

export * from "./api.js";

const file = new URL("./unjinja-full.wasm", import.meta.url);

whenNeeded(() => new WebAssembly.Module(readFileSync(file)));

export async function init(source) {
  if (source === undefined) instance();
  else await load(source);
}

export default init;
