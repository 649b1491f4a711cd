import { ChatWrapper, LlamaText } from "node-llama-cpp";
import type {
  ChatHistoryItem,
  ChatWrapperGenerateContextStateOptions,
  ChatWrapperGeneratedContextState,
  ChatWrapperSettings,
  LlamaCompletionGenerationOptions,
  LlamaContextSequence,
} from "node-llama-cpp";
import type { Event, Model, Prompt, PromptOptions, Stream } from "./index.js";

/**
 * Lets a model continue a prompt, and reads what it writes token by token. Works with every template. Whoever stops reading stops the
 * model.
 *
 * @param sequence Where the model runs: `context.getSequence()`.
 * @param prompt What `model.prompt` returned, or a text.
 * @param stream What `model.stream` returned. Its `message` is what the model has written.
 * @param options Those of `LlamaCompletion.generateCompletion`.
 */
export declare function complete(
  sequence: LlamaContextSequence,
  prompt: Prompt | LlamaText | string,
  stream: Stream,
  options?: Omit<LlamaCompletionGenerationOptions, "stopOnAbortSignal">,
): AsyncGenerator<Event, void, undefined>;

/** The text of a prompt: only what its template wrote is read with special tokens; all other text holds none, whatever it spells. */
export declare function llamaTextOf(prompt: Prompt): LlamaText;

export interface ChatWrapperOptions {
  /** Sets the variable that switches reasoning. The default is that of the template. */
  thinking?: boolean | undefined;
  /** Other variables of the template. */
  variables?: PromptOptions["variables"];
}

/**
 * A chat wrapper that renders with a chat template, and knows the syntax of its calls. node-llama-cpp knows calls as a text before the
 * name, one before the arguments, which are JSON, and one after.
 *
 * @throws {RequestError} if calls of the template have no such form. `complete` reads them all the same.
 */
export declare class UnjinjaChatWrapper extends ChatWrapper {
  constructor(model: Model, options?: ChatWrapperOptions);
  readonly wrapperName: string;
  readonly settings: ChatWrapperSettings;
  generateContextState(options: ChatWrapperGenerateContextStateOptions): ChatWrapperGeneratedContextState;
  addAvailableFunctionsSystemMessageToHistory(history: readonly ChatHistoryItem[]): readonly ChatHistoryItem[];
}
