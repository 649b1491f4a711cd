// The tab Check: what is wrong with a template, and what can be made of it.

import { block, fill, h, lazyFold, line, lines, marker, pre } from "../../cli/src/explain/page/dom.js";
import { toolsOf } from "./app.js";
import { run } from "./engine.js";
import { choice, copyButton, insteadOf, latest, showNow, sideBySide } from "./parts.js";

const SEVERITIES = { error: ["bad", "✗ error"], warning: ["part", "! warning"], note: ["", "· note"] };

/**
 * @param {import("./app.js").App} app
 * @param {Element} panel
 */
export function checkTab(app, panel) {
  const findings = h("div", {});
  const artefacts = h("div", {});
  const draw = latest(findings);
  const toolChoice = choice(
    app.state.toolChoice,
    [
      ["auto", "may call tools"],
      ["required", "must call a tool"],
      ["none", "calls no tool"],
    ],
    (value) => app.set({ toolChoice: value }),
  );
  fill(
    panel,
    h("h2", {}, "Faults of the template"),
    findings,
    h("h2", {}, "Made from it"),
    h("div", { class: "options" }, h("label", { class: "tick" }, "For grammars, the model ", toolChoice)),
    artefacts,
  );

  function drawArtefacts() {
    if (app.model.error) return fill(artefacts);
    const open = new Set(Array.from(artefacts.querySelectorAll("details[open]"), (one) => one.dataset.name));
    fill(
      artefacts,
      ARTEFACTS.map((one) => artefactView(app, one, open.has(one.name))),
    );
  }
  const update = (changed) => {
    if (app.model.busy) return;
    if (app.model.empty) {
      fill(artefacts);
      return showNow(draw, insteadOf(app.model));
    }
    if (changed.has("model")) {
      const { source } = app.state;
      if (source.kind === "template") draw(() => run("lint", { source }), findingsView, "The template is checked …");
      else {
        const note = "Faults are found by rendering. Paste the text of the template to look for them.";
        showNow(draw, insteadOf(app.model) ?? h("p", { class: "empty" }, note));
      }
    }
    if (["model", "tools", "toolChoice"].some((name) => changed.has(name))) drawArtefacts();
  };
  update(new Set(["model"]));
  return update;
}

function findingsView(findings) {
  if (findings.length === 0) return h("p", { class: "ok" }, "✓ Nothing was found.");
  const rank = Object.keys(SEVERITIES);
  const sorted = findings.toSorted((a, b) => rank.indexOf(a.severity) - rank.indexOf(b.severity));
  return h("ul", { class: "plain faults" }, sorted.map(findingView));
}

function findingView(finding) {
  const [kind, label] = SEVERITIES[finding.severity] ?? SEVERITIES.note;
  const place = finding.line && `line ${finding.line}${finding.column ? `, column ${finding.column}` : ""}`;
  const evidence = [
    finding.conversation &&
      h(
        "figure",
        {},
        h("figcaption", {}, "The smallest conversation that shows it"),
        pre({ "aria-label": "The conversation" }, lines(JSON.stringify(finding.conversation, null, 2))),
      ),
    finding.output &&
      h("figure", {}, h("figcaption", {}, "The output"), pre({ "aria-label": "The output" }, block(finding.output))),
    finding.expected !== null &&
      finding.actual !== null &&
      sideBySide(["expected", finding.expected], ["actual", finding.actual]),
  ].filter(Boolean);
  return h(
    "li",
    { class: "fault" },
    h(
      "p",
      { class: "facts" },
      h("span", { class: `badge ${kind}` }, label),
      h("code", {}, finding.rule),
      place && h("span", {}, place),
    ),
    h("p", {}, lines(finding.message)),
    finding.help && h("p", { class: "note" }, h("b", {}, "What to do: "), lines(finding.help)),
    evidence.length > 0 && lazyFold(h("span", { class: "what" }, "Show it"), () => evidence, { class: "quiet" }),
  );
}

const grammar = (kind) => async (app) => {
  const { tools, error } = toolsOf(app.state);
  const { toolChoice } = app.state;
  if (error) throw new Error(`${error}\n  = next: correct them in the tab Parse or Prompt`);
  const made = await run("grammar", { source: app.state.source, options: { kind, tools, toolChoice } });
  return {
    // A structural tag is JSON on one line, which nobody can read.
    text: kind === "xgrammar" && made.text !== "" ? JSON.stringify(JSON.parse(made.text), null, 2) : made.text,
    notes: [
      made.text === ""
        ? "There is nothing to constrain."
        : made.lazy
          ? "It holds from a trigger on; text before the trigger is free."
          : "It holds for the whole turn.",
      ...made.triggers.map(({ kind: what, value }) => `Trigger (${what}): ${line(value)}`),
      ...made.widened.map((wider) => `Not enforced: ${line(wider)}`),
    ],
  };
};

const responseTemplate = async (app) => {
  const { responseTemplate: made, tried, held, losses, notes } = await run("export", { source: app.state.source });
  const lost = losses.map(({ sentence, conversations }) => `Lost in ${conversations} of them: ${sentence}`);
  return {
    text: JSON.stringify(made, null, 2),
    notes: [`${held} of ${tried} random conversations came back.`, ...lost, ...notes],
  };
};

const ARTEFACTS = [
  { name: "Response template for transformers", needs: "template", make: responseTemplate },
  { name: "GBNF for llama.cpp", make: grammar("gbnf") },
  { name: "Structural tag for XGrammar", make: grammar("xgrammar") },
  { name: "Lark for llguidance", make: grammar("llguidance") },
  { name: "Format spec", make: async (app) => ({ text: app.model.explanation.toml ?? "", notes: [] }) },
  { name: "Generated Rust", make: async (app) => ({ text: await run("rust", { source: app.state.source }), notes: [] }) },
];

function artefactView(app, { name, needs, make }, open) {
  const view = lazyFold(
    h("span", { class: "what" }, name),
    () => {
      const body = h("div", {});
      if (needs === "template" && app.state.source.kind !== "template") {
        fill(body, h("p", { class: "note" }, "It is tried by rendering. Paste the text of the template to make it."));
        return body;
      }
      latest(body)(
        () => make(app),
        ({ text, notes }) => [
          notes.map((note) => h("p", { class: "note" }, note)),
          text !== "" &&
            h(
              "div",
              { class: "copied" },
              copyButton(name, () => text),
              pre({ "aria-label": name }, lines(text.trimEnd())),
            ),
        ],
        "It is made …",
      );
      return body;
    },
    { open, "data-name": name },
  );
  return view;
}
