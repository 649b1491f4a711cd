// Small parts that several tabs have.

import { block, fill, h, messageText, pre } from "../../cli/src/explain/page/dom.js";

let last = 0;

/** An id that no other element has. */
export function newId() {
  last += 1;
  return `id-${last}`;
}

/**
 * A field with a label.
 *
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  control.id ||= newId();
  const note = hint && h("span", { class: "note", id: newId() }, hint);
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, note);
}

/** A button. */
export function button(text, onclick, properties = {}) {
  return h("button", { type: "button", class: "button", onclick, ...properties }, text);
}

/**
 * A field of several lines. It tells of changes a moment after the last one.
 *
 * @param {string} value
 * @param {(value: string) => void} change
 * @param {Record<string, unknown>} [properties]
 */
export function area(value, change, properties = {}) {
  const control = h("textarea", { spellcheck: "false", autocomplete: "off", autocapitalize: "off", value, ...properties });
  let timer;
  const tell = () => {
    clearTimeout(timer);
    timer = undefined;
    change(control.value);
  };
  control.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(tell, 300);
  });
  control.addEventListener("change", () => timer !== undefined && tell());
  return control;
}

/**
 * A choice.
 *
 * @param {string} value
 * @param {readonly [string, string][]} entries a value and its text
 * @param {(value: string) => void} change
 */
export function choice(value, entries, change) {
  const control = h(
    "select",
    {},
    entries.map(([key, text]) => h("option", { value: key, selected: key === value }, text)),
  );
  control.value = value;
  control.addEventListener("change", () => change(control.value));
  return control;
}

/**
 * A box to tick.
 *
 * @param {string} label
 * @param {boolean} value
 * @param {(value: boolean) => void} change
 */
export function tick(label, value, change) {
  const control = h("input", { type: "checkbox", checked: value });
  control.addEventListener("change", () => change(control.checked));
  return { control, element: h("label", { class: "tick" }, control, ` ${label}`) };
}

/** An error where it arose: its place and its next step are in the text. */
export function errorView(error) {
  return h("div", { class: "reason", role: "alert" }, messageText(String(error?.message ?? error)));
}

/**
 * What a tab shows in place of its view: that a template is analysed, is missing, or has an error. Null if its view can be drawn.
 *
 * @param {import("./app.js").App["model"]} model
 */
export function insteadOf({ busy, empty, error, explanation }) {
  if (error) return errorView(error);
  if (empty) return h("p", { class: "empty" }, "Paste a template, drop a file, or choose an example.");
  return busy && !explanation ? busyView("The template is analysed …") : null;
}

/** Says that something is being worked on. */
export function busyView(text) {
  return h("p", { class: "busy" }, text);
}

const TOLD_FOR = 4_000;
let told;

/** Says something for a moment, to those who look and to those who listen. */
export function announce(text) {
  const status = document.getElementById("status");
  clearTimeout(told);
  fill(status, text);
  told = setTimeout(() => fill(status), TOLD_FOR);
}

/** Says something that is seen anyway to those who listen. */
export function speak(text) {
  fill(document.getElementById("spoken"), text);
}

/** A button that copies a text. */
export function copyButton(what, text) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      announce(`Copied: ${what}.`);
    } catch {
      announce(`The browser does not allow copying here: select the text instead.`);
    }
  };
  return button(["Copy", h("span", { class: "spoken" }, ` ${what}`)], copy);
}

/**
 * Runs something, and draws what came of it, unless a later run began meanwhile.
 *
 * @param {Element} element
 */
export function latest(element) {
  let count = 0;
  return async (work, draw, wait) => {
    const number = (count += 1);
    if (wait) fill(element, busyView(wait));
    element.setAttribute("aria-busy", "true");
    let nodes;
    try {
      const made = await work();
      if (number !== count) return;
      nodes = draw(made);
    } catch (error) {
      nodes = errorView(error);
    }
    if (number !== count) return;
    element.removeAttribute("aria-busy");
    fill(element, nodes);
  };
}

/**
 * Shows something at once, also where the result of an earlier run is still awaited.
 *
 * @param {ReturnType<typeof latest>} draw
 * @param {unknown} view
 */
export function showNow(draw, view) {
  return draw(
    () => view,
    (same) => same,
  );
}

/**
 * Two texts side by side; what differs is marked.
 *
 * @param {[string, string]} left a label and a text
 * @param {[string, string]} right
 * @param {(text: string) => unknown} [draw] how a text is drawn
 */
export function sideBySide([leftLabel, left], [rightLabel, right], draw = block) {
  const [start, ends] = common(left, right);
  const text = (whole) => [
    draw(whole.slice(0, start)),
    h("span", { class: "d" }, draw(whole.slice(start, whole.length - ends))),
    draw(whole.slice(whole.length - ends)),
  ];
  const figure = (label, whole) =>
    h(
      "figure",
      {},
      h("figcaption", {}, label),
      pre({ "aria-label": label }, whole === "" ? h("span", { class: "cut" }, "empty") : text(whole)),
    );
  return h("div", { class: "renders" }, figure(leftLabel, left), figure(rightLabel, right));
}

/** How many units two texts have in common at the beginning and at the end, without halves of characters. */
function common(left, right) {
  const most = Math.min(left.length, right.length);
  let start = 0;
  while (start < most && left[start] === right[start]) start += 1;
  if (/[\ud800-\udbff]/.test(left[start - 1] ?? "")) start -= 1;
  let ends = 0;
  while (ends < most - start && left.at(-1 - ends) === right.at(-1 - ends)) ends += 1;
  if (/[\udc00-\udfff]/.test(left.at(-ends) ?? "") && ends > 0) ends -= 1;
  return [start, ends];
}
