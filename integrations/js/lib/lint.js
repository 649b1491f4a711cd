// Faults of templates.

import { CONFIG, configOf, textOf } from "./model.js";
import { instance } from "./runtime.js";

export function lintTemplate(text, options = {}) {
  return instance().call("lint", 0, options, textOf(text, "text"));
}

export function lintTokenizerConfig(config, options = {}) {
  return instance().call("lint", 0, { ...options, $file: CONFIG }, configOf(config));
}
