// The entries for browsers: `init` comes first, from an address, a response, bytes or a compiled module.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { Worker } from "node:worker_threads";

import * as full from "../lib/full.js";
import init, { Model, StateError } from "../lib/index.js";
import { SHORT } from "./support.js";

const file = (name) => readFileSync(new URL(`../lib/${name}`, import.meta.url));

// A server that knows no type of a file.
const server = createServer((request, response) => {
  if (request.url === "/unjinja.wasm") response.end(file("unjinja.wasm"));
  else response.writeHead(404).end();
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = (path) => `http://127.0.0.1:${server.address().port}${path}`;
test.after(() => server.close());

test("nothing works before `init`, a failed `init` can be repeated, and then the module is there", async () => {
  assert.throws(() => Model.known("qwen_qwen3_0_6b"), (error) => {
    assert.ok(error instanceof StateError);
    assert.match(error.message, /not been loaded\n {2}= next: `await init\(\)` first/);
    return true;
  });
  await assert.rejects(init(address("/nowhere.wasm")), /nowhere\.wasm cannot be loaded: 404 Not Found\n {2}= next: have the server send/);
  await Promise.all([init(address("/unjinja.wasm")), init(address("/unjinja.wasm"))]);
  assert.equal(Model.known("qwen_qwen3_0_6b").parse("<think>\nHm.\n</think>\n\nHello!").content, "Hello!");
  // Another call does nothing, whatever it is given. The other entry has the same classes, and the large module.
  await init(address("/nowhere.wasm"));
  assert.equal(full.Model, Model);
});

test("in a worker, from a compiled module, with a model that was analysed here", async () => {
  const model = Model.fromTemplate(SHORT);
  const code = `
    import { parentPort, workerData } from "node:worker_threads";
    import init, { Model } from ${JSON.stringify(new URL("../lib/index.js", import.meta.url).href)};
    await init(workerData.module);
    const model = Model.fromJSON(workerData.state);
    parentPort.postMessage(model.prompt([{ role: "user", content: "Hello!" }]).text);
  `;
  const module = await WebAssembly.compile(file("unjinja.wasm"));
  const workerData = { module, state: model.toJSON() };
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`), { workerData });
  const answer = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
  assert.equal(answer, "<user>Hello!</><assistant>");
  await worker.terminate();
});
