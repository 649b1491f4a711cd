// What a state of the page may be. Whatever comes from a link or from a field with JSON is checked here, before it is drawn or saved.

/** The values of what is chosen from a list. */
export const CHOICES = {
  tab: ["turn", "parse", "prompt", "check", "compare"],
  size: [1, 4, 16, 64],
  thinking: ["", "on", "off"],
  toolChoice: ["auto", "required", "none"],
};

// `config`: a text that should be a `tokenizer_config.json`, and of which no template can be read.
const KINDS = ["template", "spec", "known", "config"];

// JSON that is nested deeper than this is read neither by the package nor by every engine of JavaScript.
const DEEPEST = 100;

/** @typedef {(value: unknown, path: string) => string | null} Rule what is wrong with a value; null if nothing is */

function described(value) {
  if (value === undefined) return "missing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object" && value !== null) return "an object";
  const text = JSON.stringify(value);
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** @returns {Rule} */
const rule = (holds, expected) => (value, path) =>
  holds(value) ? null : `\`${path}\` is ${described(value)}; expected ${expected}`;

const text = rule((value) => typeof value === "string", "a text");
const flag = rule((value) => typeof value === "boolean", "true or false");
const place = rule((value) => value === null || (Number.isSafeInteger(value) && value >= 0), "a whole number, or null");
const oneOf = (values) => rule((value) => values.includes(value), `one of ${values.map((one) => JSON.stringify(one)).join(", ")}`);
const isObject = rule((value) => typeof value === "object" && value !== null && !Array.isArray(value), "an object");
const isList = rule(Array.isArray, "a list");

/** The rule for values that may be absent. */
const absentOr = (other) => (value, path) => (value === undefined || value === null ? null : other(value, path));

/** The first problem of some. */
const first = (problems) => problems.find((problem) => problem !== null) ?? null;

const objectOf = (rules) => (value, path) =>
  isObject(value, path) ?? first(Object.entries(rules).map(([key, one]) => one(value[key], `${path}.${key}`)));
const listOf = (one) => (value, path) => isList(value, path) ?? first(value.map((item, at) => one(item, `${path}[${at}]`)));

const source = objectOf({ kind: oneOf(KINDS), text, name: text, tokens: absentOr(isObject) });
// What else a message has is shown as text or as JSON, whatever it is.
const message = objectOf({ role: text, tool_calls: absentOr(listOf(objectOf({ function: absentOr(isObject) }))) });

const RULES = {
  tab: oneOf(CHOICES.tab),
  source,
  tools: text,
  output: text,
  over: flag,
  begun: text,
  size: oneOf(CHOICES.size),
  at: place,
  messages: listOf(message),
  generation: flag,
  thinking: oneOf(CHOICES.thinking),
  variables: text,
  toolChoice: oneOf(CHOICES.toolChoice),
  other: source,
};

/** The names of what a state holds. */
export const KEYS = Object.keys(RULES);

function isShallow(value, levels) {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((item) => isShallow(item, levels - 1));
}

/**
 * What is wrong with some values of a state: where, what is there and what is expected. Null if they can be drawn and saved.
 *
 * @param {object} values
 * @returns {string | null}
 */
export function wrongWith(values) {
  const one = (key) =>
    isShallow(values[key], DEEPEST) ? RULES[key](values[key], key) : `\`${key}\` is nested deeper than ${DEEPEST} levels`;
  return first(KEYS.filter((key) => Object.hasOwn(values, key)).map(one));
}
