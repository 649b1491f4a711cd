/// <reference lib="esnext.disposable" />

import type { Export, Finding, LintOptions, TemplateComparison } from "./checks.js";
import type { AnthropicEvent, AnthropicOptions, OpenAIChunk, OpenAIOptions } from "./chunks.js";
import type { Explanation } from "./explanation.js";

export type * from "./checks.js";
export type * from "./chunks.js";
export type * from "./explanation.js";

/** A JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json | undefined };

/** A JSON schema. */
export type JsonSchema = boolean | ObjectSchema;

/** A JSON schema that is an object, as those of parameters are. */
export type ObjectSchema = { readonly [name: string]: unknown };

/** A piece of an output: a text or UTF-8, cut anywhere, also inside a marker or a character. */
export type Piece = string | Uint8Array;

/** A tool as OpenAI has it. A bare function is taken too, and Anthropic's `input_schema`. */
export type Tool =
  | {
      readonly type: "function";
      readonly function: { readonly name: string; readonly description?: string; readonly parameters?: ObjectSchema | null };
    }
  | {
      readonly name: string;
      readonly description?: string;
      readonly parameters?: ObjectSchema | null;
      readonly input_schema?: ObjectSchema | null;
    };

/** What the option `tools` takes: tools, their list in JSON, or tools that were read before. */
export type ToolList = readonly Tool[] | string | Tools;

/** Which calls a request allows. */
export type ToolChoice =
  | "auto"
  | "required"
  | "none"
  | { readonly type: "function"; readonly function: { readonly name: string } };

/** A message of a conversation, as OpenAI has it, or one that was parsed. */
export type ConversationMessage = Message | { readonly role: string; readonly [name: string]: unknown };

/**
 * Loads the WebAssembly module. In Node.js, Deno and Bun it may be left out: the module is then read from disk at first use. Once there
 * is a module, another call does nothing; only that of `unjinja/full` loads the large module after the small one, for all objects that
 * are made from then on. A call that fails changes nothing.
 *
 * @param source The module: its bytes, a compiled module, a response, or its address. The default is the file next to the package.
 * @throws {StateError} if it cannot be loaded
 */
export function init(
  source?: InitSource | Promise<InitSource>,
): Promise<void>;
export default init;

/** What the module is loaded from. */
export type InitSource = string | URL | FetchRequest | Response | ArrayBuffer | Uint8Array | CompiledModule;
type FetchRequest = globalThis.Request;
// `WebAssembly.Module`, where the types of the platform have it: those of Node.js do not.
type CompiledModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer Module } } } ? Module : never;

/** How a template or a spec is loaded. */
export interface LoadOptions {
  /** The name of the model in messages, and of its spec. */
  name?: string | undefined;
  /** The text of an overlay in TOML, which corrects the spec. The default is the one of a supported model that fits. */
  overlay?: string | undefined;
}

export interface TemplateOptions extends LoadOptions {
  /** The text of `bos_token` in the template. The default is undefined there. */
  bosToken?: string | undefined;
  /** The text of `eos_token` in the template. The default is undefined there. */
  eosToken?: string | undefined;
}

export interface FileOptions extends LoadOptions {
  /** The name of one of several templates in the file: `"tool_use"`. */
  variant?: string | undefined;
}

export interface ConfigOptions extends FileOptions {
  /** The text of `chat_template.jinja`, where the template has a file of its own. */
  template?: string | undefined;
}

/** What becomes of text that is no part of an answer. */
export interface HandlingOptions {
  /** Where broken markup goes: into the content (the default), or apart into `Message.unparsed`. */
  unparsed?: "content" | "separate" | undefined;
  /**
   * What becomes of a call that is cut off: `"keep"` (the default), `"close"` to complete its arguments, or `"drop"` to take it for
   * broken markup; in a stream, calls then come when they are closed.
   */
  cutCalls?: "keep" | "close" | "drop" | undefined;
}

/** What is known about the turn that is read. */
export interface ParseOptions extends HandlingOptions {
  /**
   * The tools that the request offers. They decide how arguments are typed, and calls of other tools get a diagnostic. The default
   * takes calls of any tool.
   */
  tools?: ToolList | undefined;
  /** What the prompt was rendered with; it has no effect with `prompt`. The default is that of the template. */
  thinking?: boolean | undefined;
  /** The prompt: it may have begun the turn, for example with the marker of reasoning. */
  prompt?: Prompt | string | undefined;
  /** The beginning of the turn that the model continues, as the model writes it. It becomes part of the message. */
  continueFrom?: string | undefined;
  /** That of the request. With `"none"` nothing is a call; with a name, only calls of this tool are. Other calls are broken markup. */
  toolChoice?: ToolChoice | undefined;
  /** Whether the model may make several calls. False makes each after the first one broken markup. */
  parallelToolCalls?: boolean | undefined;
  /** Whether reasoning is separated from the content. False leaves it there, with its markers. */
  extractReasoning?: boolean | undefined;
  /** Whether a call ends reasoning that is still open, in formats that allow it. */
  callsEndReasoning?: boolean | undefined;
  /** Whether the answer has to be JSON, for a response schema: a Markdown code fence around it is then syntax. */
  jsonResponse?: boolean | undefined;
  /**
   * The texts of the tokenizer's special tokens. A marker that holds one of them then counts only where it arrives with
   * `pushToken(text, { special: true })`. The default takes every text that spells a marker.
   */
  specialTokens?: readonly string[] | undefined;
}

export interface PromptOptions {
  /** The tools that the request offers. The default is none. */
  tools?: ToolList | undefined;
  /** Sets the variable that switches reasoning, whatever its name is. It has no effect if the template has none. */
  thinking?: boolean | undefined;
  /** Whether the text ends with the beginning of the assistant's turn. The default is true. */
  addGenerationPrompt?: boolean | undefined;
  /** Hands the messages over as they are given: the text is then that of `apply_chat_template` of Hugging Face. */
  asGiven?: boolean | undefined;
  /** Other variables of the template; `Model.variables` lists them. */
  variables?: { readonly [name: string]: unknown } | undefined;
  /** The time that templates with the date are told. The default is that of this moment, in the local time zone. */
  now?: Date | undefined;
}

export interface RequestOptions extends HandlingOptions {
  tools?: ToolList | undefined;
  thinking?: boolean | undefined;
  /** With `"none"`, the prompt offers no tools. */
  toolChoice?: ToolChoice | undefined;
  parallelToolCalls?: boolean | undefined;
  /** A JSON schema for the answer, or true for any JSON. The default is any text. */
  responseSchema?: JsonSchema | undefined;
  variables?: { readonly [name: string]: unknown } | undefined;
  now?: Date | undefined;
}

/** The engine that a grammar is for: llama.cpp, XGrammar (vLLM, SGLang, web-llm), or llguidance. */
export type GrammarKind = "gbnf" | "xgrammar" | "llguidance";

/** The engine, and what a grammar leaves free. */
export interface GrammarForm {
  /** The default is `"gbnf"`. */
  kind?: GrammarKind | undefined;
  /** Objects may have members that their schema does not name, where it has `properties` and does not say. The default is false. */
  openObjects?: boolean | undefined;
  /** More white space than one blank and what the template writes. The default is false. */
  freeWhiteSpace?: boolean | undefined;
  /** The number of characters of an answer that may come before a call that is demanded. The default is 0. */
  textBefore?: number | undefined;
  /** The number of characters of reasoning that may come before a call that is demanded. The default is 16,384. */
  maxReasoning?: number | undefined;
}

export interface GrammarOptions extends GrammarForm {
  /** Without tools, calls of any tool are allowed. */
  tools?: ToolList | undefined;
  toolChoice?: ToolChoice | undefined;
  parallelToolCalls?: boolean | undefined;
  thinking?: boolean | undefined;
  /** The grammar begins where the prompt ends. */
  prompt?: Prompt | string | undefined;
  /** A JSON schema for the answer, or true for any JSON. The default is any text. */
  responseSchema?: JsonSchema | undefined;
}

/** A grammar for constrained sampling. */
export interface Grammar {
  /** GBNF whose first rule is `root`, a structural tag in JSON, or Lark. Empty if nothing has to be constrained. */
  readonly text: string;
  /** Whether the grammar holds only from a trigger on. If false, it holds for the whole turn. */
  readonly lazy: boolean;
  readonly triggers: readonly { readonly kind: string; readonly value: string }[];
  /** Special tokens that the detokenizer must keep as text. */
  readonly preservedTokens: readonly string[];
  /** Texts that end a turn. */
  readonly stops: readonly string[];
  /** The part of the constrained text that the prompt already contains: feed the sampler with it first. */
  readonly prefill: string;
  /** Where the grammar accepts more than the schemas allow. */
  readonly widened: readonly string[];
}

/** Something unusual about an output. It never means that text was lost. */
export interface Diagnostic {
  readonly kind: string;
  /** The position of the call among the calls of the message, from 0. */
  readonly call?: number;
  /** Where the text begins that it concerns: an offset in the UTF-8 of the output. */
  readonly at?: number;
  /** The name or text that it concerns. */
  readonly detail?: string;
  /** What was expected instead. */
  readonly expected?: string;
  /** All of it in a sentence. */
  readonly message: string;
}

/** One piece of a message. */
export type Event =
  /** More reasoning. */
  | { readonly type: "reasoning"; readonly text: string }
  /** More of the answer. */
  | { readonly type: "content"; readonly text: string }
  /** More broken markup, with `unparsed: "separate"`. */
  | { readonly type: "unparsed"; readonly text: string }
  /** A call: it comes with the first byte of its arguments, or with its closer. `id` is null if the model wrote none before the arguments. */
  | { readonly type: "tool_call_start"; readonly index: number; readonly name: string; readonly id: string | null }
  /** The id of a call that was announced without one. */
  | { readonly type: "tool_call_id"; readonly index: number; readonly id: string }
  /** More of a call's arguments: a piece of JSON text. */
  | { readonly type: "tool_call_arguments"; readonly index: number; readonly json: string }
  /** A call is over; `complete` says whether the model closed it. */
  | { readonly type: "tool_call_end"; readonly index: number; readonly complete: boolean }
  /** Something unusual. Its text is in the other events. */
  | { readonly type: "diagnostic"; readonly diagnostic: Diagnostic };

/** One call of a tool. */
export declare class ToolCall {
  private constructor();
  /** The id that the model wrote, if it wrote one. */
  readonly id: string | null;
  readonly name: string;
  /** JSON text. If the call is malformed or cut off, it may not be valid. */
  readonly arguments: string;
  /** Whether the model closed the call. */
  readonly complete: boolean;
  /** The arguments, parsed. Throws a RequestError if they are not valid JSON. */
  argumentsValue(): unknown;
  /** The arguments, completed so that they are valid JSON. */
  closedArguments(): string;
}

/** An assistant message. */
export declare class Message {
  private constructor();
  readonly content: string;
  readonly reasoningContent: string;
  readonly toolCalls: readonly ToolCall[];
  /** Broken markup, with `unparsed: "separate"`. Otherwise it is part of the content. */
  readonly unparsed: string;
  readonly diagnostics: readonly Diagnostic[];
  /**
   * The message as OpenAI has it. Calls for which the model wrote no id get one, which stays the same. The first time, that needs the
   * Model of the message: it must not have been disposed of.
   *
   * @param options `callIds`: the ids of the earlier calls in the conversation. New ids differ from them.
   */
  toOpenAI(options?: { callIds?: readonly string[] | undefined }): {
    role: "assistant";
    content: string | null;
    reasoning_content?: string;
    tool_calls?: { id: string; type: "function"; function: { name: string; arguments: string } }[];
    unparsed?: string;
  };
}

/** A piece of a prompt: whose text it is. */
export interface PromptPart {
  /** Where it begins in `Prompt.text`. */
  readonly start: number;
  /** Where it ends there. */
  readonly end: number;
  /** Text of the template is `"markup"`, the description of a tool `"tool"`, and a date or another variable `"variable"`. */
  readonly part: "role" | "reasoning" | "content" | "call" | "tool_result" | "tool" | "variable" | "markup";
  /** The position of its message in `Prompt.messages`. Null for what belongs to no message: tools, and the generation prompt. */
  readonly message: number | null;
  /** Whether the model writes it: reasoning, answers and calls with their markers, and what ends the turn. */
  readonly byModel: boolean;
}

/** A rendered prompt. */
export declare class Prompt {
  private constructor();
  /** All of it: what the model reads. */
  readonly text: string;
  /** What it has of the assistant's turn. */
  readonly turn: string;
  /** The text in pieces: every character once, in order. The first use renders the prompt again. The small module cannot do this. */
  readonly parts: readonly PromptPart[];
  /** What the conversation hands over and the template does not write, such as `call:rain`. As `parts`. */
  readonly missing: readonly string[];
  /** The messages as the template got them. */
  readonly messages: readonly unknown[];
  toString(): string;
}

/** A piece of an output, and the events that it became. The texts of all spans together are the output. */
export interface OutputSpan {
  /** Where it begins in the output. */
  readonly start: number;
  /** Where it ends there. */
  readonly end: number;
  /** The piece, as the model wrote it. Empty for an event that no text causes. */
  readonly text: string;
  /** At most one piece of text, or what happened at a marker. Empty for markup. */
  readonly events: readonly Event[];
  /** What is being read after the piece. */
  readonly channel: "reasoning" | "content" | null;
}

export interface ExplainOptions {
  /** An output of the model: each of its bytes is explained. */
  output?: Piece | undefined;
  /** Whether the output is complete. If not, the explanation shows what is held back. The default is true. */
  over?: boolean | undefined;
  tools?: ToolList | undefined;
  /** What the prompt has of the assistant's turn. The default is what the template writes. */
  generationPrompt?: string | undefined;
}

/** Explains a template, also one of which no model can be made. The small module cannot do this. */
export function explainTemplate(text: string, options?: TemplateOptions & ExplainOptions): Explanation;

/** The same for the template in a `tokenizer_config.json`. The small module cannot do this. */
export function explainTokenizerConfig(
  config: Piece | ArrayBuffer | object,
  options?: ConfigOptions & ExplainOptions,
): Explanation;

/** An object in the memory of the module. It is freed when nobody holds it any more, or at once by `dispose`. */
declare class Resource {
  /** Frees the object. It cannot be used after that. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Tools that were read once and are used many times. */
export declare class Tools extends Resource {
  constructor(tools: readonly Tool[] | string);
  readonly names: string[];
  /** The list as it was given. */
  toArray(): Tool[];
}

/** The supported models: the names of their specs, and their ids on the Hugging Face Hub, where `{size}` stands for any size. Needs the large module. */
export declare function knownModels(): { name: string; ids: string[] }[];

/** What is known about one chat template: it renders prompts, parses outputs and writes grammars. */
export declare class Model extends Resource {
  private constructor();
  /** A supported model, by the name of its spec or its id on the Hugging Face Hub. It has no template, so it renders nothing. */
  static known(name: string): Model;
  /** A model from the text of a chat template. */
  static fromTemplate(text: string, options?: TemplateOptions): Model;
  /** A model from a `tokenizer_config.json`: its text, its bytes, or the object in it. */
  static fromTokenizerConfig(config: Piece | ArrayBuffer | object, options?: ConfigOptions): Model;
  /**
   * A model from the metadata of a GGUF file. The weights are not read: of a Blob, only the beginning is. In Node.js, `openAsBlob` of
   * `node:fs` makes one of a path.
   */
  static fromGguf(file: Blob | Uint8Array | ArrayBuffer, options?: FileOptions): Promise<Model>;
  /** A model from the text of a format spec. It has no template, so it renders nothing. */
  static fromSpec(text: string, options?: LoadOptions): Model;
  /** A model from what `toJSON` returned, without an analysis: for workers and caches. */
  static fromJSON(state: ModelState): Model;
  toJSON(): ModelState;
  /** The name of the model's spec. */
  readonly name: string;
  /** How much of what the template renders is read. */
  readonly status: "supported" | "partial" | "unsupported";
  /** What is missing, one sentence each; empty if the model is supported. */
  readonly gaps: string[];
  /** The format spec: TOML text. */
  readonly spec: string;
  /** The text of the template, or null if the model was made from a spec. */
  readonly template: string | null;
  /** The variables that the template reads. */
  readonly variables: string[];
  /** Special tokens and markers that a server must keep in the text of an output. */
  readonly preservedTokens: string[];
  /** The markers around reasoning, of which the first is empty if only the end is marked. Null if the model writes no reasoning. */
  readonly reasoningMarkers: [start: string, end: string] | null;
  /** Renders a conversation. Pass the result to `parse`, `stream` and `grammar`. */
  prompt(messages: readonly ConversationMessage[], options?: PromptOptions): Prompt;
  /** What a prompt has of the assistant's turn, where only its text is known. */
  turnOf(prompt: string): string;
  /** Parses a whole output. No output makes this fail, and no text is lost. */
  parse(output: Piece, options?: ParseOptions): Message;
  /** A parser for one turn that arrives in pieces. */
  stream(options?: ParseOptions): Stream;
  /** A whole output in pieces, with the events that each became. The small module cannot do this. */
  spans(output: string, options?: ParseOptions): OutputSpan[];
  /**
   * What the analysis saw and concluded, and how an output is read: the data of `unjinja explain`. The template is analysed anew. The
   * small module cannot do this.
   */
  explain(options?: ExplainOptions & { prompt?: Prompt | string | undefined }): Explanation;
  /** A grammar for constrained sampling, with the schema of each tool in it. The small module cannot do this. */
  grammar(options?: GrammarOptions): Grammar;
  /**
   * Makes a response template, which transformers reads from `tokenizer_config.json`, and tries it with random
   * conversations. The small module cannot do this.
   */
  export(options?: { count?: number | undefined; seed?: number | undefined }): Export;
  /** The parser as Rust, as `unjinja codegen` writes it: for programs in Rust. The small module cannot do this. */
  rust(): string;
  /** Prepares a request: its prompt, the parser of the output, the grammar and the ids of calls. The small module cannot do this. */
  request(messages: readonly ConversationMessage[], options?: RequestOptions): Request;
}

/** What `Model.toJSON` returns. It can be sent to a worker and stored. */
export interface ModelState {
  spec: string;
  template: string | null;
  tokens: { bos: string | null; eos: string | null; others: { [name: string]: unknown } };
  /** The overlay that was given: an explanation needs it. */
  overlay?: string | null;
}

/** A prompt, the parser of the output, the grammar and the ids of calls, which belong together. */
export declare class Request extends Resource {
  private constructor();
  readonly prompt: Prompt;
  parse(output: Piece): Message;
  stream(): Stream;
  grammar(options?: GrammarForm): Grammar;
  /** The id of the next call. `written` is the one that the model wrote; it is kept unless it was used before. */
  callId(name: string, written?: string | null): string;
}

/** What streams and writers of chunks share. */
declare class Reader<Item> extends Resource {
  /** Reads more of the model's output. Returns what it says, often nothing or one item. */
  push(piece: Piece): Item[];
  /** Reads the model's next token. `special`: whether it is a special token of the tokenizer. */
  pushToken(token: Piece, options?: { special?: boolean | undefined }): Item[];
  /** Reads an output that arrives asynchronously, to its end. */
  read(pieces: AsyncIterable<Piece> | Iterable<Piece>): AsyncGenerator<Item, void, undefined>;
  /** The same as a transform of streams: `readable.pipeThrough(stream.transform())`. */
  transform(): TransformStream<Piece, Item>;
}

/** A turn that arrives in pieces. After `finish`, the next piece begins another turn. */
export declare class Stream extends Reader<Event> {
  private constructor();
  /** The output is over. Text that was held back comes out, and everything that is open ends. */
  finish(): Event[];
  /**
   * As `push`, with the piece of the output that each event comes from. Use one stream with this or with `push`, not with both. The small
   * module cannot do this.
   */
  pushSpans(piece: string): OutputSpan[];
  /** As `finish`, with the text that was held back. */
  finishSpans(): OutputSpan[];
  /** Makes the parser new, for another turn with the same options. Returns the bytes that were pushed and not settled. */
  reset(): Uint8Array;
  /** What the events until now add up to. */
  readonly message: Message;
  /** What is being read. Null inside a call and after the end of the turn. */
  readonly channel: "reasoning" | "content" | null;
  /** The bytes that were pushed and are not settled: what becomes of them depends on what follows. */
  readonly held: Uint8Array;
  /** How many tokens were pushed with `pushToken`. */
  readonly tokenCounts: { reasoning: number; content: number };
  /** Writes what this stream reads as OpenAI's `chat.completion.chunk` objects. */
  openaiChunks(options?: OpenAIOptions): Chunks<OpenAIChunk>;
  /** Writes what this stream reads as the events of Anthropic's Messages API. */
  anthropicEvents(options?: AnthropicOptions): Chunks<AnthropicEvent>;
}

/** Writes what a stream reads in the form of an API. A push after the end begins another answer. */
export declare class Chunks<Item> extends Reader<Item> {
  private constructor();
  /**
   * The output is over. Returns the last chunks.
   *
   * @param options `finishReason`: why it ended, as the engine says it. The default is `"stop"`.
   */
  finish(options?: {
    finishReason?: "stop" | "length" | "content_filter" | (string & {}) | undefined;
    usage?:
      | { readonly prompt_tokens: number; readonly completion_tokens: number }
      | { readonly input_tokens: number; readonly output_tokens: number }
      | undefined;
  }): Item[];
}

/** Finds what fails, is lost or is written wrongly by a chat template. The small module cannot do this. */
export function lintTemplate(
  text: string,
  options?: LintOptions & {
    name?: string | undefined;
    bosToken?: string | undefined;
    eosToken?: string | undefined;
    specialTokens?: readonly string[] | undefined;
  },
): Finding[];

/** The same for a `tokenizer_config.json`, with the response template in it. The small module cannot do this. */
export function lintTokenizerConfig(
  config: Piece | ArrayBuffer | object,
  options?: LintOptions & { variant?: string | undefined },
): Finding[];

/**
 * Compares two templates, or those of two models: the first is the old one. The small module cannot do this.
 *
 * @param options `turns`: how many random turns of each are read with the parser of the other. The default is 100.
 */
export function compareTemplates(
  a: string | Model,
  b: string | Model,
  options?: { turns?: number | undefined },
): TemplateComparison;

/** The base of all errors of this package. The text says where the error is, what was expected, and what to do next. */
export declare class UnjinjaError extends Error {
  constructor(message: string, options?: ErrorOptions);
}
/** A template, a file or a spec gives no model. */
export declare class LoadError extends UnjinjaError {}
/** The template cannot render a conversation. */
export declare class RenderError extends UnjinjaError {}
/** The list of tools cannot be read. */
export declare class ToolsError extends UnjinjaError {}
/** No grammar fits the tools and the options. */
export declare class GrammarError extends UnjinjaError {}
/** An argument has a value that is not allowed. */
export declare class RequestError extends UnjinjaError {}
/** An object was used after it was disposed of, the module before it was there, or the small one for what it lacks; or loading failed. */
export declare class StateError extends UnjinjaError {}
