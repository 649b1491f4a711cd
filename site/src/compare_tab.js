// The tab Compare: do two templates render and read alike, and what is the smallest conversation in which they differ?

import { block, fill, h, line, lines, marker, pre } from "../../cli/src/explain/page/dom.js";
import { run } from "./engine.js";
import { area, insteadOf, latest, showNow, sideBySide } from "./parts.js";
import { fileButton, sourceMenu, taker } from "./source_panel.js";
import { takeEdited, takeFiles } from "./sources.js";

/**
 * @param {import("./app.js").App} app
 * @param {Element} panel
 */
export function compareTab(app, panel) {
  const result = h("div", { class: "compared" });
  const name = h("p", { class: "about" });
  const draw = latest(result);
  const { element: problem, take } = taker((other) => app.set({ other }));
  const text = area(app.state.other.text, (value) => take(() => takeEdited(app.state.other, value)), {
    class: "mono template",
    "aria-label": "The text of the other template",
    placeholder: "Paste the other template",
  });
  const files = fileButton((chosen) => take(() => takeFiles(chosen)));
  fill(
    panel,
    h("h2", {}, "The other template"),
    h(
      "div",
      { class: "toolbar" },
      files,
      sourceMenu((source) => take(async () => ({ source })), { withKnown: false }),
    ),
    name,
    problem,
    text,
    result,
  );

  const update = (changed) => {
    const { other, source } = app.state;
    if (text.value !== other.text && document.activeElement !== text) text.value = other.text;
    fill(
      name,
      h("span", { class: "name" }, line(other.name)),
      h("span", { class: "note" }, `${other.text.length.toLocaleString("en")} characters`),
    );
    if (app.model.busy || !(changed.has("model") || changed.has("other"))) return;
    const say = (view) => showNow(draw, view);
    const instead = insteadOf(app.model);
    if (instead) return say(instead);
    if (other.text.trim() === "") return say(h("p", { class: "empty" }, "Paste another template to compare them."));
    if ([source, other].some(({ kind }) => kind === "spec" || kind === "known"))
      return say(h("p", { class: "empty" }, "Two templates are compared by rendering: the text of both is needed."));
    draw(
      () => run("compare", { left: source, right: other }),
      (made) => comparedView(made, ...namesOf(source, other)),
      "Both are rendered and compared …",
    );
  };
  update(new Set(["model"]));
  return update;
}

/** The names of two templates, which may be the same. */
function namesOf(left, right) {
  return left.name === right.name ? [`${left.name} (first)`, `${right.name} (second)`] : [left.name, right.name];
}

function badgeOf(isAlike, what) {
  return h(
    "span",
    { class: `badge ${isAlike ? "good" : "bad"}` },
    isAlike ? `✓ they ${what} alike` : `✗ they ${what} differently`,
  );
}

function comparedView({ render, read, problems }, left, right) {
  const known = [
    [problems.old, left],
    [problems.new, right],
  ].filter(([problem]) => problem !== null);
  return [
    h("h2", {}, "Prompts"),
    h("p", { class: "facts" }, badgeOf(render.alike, "render"), h("span", {}, renderSentence(render))),
    render.difference && renderDifference(render.difference, left, right),
    h("h2", {}, "Outputs"),
    h(
      "p",
      { class: "facts" },
      badgeOf(read.alike, "read"),
      h("span", {}, turnsSentence(read.turns.old, left, right), " ", turnsSentence(read.turns.new, right, left)),
    ),
    known.map(([problem, name]) =>
      h("div", { class: "reason part" }, h("b", {}, `${line(name)} has no parser. `), lines(problem)),
    ),
    turnDifference(read.turns.old, left, right),
    turnDifference(read.turns.new, right, left),
    read.changes.length > 0 && [h("h3", {}, "Keys of the specs that differ"), changesList(read.changes, left, right)],
  ];
}

function renderSentence({ alike, tried, differing, space, assumed_tokens: assumed }) {
  const taken = assumed.length > 0 ? ` Only one file says the text of ${assumed.join(", ")}; it is taken for both.` : "";
  if (alike) return `${tried} conversations come out the same.${taken}`;
  const inSpace = space > 0 ? `, ${space} of them in white space only` : "";
  return `${differing} of ${tried} conversations come out different${inSpace}.${taken}`;
}

function renderDifference({ conversation, old, new: other }, left, right) {
  const textOf = ({ text, error }) => text ?? `It fails: ${error}`;
  return [
    h("h3", {}, "The smallest conversation in which they differ"),
    pre({ "aria-label": "The conversation" }, lines(JSON.stringify(conversation, null, 2))),
    sideBySide([left, textOf(old)], [right, textOf(other)]),
  ];
}

function turnsSentence({ tried, alike }, writer, reader) {
  if (tried === 0) return "";
  return `Of ${tried} turns of ${line(writer)}, the parser of ${line(reader)} reads ${alike === tried ? "all" : alike} alike.`;
}

function turnDifference({ difference }, writer, reader) {
  if (!difference) return null;
  const { output, own, other } = difference;
  const json = (message) => JSON.stringify(message, null, 2);
  return [
    h("h3", {}, `The shortest turn of ${line(writer)} that ${line(reader)} reads otherwise`),
    pre({ "aria-label": "The turn" }, block(output)),
    sideBySide([`read by ${writer}`, json(own)], [`read by ${reader}`, json(other)], lines),
  ];
}

const EFFECTS = { breaking: ["bad", "✗ breaking"], compatible: ["part", "compatible"], informational: ["", "informational"] };

function changesList(changes, left, right) {
  const value = (name, text) => [
    h("dt", {}, line(name)),
    h("dd", {}, text === null ? h("span", { class: "note" }, "nothing") : marker(text)),
  ];
  const one = ({ key, old, new: other, effect, why }) => {
    const [kind, label] = EFFECTS[effect] ?? ["", effect];
    return h(
      "li",
      { class: "fault" },
      h("p", { class: "facts" }, h("code", {}, line(key)), h("span", { class: `badge ${kind}` }, label)),
      h("dl", { class: "pairs" }, value(left, old), value(right, other)),
      h("p", { class: "note" }, line(why)),
    );
  };
  return h("ul", { class: "plain" }, changes.map(one));
}
