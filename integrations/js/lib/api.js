// What the package exports, apart from how its module is loaded.

export {
  GrammarError,
  LoadError,
  RenderError,
  RequestError,
  StateError,
  ToolsError,
  UnjinjaError,
} from "./errors.js";
export { lintTemplate, lintTokenizerConfig } from "./lint.js";
export { Message, ToolCall } from "./message.js";
export { Model, Prompt, Request, Tools } from "./model.js";
export { Chunks, Stream } from "./stream.js";
