import type { LanguageModelMiddleware } from "ai";
import type { Grammar, GrammarKind, Model, ParseOptions, PromptOptions } from "./index.js";

/** The options of providers, by the name of the provider, as `generateText` takes them. */
export type ProviderOptions = NonNullable<
  Parameters<NonNullable<LanguageModelMiddleware["transformParams"]>>[0]["params"]["providerOptions"]
>;

export interface ChatTemplateOptions {
  /** The chat template. It has to render prompts, so it is made from a template and not from a name or a spec. */
  model: Model;
  /** Whether the model reasons, where a call does not say it with `reasoning`. The default is that of the template. */
  thinking?: boolean | undefined;
  /** Other variables of the template; `Model.variables` lists them. */
  variables?: PromptOptions["variables"];
  /** What becomes of a call that is cut off. With `"keep"`, the default, the AI SDK reports its input as invalid. */
  cutCalls?: ParseOptions["cutCalls"];
  /**
   * How the output is constrained: `kind` of grammar, and where the engine takes it. Without it, nothing ensures `toolChoice` and
   * schemas of answers, and the result has a warning that says so. Needs the large module.
   */
  grammar?: { kind: GrammarKind; providerOptions: (grammar: Grammar) => ProviderOptions } | undefined;
}

/**
 * A middleware for `wrapLanguageModel` of the AI SDK: the model that it wraps only continues a text, and the result reasons and calls
 * tools. The prompt of the wrapped model is one user message with the whole text.
 */
export declare function chatTemplateMiddleware(options: ChatTemplateOptions): LanguageModelMiddleware;

/**
 * A `fetch` for the completion models of the AI SDK's providers. They write `user:` and `assistant:` around a prompt, and stop at
 * `user:`; this takes it off, so that the server gets the prompt as it was rendered.
 *
 * @param fetch What sends the request. The default is the platform's.
 */
export declare function rawCompletionFetch(fetch?: typeof globalThis.fetch): typeof globalThis.fetch;
