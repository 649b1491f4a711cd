// The types of the adapters, checked by `tsc --strict` against the packages of the other side. Nothing here runs.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import type { MLCEngineInterface } from "@mlc-ai/web-llm";
import { generateText, streamText, wrapLanguageModel, type LanguageModel } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { LlamaChatSession, type LlamaContextSequence } from "node-llama-cpp";
import { Model, type Event } from "unjinja";
import { chatTemplateMiddleware, rawCompletionFetch } from "unjinja/ai-sdk";
import { complete, UnjinjaChatWrapper } from "unjinja/node-llama-cpp";

const model = Model.fromTemplate("x");

export function aiSdk(): void {
  const middleware = chatTemplateMiddleware({
    model,
    thinking: true,
    grammar: { kind: "gbnf", providerOptions: ({ text, triggers }) => ({ local: { grammar: text, triggers: triggers.length } }) },
  });
  const wrapped: LanguageModel = wrapLanguageModel({ model: new MockLanguageModelV4(), middleware });
  createOpenAICompatible({ name: "x", baseURL: "y", fetch: rawCompletionFetch() });
  void generateText({ model: wrapped, prompt: "x" });
  void streamText({ model: wrapped, prompt: "x" });
  // @ts-expect-error: there is no such option
  chatTemplateMiddleware({ model, think: true });
}

export async function nodeLlamaCpp(contextSequence: LlamaContextSequence): Promise<Event[]> {
  const session = new LlamaChatSession({ contextSequence, chatWrapper: new UnjinjaChatWrapper(model, { thinking: false }) });
  await session.prompt("x");
  const prompt = model.prompt([]);
  const events: Event[] = [];
  for await (const event of complete(contextSequence, prompt, model.stream({ prompt }), { maxTokens: 3 })) events.push(event);
  // @ts-expect-error: a stream is needed
  complete(contextSequence, prompt);
  return events;
}

export async function webLlm(engine: MLCEngineInterface): Promise<void> {
  const prompt = model.prompt([]);
  const { text: grammar } = model.grammar({ prompt, toolChoice: "required" });
  const stream = model.stream({ prompt });
  for await (const chunk of await engine.completions.create({ prompt: prompt.text, stream: true })) {
    stream.push(chunk.choices[0]?.text ?? "");
  }
  for await (const chunk of await engine.chat.completions.create({
    messages: [{ role: "user", content: prompt.text }],
    stream: true,
    response_format: { type: "grammar", grammar },
  })) {
    stream.push(chunk.choices[0]?.delta.content ?? "");
  }
}
