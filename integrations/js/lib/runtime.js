// Which instance of the module is used, and the objects that live in it.

import { StateError } from "./errors.js";
import { Instance } from "./instance.js";

// The compiled module, the instance that is used, and what compiles the module at first use, where that can be done at once.
let compiled;
let current;
let compileNow;

/** Says how the module is compiled without waiting, as in Node.js. */
export function whenNeeded(compile) {
  compileNow = compile;
}

/** Whether there is a module. */
export function isReady() {
  return compiled !== undefined;
}

/** Uses a compiled module. */
export function useModule(module) {
  compiled = module;
  current = new Instance(new WebAssembly.Instance(module));
}

/** The instance for new objects. One that stopped is replaced. */
export function instance() {
  if (current === undefined) {
    if (compileNow === undefined) {
      throw new StateError("unjinja is not ready: its module has not been loaded\n  = next: `await init()` first");
    }
    useModule(compileNow());
  }
  if (current.stopped) useModule(compiled);
  return current;
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
