// One instance of the WebAssembly module: hands over texts and bytes, and reads answers. src/exports.rs is the other side.

import { errorOf, RequestError, StateError, UnjinjaError } from "./errors.js";
import { jsonOf } from "./json.js";

const FAILED = 0xffffffff;
const ABSENT = 0xffffffff;

// Texts up to this length are copied byte by byte: for them, the coders of the platform cost more than they save.
const SHORT = 24;

// Buffers that grew larger than this are given back after use.
const LARGE = 1 << 20;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

// What src/failure.rs says of operations that only the large module has.
const SMALL = ": the small module cannot do this";

/** A failed call leaves the memory in an unknown state, so such an instance is not used again. */
const STOPPED =
  "the WebAssembly module stopped in an earlier call, and its objects are lost\n" +
  "  = next: make the model anew; please report what stopped it";

/** What src/exports.rs exports. */
export const EXPORTS = [
  ...["memory", "input", "output", "output_length", "records", "shrink"],
  ...["seed", "objects", "free", "call", "push", "finish"],
];

export class Instance {
  /** Whether the large module has taken the place of this one. */
  wasReplaced = false;

  constructor(instance) {
    this.exports = instance.exports;
    this.stopped = false;
    this.capacity = 0;
    this.refresh();
    const [high, low] = crypto.getRandomValues(new Uint32Array(2));
    this.exports.seed(high, low);
    this.isFull = this.#triesLarge();
  }

  /** Whether this is the large module: only that one looks at the arguments of this operation. */
  #triesLarge() {
    try {
      this.call("request.callId");
    } catch (error) {
      return error instanceof RequestError;
    }
    return false;
  }

  // The views are empty once the memory has grown.
  refresh() {
    const { buffer } = this.exports.memory;
    this.bytes = new Uint8Array(buffer);
    this.words = new Uint32Array(buffer);
  }

  /** Runs something in the module. What it throws is a bug or a lack of memory, because failures are values. */
  guard(run) {
    if (this.stopped) throw new StateError(STOPPED);
    try {
      return run();
    } catch (error) {
      this.stopped = true;
      const next = "make the model anew, with less input if memory was short; please report the input otherwise";
      throw new UnjinjaError(`the WebAssembly module stopped: ${error?.message ?? error}\n  = next: ${next}`, { cause: error });
    }
  }

  reserve(size) {
    if (size > this.capacity) {
      const wanted = Math.max(size, 1 << 12);
      this.address = this.guard(() => this.exports.input(wanted) >>> 0);
      this.capacity = wanted;
    }
    if (this.bytes.length === 0) this.refresh();
  }

  /** Writes a text, or bytes, into the input from an offset on. Returns how many bytes there are. */
  write(piece, offset = 0) {
    if (typeof piece !== "string") {
      this.reserve(offset + piece.length);
      this.bytes.set(piece, this.address + offset);
      return piece.length;
    }
    const { length } = piece;
    this.reserve(offset + 3 * length);
    const start = this.address + offset;
    if (length <= SHORT) {
      const { bytes } = this;
      let at = 0;
      for (; at < length; at++) {
        const code = piece.charCodeAt(at);
        if (code > 0x7f) break;
        bytes[start + at] = code;
      }
      if (at === length) return length;
    }
    return encoder.encodeInto(piece, this.bytes.subarray(start, this.address + this.capacity)).written;
  }

  /** A text in the memory. */
  text(start, length) {
    const { bytes } = this;
    if (length <= SHORT) {
      let text = "";
      let at = start;
      for (const end = start + length; at < end; at++) {
        const byte = bytes[at];
        if (byte > 0x7f) break;
        text += String.fromCharCode(byte);
      }
      if (at === start + length) return text;
    }
    return decoder.decode(bytes.subarray(start, start + length));
  }

  /** The text in the output. */
  answer() {
    const { exports } = this;
    const [start, length] = [exports.output() >>> 0, exports.output_length() >>> 0];
    if (this.bytes.length === 0) this.refresh();
    const text = this.text(start, length);
    if (Math.max(length, this.capacity) > LARGE) {
      exports.shrink();
      this.capacity = 0;
    }
    return text;
  }

  /** Runs an operation on an object. `piece` comes apart from the arguments. Returns the answer. */
  call(operation, number = 0, values = {}, piece = "") {
    const head = this.write(`[${JSON.stringify(operation)},${jsonOf(values)}]`);
    const total = head + this.write(piece, head);
    const { exports } = this;
    const code = this.guard(() => exports.call(number, head, total)) >>> 0;
    const text = this.answer();
    if (code === FAILED) throw this.failure(text);
    return JSON.parse(text);
  }

  /** The error for a failure in JSON. */
  failure(text) {
    const error = errorOf(text);
    if (!this.wasReplaced || !error.message.includes(SMALL)) return error;
    const next = "make the object anew: it was made before the large module was loaded, which would do this";
    return new StateError(`${error.message.split("\n")[0]}\n  = next: ${next}`);
  }

  /** Pushes a piece of an output. `kind` is 0 for a text, 1 for a token, 2 for a special token. Returns the events. */
  push(number, piece, kind) {
    if (this.stopped) throw new StateError(STOPPED);
    const length = this.write(piece);
    let count;
    try {
      count = this.exports.push(number, length, kind) >>> 0;
    } catch (error) {
      this.guard(() => {
        throw error;
      });
    }
    return count === 0 ? [] : this.events(count);
  }

  /** Ends an output. Returns the events. */
  finish(number) {
    const count = this.guard(() => this.exports.finish(number)) >>> 0;
    return count === 0 ? [] : this.events(count);
  }

  events(count) {
    if (count === FAILED) throw errorOf(this.answer());
    const { exports } = this;
    let at = exports.output() >>> 0;
    let record = exports.records() >>> 2;
    if (this.bytes.length === 0) this.refresh();
    const { words } = this;
    const events = [];
    for (; count > 0; count--, record += 4) {
      const length = words[record + 2];
      const other = words[record + 3];
      const one = this.text(at, length);
      at += length;
      events.push(KINDS[words[record]](one, words[record + 1], other === ABSENT ? null : this.text(at, other)));
      if (other !== ABSENT) at += other;
    }
    if (this.capacity > LARGE) {
      exports.shrink();
      this.capacity = 0;
    }
    return events;
  }
}

// How an event is made of a record, in the order of `record` in src/exports.rs.
const KINDS = [
  (text) => ({ type: "reasoning", text }),
  (text) => ({ type: "content", text }),
  (text) => ({ type: "unparsed", text }),
  (name, index, id) => ({ type: "tool_call_start", index, name, id }),
  (id, index) => ({ type: "tool_call_id", index, id }),
  (json, index) => ({ type: "tool_call_arguments", index, json }),
  (_, index, complete) => ({ type: "tool_call_end", index, complete: complete !== null }),
  (json) => ({ type: "diagnostic", diagnostic: JSON.parse(json) }),
];
