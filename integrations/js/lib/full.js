// The package in browsers, workers and bundlers, with the module that has everything: grammars, faults of templates and response
// templates as well.

import { load } from "./load.js";

export * from "./api.js";

export function init(source = new URL("./unjinja-full.wasm", import.meta.url)) {
  return load(source, { full: true });
}

export default init;
