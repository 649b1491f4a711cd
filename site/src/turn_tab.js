// The tab Turn: what a turn of the model looks like, and how that was found.

import { fill, h } from "../../cli/src/explain/page/dom.js";
import { turnView } from "../../cli/src/explain/page/turn.js";
import { insteadOf } from "./parts.js";

/**
 * @param {import("./app.js").App} app
 * @param {Element} panel
 */
export function turnTab(app, panel) {
  const view = h("div", {});
  panel.append(view);
  const update = (changed) => {
    if (!changed.has("model")) return;
    const { busy, explanation } = app.model;
    view.setAttribute("aria-busy", String(busy));
    const instead = insteadOf(app.model);
    // While another template is analysed, the turn of the last one stays.
    if (busy && !instead) return;
    fill(view, instead ? [h("h2", {}, "The turn"), instead] : turnView(explanation));
  };
  update(new Set(["model"]));
  return update;
}
