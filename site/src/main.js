// The page: the template, and the tabs with what it says.

import { append, fill, h } from "../../cli/src/explain/page/dom.js";
import { App } from "./app.js";
import { checkTab } from "./check_tab.js";
import { compareTab } from "./compare_tab.js";
import { start } from "./engine.js";
import { parseTab } from "./parse_tab.js";
import { announce, button, errorView, speak } from "./parts.js";
import { promptTab } from "./prompt_tab.js";
import { sourcePanel } from "./source_panel.js";
import { tabList } from "./tabs.js";
import { turnTab } from "./turn_tab.js";

const TABS = [
  { id: "turn", title: "Turn", make: turnTab },
  { id: "parse", title: "Parse", make: parseTab },
  { id: "prompt", title: "Prompt", make: promptTab },
  { id: "check", title: "Check", make: checkTab },
  { id: "compare", title: "Compare", make: compareTab },
];

const app = new App();
start().catch(() => {});

async function open() {
  const fragment = location.hash.slice(1);
  if (fragment === "") return;
  try {
    await app.open(fragment);
  } catch (error) {
    append(document.getElementById("source"), [errorView(error)]);
    history.replaceState(null, "", location.pathname + location.search);
  }
}

function draw() {
  const tabs = tabList("Views", TABS, (id) => app.set({ tab: id }));
  // What each tab that was shown does with changes, and the changes that it has not seen: hidden tabs do no work.
  const updates = new Map();
  const unseen = new Map(TABS.map(({ id }) => [id, new Set()]));
  const show = () => {
    const { id, make } = TABS.find((one) => one.id === app.state.tab) ?? TABS[0];
    tabs.show(id);
    const changed = unseen.get(id);
    unseen.set(id, new Set());
    const panel = tabs.panels.get(id);
    try {
      if (!updates.has(id)) updates.set(id, make(app, panel));
      else updates.get(id)(changed);
      app.isBroken = false;
    } catch (error) {
      // A defect of this page. The other tabs work on, the next change draws this one anew, and the state is not saved.
      app.isBroken = true;
      updates.delete(id);
      const next = "change the template, or load the page anew";
      fill(panel, errorView(new Error(`The page cannot draw this: ${error.message}\n  = next: ${next}`)));
    }
  };
  app.listen((changed) => {
    if (changed.has("model") && !app.model.busy) {
      const { error, empty, explanation } = app.model;
      speak(
        error
          ? "The template cannot be loaded."
          : empty
            ? "There is no template."
            : `${app.state.source.name}: ${explanation.outcome}`,
      );
    }
    for (const names of unseen.values()) for (const name of changed) names.add(name);
    show();
  });
  sourcePanel(app, document.getElementById("source"));
  fill(document.getElementById("views"), tabs.list, Array.from(tabs.panels.values()));
  show();
  append(document.querySelector("header nav"), [button("Copy link", copyLink, { class: "button link" })]);
}

async function copyLink() {
  if ((await app.save()) === null) {
    const why = app.isBroken ? "The page cannot draw this, so there is no link to it." : "This is too large for a link.";
    announce(`${why} Save the template as a file and send that.`);
    return;
  }
  try {
    await navigator.clipboard.writeText(location.href);
    announce("The link with everything on this page is copied.");
  } catch {
    announce("The link with everything on this page is in the address bar: copy it there.");
  }
}

// Links within the page must not replace the state in the address.
document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href^='#']");
  const target = link && document.getElementById(link.getAttribute("href").slice(1));
  if (!target) return;
  event.preventDefault();
  target.scrollIntoView({ block: "center" });
  target.focus();
});

// Another link was opened in the same window.
addEventListener("hashchange", () => {
  if (location.hash.slice(1) !== app.written) location.reload();
});

open()
  .then(() => {
    draw();
    return app.load();
  })
  .then(() => {
    // For tests: when everything was there for the first time.
    document.documentElement.dataset.drawn = String(performance.now());
  });
