// The tables: a line for each model, and each measurement with all of its figures.

import { strict } from "./better.js";
import { table } from "./html.js";
import { part, short, supported, than, ways } from "./words.js";

/** A line for each template that is in a measurement by model. */
export function models({ outputs, vllm }) {
  const known = new Map(outputs.templates.map((row) => [row.template, { ours: row }]));
  for (const row of vllm.rows) known.set(row.name, { ...known.get(row.name), vllm: row });
  const streamed = ({ of, peer, unjinja }) => [than(peer[1], unjinja[1], part(peer[1], of)), part(unjinja[1], of)];
  const library = (found) => (found ? than(found.peer, found.unjinja, part(found.peer, found.of)) : null);
  const line = ([name, { ours, vllm: theirs }]) => [
    name,
    ...(theirs ? [theirs.turns, theirs.outputs].flatMap(streamed) : [null, null, null, null]),
    ...outputs.peers.map((peer) => library(ours?.peers[peer.name])),
    ours ? part(ours.unjinja, ours.outputs) : null,
  ];
  const sorted = [...known].sort(([a], [b]) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1));
  const streams = "vLLM: streamed, one token in a delta, of the outputs that could be asked of its server.";
  return table({
    id: "by-model",
    caption: `Turns and outputs of each model. ${streams} Libraries: the best of the ways of calling them.`,
    groups: [["", 1], ["turns, in vLLM", 2], ["outputs, in vLLM", 2], ["outputs, by themselves", outputs.peers.length + 1]],
    head: ["model's template", "vLLM", "unjinja", "vLLM", "unjinja", ...outputs.peers.map(({ name }) => short(name)), "unjinja"],
    rows: sorted.map(line),
    source: "sources",
  });
}

function librariesBy(id, first, rows, peers) {
  const cell = (found) => (found ? part(found.read, found.of) : null);
  const counted = "A library counts where it has a parser for the format, with the best of the ways of calling it.";
  return table({
    id,
    caption: `Libraries on crates.io: outputs by ${first}. ${counted}`,
    head: [first, ...peers.map(({ name }) => short(name)), "unjinja"],
    rows: rows.map(({ name, peers: found, unjinja }) => [name, ...found.map(cell), cell(unjinja)]),
    source: "from-outputs",
  });
}

export const libraries = ({ outputs: { groups, classes, peers } }) =>
  [librariesBy("groups", "group", groups, peers), librariesBy("classes", "class", classes, peers)].join("\n");

export function vllm({ vllm: measured }) {
  const half = ({ of, peer, unjinja }) => [String(of), ...peer.map((read, at) => than(read, unjinja[at])), ways(unjinja)];
  const line = ({ name, parsers, turns, outputs }) => [name, parsers, ...half(turns), ...half(outputs)];
  const columns = ["of", "whole", "by token", "by 24 tokens", "unjinja"];
  return table({
    id: "vllm",
    caption: "vLLM: what its client receives, with the parsers that vLLM's documents advise, and with those of unjinja.",
    groups: [["", 2], ["turns", columns.length], ["outputs", columns.length]],
    head: ["model's template", "vLLM's parsers", ...columns, ...columns],
    rows: measured.rows.map(line),
    total: line(measured.all),
    source: "from-vllm",
  });
}

function sglangOf(what, { rows, all }) {
  const line = ({ name, templates, of, auto, best, unjinja }) => {
    const theirs = [auto, best].flatMap((way) => way.map((read, at) => than(read, unjinja[at])));
    return [name, String(templates), String(of), ...theirs, ...unjinja.map(String)];
  };
  const found = `SGLang: ${what}, with the parsers that SGLang finds for the template, and with those of unjinja.`;
  return table({
    id: `sglang-${what}`,
    caption: `${found} At best: right with one of four settings of these parsers, which no server can try.`,
    groups: [["", 3], ["`auto`", 2], ["at best", 2], ["unjinja", 2]],
    head: ["SGLang's parsers", "templates", what, "whole", "streamed", "whole", "streamed", "whole", "streamed"],
    rows: rows.map(line),
    total: line(all),
    source: "from-sglang",
  });
}

export const sglang = ({ sglang: measured }) => Object.entries(measured).map(([what, rows]) => sglangOf(what, rows)).join("\n");

export function canitoolcall({ published, canitoolcall: ours }) {
  const shown = (counts, mine) => {
    if (!counts) return null;
    return { text: `${counts.pass} + ${counts.soft_pass} of ${supported(counts)}`, better: mine && strict(counts) > strict(mine) };
  };
  const rows = Object.entries(ours.families).map(([family, mine]) => [
    family,
    ...published.engines.map(({ families }) => shown(families[family], mine)),
    shown(mine),
  ]);
  const counted = "fixtures that pass exactly + those that differ in white space only, of those that the engine supports.";
  return table({
    id: "canitoolcall",
    caption: `CanIToolCall: ${counted} The engines are its own runs of ${published.date}; unjinja is ours, on the same fixtures.`,
    head: ["family", ...published.engines.map(({ name, version }) => `${name} ${version}`), "unjinja"],
    rows,
    total: ["all", ...published.engines.map(({ totals }) => shown(totals)), shown(ours.totals)],
    source: "from-canitoolcall",
  });
}

function exported({ exports: rows }) {
  const sum = (key) => rows.reduce((all, row) => all + row[key], 0);
  const lossy = rows.filter(({ read, of }) => read < of);
  const whole = `${rows.length - lossy.length} of the ${rows.length} supported models lose nothing; the others are listed.`;
  return table({
    id: "exports",
    caption: `Response templates that unjinja makes, read by transformers: random conversations that come back. ${whole}`,
    head: ["model's spec", "transformers"],
    rows: lossy.map(({ name, read, of }) => [name, part(read, of)]),
    total: [`all ${rows.length} models`, part(sum("read"), sum("of"))],
    source: "from-exports",
  });
}

function ofOthers({ others }) {
  return table({
    id: "others",
    caption: "Response templates by others, next to those of unjinja for the same chat template, in transformers.",
    head: ["chat template", "response template of", "theirs", "unjinja's"],
    rows: others.map(({ name, of, peer, unjinja }) => [
      name,
      of,
      than(peer.read, unjinja.read, part(peer.read, peer.of)),
      part(unjinja.read, unjinja.of),
    ]),
    source: "from-others",
  });
}

function attached({ attach }) {
  return table({
    id: "attach",
    caption: "transformers: turns of which `tokenizer.parse_response`, set up by `unjinja.transformers.attach`, gives unjinja's message.",
    head: ["reads with", "templates", "turns"],
    rows: attach.map(({ name, templates, same }) => [name, templates, part(same.read, same.of)]),
    source: "from-transformers",
  });
}

export const responseTemplates = (figures) => [exported, ofOthers, attached].map((one) => one(figures)).join("\n");
