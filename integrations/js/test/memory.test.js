// Objects are freed: memory does not grow. Needs `--expose-gc`.

import assert from "node:assert/strict";
import test from "node:test";
import { setTimeout } from "node:timers/promises";

import { Model } from "../lib/node.js";
import { instance, objectCount } from "../lib/runtime.js";
import { CALL, pieces } from "./support.js";

const model = Model.known("Qwen/Qwen3-0.6B");
const parts = pieces(CALL, 4);
const size = () => instance().exports.memory.buffer.byteLength;

function read(dispose) {
  const stream = model.stream();
  for (const part of parts) stream.push(part);
  stream.finish();
  assert.equal(stream.message.toolCalls.length, 1);
  if (dispose) stream.dispose();
}

test("10,000 streams that are disposed of", () => {
  for (let count = 0; count < 100; count++) read(true);
  const [objects, before] = [objectCount(), size()];
  for (let count = 0; count < 10_000; count++) read(true);
  assert.equal(objectCount(), objects);
  assert.equal(size(), before);
});

test("10,000 streams that nobody holds any more", { skip: !globalThis.gc && "needs --expose-gc" }, async () => {
  const objects = objectCount();
  let before = 0;
  for (let round = 0; round < 20; round++) {
    for (let count = 0; count < 500; count++) read(false);
    globalThis.gc();
    await setTimeout(5);
    if (round === 4) before = size();
  }
  globalThis.gc();
  await setTimeout(20);
  assert.ok(objectCount() <= objects + 500, `${objectCount()} objects are left`);
  assert.ok(size() <= 1.2 * before, `the memory grew from ${before} to ${size()} bytes`);
});

test("a large output leaves no large buffers", () => {
  const text = "a".repeat(8 << 20);
  model.parse(text, { thinking: false });
  const before = size();
  for (let count = 0; count < 5; count++) {
    assert.equal(model.parse(text, { thinking: false }).content.length, text.length);
    const stream = model.stream({ thinking: false });
    stream.push(text);
    stream.dispose();
  }
  assert.ok(size() <= 1.5 * before, `the memory grew from ${before} to ${size()} bytes`);
});
