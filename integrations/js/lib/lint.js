// Faults of templates.

import { objectOf, textOf } from "./arguments.js";
import { CONFIG, configOf } from "./model.js";
import { instance } from "./runtime.js";

export function lintTemplate(text, options = {}) {
  return instance().call("lint", 0, objectOf(options), textOf(text, "text"));
}

export function lintTokenizerConfig(config, options = {}) {
  return instance().call("lint", 0, { ...objectOf(options), $file: CONFIG }, configOf(config));
}
