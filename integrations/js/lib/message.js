// The result of parsing.

import { onlyOptions } from "./arguments.js";
import { RequestError, StateError } from "./errors.js";
import { instance, NUMBER, run } from "./runtime.js";

/** One call of a tool. */
export class ToolCall {
  constructor({ id, name, arguments: json, complete }) {
    this.id = id;
    this.name = name;
    this.arguments = json;
    this.complete = complete;
  }

  argumentsValue() {
    try {
      return JSON.parse(this.arguments);
    } catch (cause) {
      const next = "look at `complete` and the diagnostics; `closedArguments()` completes arguments that were cut off";
      throw new RequestError(`the arguments of ${this.name} are not valid JSON: ${cause.message}\n  = next: ${next}`, { cause });
    }
  }

  closedArguments() {
    return instance().call("json.close", 0, {}, this.arguments);
  }
}

/** An assistant message. */
export class Message {
  #model;
  #ids;

  constructor(fields, model) {
    this.content = fields.content;
    this.reasoningContent = fields.reasoningContent;
    this.toolCalls = fields.toolCalls.map((call) => new ToolCall(call));
    this.unparsed = fields.unparsed;
    this.diagnostics = fields.diagnostics;
    this.#model = model;
  }

  #newIds(callIds) {
    if (this.toolCalls.length === 0) return [];
    if (this.#model[NUMBER] === 0) {
      const next = "call `toOpenAI` before the Model is disposed of, which keeps the ids, or dispose of it later";
      throw new StateError(`toOpenAI: the ids of calls come from the Model of the message, which was disposed of\n  = next: ${next}`);
    }
    const names = this.toolCalls.map((call) => call.name);
    const written = this.toolCalls.map((call) => call.id);
    return run(this.#model, "model.callIds", { names, written, callIds });
  }

  toOpenAI(options = {}) {
    const { callIds } = onlyOptions(options, ["callIds"]);
    const ids = callIds === undefined ? (this.#ids ??= this.#newIds([])) : this.#newIds(callIds);
    return this.#written(ids);
  }

  #written(ids) {
    const message = { role: "assistant", content: this.content };
    if (this.content === "" && this.toolCalls.length > 0) message.content = null;
    if (this.reasoningContent !== "") message.reasoning_content = this.reasoningContent;
    if (this.toolCalls.length > 0) {
      message.tool_calls = this.toolCalls.map((call, at) => ({
        id: ids[at],
        type: "function",
        function: { name: call.name, arguments: call.arguments },
      }));
    }
    if (this.unparsed !== "") message.unparsed = this.unparsed;
    return message;
  }

  /** The message in a conversation with these ids of earlier calls. Adds its own. */
  static inConversation(message, earlier) {
    const ids = (message.#ids ??= message.#newIds(earlier));
    earlier.push(...ids);
    return message.#written(ids);
  }
}

/** The messages of a conversation as JSON values: a `Message` is handed over in OpenAI's form. */
export function messagesOf(messages) {
  if (!Array.isArray(messages)) return messages;
  const earlier = [];
  return messages.map((message) => {
    if (message instanceof Message) return Message.inConversation(message, earlier);
    const calls = message?.tool_calls;
    if (Array.isArray(calls)) earlier.push(...calls.map((call) => (typeof call?.id === "string" ? call.id : "")));
    return message;
  });
}
