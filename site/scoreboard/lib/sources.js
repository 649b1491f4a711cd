// The last part of the page: the command, the versions and the inputs of each measurement.

import { escape } from "./html.js";
import { FILES } from "./words.js";

function all({ sources, outputs, canitoolcall, published }) {
  const data = (name) => `site/scoreboard/data/${name}.json`;
  const versions = published.engines.map(({ name, version }) => `${name} ${version}`);
  const copied = { date: published.date, command: "copied", versions, corpus: published.source, data: data("published") };
  return {
    outputs: ["Libraries on crates.io", sources.outputs],
    "by-template": ["Libraries, by model", { ...outputs.source, data: data("outputs") }],
    vllm: ["vLLM", sources.vllm],
    sglang: ["SGLang", sources.sglang],
    canitoolcall: ["CanIToolCall: unjinja", { ...canitoolcall.source, data: data("canitoolcall") }],
    published: ["CanIToolCall: the engines", copied],
    exports: ["Response templates of unjinja", sources.exports],
    others: ["Response templates of others", sources.others],
    transformers: ["transformers", sources.transformers],
  };
}

const line = ([id, [title, { date, command, versions, corpus, data }]]) => `<tr>
<th scope="row" id="from-${id}">${escape(title)}</th>
<td>${escape(date ?? "tested with each revision")}</td>
<td><code>${escape(command)}</code></td>
<td>${versions.map(escape).join("<br>")}</td>
<td>${escape(corpus)}</td>
<td><a href="${FILES}${data}">${escape(data)}</a></td>
</tr>`;

export function sources(figures) {
  const head = ["measurement", "date", "command", "versions", "inputs", "data"];
  return `<section aria-labelledby="sources">
<h2 id="sources">Where the figures come from</h2>
<p>A command reads the files of the last column and writes this page; a test fails if the two differ. Commands wrote these files too, but
for one: the matrix of CanIToolCall was copied from a picture by hand, and its sums are checked.</p>
<div class="table" role="region" aria-labelledby="sources-caption" tabindex="0">
<table>
<caption id="sources-caption">The command, the versions and the inputs of each measurement.</caption>
<thead>
<tr>${head.map((title) => `<th scope="col">${title}</th>`).join("")}</tr>
</thead>
<tbody>
${Object.entries(all(figures)).map(line).join("\n")}
</tbody>
</table>
</div>
</section>`;
}
