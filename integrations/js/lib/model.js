// Models, requests, tools and prompts.

import { LoadError, RequestError, UnjinjaError } from "./errors.js";
import { Message, messagesOf } from "./message.js";
import { INSIDE, instance, NUMBER, Resource, run } from "./runtime.js";
import { pieceOf, Stream } from "./stream.js";

/** A rendered prompt: all of its text, and what it has of the assistant's turn. */
export class Prompt {
  #tell;
  #told;

  /** `tell` asks the module whose text each piece is. */
  constructor({ text, turn }, tell) {
    this.text = text;
    this.turn = turn;
    this.#tell = tell;
  }

  #known() {
    return (this.#told ??= this.#tell());
  }

  get parts() {
    return this.#known().parts;
  }

  get messages() {
    return this.#known().messages;
  }

  toString() {
    return this.text;
  }
}

/** Tools that were read once and are used many times. */
export class Tools extends Resource {
  constructor(tools) {
    const inside = instance();
    super(inside, inside.call("tools.new", 0, json({ tools }, ["tools"])).object);
  }

  get names() {
    return run(this, "tools.names");
  }

  toArray() {
    return run(this, "tools.list");
  }
}

/** Checks that values have a JSON form: `JSON.stringify` says what is wrong, but not where. */
function json(values, names) {
  for (const name of names) {
    if (values[name] === undefined) continue;
    try {
      JSON.stringify(values[name]);
    } catch (error) {
      throw new RequestError(`${name}: it has no form in JSON: ${error.message.split("\n")[0]}`);
    }
  }
  return values;
}

/** Options, as the module takes them: objects of the module by their numbers. */
function optionsOf(inside, options, rest = {}) {
  if (typeof options !== "object" || options === null) {
    throw new TypeError(`options: expected an object, found ${options === null ? "null" : typeof options}`);
  }
  const { tools, prompt, ...others } = options;
  const values = { ...others, ...rest };
  if (tools instanceof Tools) {
    if (tools[INSIDE] !== inside) throw new RequestError("tools: these are of another module; make them anew");
    values.$tools = tools[NUMBER];
  } else if (tools !== undefined) {
    values.tools = tools;
  }
  if (prompt instanceof Prompt) values.$turn = prompt.turn;
  else if (prompt !== undefined) values.prompt = prompt;
  return json(values, ["tools", "responseSchema", "variables", "toolChoice"]);
}

/** The name under which a `tokenizer_config.json` is reported. */
export const CONFIG = "tokenizer_config.json";

/** The bytes or the text of a `tokenizer_config.json`, which may also be given as the object in it. */
export function configOf(config) {
  if (typeof config === "string" || config instanceof Uint8Array || config instanceof ArrayBuffer) {
    return pieceOf(config, "config");
  }
  if (typeof config !== "object" || config === null) {
    throw new TypeError(`config: expected an object or its JSON, found ${config === null ? "null" : typeof config}`);
  }
  return JSON.stringify(json({ config }, ["config"]).config);
}

/** A text that an argument must be. */
export function textOf(value, name) {
  if (typeof value === "string") return value;
  throw new TypeError(`${name}: expected a string, found ${value === null ? "null" : typeof value}`);
}

/** The options of an explanation, and the output apart from them. */
export function explained(inside, { output, ...options }) {
  if (output === undefined) return { values: optionsOf(inside, options), output: "" };
  return { values: optionsOf(inside, options, { output: true }), output: pieceOf(output, "output") };
}

// How many bytes of a GGUF file are read at first: its metadata with the tokens of a tokenizer mostly fits into the second.
const FIRST = 1 << 20;

/** What is known about one chat template. */
export class Model extends Resource {
  #facts;
  #spec;

  /** Use one of the static methods. */
  constructor(inside, made) {
    if (made?.facts === undefined) {
      throw new TypeError("Model: use Model.known, Model.fromTemplate or another of the static methods");
    }
    super(inside, made.object);
    this.#facts = made.facts;
  }

  static #made(operation, values, piece) {
    const inside = instance();
    return new Model(inside, inside.call(operation, 0, values, piece));
  }

  static known(name) {
    return Model.#made("model.known", { name: textOf(name, "name") });
  }

  static fromTemplate(text, options = {}) {
    return Model.#made("model.template", options, textOf(text, "text"));
  }

  static fromTokenizerConfig(config, options = {}) {
    return Model.#made("model.file", { ...options, $file: CONFIG }, configOf(config));
  }

  static async fromGguf(file, options = {}) {
    const values = { ...options, $file: file?.name?.endsWith?.(".gguf") ? file.name : "model.gguf" };
    const blob = file instanceof Blob ? file : new Blob([pieceOf(file, "file")]);
    const start = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
    if (new TextDecoder().decode(start) !== "GGUF") {
      const text = "this is not a GGUF file: it does not begin with the bytes `GGUF`";
      throw new LoadError(`${values.$file}: ${text}\n  = next: pass a GGUF file, or load this one with another method`);
    }
    // The length of the metadata is not written anywhere, so more is read until they are complete.
    for (let size = FIRST; ; size *= 4) {
      const bytes = new Uint8Array(await blob.slice(0, size).arrayBuffer());
      try {
        return Model.#made("model.file", values, bytes);
      } catch (error) {
        if (!(error instanceof UnjinjaError && error.cut) || size >= Math.min(blob.size, 1 << 28)) throw error;
      }
    }
  }

  static fromSpec(text, options = {}) {
    return Model.#made("model.spec", options, textOf(text, "text"));
  }

  static fromJSON(state) {
    return Model.#made("model.made", state);
  }

  toJSON() {
    return run(this, "model.state");
  }

  get name() {
    return this.#facts.name;
  }

  get status() {
    return this.#facts.status;
  }

  get gaps() {
    return [...this.#facts.gaps];
  }

  get preservedTokens() {
    return [...this.#facts.preservedTokens];
  }

  get reasoningMarkers() {
    const markers = this.#facts.reasoningMarkers;
    return markers && [...markers];
  }

  get spec() {
    return (this.#spec ??= run(this, "model.toml"));
  }

  get template() {
    return run(this, "model.text");
  }

  get variables() {
    return run(this, "model.variables");
  }

  prompt(messages, options = {}) {
    const values = json(optionsOf(this[INSIDE], options, { messages: messagesOf(messages) }), ["messages"]);
    // The caller may change the messages, and dispose of the tools, before somebody asks for the parts.
    const asked = JSON.stringify(values);
    const { tools } = options;
    const tell = () => {
      const { $tools, ...others } = JSON.parse(asked);
      return run(this, "model.promptParts", $tools === undefined ? others : { ...others, tools: tools.toArray() });
    };
    return new Prompt(run(this, "model.prompt", values), tell);
  }

  turnOf(prompt) {
    return run(this, "model.turnOf", { prompt: textOf(prompt, "prompt") });
  }

  parse(output, options = {}) {
    const values = optionsOf(this[INSIDE], options);
    return new Message(run(this, "model.parse", values, pieceOf(output, "output")), this);
  }

  stream(options = {}) {
    const { object } = run(this, "model.stream", optionsOf(this[INSIDE], options));
    return new Stream(this[INSIDE], object, this);
  }

  spans(output, options = {}) {
    const stream = this.stream(options);
    try {
      return run(stream, "stream.spans", { $last: true }, textOf(output, "output"));
    } finally {
      stream.dispose();
    }
  }

  explain(options = {}) {
    const { values, output } = explained(this[INSIDE], options);
    return run(this, "model.explain", values, output);
  }

  grammar(options = {}) {
    return run(this, "model.grammar", optionsOf(this[INSIDE], options));
  }

  export(reader, options = {}) {
    return run(this, "model.export", { ...options, reader: textOf(reader, "reader") });
  }

  rust() {
    return run(this, "model.rust");
  }

  request(messages, options = {}) {
    const values = optionsOf(this[INSIDE], options, { messages: messagesOf(messages) });
    const { object } = run(this, "model.request", json(values, ["messages"]));
    return new Request(this[INSIDE], object, this);
  }
}

/** A prompt, the parser of the output, the grammar and the ids of calls, which belong together. */
export class Request extends Resource {
  #model;
  #prompt;

  constructor(inside, number, model) {
    super(inside, number);
    this.#model = model;
  }

  get prompt() {
    return (this.#prompt ??= new Prompt(run(this, "request.prompt"), () => run(this, "request.promptParts")));
  }

  parse(output) {
    return new Message(run(this, "request.parse", {}, pieceOf(output, "output")), this.#model);
  }

  stream() {
    return new Stream(this[INSIDE], run(this, "request.stream").object, this.#model);
  }

  grammar(options = {}) {
    return run(this, "request.grammar", options);
  }

  callId(name, written) {
    return run(this, "request.callId", { name, written });
  }
}
