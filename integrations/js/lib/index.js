// The package in browsers, workers and bundlers: `await init()` comes first. The module is the small one, without grammars.

import { load } from "./load.js";

export * from "./api.js";

export function init(source = new URL("./unjinja.wasm", import.meta.url)) {
  return load(source);
}

export default init;
