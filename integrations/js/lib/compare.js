// Two templates, compared.

import { RequestError } from "./errors.js";
import { Model } from "./model.js";
import { INSIDE, instance, NUMBER } from "./runtime.js";

/** A model of a template, and whether it was made here. */
function modelOf(value, inside, name) {
  if (typeof value === "string") return [Model.fromTemplate(value), true];
  if (!(value instanceof Model)) {
    throw new TypeError(`${name}: expected the text of a template or a Model, found ${value === null ? "null" : typeof value}`);
  }
  if (value[INSIDE] !== inside) throw new RequestError(`${name}: this is of another module; make it anew`);
  return [value, false];
}

export function compareTemplates(a, b, options = {}) {
  const inside = instance();
  const made = [];
  try {
    const [$old, $new] = [[a, "a"], [b, "b"]].map(([value, name]) => {
      const [model, isNew] = modelOf(value, inside, name);
      if (isNew) made.push(model);
      return model[NUMBER];
    });
    return inside.call("compare", 0, { ...options, $old, $new });
  } finally {
    for (const model of made) model.dispose();
  }
}
