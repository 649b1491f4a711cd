// What the package exports, apart from how its module is loaded.

export { compareTemplates } from "./compare.js";
export {
  GrammarError,
  LoadError,
  RenderError,
  RequestError,
  StateError,
  ToolsError,
  UnjinjaError,
} from "./errors.js";
export { explainTemplate, explainTokenizerConfig } from "./explain.js";
export { lintTemplate, lintTokenizerConfig } from "./lint.js";
export { Message, ToolCall } from "./message.js";
export { knownModels, Model, Prompt, Request, Tools } from "./model.js";
export { Chunks, Stream } from "./stream.js";
