// The errors. Each carries the text of the Rust error: the place, the cause, and what to do next.

/** The base of all errors of this package. */
export class UnjinjaError extends Error {}

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

/** An object was used after it was disposed of, or the module before it was there or could be loaded. */
export class StateError extends UnjinjaError {}

/** The module is not there: why, and what to do. */
export function notReady(why, next, cause) {
  return new StateError(`unjinja is not ready: ${why}\n  = next: ${next}`, cause === undefined ? undefined : { cause });
}

// Written out, because bundlers shorten the names of classes.
for (const [name, type] of Object.entries({
  UnjinjaError,
  LoadError,
  RenderError,
  ToolsError,
  GrammarError,
  RequestError,
  StateError,
})) {
  Object.defineProperty(type.prototype, "name", { value: name, configurable: true, writable: true });
}

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
