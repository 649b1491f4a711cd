// Streams: a turn that arrives in pieces.

import { objectOf, pieceOf, specialOf, textOf, wrong } from "./arguments.js";
import { Message } from "./message.js";
import { INSIDE, NUMBER, Resource, run } from "./runtime.js";

const NO_OPTIONS = {};

/**
 * What streams and writers of chunks share: pieces come in, and items go out. A JavaScript string may be cut within a character
 * outside the Basic Multilingual Plane; the first half then waits for the second.
 */
class Reader extends Resource {
  #half = "";

  /** The piece with the half that waited, and without a half at its end. */
  joined(piece, name) {
    if (typeof piece !== "string") {
      piece = pieceOf(piece, name);
      if (this.#half === "") return piece;
      // The other half cannot be in bytes: what waited is no character.
      this.#half = "";
      const joined = new Uint8Array(3 + piece.length);
      joined.set([0xef, 0xbf, 0xbd]);
      joined.set(piece, 3);
      return joined;
    }
    if (this.#half !== "") {
      piece = this.#half + piece;
      this.#half = "";
    }
    const last = piece.charCodeAt(piece.length - 1);
    if (last >= 0xd800 && last <= 0xdbff) {
      this.#half = piece.slice(-1);
      return piece.slice(0, -1);
    }
    return piece;
  }

  /** Forgets the half that waits. */
  forget() {
    this.#half = "";
  }

  get hasHalf() {
    return this.#half !== "";
  }

  async *read(pieces) {
    if (!(pieces?.[Symbol.asyncIterator] || pieces?.[Symbol.iterator])) {
      throw wrong("pieces", "an iterable or asynchronous iterable of pieces", pieces);
    }
    for await (const piece of pieces) yield* this.push(piece);
    yield* this.finish();
  }

  transform() {
    const send = (items, controller) => {
      for (const item of items) controller.enqueue(item);
    };
    return new TransformStream({
      transform: (piece, controller) => send(this.push(piece), controller),
      flush: (controller) => send(this.finish(), controller),
    });
  }
}

export class Stream extends Reader {
  #model;

  constructor(inside, number, model) {
    super(inside, number);
    this.#model = model;
  }

  push(piece) {
    return this[INSIDE].push(this[NUMBER], this.joined(piece, "piece"), 0);
  }

  pushToken(token, options = NO_OPTIONS) {
    const kind = specialOf(options) ? 2 : 1;
    return this[INSIDE].push(this[NUMBER], this.joined(token, "token"), kind);
  }

  finish() {
    // Half a character that nothing completes is none.
    const waited = this.hasHalf ? this.push(new Uint8Array(0)) : [];
    const events = this[INSIDE].finish(this[NUMBER]);
    return waited.length === 0 ? events : [...waited, ...events];
  }

  #spans(piece, values) {
    return run(this, "stream.spans", values, piece);
  }

  pushSpans(piece) {
    return this.#spans(this.joined(textOf(piece, "piece"), "piece"), {});
  }

  finishSpans() {
    return this.#spans(this.hasHalf ? this.joined(new Uint8Array(0)) : "", { $last: true });
  }

  reset() {
    this.forget();
    return Uint8Array.from(run(this, "stream.reset"));
  }

  get message() {
    return new Message(run(this, "stream.message"), this.#model);
  }

  get channel() {
    return run(this, "stream.channel");
  }

  get held() {
    return Uint8Array.from(run(this, "stream.held"));
  }

  get tokenCounts() {
    return run(this, "stream.tokenCounts");
  }

  openaiChunks(options = {}) {
    return new Chunks(this[INSIDE], run(this, "stream.openai", objectOf(options)).object);
  }

  anthropicEvents(options = {}) {
    return new Chunks(this[INSIDE], run(this, "stream.anthropic", objectOf(options)).object);
  }
}

/** Writes what a stream reads in the form of an API. */
export class Chunks extends Reader {
  #step(operation, values, piece) {
    return run(this, operation, { ...values, now: Math.floor(Date.now() / 1000) }, piece);
  }

  push(piece) {
    return this.#step("chunks.push", {}, this.joined(piece, "piece"));
  }

  pushToken(token, options = NO_OPTIONS) {
    const special = specialOf(options);
    return this.#step("chunks.push", { special }, this.joined(token, "token"));
  }

  finish(options = {}) {
    objectOf(options);
    const waited = this.hasHalf ? this.push(new Uint8Array(0)) : [];
    return [...waited, ...this.#step("chunks.finish", options)];
  }
}
