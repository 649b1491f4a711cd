// The first part of the page: where others read better.

import * as better from "./better.js";
import { escape, list, rich, table } from "./html.js";
import { FILES, percent, short, supported } from "./words.js";

const item = (name, text) => `<strong>${rich(name)}</strong>: ${rich(text)}`;

/** A list, or the sentence that says there is nothing. */
const listed = (items, nothing) => (items.length > 0 ? list(items) : `<p>${rich(nothing)}</p>`);

/** Each output that a library reads and unjinja does not. */
function cases({ outputs }) {
  const rows = outputs.only_peers.map(({ case: name, class: kind, template, differs, peers, on_purpose }) => [
    `\`${name}\``,
    template,
    kind,
    differs,
    peers.map(short).join("; "),
    on_purpose ? `On purpose: ${on_purpose.reason}` : "Not read yet.",
  ]);
  return table({
    id: "cases",
    caption: `The ${rows.length} outputs that a library reads and unjinja does not. The names are those of the corpus.`,
    head: ["output", "model's template", "where it is from", "what differs", "read by", "why"],
    rows,
    source: "from-by-template",
  });
}

function vllm(figures) {
  const items = better.vllm(figures.vllm).map(({ name, parsers, what, of, found }) =>
    item(name, `of ${of} ${what}, vLLM's \`${parsers.replace(/, -$/, "")}\` reads ${found.join("; ")}`),
  );
  const page = `${FILES}docs/vllm.md#outputs-that-vllms-parsers-read-and-unjinja-does-not`;
  return `<h3>vLLM's own parsers</h3>
${listed(items, "None of the models.")}
<p>In most of these outputs the markup of a call is broken, or the template does not write it: <a href="${page}">what they are</a>.</p>`;
}

function sglang(figures) {
  const items = better.sglang(figures.sglang).map(({ name, what, of, found }) =>
    item(name, `of ${of} ${what}, SGLang reads ${found.join("; ")}`),
  );
  return `<h3>SGLang's own parsers</h3>
${listed(items, "None of the pairs of parsers as a whole, whatever their settings.")}
<p>Single outputs are read by them and not by unjinja: <a href="${FILES}docs/sglang.md#next-to-sglangs-own-parsers">how many</a>.</p>`;
}

function libraries(figures) {
  const items = better.libraries(figures.outputs).map(({ name, of, peer, unjinja, only, onlyOurs }) => {
    const all = `Of the ${of} in its formats it reads ${peer}, unjinja ${unjinja}.`;
    return item(short(name), `reads ${only} outputs that unjinja does not; unjinja reads ${onlyOurs} that it does not. ${all}`);
  });
  const templates = better.templates(figures.outputs).map(({ template, peer, of, theirs, unjinja }) =>
    item(template, `of ${of} outputs ${short(peer)} reads ${theirs}, unjinja ${unjinja}`),
  );
  return `<h3>Libraries on crates.io</h3>
${listed(items, "None reads an output that unjinja does not.")}
<p>Of the outputs of one template a library reads more here:</p>
${listed(templates, "Of none.")}
${cases(figures)}`;
}

function engines({ published, canitoolcall }) {
  const share = (counts) => `${counts.pass} of ${supported(counts)} (${percent(better.strict(counts))})`;
  const items = better.engines(published, canitoolcall).map(({ engine, family, counts, ours }) =>
    item(family, `${engine} reads ${share(counts)} of the fixtures that it supports exactly, unjinja ${share(ours)}`),
  );
  const { fails, soft } = canitoolcall;
  const names = fails.map((name) => `<code>${escape(name)}</code>`).join(", ");
  return `<h3>Engines in CanIToolCall</h3>
<p>Compared by the share of the fixtures that an engine supports and reads exactly. An engine that supports few may have the easy ones.</p>
${listed(items, "None of the families.")}
<p>unjinja fails ${fails.length} fixtures, which some of the engines may pass: ${names}. ${soft.length} more differ in white space.
<a href="${FILES}dev/canitoolcall/README.md#results">Why each</a>.</p>`;
}

function others(figures) {
  const items = better.others(figures.others).map(({ name, of, peer, unjinja }) =>
    item(name, `${of}: ${peer.read} of ${peer.of} came back, with ours ${unjinja.read}`),
  );
  return `<h3>Response templates written by others</h3>
${listed(items, "None is read better than the one that unjinja makes.")}`;
}

export function first(figures) {
  return `<section aria-labelledby="better">
<h2 id="better">Where others read better</h2>
<p>Every place in the figures below at which a peer reads more than unjinja.</p>
${[vllm, sglang, libraries, engines, others].map((part) => part(figures)).join("\n")}
</section>`;
}
