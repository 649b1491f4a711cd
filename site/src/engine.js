// Asks the package: in a worker where the platform allows one, else on the main thread.

import * as here from "./operations.js";

/* global WORKER_SOURCE */

/** An error of the package, with its place and next step in the text. */
export class EngineError extends Error {
  /** @param {{ name: string, message: string }} error */
  constructor({ name, message }) {
    super(message);
    this.name = name;
  }
}

const waiting = new Map();
let last = 0;
let worker;
let module;
let started;

/** The module: fetched from a server; beside a page that was opened from a folder, it is in a script. */
function moduleOf() {
  if (location.protocol !== "file:") {
    return fetch("unjinja-full.wasm").then((response) => {
      if (response.ok) return response.arrayBuffer();
      throw new Error(`${response.url}: the module cannot be loaded: ${response.status} ${response.statusText}`);
    });
  }
  return new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = "unjinja-full.wasm.js";
    script.onload = () => done(globalThis.unjinjaModule);
    script.onerror = () => failed(new Error("unjinja-full.wasm.js cannot be loaded; it belongs next to index.html"));
    document.head.append(script);
  });
}

function startWorker() {
  const address = URL.createObjectURL(new Blob([WORKER_SOURCE], { type: "text/javascript" }));
  try {
    return new Worker(address);
  } catch {
    return undefined;
  }
}

/** Whether the worker answers: a platform may refuse it only after it was made. */
function listen(made, onFirst) {
  made.addEventListener("message", ({ data: { id, answer, error } }) => {
    onFirst();
    const { done, failed } = waiting.get(id) ?? {};
    waiting.delete(id);
    if (error) failed?.(new EngineError(error));
    else done?.(answer);
  });
}

function ask(name, values) {
  last += 1;
  const id = last;
  return new Promise((done, failed) => {
    waiting.set(id, { done, failed });
    worker.postMessage({ id, name, values });
  });
}

/** Loads the module. Another call returns the same promise. */
export function start() {
  started ??= (async () => {
    module ??= moduleOf();
    const bytes = await module;
    worker = startWorker();
    if (worker !== undefined) {
      const refused = new Promise((done) => worker.addEventListener("error", () => done("refused")));
      const answered = new Promise((done) => listen(worker, () => done("answered")));
      const first = ask("start", bytes);
      first.catch(() => {});
      if ((await Promise.race([refused, answered])) === "answered") return first;
      worker.terminate();
      worker = undefined;
      waiting.clear();
    }
    return here.start(bytes);
  })();
  return started;
}

/**
 * Runs an operation of `operations.js`.
 *
 * @param {string} name
 * @param {object} values
 * @returns {Promise<any>}
 */
export async function run(name, values) {
  await start();
  if (worker !== undefined) return ask(name, values);
  try {
    return await here.run(name, values);
  } catch (error) {
    throw new EngineError(error);
  }
}

/** Whether operations run in a worker. */
export function inWorker() {
  return worker !== undefined;
}
