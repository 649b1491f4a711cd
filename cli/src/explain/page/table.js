// Tables.

import { h } from "./dom.js";

/**
 * A table that becomes a list where there is little room.
 *
 * @param {string} label
 * @param {string[]} heads
 * @param {Element[]} rows
 */
export function table(label, heads, rows) {
  const head = h(
    "thead",
    {},
    h(
      "tr",
      {},
      heads.map((text) => h("th", { scope: "col" }, text)),
    ),
  );
  return h(
    "div",
    { class: "scroll", tabindex: 0, role: "group", "aria-label": label },
    h("table", { class: "stacks" }, head, h("tbody", {}, rows)),
  );
}
