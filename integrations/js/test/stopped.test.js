// What happens after a bug: the instance that stopped is not used again, and a new one is made for new objects.

import assert from "node:assert/strict";
import test from "node:test";

import { Model, StateError, UnjinjaError } from "../lib/node.js";
import { instance } from "../lib/runtime.js";

test("an instance that stopped loses its objects, and others can be made", () => {
  const model = Model.known("qwen_qwen3_0_6b");
  const stream = model.stream();
  const broken = instance();
  broken.exports = {
    ...broken.exports,
    push() {
      throw new WebAssembly.RuntimeError("unreachable");
    },
  };
  assert.throws(() => stream.push("x"), (error) => {
    assert.ok(error instanceof UnjinjaError && error.cause instanceof WebAssembly.RuntimeError);
    assert.match(error.message, /^the WebAssembly module stopped: unreachable\n {2}= next: make the model anew/);
    return true;
  });
  for (const use of [() => stream.push("x"), () => stream.finish(), () => model.parse("x"), () => stream.message]) {
    assert.throws(use, StateError);
  }
  stream.dispose();
  const again = Model.known("qwen_qwen3_0_6b");
  assert.notEqual(instance(), broken);
  assert.equal(again.parse("<think>\nHm.\n</think>\n\nHello!").content, "Hello!");
});
