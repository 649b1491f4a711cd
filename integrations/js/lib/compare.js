// Two templates, compared.

import { objectOf, wrong } from "./arguments.js";
import { Model } from "./model.js";
import { INSIDE, instance, NUMBER } from "./runtime.js";

/** A model of a template, and whether it was made here. */
function modelOf(value, inside, name) {
  if (typeof value === "string") return [Model.fromTemplate(value), true];
  if (!(value instanceof Model)) {
    throw wrong(name, "the text of a template or a Model", value);
  }
  // One that was made before the large module took the place of the small one.
  return value[INSIDE] === inside ? [value, false] : [Model.fromJSON(value.toJSON()), true];
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
    return inside.call("compare", 0, { ...objectOf(options), $old, $new });
  } finally {
    for (const model of made) model.dispose();
  }
}
