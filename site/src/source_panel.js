// Where a template comes from: pasted, dropped, chosen as a file, or a supported model.

import { append, fill, h, line } from "../../cli/src/explain/page/dom.js";
import { badge } from "../../cli/src/explain/page/turn.js";
import { EXAMPLES, sourceOf } from "./examples.js";
import { area, button, choice, errorView, field, newId } from "./parts.js";
import { NOTHING, takeEdited, takeFiles } from "./sources.js";

/* global KNOWN_MODELS */

/** Supported models: the name of a spec and the ids on the Hub. */
export const KNOWN = KNOWN_MODELS;

/**
 * Takes sources, one after the other: says what is wrong with one, and offers the templates of a file that has several.
 *
 * @param {(source: import("./operations.js").Source) => void} apply
 */
export function taker(apply) {
  const element = h("div", { class: "problem" });
  const take = async (work) => {
    element.setAttribute("aria-busy", "true");
    try {
      const { source, several } = await work();
      fill(element, several && field("Template of the file", variantChoice(several, take)));
      apply(source);
    } catch (error) {
      fill(element, errorView(error));
    } finally {
      element.removeAttribute("aria-busy");
    }
  };
  return { element, take };
}

function variantChoice({ names, chosen, choose }, take) {
  return choice(
    chosen,
    names.map((name) => [name, line(name)]),
    (name) => take(() => choose(name)),
  );
}

/**
 * The list of examples and supported models.
 *
 * @param {(source: object) => void} choose
 */
export function sourceMenu(choose, { withKnown = true } = {}) {
  const select = h(
    "select",
    { "aria-label": withKnown ? "Examples and supported models" : "Examples" },
    h("option", { value: "" }, withKnown ? "Example or supported model …" : "Example …"),
    h(
      "optgroup",
      { label: "Examples" },
      EXAMPLES.map(({ name, title }) => h("option", { value: `example ${name}` }, `${name}: ${title}`)),
    ),
    withKnown &&
      h(
        "optgroup",
        { label: "Supported models, without their template" },
        KNOWN.map(({ name, models }) => h("option", { value: `known ${name}` }, models[0] ?? name)),
      ),
  );
  select.addEventListener("change", () => {
    const [kind, name] = select.value.split(" ");
    if (kind === "example") choose(sourceOf(EXAMPLES.find((one) => one.name === name)));
    if (kind === "known") choose({ kind: "known", name, text: name });
    select.value = "";
  });
  return select;
}

/** A button with which files are chosen. */
export function fileButton(choose) {
  const input = h("input", { type: "file", multiple: true, hidden: true, tabindex: -1, "aria-hidden": "true" });
  input.addEventListener("change", () => {
    if (input.files.length > 0) choose(Array.from(input.files));
    input.value = "";
  });
  return [button("Choose a file", () => input.click()), input];
}

/**
 * Draws the panel, and takes what is pasted, dropped and chosen.
 *
 * @param {import("./app.js").App} app
 * @param {Element} panel
 */
export function sourcePanel(app, panel) {
  const { element: problem, take } = taker((source) => app.set({ source }));
  const text = area(app.state.source.text, (value) => take(() => takeEdited(app.state.source, value)), {
    class: "mono template",
    id: newId(),
    "aria-label": "The text of the template",
    placeholder: "Paste a chat template, a tokenizer_config.json or a format spec",
  });
  const about = h("div", { class: "about" });
  const known = h("div", { class: "problem" });
  append(panel, [
    h(
      "div",
      { class: "toolbar" },
      fileButton((files) => take(() => takeFiles(files))),
      sourceMenu((source) => take(async () => ({ source }))),
      button("Clear", () => take(async () => ({ source: NOTHING }))),
    ),
    about,
    problem,
    text,
    known,
    h(
      "p",
      { class: "note" },
      "Or drop a file anywhere: a template, ",
      h("code", {}, "tokenizer_config.json"),
      ", a format spec, or a GGUF file, of which only the header is read.",
    ),
  ]);
  dropAnywhere((files) => take(() => takeFiles(files)));

  const update = (changed) => {
    const { source } = app.state;
    const isKnown = source.kind === "known";
    if (changed.has("source")) {
      text.hidden = isKnown;
      if (!isKnown && text.value !== source.text) text.value = source.text;
      fill(known, isKnown && knownView(source));
    }
    const { explanation, error, busy } = app.model;
    const size = isKnown ? "a supported model" : `${source.text.length.toLocaleString("en")} characters`;
    const tokens = Object.entries(source.tokens ?? {})
      .filter(([, value]) => typeof value === "string")
      .map(([key, value]) => `${key}: ${line(value)}`);
    fill(
      about,
      h("span", { class: "name" }, line(source.name)),
      busy
        ? h("span", { class: "badge" }, "analysing …")
        : (error || explanation) && badge(error ? "failed" : explanation.outcome),
      h("span", { class: "note" }, [size, ...tokens].join(" · ")),
    );
  };
  app.listen((changed) => (changed.has("source") || changed.has("model")) && update(changed));
  update(new Set(["source"]));
}

function knownView({ name }) {
  const models = KNOWN.find((one) => one.name === name)?.models ?? [];
  return h(
    "div",
    { class: "known" },
    h(
      "p",
      {},
      "The page knows the format of this model, but not the text of its template. The tabs Turn and Parse work, and the grammars in " +
        "Check. Paste its template to see the comparisons, to render prompts, to find faults and to compare.",
    ),
    models.length > 0 && h("p", { class: "note" }, `For ${models.join(", ")}.`),
  );
}

function dropAnywhere(take) {
  const root = document.documentElement;
  let depth = 0;
  const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
  const mark = (by) => {
    depth = Math.max(0, depth + by);
    root.classList.toggle("dropping", depth > 0);
  };
  addEventListener("dragenter", (event) => hasFiles(event) && mark(1));
  addEventListener("dragleave", (event) => hasFiles(event) && mark(-1));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    mark(0);
    if (event.dataTransfer.files.length > 0) take(Array.from(event.dataTransfer.files));
  });
}
