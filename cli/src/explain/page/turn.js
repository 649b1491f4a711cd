// The view of a turn: its status, its picture, and where each part of it comes from.

import { comparisonsView, experimentName, showComparisons } from "./comparisons.js";
import { append, block, fill, fold, h, legend, line, lines, marker, messageText, pre, valueOf } from "./dom.js";
import { statesView } from "./states.js";
import { pictureOf } from "./picture.js";
import { table } from "./table.js";

const OUTCOMES = {
  supported: ["good", "✓ supported", "The parser reads everything that the template was seen to write."],
  partial: ["part", "◐ partial", "There is a parser, but it does not read everything that the template writes."],
  unsupported: ["bad", "✗ unsupported", "No parser can be made from this spec."],
  failed: ["bad", "✗ no spec", "The template cannot be analysed."],
};

/**
 * The badge of an outcome.
 *
 * @param {string} outcome
 */
export function badge(outcome) {
  const [kind, text] = OUTCOMES[outcome] ?? OUTCOMES.failed;
  return h("span", { class: `badge ${kind}` }, text);
}

/**
 * What is known about a template or a spec, and what is missing.
 *
 * @param {object} explanation
 */
export function statusView(explanation) {
  const { outcome, evidence, reason, gaps, corrections = [], keys } = explanation;
  const key = (name) => keys.find((one) => one.key === name)?.value;
  const facts = [];
  const fact = (what, value) => facts.push(h("span", {}, `${what} `, h("b", {}, line(String(value)))));
  if (key("tools.format")) fact("calls", key("tools.format"));
  if (key("reasoning.mode")) fact("reasoning", key("reasoning.mode"));
  if (evidence) {
    fact("round trips", `${evidence.round_trips.held} of ${evidence.round_trips.tried}`);
    fact("renders", evidence.renders);
  }
  const notes = corrections.map((text) => h("p", { class: "note" }, lines(text)));
  if (evidence?.described?.tool_calls)
    notes.push(h("p", { class: "note" }, "No render shows a call; the text of the prompt describes it."));
  if (evidence?.described?.reasoning)
    notes.push(h("p", { class: "note" }, "No render shows reasoning; the text of the prompt describes it."));
  const missing = outcome === "partial" ? gaps : [];
  return [
    h("p", { class: "facts" }, badge(outcome), h("span", {}, (OUTCOMES[outcome] ?? OUTCOMES.failed)[2])),
    facts.length > 0 && h("p", { class: "facts" }, facts),
    reason && h("div", { class: "reason" }, h("b", {}, "Why there is no parser. "), messageText(reason)),
    missing.map((gap) => h("div", { class: "reason part" }, h("b", {}, "What is missing. "), messageText(gap))),
    notes,
  ];
}

const HOLES = [
  ["reasoning", "reasoning"],
  ["content", "answer"],
  ["function_name", "name of the function"],
  ["arguments", "arguments"],
  ["argument_name", "name of an argument"],
  ["argument_value", "value"],
  ["call_id", "id of the call"],
];

/**
 * The picture of a turn. Its literals are buttons: pressing one shows where it comes from.
 *
 * @param {object} explanation
 */
export function pictureView(explanation) {
  const parts = pictureOf(explanation.keys);
  if (parts.length === 0) return h("p", { class: "empty" }, "There is no turn to show: no spec was found.");
  const panel = h("div", { class: "origin", id: "origin" });
  const used = new Set();
  let pressed;
  const press = (button, key) => {
    pressed?.setAttribute("aria-pressed", "false");
    pressed = button === pressed ? undefined : button;
    pressed?.setAttribute("aria-pressed", "true");
    fill(panel, pressed ? originOf(explanation, key) : hint());
  };
  const draw = (part) => {
    if (part.type === "hole") {
      used.add(part.kind);
      return h("span", { class: `hole p ${part.kind}` }, part.label);
    }
    if (part.type === "literal") {
      // White space alone has no name that could be read out.
      const name = part.text.trim() === "" ? `${part.key}: ${line(part.text)}` : null;
      const properties = { type: "button", class: "literal mono", "aria-pressed": "false", title: part.key, "aria-label": name };
      const button = h("button", properties, block(part.text));
      button.addEventListener("click", () => press(button, part.key));
      return button;
    }
    const caption = part.type === "repeat" ? `↻ ${part.caption}` : `? ${part.caption}`;
    const separator = part.separator && [h("span", { class: "between" }, "between two: "), draw(part.separator)];
    return h(
      "div",
      { class: `group ${part.type}`, role: "group", "aria-label": part.caption },
      h("span", { class: "caption" }, caption),
      flow(part.parts, draw),
      separator,
    );
  };
  fill(panel, hint());
  const drawn = flow(parts, draw);
  return [h("div", { class: "picture" }, drawn), legend(HOLES.filter(([kind]) => used.has(kind))), panel];
}

/** Parts in a row; a group has its own lines. */
function flow(parts, draw) {
  const rows = [];
  let row;
  for (const part of parts) {
    if (part.type === "optional" || part.type === "repeat") {
      rows.push(draw(part));
      row = undefined;
      continue;
    }
    if (row === undefined) rows.push((row = h("div", { class: "row" })));
    row.append(draw(part));
    // A line of the output is a line of the picture.
    if (part.type === "literal" && part.text.endsWith("\n")) row = undefined;
  }
  return rows;
}

function hint() {
  return h("p", { class: "note" }, "Choose a literal to see which comparison of the analysis found it.");
}

function originOf(explanation, key) {
  const view = explanation.keys.find((one) => one.key === key);
  const title = h("h3", {}, h("code", {}, key));
  const parts = [title, h("p", {}, "Its value is ", valueOf(view?.value), ".")];
  if (view?.overlaid !== undefined)
    parts.push(h("p", { class: "note" }, "An overlay set it; the analysis found ", valueOf(view.overlaid), "."));
  const list = h("div", {});
  if (explanation.kind === "spec")
    append(list, [h("p", { class: "note" }, "A spec alone has no comparisons. Paste the template to see them.")]);
  else showComparisons(list, explanation, key);
  return [...parts, list];
}

/**
 * Everything about the turn of a template or a spec.
 *
 * @param {object} explanation
 */
export function turnView(explanation) {
  const { keys, toml, comparisons, kind } = explanation;
  return [
    h("h2", {}, "The turn"),
    statusView(explanation),
    pictureView(explanation),
    promptsView(explanation),
    kind === "template" &&
      comparisons.length > 0 &&
      fold(summary("All comparisons", comparisons.length), [comparisonsView(explanation)]),
    keys.length > 0 &&
      fold(summary("The keys of the spec", keys.length), [
        keysTable(keys),
        toml && [h("h3", {}, "As TOML"), pre({ "aria-label": "The spec as TOML" }, lines(toml.trimEnd()))],
      ]),
    statesView(explanation),
  ];
}

function summary(title, count) {
  return [h("span", { class: "what" }, title), h("span", { class: "found" }, String(count))];
}

function keysTable(keys) {
  const rows = keys.map(({ key, value, found_by, overlaid }) =>
    h(
      "tr",
      {},
      h("td", { class: "keys" }, h("code", {}, line(key))),
      h(
        "td",
        { class: "wide" },
        valueOf(value),
        overlaid !== undefined && h("span", { class: "note" }, " set by an overlay; the analysis found ", valueOf(overlaid)),
      ),
      h(
        "td",
        { class: "by" },
        found_by.length > 0 ? found_by.map(experimentName).join(", ") : h("span", { class: "note" }, "follows from other keys"),
      ),
    ),
  );
  return table("The keys of the spec", ["key", "value", "found by"], rows);
}

const THINKING = new Map([
  [undefined, "thinking not set"],
  [true, "thinking on"],
  [false, "thinking off"],
]);

function promptsView({ generation_prompts: prompts }) {
  if (prompts.length === 0) return null;
  const one = (prompt) =>
    h(
      "li",
      {},
      prompt.text === "" ? h("span", { class: "cut" }, "nothing") : marker(prompt.text),
      h("span", { class: "note" }, ` ${THINKING.get(prompt.thinking ?? undefined)} · the output begins in ${prompt.starts_in}`),
    );
  return [h("h3", {}, "What the prompt already contains"), h("ul", { class: "plain" }, prompts.map(one))];
}
