// Tabs, as ARIA describes them: arrow keys move between them, and only the chosen one is in the order of the Tab key.

import { h } from "../../cli/src/explain/page/dom.js";

/**
 * @param {string} label
 * @param {readonly { id: string, title: string }[]} tabs
 * @param {(id: string) => void} choose
 */
export function tabList(label, tabs, choose) {
  const buttons = tabs.map(({ id, title }) =>
    h("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}` }, title),
  );
  const panels = tabs.map(({ id }) =>
    h("div", { role: "tabpanel", id: `panel-${id}`, "aria-labelledby": `tab-${id}`, tabindex: 0, hidden: true }),
  );
  const list = h("div", { role: "tablist", "aria-label": label, class: "tabs" }, buttons);
  const to = (at) => {
    const index = (at + tabs.length) % tabs.length;
    choose(tabs[index].id);
    buttons[index].focus();
    buttons[index].scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  buttons.forEach((control, at) => {
    control.addEventListener("click", () => choose(tabs[at].id));
    control.addEventListener("keydown", (event) => {
      const moves = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 };
      if (!(event.key in moves) || event.ctrlKey || event.altKey || event.metaKey) return;
      event.preventDefault();
      to(moves[event.key]);
    });
  });
  return {
    list,
    panels: new Map(tabs.map(({ id }, at) => [id, panels[at]])),
    show(id) {
      tabs.forEach((tab, at) => {
        const chosen = tab.id === id;
        buttons[at].setAttribute("aria-selected", String(chosen));
        buttons[at].tabIndex = chosen ? 0 : -1;
        panels[at].hidden = !chosen;
      });
    },
  };
}
