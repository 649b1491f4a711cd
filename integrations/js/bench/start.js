// How long the first use takes in a new process, in which the engine has compiled nothing before: bench.js runs it once for each round.
// The only argument is `small`, as in browsers, or `node`, which reads the large module from disk.

import { readFileSync } from "node:fs";

const NAME = "Qwen/Qwen3-0.6B";
const OUTPUT = '<think>\nRain?\n</think>\n\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>';

const isSmall = process.argv[2] === "small";
const bytes = isSmall ? readFileSync(new URL("../lib/unjinja.wasm", import.meta.url)) : undefined;

const begin = performance.now();
const { init, Model } = await import(isSmall ? "../lib/index.js" : "../lib/node.js");
const imported = performance.now();
await init(bytes);
const ready = performance.now();
const first = Model.known(NAME).parse(OUTPUT);
const read = performance.now();
const second = Model.known(NAME).parse(OUTPUT);
const again = performance.now();
if (first.toolCalls.length !== 1 || second.toolCalls.length !== 1) throw new Error("the call was not read");

console.log(
  JSON.stringify({ import: imported - begin, init: ready - imported, first: read - ready, second: again - read, all: read - begin }),
);
