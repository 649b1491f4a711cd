// Loading that fails, and the large module after the small one. A failed `init` changes nothing.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import test from "node:test";
import { Worker } from "node:worker_threads";

import * as full from "../lib/full.js";
import init, { compareTemplates, Model, RequestError, StateError, Tools, UnjinjaError } from "../lib/index.js";
import { SHORT, WEATHER } from "./support.js";

const file = (name) => readFileSync(new URL(`../lib/${name}`, import.meta.url));
const [small, large] = [file("unjinja.wasm"), file("unjinja-full.wasm")];

const server = createServer((request, response) => {
  if (request.url === "/page") response.setHeader("content-type", "text/html").end("<!doctype html>");
  else if (request.url === "/slow.wasm") setTimeout(() => response.end(small), 100);
  else if (request.url === "/slow-large.wasm") setTimeout(() => response.end(large), 100);
  else if (request.url === "/small.wasm") response.end(small);
  else if (request.url === "/large.wasm") response.end(large);
  else response.writeHead(404).end();
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const address = (path) => `http://127.0.0.1:${server.address().port}${path}`;
test.after(() => server.close());

/** A source is refused with this text, and a next step. */
async function refused(source, text, { type = StateError, by = init } = {}) {
  await assert.rejects(by(source), (error) => {
    assert.ok(error instanceof UnjinjaError, error.stack);
    assert.equal(error.constructor, type);
    assert.match(error.message, text);
    assert.match(error.message, /\n {2}= next: ./);
    return true;
  });
}

const KNOWN = "Qwen/Qwen3-0.6B";
const asked = [{ role: "user", content: "Hello!" }];

test("every source that is no module is refused with what it was and what to do", async () => {
  const empty = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0]);
  await refused(empty, /the source of 8 bytes is WebAssembly, but not that of this version of unjinja/);
  await refused(new WebAssembly.Module(empty), /the module that was given is WebAssembly, but not that/);
  await refused(small.subarray(0, 1000), /the source of 1000 bytes cannot be compiled: .*WebAssembly/);
  await refused(new Uint8Array(0), /the source of 0 bytes cannot be compiled: it is no WebAssembly/);
  await refused(new TextEncoder().encode("GGUF").buffer, /the source of 4 bytes cannot be compiled: it is no WebAssembly/);
  await refused(address("/page"), /\/page cannot be compiled: it is no WebAssembly: the server sent text\/html/);
  await refused(fetch(address("/page")), /\/page cannot be compiled: it is no WebAssembly: the server sent text\/html/);
  await refused(new Response("x"), /the response cannot be compiled: it is no WebAssembly/);
  await refused(new URL(address("/nowhere.wasm")), /\/nowhere\.wasm cannot be loaded: 404 Not Found/);
  await refused(new Request(address("/nowhere.wasm")), /\/nowhere\.wasm cannot be loaded: 404 Not Found/);
  const read = await fetch(address("/page"));
  await read.text();
  await refused(read, /\/page cannot be read: /);
  await refused("http://127.0.0.1:1/x.wasm", /http:\/\/127\.0\.0\.1:1\/x\.wasm cannot be fetched: /);
  await refused("no address", /no address cannot be fetched: /);
  await refused(fetch("http://127.0.0.1:1/x.wasm"), /the promise that was given to `init` failed: /);
  for (const [source, found] of [[null, "null"], [5, "number"], [{}, "object"], [Promise.resolve(undefined), "undefined"]]) {
    await refused(source, new RegExp(`^source: expected an address, bytes, .*found ${found}`), { type: RequestError });
  }
  await refused(small, /is the small module, and `unjinja\/full` needs the large one/, { by: full.init });
  // Nothing of this is left.
  assert.throws(() => Model.known(KNOWN), /not ready: its module has not been loaded\n {2}= next: `await init\(\)` first/);
});

test("then the small module is loaded, and the large one takes its place: objects stay valid", async () => {
  await init(small);
  const model = Model.fromTemplate(SHORT);
  const tools = new Tools([WEATHER]);
  const stream = model.stream({ tools });
  assert.throws(() => model.grammar({ tools }), /the small module cannot do this\n {2}= next: .*`unjinja\/full`/);
  await init(null);
  await refused(address("/nowhere.wasm"), /404/, { by: full.init });
  await refused(small, /is the small module/, { by: full.init });
  assert.equal(model.parse("Hello!</>").content, "Hello!");

  await full.init(address("/large.wasm"));
  const known = Model.known(KNOWN);
  assert.match(known.grammar({ tools }).text, /get_weather/);
  assert.equal(known.parse("<think>\nHm.\n</think>\n\nHello!", { tools }).content, "Hello!");
  assert.equal(stream.push("Hello!</>")[0].text, "Hello!");
  const prompt = model.prompt(asked, { tools: new Tools([WEATHER]) });
  assert.equal(prompt.text, "<user>Hello!</><assistant>");
  // What was made before does what it did before, and says so.
  assert.throws(() => model.grammar({ tools }), /the small module cannot do this\n {2}= next: make the object anew: it was made before/);
  assert.throws(() => prompt.parts, StateError);
  assert.ok(compareTemplates(model, SHORT, { turns: 5 }).render.alike);
  assert.ok(Model.fromJSON(model.toJSON()).prompt(asked).parts.length > 0);
  await Promise.all([init(), init(address("/nowhere.wasm")), full.init(), full.init(null)]);
  assert.match(Model.known(KNOWN).grammar({ tools }).text, /get_weather/);
});

test("both modules at the same time: the large one stays, whichever comes last", async () => {
  for (const [first, second] of [["/slow.wasm", "/large.wasm"], ["/slow-large.wasm", "/small.wasm"]]) {
    const url = (name) => JSON.stringify(new URL(`../lib/${name}`, import.meta.url).href);
    const code = `
      import { parentPort } from "node:worker_threads";
      import init, { Model } from ${url("index.js")};
      import * as full from ${url("full.js")};
      const load = (path) => (path.includes("large") ? full.init : init)(${JSON.stringify(address(""))} + path);
      const both = [load("${first}"), load("${second}")];
      await Promise.all(both);
      parentPort.postMessage(Model.known("${KNOWN}").grammar().text);
    `;
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
    const text = await new Promise((resolve, reject) => worker.once("message", resolve).once("error", reject));
    assert.match(text, /^root ::=/m);
    await worker.terminate();
  }
});
