// Models, requests, tools and prompts.

import { objectOf, pieceOf, textOf, wrong } from "./arguments.js";
import { LoadError, RequestError, UnjinjaError } from "./errors.js";
import { jsonOf, wellFormed } from "./json.js";
import { Message, messagesOf } from "./message.js";
import { INSIDE, instance, NUMBER, Resource, run } from "./runtime.js";
import { Stream } from "./stream.js";

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

  get missing() {
    return this.#known().missing;
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
  #json;

  constructor(tools) {
    const inside = instance();
    const json = typeof tools === "string" ? wellFormed(tools) : jsonOf(tools, "tools");
    super(inside, inside.call("tools.new", 0, { tools: json }).object);
    this.#json = json;
  }

  get names() {
    return run(this, "tools.names");
  }

  toArray() {
    return run(this, "tools.list");
  }

  /** The list in JSON, also after these were disposed of. */
  static jsonOf(tools) {
    return tools.#json;
  }
}

/** Options, as the module takes them: objects of the module by their numbers. */
function optionsOf(inside, options, rest = {}) {
  const { tools, prompt, ...others } = objectOf(options);
  const values = { ...others, ...rest };
  if (tools instanceof Tools) {
    if (tools[INSIDE] === inside) values.$tools = tools[NUMBER];
    // Made before the large module took the place of the small one.
    else values.tools = tools.toArray();
  } else if (tools !== undefined) {
    values.tools = tools;
  }
  if (typeof values.tools === "string") values.tools = wellFormed(values.tools);
  if (prompt instanceof Prompt) values.$turn = prompt.turn;
  else if (prompt !== undefined) values.prompt = prompt;
  return values;
}

/** The seconds since 1970 of the local time zone. WebAssembly has no clock. */
function localSeconds(now = new Date()) {
  if (typeof now?.getTimezoneOffset !== "function" || Number.isNaN(now.getTime())) throw wrong("now", "a Date", now);
  return Math.floor(now.getTime() / 1000) - now.getTimezoneOffset() * 60;
}

/** The name under which a `tokenizer_config.json` is reported. */
export const CONFIG = "tokenizer_config.json";

/** The bytes or the text of a `tokenizer_config.json`, which may also be given as the object in it. */
export function configOf(config) {
  if (typeof config === "string") return wellFormed(config);
  if (config instanceof Uint8Array || config instanceof ArrayBuffer) {
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(config);
    const whole = wellFormed(text);
    return whole === text ? pieceOf(config, "config") : whole;
  }
  if (typeof config !== "object" || config === null) throw wrong("config", "an object, or its JSON as a string or bytes", config);
  return jsonOf(config, "config");
}

/** The options of an explanation, and the output apart from them. */
export function explained(inside, given) {
  const { output, ...options } = objectOf(given);
  if (output === undefined) return { values: optionsOf(inside, options), output: "" };
  return { values: optionsOf(inside, options, { output: true }), output: pieceOf(output, "output") };
}

// How many bytes of a GGUF file are read at first: its metadata with the tokens of a tokenizer mostly fits into the second.
const FIRST = 1 << 20;

function blobOf(file) {
  if (file instanceof Blob) return file;
  if (file instanceof Uint8Array || file instanceof ArrayBuffer) return new Blob([file]);
  const next =
    typeof file === "string"
      ? 'if this is a path, pass `await openAsBlob(path)`, with `import { openAsBlob } from "node:fs"`; or pass the bytes of the file'
      : "pass a Blob, such as a File of a browser or `await response.blob()`, or the bytes of the file";
  throw wrong("file", "a Blob or a Uint8Array", file, next);
}

/** The supported models. */
export function knownModels() {
  return instance().call("models");
}

// What console.log of Node.js, Deno and Bun asks for.
const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/** What is known about one chat template. */
export class Model extends Resource {
  #facts;
  #spec;

  /** Use one of the static methods. */
  constructor(inside, made) {
    if (made?.facts === undefined) {
      const next = "use Model.known, Model.fromTemplate or another of the static methods";
      throw new RequestError(`Model: it has no constructor\n  = next: ${next}`);
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
    return Model.#made("model.template", objectOf(options), textOf(text, "text"));
  }

  static fromTokenizerConfig(config, options = {}) {
    return Model.#made("model.file", { ...objectOf(options), $file: CONFIG }, configOf(config));
  }

  static async fromGguf(file, options = {}) {
    const values = { ...objectOf(options), $file: file?.name?.endsWith?.(".gguf") ? file.name : "model.gguf" };
    const blob = blobOf(file);
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
    return Model.#made("model.spec", objectOf(options), textOf(text, "text"));
  }

  static fromJSON(state) {
    return Model.#made("model.made", objectOf(state, "state"));
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

  [INSPECT](_, options, inspect) {
    const { name, status, gaps } = this;
    return `Model ${inspect({ name, status, gaps }, options)}`;
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
    const values = optionsOf(this[INSIDE], options, { messages: messagesOf(messages), now: localSeconds(objectOf(options).now) });
    // The caller may change the messages, and dispose of the tools, before somebody asks for the parts.
    const asked = jsonOf(values);
    const tools = values.$tools === undefined ? undefined : Tools.jsonOf(options.tools);
    const tell = () => {
      const { $tools: _, ...others } = JSON.parse(asked);
      return run(this, "model.promptParts", tools === undefined ? others : { ...others, tools });
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

  export(options = {}) {
    return run(this, "model.export", objectOf(options));
  }

  rust() {
    return run(this, "model.rust");
  }

  request(messages, options = {}) {
    const values = optionsOf(this[INSIDE], options, { messages: messagesOf(messages), now: localSeconds(objectOf(options).now) });
    const { object } = run(this, "model.request", values);
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
    return run(this, "request.grammar", objectOf(options));
  }

  callId(name, written) {
    return run(this, "request.callId", { name, written });
  }
}
