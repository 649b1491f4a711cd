// What this package reads is what Rust reads: all cases of tests/cases/ and turns of the corpus, whole and in pieces. .ci/js has
// Rust write the files.

import assert from "node:assert/strict";
import { createReadStream, existsSync, readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import test from "node:test";

import { init, Model, StateError } from "../lib/node.js";
import { compare } from "./compare.js";

// As browsers have it: the small module, from bytes.
await init(readFileSync(new URL("../lib/unjinja.wasm", import.meta.url)));

const folder = process.env.UNJINJA_REFERENCE;
const lines = (name) => createInterface({ input: createReadStream(`${folder}/${name}.jsonl`) });

test("all cases of tests/cases/ are read as Rust reads them", { skip: !folder && "UNJINJA_REFERENCE is not set" }, async (t) => {
  t.diagnostic(`${await compare(Model, lines("cases"), 350)} outputs`);
});

const reason = folder ? !existsSync(`${folder}/turns.jsonl`) && "there is no corpus" : "UNJINJA_REFERENCE is not set";
test("turns of the corpus are read as Rust reads them", { skip: reason }, async (t) => {
  t.diagnostic(`${await compare(Model, lines("turns"), 1000)} outputs`);
});

test("a difference is found", { skip: !folder && "UNJINJA_REFERENCE is not set" }, async () => {
  const changed = async function* () {
    for await (const line of lines("cases")) yield line.replace(/"content":"(?=\w)/, '"content":"another ');
  };
  await assert.rejects(compare(Model, changed(), 1), /content: .* instead of "another /);
});

test("the small module has no grammars, and says where they are", () => {
  const model = Model.known("Qwen/Qwen3-0.6B");
  assert.throws(() => model.grammar(), (error) => {
    assert.ok(error instanceof StateError);
    assert.match(error.message, /^model\.grammar: the small module cannot do this\n {2}= next: .*unjinja\/full/);
    return true;
  });
});
