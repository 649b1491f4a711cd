// What this package reads is what Rust reads: all cases of tests/cases/ and turns of the corpus, whole and in pieces. .ci/js has
// Rust write the files.

import assert from "node:assert/strict";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import test from "node:test";

import { init, Model, StateError } from "../lib/node.js";
import { pieces, plain } from "./support.js";

// As browsers have it: the small module, from bytes.
await init(readFileSync(new URL("../lib/unjinja.wasm", import.meta.url)));

const folder = process.env.UNJINJA_REFERENCE;

/** Reads an output in pieces. */
function read(model, options, parts) {
  const stream = model.stream(options);
  const events = parts.flatMap((part) => stream.push(part));
  events.push(...stream.finish());
  const message = plain(stream.message);
  stream.dispose();
  return { events, message };
}

function bytesOf(output, size) {
  const bytes = new TextEncoder().encode(output);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

async function compare(file, least) {
  let [count, last, model] = [0, "", undefined];
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const { id, template, text, load, options, output, message, events } = JSON.parse(line);
    if (template !== last) {
      model?.dispose();
      [last, model] = [template, Model.fromTemplate(text, load)];
    }
    assert.deepEqual(plain(model.parse(output, options)), message, `${id}, whole`);
    const threes = read(model, options, pieces(output, 3));
    assert.deepEqual(threes.events, events, `${id}, the events of pieces of three characters`);
    // Single units of UTF-16 cut characters, and so do bytes.
    for (const parts of [[output], output.split(""), bytesOf(output, 5)]) {
      assert.deepEqual(read(model, options, parts).message, message, `${id}, in ${parts.length} pieces`);
    }
    count += 1;
  }
  assert.ok(count >= least, `${count} outputs are too few to show anything`);
  return count;
}

test("all cases of tests/cases/ are read as Rust reads them", { skip: !folder && "UNJINJA_REFERENCE is not set" }, async (t) => {
  t.diagnostic(`${await compare(`${folder}/cases.jsonl`, 350)} outputs`);
});

const turns = `${folder}/turns.jsonl`;
const reason = folder ? !existsSync(turns) && "there is no corpus" : "UNJINJA_REFERENCE is not set";
test("turns of the corpus are read as Rust reads them", { skip: reason }, async (t) => {
  t.diagnostic(`${await compare(turns, 900)} outputs`);
});

test("the small module has no grammars, and says where they are", () => {
  const model = Model.known("Qwen/Qwen3-0.6B");
  assert.throws(() => model.grammar(), (error) => {
    assert.ok(error instanceof StateError);
    assert.match(error.message, /^model\.grammar: the small module cannot do this\n {2}= next: .*unjinja\/full/);
    return true;
  });
});
