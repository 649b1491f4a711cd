// The installed package in Node.js, Deno or Bun: it reads what Rust reads, and streams are freed. It runs in a folder where `unjinja` is
// installed, next to compare.js: runtime.js REFERENCE

import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";

import { Model } from "unjinja";

import { compare } from "./compare.js";

const [folder] = process.argv.slice(2);
const lines = (name) => createInterface({ input: createReadStream(`${folder}/${name}.jsonl`) });
const runtime = globalThis.Deno
  ? `Deno ${Deno.version.deno}`
  : globalThis.Bun
    ? `Bun ${Bun.version}`
    : `Node.js ${process.versions.node}`;

// The large module is there without a download, and `init` may be left out.
if (!Model.known("Qwen/Qwen3-0.6B").grammar().text.includes("root ::=")) throw new Error("there is no grammar");
const cases = await compare(Model, lines("cases"), 350);
const turns = await compare(Model, lines("turns"), 1000);
console.log(`js: ${runtime}: ${cases} cases and ${turns} turns are read as Rust reads them`);
