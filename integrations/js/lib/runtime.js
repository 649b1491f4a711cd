// Which instance of the module is used, and the objects that live in it.

import { notReady } from "./errors.js";
import { EXPORTS, Instance } from "./instance.js";

// The module that is used: compiled, what it is called in errors, and its instance. It is there only once all of that is.
let used;

// What compiles the module at first use, where that can be done at once.
let compileNow;

/** Says how the module is compiled without waiting, as in Node.js. `what` is its name. */
export function whenNeeded(compile, what) {
  compileNow = () => useModule(compile(), what, true);
}

/** Whether there is a module, or the large one. */
export function isReady(full = false) {
  return used !== undefined && (!full || used.inside.isFull);
}

function instantiated(module, what) {
  const names = new Set(WebAssembly.Module.exports(module).map(({ name }) => name));
  if (EXPORTS.some((name) => !names.has(name)) || WebAssembly.Module.imports(module).length > 0) {
    const next = "pass lib/unjinja.wasm of the same version of the package, or unjinja-full.wasm";
    throw notReady(`${what} is WebAssembly, but not that of this version of unjinja`, next);
  }
  try {
    return new Instance(new WebAssembly.Instance(module));
  } catch (cause) {
    throw notReady(`${what} cannot be started: ${cause.message}`, "call `init` again when there is more memory", cause);
  }
}

/** Uses a compiled module, if it has more than one that is there. Nothing changes unless it works. `full`: it has to be the large one. */
export function useModule(module, what, full = false) {
  const inside = instantiated(module, what);
  if (full && !inside.isFull) {
    throw notReady(`${what} is the small module, and \`unjinja/full\` needs the large one`, "pass lib/unjinja-full.wasm of the package");
  }
  if (used !== undefined && !used.inside.stopped) {
    if (!inside.isFull || used.inside.isFull) return;
    used.inside.wasReplaced = true;
  }
  used = { module, what, inside };
}

/** The large module, where it can be had at once. */
export function haveFull() {
  if (!isReady(true)) compileNow();
}

/** The instance for new objects. One that stopped is replaced. */
export function instance() {
  if (used === undefined) {
    if (compileNow === undefined) throw notReady("its module has not been loaded", "`await init()` first");
    compileNow();
  }
  if (used.inside.stopped) used = { ...used, inside: instantiated(used.module, used.what) };
  return used.inside;
}

/** How many objects are alive: for tests. */
export function objectCount() {
  return instance().exports.objects();
}

const left = new FinalizationRegistry(({ inside, number }) => {
  if (!inside.stopped) inside.exports.free(number);
});

export const INSIDE = Symbol("instance");
export const NUMBER = Symbol("number");

/** An object of the module. It is freed when nobody holds it any more, or at once by `dispose`. */
export class Resource {
  constructor(inside, number) {
    Object.defineProperty(this, INSIDE, { value: inside });
    Object.defineProperty(this, NUMBER, { value: number, writable: true });
    left.register(this, { inside, number }, this);
  }

  dispose() {
    const number = this[NUMBER];
    if (number === 0) return;
    this[NUMBER] = 0;
    left.unregister(this);
    if (!this[INSIDE].stopped) this[INSIDE].exports.free(number);
  }
}

// Where the platform has no such symbol, `dispose` is all there is.
if (Symbol.dispose) {
  Object.defineProperty(Resource.prototype, Symbol.dispose, {
    value() {
      this.dispose();
    },
  });
}

/** Runs an operation on an object. */
export function run(object, operation, values, piece) {
  return object[INSIDE].call(operation, object[NUMBER], values, piece);
}
