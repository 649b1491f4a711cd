// node-llama-cpp: a completion whose output a stream reads token by token, and a chat wrapper for any template whose calls that
// library can express.

import { ChatWrapper, LlamaCompletion, LlamaText, SpecialToken, SpecialTokensText } from "node-llama-cpp";

import { instanceOf, onlyOptions } from "./arguments.js";
import { callSyntax } from "./call-syntax.js";
import { Model, Prompt } from "./model.js";
import { Stream } from "./stream.js";

// How many tokens before a token can change its text: where words begin with a space.
const BEFORE = 4;

/** Groups tokens so that each group is text, or one special token. */
function* groupsOf(model, tokens) {
  let text = [];
  for (const token of tokens) {
    if (!model.isSpecialToken(token)) {
      text.push(token);
      continue;
    }
    if (text.length > 0) yield { tokens: text, special: false };
    yield { tokens: [token], special: true };
    text = [];
  }
  if (text.length > 0) yield { tokens: text, special: false };
}

// What the template writes may be a special token, and so may a role that is one word, because templates write `<|` + role + `|>`.
// All other text comes from a conversation, its tools or variables: any kind of part that is added later, too.
const ROLE = /^[A-Za-z0-9_-]+$/;

// What may stand around the special tokens of a template: `user` and a line end, `", "name": `. Nobody spells a token with it alone.
const AROUND = /[\p{L}\p{N}\s"'(){}:,._-]/u;

/** A text of the template in three: its special tokens with what is between them, and the text around these. */
function framed(text) {
  let [start, end] = [0, text.length];
  while (start < end && AROUND.test(text[start])) start += 1;
  while (end > start && AROUND.test(text[end - 1])) end -= 1;
  return [text.slice(0, start), text.slice(start, end), text.slice(end)];
}

/** The text of a prompt: only what its template wrote is read with special tokens; all other text holds none, whatever it spells. */
export function llamaTextOf(prompt) {
  instanceOf(Prompt, "Prompt", prompt, "prompt", "pass what `model.prompt` returned");
  const runs = [];
  for (const { start, end, part } of prompt.parts) {
    const text = prompt.text.slice(start, end);
    const own = part === "markup" || (part === "role" && ROLE.test(text));
    if (runs.at(-1)?.own === own) runs.at(-1).text += text;
    else runs.push({ own, text });
  }
  // Text is tokenized value by value. So that it becomes the tokens that a model was trained with, a value ends only at special tokens.
  const values = runs.flatMap(({ own, text }) => {
    if (!own) return [text];
    const [before, tokens, after] = framed(text);
    return [before, ...(tokens === "" ? [] : [new SpecialTokensText(tokens)]), after];
  });
  return LlamaText(values);
}

export async function* complete(contextSequence, prompt, stream, options = {}) {
  instanceOf(Stream, "Stream", stream, "stream", "pass what `model.stream` returned");
  const { model } = contextSequence;
  const completion = new LlamaCompletion({ contextSequence });
  const stop = new AbortController();
  const { signal, onToken, ...others } = options;
  const waiting = [];
  let last = [];
  let [over, failure, wake] = [false, undefined, () => {}];
  const read = (tokens) => {
    try {
      onToken?.(tokens);
      for (const { tokens: group, special } of groupsOf(model, tokens)) {
        const text = model.detokenize(group, true, last);
        last = [...last, ...group].slice(-BEFORE);
        waiting.push(...stream.pushToken(text, { special }));
      }
    } catch (error) {
      // node-llama-cpp only logs what a callback throws.
      failure ??= error;
      stop.abort();
    }
    wake();
  };
  const given = typeof prompt === "string" || LlamaText.isLlamaText(prompt) ? prompt : llamaTextOf(prompt);
  const running = completion
    .generateCompletionWithMeta(given, {
      ...others,
      onToken: read,
      signal: signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal]),
    })
    .then(
      () => waiting.push(...stream.finish()),
      (error) => (failure ??= error),
    )
    .finally(() => {
      over = true;
      completion.dispose();
      wake();
    });
  try {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift();
      if (over) break;
      await new Promise((resolve) => (wake = resolve));
    }
    if (failure !== undefined) throw failure;
  } finally {
    // Whoever stops reading stops the model.
    stop.abort();
    await running;
  }
}

/** A value as JSON with the spaces that Python writes, as node-llama-cpp hands results over. */
function spaced(value) {
  const lines = JSON.stringify(value, null, 1).split("\n");
  return lines.map((line) => (line.endsWith(",") ? `${line.trim()} ` : line.trim())).join("");
}

/** The response of a model in a history, as messages: each group of calls is followed by their results. */
function messagesOfResponse(response, callId) {
  const messages = [];
  let message;
  const begin = () => {
    if (message === undefined || message.tool_calls !== undefined) messages.push((message = { role: "assistant", content: "" }));
  };
  let results = [];
  const end = () => {
    messages.push(...results);
    if (results.length > 0) message = undefined;
    results = [];
  };
  for (const item of response) {
    if (typeof item === "string") {
      end();
      begin();
      message.content += item;
    } else if (item.type === "segment") {
      if (item.segmentType !== "thought") continue;
      end();
      begin();
      message.reasoning_content = (message.reasoning_content ?? "") + item.text;
    } else {
      if (message === undefined || (item.startsNewChunk && results.length > 0)) {
        end();
        begin();
      }
      const id = callId();
      message.tool_calls ??= [];
      message.tool_calls.push({
        id,
        type: "function",
        function: { name: item.name, arguments: JSON.stringify(item.params ?? {}) },
      });
      results.push({
        role: "tool",
        tool_call_id: id,
        name: item.name,
        content: item.result === undefined ? "" : spaced(item.result),
      });
    }
  }
  end();
  return messages;
}

/** A history as messages, and the text with which the answer has begun. */
function conversationOf(history) {
  let calls = 0;
  const callId = () => `call${String(calls++).padStart(5, "0")}`;
  const messages = history.flatMap((item) => {
    if (item.type === "model") return messagesOfResponse(item.response, callId);
    const text = item.type === "system" ? LlamaText.fromJSON(item.text).toString() : item.text;
    return [{ role: item.type, content: text }];
  });
  // The answer that is being written. What it has is written again, because templates close what they render.
  const last = history.at(-1);
  if (last?.type !== "model" || messages.at(-1)?.role !== "assistant") return { messages };
  const end = last.response.at(-1);
  return { begun: { ...messages.pop(), isThinking: end?.type === "segment" && !end.ended }, messages };
}

function toolsOf(functions = {}, documentParams = true) {
  return Object.entries(functions).map(([name, { description, params }]) => ({
    type: "function",
    function: {
      name,
      ...(description !== undefined && { description }),
      ...(documentParams && { parameters: params ?? { type: "object", properties: {} } }),
    },
  }));
}

export class UnjinjaChatWrapper extends ChatWrapper {
  wrapperName = "Unjinja";
  settings;
  #model;
  #options;
  #stops;
  #reasoning;

  constructor(model, options = {}) {
    super();
    this.#model = instanceOf(Model, "Model", model, "model", "make one from the chat template: Model.fromTemplate(text)");
    this.#options = onlyOptions(options, ["thinking", "variables"]);
    const syntax = callSyntax(model, options);
    this.#stops = syntax.stops;
    this.#reasoning = model.reasoningMarkers;
    const marker = (text) => LlamaText(new SpecialTokensText(text));
    const { call, section } = syntax;
    this.settings = {
      supportsSystemMessages: true,
      functions: {
        call: {
          optionalPrefixSpace: true,
          prefix: marker(call.prefix),
          paramsPrefix: marker(call.paramsPrefix),
          suffix: marker(call.suffix),
          emptyCallParamsPlaceholder: {},
        },
        result: { prefix: marker(syntax.turnEnd), suffix: "" },
        ...(section !== undefined && {
          parallelism: {
            call: {
              sectionPrefix: marker(section.prefix),
              betweenCalls: marker(section.between),
              sectionSuffix: marker(section.suffix),
            },
          },
        }),
      },
      segments: this.#reasoning === null ? {} : { thought: this.#thought(syntax.opensReasoning, marker) },
    };
  }

  #thought(opens, marker) {
    const [start, end] = this.#reasoning;
    if (opens || start === "") return { prefix: { type: "openedOnStart", afterFunctionCalls: true }, suffix: marker(end) };
    return { prefix: marker(start), suffix: marker(end) };
  }

  /** What the model has written of its answer. */
  #begun({ reasoning_content: reasoning, content, isThinking }, prompt) {
    if (this.#reasoning === null) return [content];
    const stream = this.#model.stream({ prompt });
    const isOpen = stream.channel === "reasoning";
    stream.dispose();
    const [start, end] = this.#reasoning.map((marker) => new SpecialTokensText(marker));
    if (reasoning === undefined) return isOpen && content !== "" ? [end, content] : [content];
    return [...(isOpen ? [] : [start]), reasoning, ...(isThinking ? [] : [end, content])];
  }

  generateContextState({ chatHistory, availableFunctions, documentFunctionParams }) {
    const { messages, begun } = conversationOf(chatHistory);
    const tools = toolsOf(availableFunctions, documentFunctionParams);
    const prompt = this.#model.prompt(messages, { ...this.#options, ...(tools.length > 0 && { tools }) });
    const text = [llamaTextOf(prompt)];
    if (begun !== undefined) text.push(...this.#begun(begun, prompt));
    return {
      contextText: LlamaText(text),
      stopGenerationTriggers: [
        LlamaText(new SpecialToken("EOS")),
        ...this.#stops.map((stop) => LlamaText(new SpecialTokensText(stop))),
      ],
      detectFunctionCalls: true,
    };
  }

  /** The template says how tools are offered, so that no message has to. */
  addAvailableFunctionsSystemMessageToHistory(history) {
    return history;
  }
}
