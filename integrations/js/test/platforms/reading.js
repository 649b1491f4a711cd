// What a page and its worker do: they load the package as a browser does and compare what it reads with what Rust reads.

import init, { Model } from "/lib/index.js";
import { compare } from "/test/compare.js";

/** The lines of a file, while it arrives. */
async function* lines(path) {
  let rest = "";
  for await (const text of (await fetch(path)).body.pipeThrough(new TextDecoderStream())) {
    const parts = (rest + text).split("\n");
    rest = parts.pop();
    yield* parts;
  }
  yield rest;
}

export async function readAll() {
  await init();
  const began = performance.now();
  const cases = await compare(Model, lines("/reference/cases.jsonl"), 350);
  const turns = await compare(Model, lines("/reference/turns.jsonl"), 1000);
  return { cases, turns, seconds: (performance.now() - began) / 1000 };
}
