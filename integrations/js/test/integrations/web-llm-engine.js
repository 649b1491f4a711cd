// An engine of web-llm without a model, because the tests have no GPU: requests are checked and prompts are made by web-llm's own code,
// grammars are compiled and followed by web-xgrammar, and only the outputs are given. `engine.seen` says what the model was asked.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const folder = dirname(fileURLToPath(import.meta.url));
const entry = (name) => fileURLToPath(import.meta.resolve(name));

// web-xgrammar is CommonJS in a package that says it is a module, which only bundlers take.
copyFileSync(entry("@mlc-ai/web-xgrammar"), join(folder, "web-xgrammar.cjs"));
const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = createRequire(import.meta.url)("./web-xgrammar.cjs");

// What makes prompts is not exported.
const opened = join(folder, "web-llm-opened.mjs");
writeFileSync(
  opened,
  `${readFileSync(entry("@mlc-ai/web-llm"), "utf8")}\nexport { getConversationFromChatCompletionRequest };\n`,
);
const web = await import(pathToFileURL(opened).href);

const END = 256;
const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
const tokens = await TokenizerInfo.createTokenizerInfo([...bytes, "</s>"], "byte_fallback", false, END + 1, [END]);
const compiler = await GrammarCompiler.createGrammarCompiler(tokens);

/** Compiles a response format as web-llm does, and says whether it takes a whole output. */
export async function accepts(format, output) {
  const compiled =
    format.type === "grammar"
      ? await compiler.compileGrammar(format.grammar)
      : await compiler.compileStructuralTag(format.structural_tag);
  const matcher = await GrammarMatcher.createGrammarMatcher(compiled);
  const all = [...new TextEncoder().encode(output), END].every((token) => matcher.acceptToken(token));
  matcher.dispose();
  compiled.dispose();
  return all;
}

class Engine {
  seen = [];

  constructor(modelId, outputs, conversation) {
    this.modelId = modelId;
    this.outputs = outputs;
    this.conversation = conversation;
    this.completions = new web.Completions(this);
    this.chat = new web.Chat(this);
  }

  async completion(request) {
    web.postInitAndCheckFieldsCompletion(request, this.modelId);
    this.seen.push({ prompt: request.prompt, ...request });
    const chunk = (text, finish_reason = null) => ({ object: "text_completion", choices: [{ index: 0, text, finish_reason }] });
    return this.#chunks(this.outputs.shift(), (text) => chunk(text), chunk("", "stop"));
  }

  async chatCompletion(request) {
    web.postInitAndCheckFieldsChatCompletion(request, this.modelId, web.ModelType.LLM);
    const made = web.getConversationFromChatCompletionRequest(request, { conv_template: this.conversation }, true);
    made.appendReplyHeader("assistant");
    this.seen.push({ prompt: made.getPromptArray().join(""), ...request });
    const output = this.outputs.shift();
    if (request.response_format !== undefined)
      assert.ok(await accepts(request.response_format, output), "the grammar does not allow the output");
    const chunk = (delta, finish_reason = null) => ({
      object: "chat.completion.chunk",
      choices: [{ index: 0, delta, finish_reason }],
    });
    return this.#chunks(output, (content) => chunk({ role: "assistant", content }), chunk({}, "stop"));
  }

  async *#chunks(output, chunk, last) {
    for (const [piece] of output.matchAll(/[^]{1,4}/gu)) yield chunk(piece);
    yield last;
  }
}

export async function CreateMLCEngine(modelId, { outputs }, { conv_template: conversation } = {}) {
  return new Engine(modelId, outputs, conversation);
}
