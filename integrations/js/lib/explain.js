// What is known of a template, also of one of which no model can be made.

import { textOf } from "./arguments.js";
import { CONFIG, configOf, explained } from "./model.js";
import { instance } from "./runtime.js";

function explain(options, given) {
  const inside = instance();
  const { values, output } = explained(inside, options);
  return inside.call("explain", 0, { ...values, ...given }, output);
}

export function explainTemplate(text, options = {}) {
  return explain(options, { $text: textOf(text, "text") });
}

export function explainTokenizerConfig(config, options = {}) {
  const text = configOf(config);
  return explain(options, { $text: typeof text === "string" ? text : new TextDecoder().decode(text), $file: CONFIG });
}
