// A middleware for the AI SDK: a language model that only continues a text then reasons and calls tools. The prompt is rendered and
// the output is read by a model of this package.

import { instanceOf, objectOf, onlyOptions, wrong } from "./arguments.js";
import { RequestError } from "./errors.js";
import { Model } from "./model.js";

// What the completion models of the AI SDK's providers write around a prompt of one user message.
const BEFORE = "user:\n";
const AFTER = "\n\nassistant:\n";
const STOP = "\nuser:";

/** The text of the parts of a message. */
function textOf(parts, role) {
  return parts
    .map((part) => {
      if (part.type === "text") return part.text;
      throw new RequestError(
        `prompt: a message of the role ${role} has a part of the type ${part.type}, and a text prompt cannot carry it` +
          "\n  = next: send text alone, or use a chat model of the provider",
      );
    })
    .join("");
}

function assistantOf(parts) {
  const others = parts.filter(({ type }) => type !== "reasoning" && type !== "tool-call");
  const message = { role: "assistant", content: textOf(others, "assistant") };
  const reasoning = parts.filter(({ type }) => type === "reasoning").map(({ text }) => text);
  if (reasoning.length > 0) message.reasoning_content = reasoning.join("");
  const calls = parts.filter(({ type }) => type === "tool-call");
  if (calls.length > 0) {
    message.tool_calls = calls.map(({ toolCallId, toolName, input }) => ({
      id: toolCallId,
      type: "function",
      function: { name: toolName, arguments: typeof input === "string" ? input : JSON.stringify(input ?? {}) },
    }));
  }
  return message;
}

function resultOf({ type, value, reason }) {
  switch (type) {
    case "text":
    case "error-text":
      return value;
    case "json":
    case "error-json":
      return JSON.stringify(value);
    case "execution-denied":
      return reason ?? "The call was denied.";
    default:
      return textOf(value, "tool");
  }
}

/** A prompt of the AI SDK as the messages of a chat template. */
function messagesOf(prompt) {
  return prompt.flatMap(({ role, content }) => {
    if (role === "system") return [{ role, content }];
    if (role === "user") return [{ role, content: textOf(content, role) }];
    if (role === "assistant") return [assistantOf(content)];
    return content
      .filter(({ type }) => type === "tool-result")
      .map(({ toolCallId, toolName, output }) => ({ role, tool_call_id: toolCallId, name: toolName, content: resultOf(output) }));
  });
}

function choiceOf(choice) {
  if (choice?.type === "tool") return { type: "function", function: { name: choice.toolName } };
  return choice?.type ?? "auto";
}

/** What a request says: how its prompt is rendered, how its output is read, and what of it nothing ensures. */
function requestOf(params, options) {
  const warnings = [];
  const tools = [];
  for (const tool of params.tools ?? []) {
    if (tool.type === "function") {
      const { name, description, inputSchema: parameters } = tool;
      tools.push({ type: "function", function: { name, ...(description !== undefined && { description }), parameters } });
    } else {
      warnings.push({
        type: "unsupported",
        feature: `tool ${tool.name}`,
        details: "Only function tools are offered to the model.",
      });
    }
  }
  const toolChoice = choiceOf(params.toolChoice);
  const json = params.responseFormat?.type === "json";
  if (options.grammar === undefined) {
    const details = "The option `grammar` of the middleware is not set.";
    if (tools.length > 0 && toolChoice !== "auto" && toolChoice !== "none")
      warnings.push({ type: "unsupported", feature: "toolChoice", details });
    if (json) warnings.push({ type: "unsupported", feature: "responseFormat", details });
  }
  const { reasoning = "provider-default" } = params;
  const thinking = reasoning === "provider-default" ? options.thinking : reasoning !== "none";
  const offered = toolChoice === "none" ? [] : tools;
  return {
    warnings,
    tools: offered,
    toolChoice,
    json,
    schema: json ? (params.responseFormat.schema ?? true) : undefined,
    thinking,
  };
}

/** The options of a provider that constrain the output, if the middleware was told how. */
function constraints({ grammar }, model, { tools, toolChoice, schema, thinking }, prompt) {
  if (grammar === undefined || (tools.length === 0 && schema === undefined)) return undefined;
  const { kind, providerOptions } = grammar;
  const asked = { kind, prompt, thinking, ...(tools.length > 0 && { tools, toolChoice }), responseSchema: schema };
  const made = model.grammar(asked);
  return made.text === "" ? undefined : providerOptions(made);
}

/** The options of two sources, of which the second wins. */
function merged(first, second) {
  if (second === undefined) return first;
  const all = { ...first };
  for (const [name, options] of Object.entries(second)) all[name] = { ...all[name], ...options };
  return all;
}

/** Why the output ended, as the AI SDK has it. */
function reasonOf(reason, hasCalls) {
  return hasCalls && reason?.unified !== "length" && reason?.unified !== "error" ? { ...reason, unified: "tool-calls" } : reason;
}

/** Turns chunks of OpenAI's form into the parts of a stream of the AI SDK. */
class Parts {
  #send;
  #open;
  #call;
  #count = 0;
  hasCalls = false;

  constructor(send) {
    this.#send = send;
  }

  push(chunk) {
    const { delta } = chunk.choices[0] ?? {};
    if (delta === undefined) return;
    if (delta.reasoning_content) this.#text("reasoning", delta.reasoning_content);
    if (delta.content) this.#text("text", delta.content);
    for (const { id, function: call } of delta.tool_calls ?? []) {
      if (call?.name !== undefined) this.#begin(id, call.name);
      if (call?.arguments) {
        this.#call.input += call.arguments;
        this.#send({ type: "tool-input-delta", id: this.#call.id, delta: call.arguments });
      }
    }
  }

  #text(kind, delta) {
    if (this.#open?.kind !== kind) {
      this.close();
      this.#open = { kind, id: `${kind}-${this.#count++}` };
      this.#send({ type: `${kind}-start`, id: this.#open.id });
    }
    this.#send({ type: `${kind}-delta`, id: this.#open.id, delta });
  }

  #begin(id, name) {
    this.close();
    this.hasCalls = true;
    this.#call = { id, name, input: "" };
    this.#send({ type: "tool-input-start", id, toolName: name });
  }

  /** Ends what is open. */
  close() {
    if (this.#open !== undefined) this.#send({ type: `${this.#open.kind}-end`, id: this.#open.id });
    if (this.#call !== undefined) {
      const { id, name, input } = this.#call;
      this.#send({ type: "tool-input-end", id });
      this.#send({ type: "tool-call", toolCallId: id, toolName: name, input });
    }
    this.#open = this.#call = undefined;
  }
}

export function chatTemplateMiddleware(given) {
  const { model, ...options } = onlyOptions(given, ["model", "thinking", "variables", "cutCalls", "grammar"]);
  instanceOf(Model, "Model", model, "model", "make one from the chat template: Model.fromTemplate(text)");
  const { grammar } = options;
  if (grammar !== undefined && typeof objectOf(grammar, "grammar").providerOptions !== "function") {
    throw wrong("grammar.providerOptions", "a function that returns options of a provider", grammar.providerOptions);
  }
  // What transformParams decided, for the parameters that it made.
  const requests = new WeakMap();

  const readerOf = ({ tools, toolChoice, json, prompt }) => ({
    tools,
    toolChoice,
    prompt,
    jsonResponse: json,
    ...(options.cutCalls !== undefined && { cutCalls: options.cutCalls }),
  });

  return {
    specificationVersion: "v4",

    async transformParams({ params }) {
      const request = requestOf(params, options);
      const { tools, thinking } = request;
      const messages = messagesOf(params.prompt);
      const prompt = model.prompt(messages, { tools, thinking, variables: options.variables });
      const callIds = messages.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id);
      const made = {
        ...params,
        prompt: [{ role: "user", content: [{ type: "text", text: prompt.text }] }],
        providerOptions: merged(params.providerOptions, constraints(options, model, request, prompt)),
      };
      // The prompt has all of these in it, and a text-completion model knows none of them.
      for (const name of ["tools", "toolChoice", "responseFormat", "reasoning"]) delete made[name];
      requests.set(made, { ...request, prompt, callIds });
      return made;
    },

    async wrapGenerate({ doGenerate, params }) {
      const request = requests.get(params);
      const { content, finishReason, warnings, ...rest } = await doGenerate();
      const output = content.filter(({ type }) => type === "text").map(({ text }) => text);
      const message = model.parse(output.join(""), readerOf(request)).toOpenAI({ callIds: request.callIds });
      const parts = content.filter(({ type }) => type !== "text");
      if (message.reasoning_content) parts.push({ type: "reasoning", text: message.reasoning_content });
      if (message.content) parts.push({ type: "text", text: message.content });
      for (const { id, function: call } of message.tool_calls ?? []) {
        parts.push({ type: "tool-call", toolCallId: id, toolName: call.name, input: call.arguments });
      }
      const hasCalls = message.tool_calls !== undefined;
      return {
        ...rest,
        content: parts,
        finishReason: reasonOf(finishReason, hasCalls),
        warnings: [...warnings, ...request.warnings],
      };
    },

    async wrapStream({ doStream, params }) {
      const request = requests.get(params);
      const { stream, ...rest } = await doStream();
      const reader = model.stream(readerOf(request));
      const chunks = reader.openaiChunks({ callIds: request.callIds });
      let parts;
      let ended = false;
      const end = () => {
        if (ended) return;
        ended = true;
        for (const chunk of chunks.finish()) parts.push(chunk);
        parts.close();
        chunks.dispose();
        reader.dispose();
      };
      const transform = new TransformStream({
        start(controller) {
          parts = new Parts((part) => controller.enqueue(part));
        },
        transform(part, controller) {
          switch (part.type) {
            case "text-start":
            case "text-end":
              return;
            case "text-delta":
              for (const chunk of chunks.push(part.delta)) parts.push(chunk);
              return;
            case "stream-start":
              controller.enqueue({ ...part, warnings: [...part.warnings, ...request.warnings] });
              return;
            case "finish":
              end();
              controller.enqueue({ ...part, finishReason: reasonOf(part.finishReason, parts.hasCalls) });
              return;
            default:
              controller.enqueue(part);
          }
        },
        flush: end,
      });
      return { ...rest, stream: stream.pipeThrough(transform) };
    },
  };
}

/** The value of a text in JSON. Other texts are for somebody else, and have none. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function rawCompletionFetch(fetch = globalThis.fetch) {
  return async (address, init) => {
    if (typeof init?.body !== "string") return fetch(address, init);
    const body = parsed(init.body);
    if (typeof body?.prompt !== "string" || !body.prompt.startsWith(BEFORE) || !body.prompt.endsWith(AFTER))
      return fetch(address, init);
    const { prompt, stop, ...rest } = body;
    const stops = [stop ?? []].flat().filter((text) => text !== STOP);
    const text = prompt.slice(BEFORE.length, prompt.length - AFTER.length);
    return fetch(address, { ...init, body: JSON.stringify({ ...rest, prompt: text, ...(stops.length > 0 && { stop: stops }) }) });
  };
}
