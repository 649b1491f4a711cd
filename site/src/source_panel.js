// Where a template comes from: pasted, dropped, chosen as a file, or a supported model.

import { append, fill, h, line } from "../../cli/src/explain/page/dom.js";
import { badge } from "../../cli/src/explain/page/turn.js";
import { EXAMPLES, sourceOf } from "./examples.js";
import { area, button, choice, errorView, field, newId } from "./parts.js";
import { NOTHING, takeEdited, takeFiles } from "./sources.js";

/* global KNOWN_MODELS */

const HINT = "Paste a chat template, a tokenizer_config.json or a format spec";

/** Supported models: the name of a spec and the ids on the Hub. */
export const KNOWN = KNOWN_MODELS;

/**
 * Takes sources, one after the other: says what is wrong with one, offers the templates of a file that has several, and says which of
 * several files it was.
 *
 * @param {(source: import("./operations.js").Source) => void} apply
 * @param {(files: File[]) => void} [compare] what can be done with the files that were left out
 */
export function taker(apply, compare) {
  const element = h("div", { class: "problem" });
  let count = 0;
  const take = async (work) => {
    const number = (count += 1);
    element.setAttribute("aria-busy", "true");
    try {
      const { source, several, leftOut } = await work();
      // Another one came meanwhile.
      if (number !== count) return;
      apply(source);
      const hadFocus = element.contains(document.activeElement);
      fill(
        element,
        several && field("Template of the file", variantChoice(several, take)),
        leftOut && leftOutView(leftOut, compare),
      );
      if (hadFocus) element.querySelector("select, button")?.focus();
    } catch (error) {
      if (number === count) fill(element, errorView(error));
    } finally {
      if (number === count) element.removeAttribute("aria-busy");
    }
  };
  return { element, take };
}

function leftOutView({ taken, others }, compare) {
  const names = others.map(({ name }) => line(name)).join(", ");
  return h(
    "p",
    { class: "left-out", role: "status" },
    `${line(taken)} was taken, ${names} ${others.length === 1 ? "was" : "were"} not. `,
    compare && button(`Compare it with ${line(others[0].name)}`, () => compare([others[0]]), { class: "button small" }),
  );
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
  const { element: other, take: takeOther } = taker((source) => app.set({ other: source, tab: "compare" }));
  const compare = (files) => takeOther(() => takeFiles(files));
  const { element: problem, take } = taker((source) => {
    fill(other);
    app.set({ source });
  }, compare);
  const text = area(app.state.source.text, (value) => take(() => takeEdited(app.state.source, value)), {
    class: "mono template",
    id: newId(),
    "aria-label": "The text of the template",
    placeholder: HINT,
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
    other,
    known,
    text,
    h(
      "p",
      { class: "note" },
      "Or drop a file anywhere: a template, ",
      h("code", {}, "tokenizer_config.json"),
      ", a format spec, or a GGUF file, of which only the header is read.",
    ),
  ]);
  dropAnywhere((files) => take(() => takeFiles(files)));
  // Where no field has the focus, a text that is pasted is a template, if there is none or the focus is in this panel.
  addEventListener("paste", (event) => {
    const { target, clipboardData } = event;
    const isTyped = target.closest?.("textarea, input, [contenteditable]");
    const isWanted = panel.contains(target) || app.model.empty || app.state.source.kind === "known";
    if (isTyped || !isWanted || !clipboardData) return;
    event.preventDefault();
    const files = Array.from(clipboardData.files);
    const value = clipboardData.getData("text");
    if (files.length > 0) take(() => takeFiles(files));
    else if (value !== "") take(() => takeEdited(NOTHING, value));
  });

  const update = (changed) => {
    const { source } = app.state;
    const isKnown = source.kind === "known";
    if (changed.has("source")) {
      const shown = isKnown ? "" : source.text;
      if (text.value !== shown) text.value = shown;
      text.placeholder = isKnown ? "Paste the template of this model here, or another one" : HINT;
      fill(known, isKnown && knownView(source));
    }
    const { explanation, error, busy } = app.model;
    about.setAttribute("aria-busy", String(busy));
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
        "Check. Paste its template into the field to see the comparisons, to render prompts, to find faults and to compare.",
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
