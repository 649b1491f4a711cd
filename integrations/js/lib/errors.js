// The errors. Each carries the text of the Rust error: the place, the cause, and what to do next.

/** The base of all errors of this package. */
export class UnjinjaError extends Error {
  constructor(message, options) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** A template, a file or a spec gives no model. */
export class LoadError extends UnjinjaError {}

/** The template cannot render a conversation. */
export class RenderError extends UnjinjaError {}

/** The list of tools cannot be read. */
export class ToolsError extends UnjinjaError {}

/** No grammar fits the tools and the options. */
export class GrammarError extends UnjinjaError {}

/** An argument has a value that is not allowed. */
export class RequestError extends UnjinjaError {}

/** An object was used after it was disposed of, or the module before it was there. */
export class StateError extends UnjinjaError {}

// The classes, by the names of src/failure.rs.
const CLASSES = {
  load: LoadError,
  render: RenderError,
  tools: ToolsError,
  grammar: GrammarError,
  request: RequestError,
  state: StateError,
};

/** The error for a failure in JSON. */
export function errorOf(text) {
  const { kind, message, cut } = JSON.parse(text);
  const error = new (CLASSES[kind] ?? UnjinjaError)(message);
  // More bytes of a file may help. Not for users.
  if (cut) Object.defineProperty(error, "cut", { value: true });
  return error;
}
