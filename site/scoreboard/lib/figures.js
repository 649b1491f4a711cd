// Gathers what was measured: the data files of this folder, the tables that commands printed into docs/, and the expectations of tests.

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { exportsOf, outputs, part, plain, sglang, table, vllm } from "./tables.js";

const root = join(dirname(fileURLToPath(import.meta.url)), "../../..");
const text = (path) => readFileSync(join(root, path), "utf8");
const data = (name) => JSON.parse(text(`site/scoreboard/data/${name}.json`));

/** The sums of the copied matrix must be those that its README prints. */
function checked(published) {
  for (const { name, families, totals } of published.engines) {
    const sum = (key) => Object.values(families).reduce((all, counts) => all + counts[key], 0);
    const sums = { pass: sum("pass"), soft_pass: sum("soft_pass"), fail: sum("fail") };
    sums.supported = sums.pass + sums.soft_pass + sums.fail;
    for (const [key, value] of Object.entries(sums)) {
      if (totals[key] !== value) throw new Error(`published.json: ${name}: the families have ${key} ${value}, the totals ${totals[key]}`);
    }
  }
  return published;
}

/** The counts by template must add up to those of the page, which the same command writes. */
function both(page, byTemplate) {
  const { of, unjinja } = page.groups.find(({ name }) => name === "all");
  const sum = (key) => byTemplate.templates.reduce((all, row) => all + row[key], 0);
  const only = (peer) => byTemplate.only_peers.filter(({ peers }) => peers.includes(peer)).length;
  const asRead = [sum("outputs"), sum("unjinja"), ...byTemplate.peers.map(only)];
  const asPrinted = [of, unjinja.read, ...page.peers.map(({ only }) => only)];
  if (String(asRead) !== String(asPrinted)) {
    throw new Error(`data/outputs.json adds up to ${asRead}, docs/outputs.md says ${asPrinted}: measure both again`);
  }
  return { ...byTemplate, ...page };
}

export function figures() {
  const sources = data("sources");
  const page = (key) => text(sources[key].data);
  const others = table(page("others"), "| chat template | of |", "<!-- templates of others -->").map(([name, of, theirs, ours]) => ({
    name: plain(name),
    of: plain(of),
    peer: part(theirs),
    unjinja: part(ours),
  }));
  const attach = table(page("transformers"), "| | templates that are read so |").map(([name, templates, same]) => ({
    name: plain(name),
    templates,
    same: part(same),
  }));
  return {
    sources,
    outputs: both(outputs(page("outputs")), data("outputs")),
    canitoolcall: data("canitoolcall"),
    published: checked(data("published")),
    vllm: vllm(page("vllm")),
    sglang: { turns: sglang(page("sglang"), "## Next to SGLang"), outputs: sglang(page("sglang"), "Outputs that models really wrote") },
    exports: exportsOf(text(sources.exports.data)),
    others,
    attach,
  };
}
