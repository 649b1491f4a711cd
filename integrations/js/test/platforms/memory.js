// 10,000 streams on any platform: disposed of, or left to the FinalizationRegistry.

import { instance, objectCount } from "/lib/runtime.js";

const CALL =
  '<think>\nRain?\n</think>\n\nI look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Zürich 🌧", "days": 2}}\n</tool_call>';
const parts = CALL.match(/[^]{1,4}/gu);
const size = () => instance().exports.memory.buffer.byteLength;
const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

function readOne(model, dispose) {
  const stream = model.stream();
  for (const part of parts) stream.push(part);
  stream.finish();
  if (stream.message.toolCalls.length !== 1) throw new Error("the call was not read");
  if (dispose) stream.dispose();
}

/** How many objects and bytes 10,000 streams leave. `gc` is the one of `--expose-gc`. */
export async function leave(Model, gc) {
  const model = Model.known("Qwen/Qwen3-0.6B");
  for (let count = 0; count < 100; count++) readOne(model, true);
  const before = { objects: objectCount(), bytes: size() };
  const began = performance.now();
  for (let count = 0; count < 10_000; count++) readOne(model, true);
  const disposed = {
    objects: objectCount() - before.objects,
    bytes: size() - before.bytes,
    milliseconds: performance.now() - began,
  };
  for (let round = 0; round < 20; round++) {
    for (let count = 0; count < 500; count++) readOne(model, false);
    gc();
    await pause(5);
  }
  gc();
  await pause(100);
  return { disposed, collected: { objects: objectCount() - before.objects, bytes: size() - before.bytes }, bytes: size() };
}
