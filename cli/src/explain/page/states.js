// The states of a parser, and the grammar.

import { fold, h, line, lines, marker, pre, valueOf } from "./dom.js";

/**
 * The states of the parser, folded; nothing if there is no parser.
 *
 * @param {object} explanation
 */
export function statesView({ states }) {
  if (states.length === 0) return null;
  const title = [h("span", { class: "what" }, "The states of the parser"), h("span", { class: "found" }, String(states.length))];
  const lead = "In each state the next marker, or the end of the value that is read, decides the next state.";
  return fold(title, [h("p", { class: "lead" }, lead), h("div", { class: "panel" }, states.map(stateView))]);
}

function stateView(state) {
  const facts = [state.reads || "markers only", state.may_end && "the turn may end here"].filter(Boolean);
  const markers = state.markers.map((one) => {
    const notes = [
      ...(one.does ?? []),
      one.confirmed_by?.length > 0 && `if ${one.confirmed_by.join(" or ")} follows`,
      one.at_the_start && "only before text",
      one.at_the_end && "at the end of the output",
      one.tolerated && "tolerated",
      one.key,
    ];
    return h(
      "li",
      {},
      marker(one.text),
      " → ",
      h("code", {}, one.next),
      h("span", { class: "note" }, ` ${line(notes.filter(Boolean).join(" · "))}`),
    );
  });
  const otherwise =
    state.otherwise &&
    h(
      "li",
      {},
      h("span", { class: "note" }, state.reads ? "at its end" : "anything else"),
      " → ",
      h("code", {}, state.otherwise),
      h("span", { class: "note" }, ` ${line((state.otherwise_does ?? []).join(" · "))}`),
    );
  return h(
    "div",
    { class: "state" },
    h("h4", { class: "mono" }, line(state.name), h("span", {}, facts.join(" · "))),
    h("ul", {}, markers, otherwise),
  );
}

/**
 * The grammar of an explanation.
 *
 * @param {object} explanation
 */
export function grammarView({ grammar }) {
  if (!grammar) return null;
  const holds = grammar.lazy ? "It holds from a trigger on; text before the trigger is free." : "It holds for the whole turn.";
  const text =
    grammar.text === ""
      ? h("p", {}, "There is nothing to constrain.")
      : pre({ "aria-label": "The grammar" }, lines(grammar.text.trimEnd()));
  return fold(h("span", { class: "what" }, "The grammar"), [
    h("p", { class: "lead" }, `A sampler can constrain the model to this grammar. ${holds}`),
    grammar.problem && h("p", { class: "error" }, lines(grammar.problem)),
    grammar.triggers.map(({ kind, value }) => h("p", {}, `Trigger (${kind}): `, valueOf(value))),
    grammar.widened.map((wider) => h("p", { class: "note" }, `Not enforced: ${line(wider)}`)),
    !grammar.problem && text,
  ]);
}
