// The types, checked by `tsc --strict`. Nothing here runs.

import init, { Model, RequestError, Tools, type AnthropicEvent, type Event, type OpenAIChunk, type ParseOptions } from "unjinja";
import * as unjinja from "unjinja";

export async function everything(blob: Blob, module: WebAssembly.Module): Promise<string> {
  await init();
  await unjinja.init(module);
  await init(fetch("unjinja.wasm"));
  await init(new URL("https://example.com/unjinja.wasm"));
  const options: ParseOptions = {
    tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }, { name: "g" }],
    toolChoice: { type: "function", function: { name: "f" } },
    unparsed: "separate",
  };
  using model = await Model.fromGguf(blob, { variant: "tool_use" });
  const status: "supported" | "partial" | "unsupported" = model.status;
  const prompt = model.prompt([{ role: "user", content: "Hello" }], { variables: { enable_thinking: true } });
  const message = model.parse("x", { ...options, prompt });
  model.prompt([{ role: "user", content: "Hello" }, message, message.toOpenAI()]);
  const id: string | null | undefined = message.toolCalls[0]?.id;
  const stream = model.stream({ tools: new Tools("[]") });
  for (const event of stream.push(new Uint8Array(3))) show(event);
  for await (const event of stream.read(["a", "b"])) show(event);
  const chunks: OpenAIChunk[] = stream.openaiChunks({ includeUsage: true }).push("x");
  const events: AnthropicEvent[] = stream.anthropicEvents().finish({ finishReason: "length" });
  const readable: ReadableStream<Event> = new ReadableStream<string>().pipeThrough(stream.transform());
  const again = Model.fromJSON(model.toJSON());
  const parts: readonly unjinja.PromptPart[] = prompt.parts;
  const spans: unjinja.OutputSpan[] = [...model.spans("x"), ...stream.pushSpans("x"), ...stream.finishSpans()];
  const explained: unjinja.Explanation = model.explain({ output: "x", over: false, generationPrompt: prompt.turn });
  const failed: "template" | "spec" = unjinja.explainTemplate("{{", { name: "x" }).kind;
  const compared: unjinja.TemplateComparison = unjinja.compareTemplates(model, "{{ x }}", { turns: 10 });
  const known = [parts, spans, explained.output?.spans[0]?.taken, failed, compared.render.difference?.old.text, model.rust()];
  void known;
  const exported: unjinja.Export = model.export({ count: 20 });
  void exported;
  stream.pushToken("x", { special: true });
  new Tools([{ name: "f", parameters: null }, { name: "g", input_schema: { type: "object" } }]);
  const grammar = again.request([], { responseSchema: true }).grammar({ kind: "xgrammar" });
  return [status, id, chunks.length, events.length, readable.locked, grammar.text].join();
}

function show(event: Event): string {
  switch (event.type) {
    case "reasoning":
    case "content":
    case "unparsed":
      return event.text;
    case "tool_call_start":
      return event.name + (event.id ?? "");
    case "tool_call_id":
      return event.id;
    case "tool_call_arguments":
      return event.json;
    case "tool_call_end":
      return String(event.complete);
    case "diagnostic":
      return event.diagnostic.message;
    default: {
      const nothing: never = event;
      return nothing;
    }
  }
}

export function wrong(model: Model): void {
  // @ts-expect-error: there is no such option
  model.parse("x", { toolChoise: "auto" });
  // @ts-expect-error: there is no such choice
  model.parse("x", { toolChoice: "some" });
  // @ts-expect-error: a number is no piece
  model.stream().push(3);
  // @ts-expect-error: models are made by static methods
  new Model();
  // @ts-expect-error: a name is a text
  Model.known(3);
  // @ts-expect-error: parameters are a schema that is an object
  new Tools([{ name: "f", parameters: true }]);
  // @ts-expect-error: parameters are a schema that is an object
  model.parse("x", { tools: [{ type: "function", function: { name: "f", parameters: false } }] });
  // @ts-expect-error: a token is special or not
  model.stream().pushToken("x", { special: "yes" });
  // @ts-expect-error: a path is no file
  void Model.fromGguf("/models/a.gguf");
  // @ts-expect-error: an output of spans is a text
  model.spans(new Uint8Array(1));
  const error: Error = new RequestError("x");
  void error;
}
