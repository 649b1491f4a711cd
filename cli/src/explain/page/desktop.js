// The page that `unjinja explain --html` writes: everything about one file, drawn from the JSON in the page.

import { fill, h, line } from "./dom.js";
import { outputView } from "./output.js";
import { grammarView } from "./states.js";
import { turnView } from "./turn.js";

const explanation = JSON.parse(document.getElementById("explanation").textContent);
const kind = explanation.kind === "template" ? "chat template" : "format spec";
document.title = `${line(explanation.file)} · unjinja explain`;
fill(
  document.body,
  h("header", { class: "page" }, h("p", { class: "eyebrow" }, `unjinja explain · ${kind}`), h("h1", {}, line(explanation.file))),
  h(
    "main",
    { class: "page" },
    explanation.output && h("section", {}, outputView(explanation.output)),
    h("section", {}, turnView(explanation), grammarView(explanation)),
    h("footer", {}, "Written by ", h("code", {}, "unjinja explain"), ". This page needs no network."),
  ),
);
