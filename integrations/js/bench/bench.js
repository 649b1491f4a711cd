// The figures of the README: sizes, times, and a comparison with a parser of JavaScript. `.ci/js --bench` runs it.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { cpus, loadavg } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";

import { init, Model } from "../lib/node.js";
import { instance } from "../lib/runtime.js";
import { sizes } from "./size.js";

const ROUNDS = 9;
const SIZE = 64 << 10;

const TOOLS = [
  {
    type: "function",
    name: "write_file",
    inputSchema: { type: "object", properties: { path: { type: "string" }, text: { type: "string" } } },
  },
];

const median = (times) => times.toSorted((a, b) => a - b)[times.length >> 1];
// Other programs run on the machine at the same time, and make some rounds longer.
const quickest = (times) => (times.length === 0 ? undefined : Math.min(...times));
const milliseconds = (run) => {
  const begin = performance.now();
  run();
  return performance.now() - begin;
};

/** Pieces of four characters, as tokens are. */
function pieces(text) {
  return Array.from({ length: Math.ceil(text.length / 4) }, (_, at) => text.slice(4 * at, 4 * at + 4));
}

/** Prose without a marker, so long. */
function prose(length) {
  return "The quick brown fox jumps over the lazy dog, and then it rests. ".repeat(Math.ceil(length / 64)).slice(0, length);
}

function call(text) {
  return `<tool_call>\n${JSON.stringify({ name: "write_file", arguments: { path: "a.txt", text } })}\n</tool_call>`;
}

/** Outputs of 64 KiB in the format of Hermes and Qwen, which most parsers read. */
const OUTPUTS = {
  "an answer, then a short call": prose(SIZE) + call("Hello"),
  "one call with a long argument": call(prose(SIZE)),
  "calls with arguments of 200 characters": Array.from({ length: SIZE / 280 }, () => call(prose(200))).join("\n"),
};

const model = Model.fromTemplate(readFileSync(new URL("../../../templates/hermes.jinja", import.meta.url), "utf8"));
const tools = TOOLS.map(({ name, inputSchema }) => ({ name, parameters: inputSchema }));

/** How long the package takes with `push`, and the arguments of all calls. */
function ours(parts) {
  const calls = [];
  const time = milliseconds(() => {
    const stream = model.stream({ tools });
    const take = (events) => {
      for (const event of events) {
        if (event.type === "tool_call_start") calls.push("");
        if (event.type === "tool_call_arguments") calls[event.index] += event.json;
      }
    };
    for (const part of parts) take(stream.push(part));
    take(stream.finish());
    stream.dispose();
  });
  return [time, calls];
}

/** The same as a transform of streams. */
async function oursTransform(parts) {
  const calls = [];
  const begin = performance.now();
  for await (const event of ReadableStream.from(parts).pipeThrough(model.stream({ tools }).transform())) {
    if (event.type === "tool_call_start") calls.push("");
    if (event.type === "tool_call_arguments") calls[event.index] += event.json;
  }
  return [performance.now() - begin, calls];
}

/** The peer, which is a transform of streams. */
async function theirs(protocol, parts) {
  const calls = [];
  const deltas = ReadableStream.from(parts.map((delta) => ({ type: "text-delta", id: "1", delta })));
  const begin = performance.now();
  for await (const part of deltas.pipeThrough(protocol.createStreamParser({ tools: TOOLS }))) {
    if (part.type === "tool-call") calls.push(part.input);
  }
  return [performance.now() - begin, calls];
}

const table = (rows) => rows.map((row) => `| ${row.join(" | ")} |`).join("\n");

/** The first use of the package, each time in a new process: an engine keeps what it compiled of the same bytes. */
function starts(module) {
  const script = fileURLToPath(new URL("start.js", import.meta.url));
  const round = () => JSON.parse(execFileSync(process.execPath, [script, module], { encoding: "utf8" }));
  const rounds = Array.from({ length: ROUNDS }, round);
  const all = Object.keys(rounds[0]).map((name) => [name, quickest(rounds.map((times) => times[name]))]);
  return Object.fromEntries(all.map(([name, time]) => [name, time.toFixed(1)]));
}

const load = loadavg()[0].toFixed(1);
console.log(`node ${process.version}, ${cpus()[0]?.model ?? "unknown processor"}, ${cpus().length} cores with a load of ${load}`);
console.log(`the quickest of ${ROUNDS} rounds\n`);

await init(readFileSync(new URL("../lib/unjinja.wasm", import.meta.url)));
const modules = ["unjinja.wasm", "unjinja-full.wasm"].map((name) => [name, ...Object.values(sizes(name))]);
console.log(table([["bytes", "raw", "gzip", "brotli"], ["---", "---:", "---:", "---:"], ...modules]));
console.log();
for (const [module, name] of [["small", "the small module, of bytes"], ["node", "the large module, from disk"]]) {
  const { init: start, first, second, all } = starts(module);
  const uses = `${first} ms for the first \`Model.known\` and \`parse\`, ${second} ms for the second`;
  console.log(`a new process, ${name}: ${start} ms to init, ${uses}; from the import on, ${all} ms until the first are done`);
}

const folders = ["../../../templates/", "../../../../shared/corpus/templates/"];
for (const folder of folders.map((name) => new URL(name, import.meta.url)).filter((url) => existsSync(url))) {
  const names = readdirSync(folder).filter((name) => name.endsWith(".jinja"));
  const texts = names.map((name) => readFileSync(new URL(name, folder), "utf8"));
  const load = (text) => {
    try {
      Model.fromTemplate(text).dispose();
    } catch {
      // A template that is no chat template takes its time too.
    }
  };
  texts.slice(0, 5).forEach(load);
  const times = texts.map((text) => milliseconds(() => load(text)));
  const sum = times.reduce((all, time) => all + time, 0);
  console.log(`to load ${times.length} templates of ${folder.pathname.split("/").slice(-3, -1).join("/")}: ${sum.toFixed(0)} ms, median ${median(times).toFixed(1)} ms, longest ${Math.max(...times).toFixed(1)} ms`);
}
console.log(`memory after that: ${(instance().exports.memory.buffer.byteLength / 2 ** 20).toFixed(1)} MiB\n`);

let protocol;
if (process.env.UNJINJA_PEERS) {
  const require = createRequire(pathToFileURL(`${process.env.UNJINJA_PEERS}/`));
  protocol = (await import(pathToFileURL(require.resolve("@ai-sdk-tool/parser")).href)).hermesProtocol();
}
const rows = [["64 KiB in pieces of 4", "push, µs each", "push, ms", "transform, ms", "peer, ms", "push is faster", "transform is faster"], ["---", "---:", "---:", "---:", "---:", "---:", "---:"]];
for (const [name, output] of Object.entries(OUTPUTS)) {
  const parts = pieces(output);
  const [pushes, transforms, peers] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    const [pushed, calls] = ours(parts);
    pushes.push(pushed);
    const [transformed, others] = await oursTransform(parts);
    transforms.push(transformed);
    assert.deepEqual(others, calls);
    // A peer that takes seconds is asked only a few times.
    if (protocol && peers.reduce((all, time) => all + time, 0) < 15_000) {
      const [time, read] = await theirs(protocol, parts);
      peers.push(time);
      assert.deepEqual(read.map((one) => JSON.parse(one)), calls.map((one) => JSON.parse(one)));
    }
  }
  const [push, transform, peer] = [pushes, transforms, peers].map(quickest);
  const times = (ours) => (peer ? `${(peer / ours).toFixed(1)} ×` : "");
  rows.push([name, ((1000 * push) / parts.length).toFixed(2), push.toFixed(1), transform.toFixed(1), peer?.toFixed(1) ?? "", times(push), times(transform)]);
}
console.log(table(rows));
