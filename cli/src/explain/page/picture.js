// What a turn of a spec looks like: a tree of literals, holes, optional and repeated parts. It is made from the keys of the spec alone,
// and knows no model. Nothing here draws.

/**
 * @typedef {{ type: "literal", key: string, text: string }} Literal text that is always the same
 * @typedef {{ type: "hole", kind: string, label: string }} Hole a place for a value
 * @typedef {{ type: "optional" | "repeat", caption: string, parts: Part[], separator?: Literal }} Group
 * @typedef {Literal | Hole | Group} Part
 */

const hole = (kind, label) => ({ type: "hole", kind, label });
const group = (type, caption, parts, separator) => ({ type, caption, parts: joined(parts.flat()), separator });

/** Parts in which literals of one key that follow each other are one literal. */
function joined(parts) {
  return parts.reduce((all, part) => {
    const last = all.at(-1);
    if (part.type !== "literal" || last?.type !== "literal" || last.key !== part.key) return [...all, part];
    return [...all.slice(0, -1), { ...last, text: last.text + part.text }];
  }, []);
}

/** The keys of a spec, as `explain` lists them. */
class Keys {
  /** @param {readonly { key: string, value: unknown }[]} keys */
  constructor(keys) {
    this.values = new Map(keys.map(({ key, value }) => [key, value]));
  }

  /** @param {string} key */
  text(key) {
    const value = this.values.get(key);
    return typeof value === "string" ? value : "";
  }

  /** @param {string} key */
  flag(key) {
    return this.values.get(key) === true;
  }

  /** @param {string} key */
  list(key) {
    const value = this.values.get(key);
    return Array.isArray(value) ? value : [];
  }

  /** The literal of a marker; nothing if it is empty. `${name}` in it is a hole for the name. */
  literal(key) {
    const text = this.text(key);
    if (text === "") return [];
    const pieces = text.split("${name}").map((piece) => ({ type: "literal", key, text: piece }));
    return pieces
      .flatMap((piece, at) => (at === 0 ? [piece] : [hole("function_name", "name"), piece]))
      .filter((part) => part.text !== "");
  }
}

/**
 * The parts of an assistant's turn, in order.
 *
 * @param {readonly { key: string, value: unknown }[]} list the keys of the spec
 * @returns {Part[]}
 */
export function pictureOf(list) {
  if (list.length === 0) return [];
  const keys = new Keys(list);
  const calls = callsOf(keys);
  const answer = answerOf(keys);
  const body = keys.flag("content.after_calls") ? [calls, answer] : [answer, calls];
  return joined([keys.literal("turn.assistant_start"), reasoningOf(keys), ...body, keys.literal("turn.end")].flat());
}

function reasoningOf(keys) {
  const mode = keys.text("reasoning.mode");
  if (mode === "" || mode === "none") return [];
  const when = mode === "tools_only" ? "if the model thinks; earlier turns show it only with calls" : "if the model thinks";
  const thinks = [keys.literal("reasoning.start"), hole("reasoning", "reasoning"), keys.literal("reasoning.end")];
  const parts = [group("optional", when, thinks)];
  const without = keys.literal("reasoning.empty");
  if (without.length > 0) parts.push(group("optional", "if it does not think", without));
  return parts;
}

const WRAPPED = {
  wrapped_with_reasoning: "in turns with reasoning",
  wrapped_with_calls: "in turns with calls",
};

function answerOf(keys) {
  const mode = keys.text("content.mode");
  const [start, end] = [keys.literal("content.start"), keys.literal("content.end")];
  const label = keys.literal("content.label");
  const parts = label.length > 0 ? [group("optional", "some turns", label)] : [];
  const answer = [hole("content", "answer")];
  // A turn of several messages: an answer that is not the last of them ends otherwise.
  const [more, next] = [keys.literal("content.header.message_end"), keys.literal("content.header.start")];
  if (more.length > 0) {
    const ends = [group("optional", "if a call follows", [...more, ...next]), group("optional", "if nothing follows", end)];
    return [
      ...parts,
      group("optional", "if there is an answer", [...start, ...answer, ...ends.filter((one) => one.parts.length > 0)]),
    ];
  }
  if (mode === "always_wrapped") return [...parts, group("optional", "if there is an answer", [...start, ...answer, ...end])];
  const around = (marker) => (marker.length > 0 ? [group("optional", WRAPPED[mode] ?? "some turns", marker)] : []);
  return [...parts, ...around(start), ...answer, ...around(end)];
}

function callsOf(keys) {
  const format = keys.text("tools.format");
  if (format === "" || format === "none") return [];
  const array = format === "json_native" && keys.flag("tools.tools_array_wrapped");
  const syntax = (text) => [{ type: "literal", key: "tools.tools_array_wrapped", text }];
  const separator = array
    ? { type: "literal", key: "tools.tools_array_wrapped", text: ", " }
    : keys.literal("tools.separator")[0];
  const call = [keys.literal("tools.per_call_start"), FORMATS[format]?.(keys) ?? [], keys.literal("tools.per_call_end")];
  return [
    group("optional", "if the model calls tools", [
      keys.literal("tools.section_start"),
      array ? syntax("[") : [],
      group("repeat", "each call", call, separator),
      array ? syntax("]") : [],
      keys.literal("tools.section_end"),
    ]),
  ];
}

/** The place of a call's id, if it is here. */
function idOf(keys, position) {
  if (keys.text("tools.call_id.position") !== position) return [];
  return [keys.literal("tools.call_id.prefix"), hole("call_id", "id"), keys.literal("tools.call_id.suffix")].flat();
}

/** The name of the function and the markers around it. */
function nameOf(keys) {
  const name = hole("function_name", "name");
  const [prefix, suffix] = [keys.literal("tools.function.name_prefix"), keys.literal("tools.function.name_suffix")];
  if (keys.text("tools.call_id.position") === "in_name") {
    const [before, after] = [keys.literal("tools.call_id.prefix"), keys.literal("tools.call_id.suffix")];
    return [prefix, before, name, after, hole("call_id", "number"), suffix].flat();
  }
  return [idOf(keys, "pre_func_name"), prefix, name, suffix, idOf(keys, "between_func_and_args")].flat();
}

const FORMATS = {
  json_native: (keys) => {
    const named = ["tools.function.name_prefix", "tools.function.name_suffix"].some((key) => keys.text(key) !== "");
    return [named ? nameOf(keys) : [], objectOf(keys), keys.literal("tools.function.close")].flat();
  },
  tag_with_json: (keys) =>
    [
      nameOf(keys),
      keys.literal("tools.arguments.start"),
      hole("arguments", keys.flag("tools.uses_python_dicts") ? "arguments, a Python dict" : "arguments, a JSON object"),
      keys.literal("tools.arguments.end"),
      keys.literal("tools.function.close"),
      idOf(keys, "post_args"),
    ].flat(),
  tag_with_tagged: (keys) => taggedOf(keys),
  call_expression: (keys) => taggedOf(keys),
};

/** A call as a JSON object, or as a Python dict. */
function objectOf(keys) {
  const quote = keys.flag("tools.uses_python_dicts") ? "'" : '"';
  const syntax = (text) => ({ type: "literal", key: "tools.format", text });
  const args = hole("arguments", "arguments, an object");
  if (keys.flag("tools.fun_name_is_key"))
    return [syntax(`{${quote}`), hole("function_name", "name"), syntax(`${quote}: `), args, syntax("}")];
  const quoted = (kind, label) => [syntax(quote), hole(kind, label), syntax(quote)];
  const [name, argument] = [keys.text("tools.name_field"), keys.text("tools.args_field")];
  const values = {
    [name]: quoted("function_name", "name"),
    [argument]: keys.flag("tools.args_as_text") ? quoted("arguments", "arguments, JSON in a string") : [args],
    [keys.text("tools.id_field")]: quoted("call_id", "id"),
    [keys.text("tools.gen_id_field")]: quoted("call_id", "number"),
  };
  const member = (key) => [syntax(`${quote}${key}${quote}: `), ...(values[key] ?? quoted("argument_value", key))];
  const inner = keys.text("tools.function_field");
  const objectWith = (members) =>
    members.flatMap((one, at) => [...(at === 0 ? [syntax("{")] : [syntax(", ")]), ...one]).concat(syntax("}"));
  const order = keys.list("tools.parameter_order");
  if (inner === "") return objectWith((order.length > 0 ? order : [name, argument]).map(member));
  const function_ = [syntax(`${quote}${inner}${quote}: `), ...objectWith([name, argument].map(member))];
  return objectWith((order.includes(inner) ? order : [...order, inner]).map((key) => (key === inner ? function_ : member(key))));
}

/** A call whose arguments are between markers. */
function taggedOf(keys) {
  const argument = (key) => keys.literal(`tools.arguments.${key}`);
  const quote = argument("quote");
  const [other, type] = [argument("other_name_suffix"), argument("type_prefix")];
  const value = [
    quote,
    hole("argument_value", keys.text("tools.format") === "call_expression" ? "value, a literal" : "value"),
    quote,
  ];
  const repeated = argument("close_prefix");
  const one = [
    argument("name_prefix"),
    hole("argument_name", "argument"),
    type.length > 0 ? [type, hole("argument_value", "type"), argument("type_suffix")] : argument("name_suffix"),
    other.length > 0 ? group("optional", "instead, if the value is not a string", other) : [],
    argument("value_prefix"),
    ...value,
    argument("value_suffix"),
    repeated.length > 0 ? [repeated, hole("argument_name", "argument"), argument("close_suffix")] : [],
  ];
  return [
    nameOf(keys),
    argument("start"),
    group("repeat", "each argument", one.flat(), argument("separator")[0]),
    argument("end"),
    keys.literal("tools.function.close"),
    idOf(keys, "post_args"),
  ].flat();
}

/**
 * The text of a picture with a value in each hole: what the model would write. Optional parts are written if `has` says so, and
 * repeated parts once.
 *
 * @param {readonly Part[]} parts
 * @param {(hole: Hole) => string} value
 * @param {(group: Group) => boolean} has
 * @returns {string}
 */
export function written(parts, value, has) {
  const one = (part) => {
    if (part.type === "literal") return part.text;
    if (part.type === "hole") return value(part);
    return part.type === "repeat" || has(part) ? written(part.parts, value, has) : "";
  };
  return parts.map(one).join("");
}
