// Writes the page: where others read better first, then a line for each model, each measurement, and where the figures come from.

import { first } from "./first.js";
import { escape, list } from "./html.js";
import { canitoolcall, libraries, models, responseTemplates, sglang, vllm } from "./measured.js";
import { sources } from "./sources.js";

const PARTS = [
  ["better", "Where others read better"],
  ["reading", "How to read the figures"],
  ["models", "By model"],
  ["each", "Each measurement"],
  ["sources", "Where the figures come from"],
];

const READING = [
  "The rules of unjinja were made with all of these outputs at hand. No peer had that advantage.",
  "Some outputs come from the test suites of the peers themselves, and some from threads, where one can well expect another message.",
  "The figures are of different days and versions. Only what is in one table was measured in the same way.",
  "llama.cpp and Ollama were not run here: their figures are those that CanIToolCall published, of older versions than users have today.",
  "▲ marks a figure of a peer that is above that of unjinja.",
  "No model ran for these measurements: they are about parsers, and say nothing about how good a model is at calling tools.",
];

const POLICY = "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'";

const HEAD = `<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<title>unjinja: who reads what models write</title>
<meta name="description" content="Which turns and outputs of language models unjinja, vLLM, SGLang, llama.cpp and other parsers read.">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="scoreboard.css">`;

const TOP = `<a class="skip" href="#main">Skip to the content</a>
<header>
<p><a href="../index.html">unjinja: what does a chat template say?</a></p>
<h1>Who reads what models write</h1>
<p>How many turns and outputs of language models are read as expected: by unjinja, and by each parser that was measured.</p>
<nav aria-label="On this page">
${list(PARTS.map(([id, title]) => `<a href="#${id}">${title}</a>`))}
</nav>
</header>`;

const TERMS = `<p>A line for each chat template that was measured. <em>Turns</em> are what the template itself writes for random messages.
<em>Outputs</em> are what models really wrote, or what test suites of other parsers expect. <em>N of M</em>: of M, N are read as
expected. A dash: there is no figure, or the peer does not have the format.</p>`;

export function page(figures) {
  return `<!doctype html>
<!-- Written by \`node site/scoreboard/build.js\`: change the data or the generator, not this file. -->
<html lang="en">
<head>
${HEAD}
</head>
<body>
${TOP}
<main id="main">
${first(figures)}
<section aria-labelledby="reading">
<h2 id="reading">How to read the figures</h2>
${list(READING.map(escape))}
</section>
<section aria-labelledby="models">
<h2 id="models">By model</h2>
${TERMS}
${models(figures)}
</section>
<section aria-labelledby="each">
<h2 id="each">Each measurement</h2>
<h3>vLLM</h3>
${vllm(figures)}
<h3>SGLang</h3>
${sglang(figures)}
<h3>Libraries on crates.io</h3>
${libraries(figures)}
<h3>CanIToolCall</h3>
${canitoolcall(figures)}
<h3>Response templates</h3>
${responseTemplates(figures)}
</section>
${sources(figures)}
</main>
</body>
</html>
`;
}
