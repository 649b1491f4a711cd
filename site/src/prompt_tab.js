// The tab Prompt: a conversation, and the prompt that the template makes of it, coloured by whose text it is.

import { block, fill, fold, h, legend, marker, pre } from "../../cli/src/explain/page/dom.js";
import { toolsOf } from "./app.js";
import { conversationEditor, conversationFold } from "./conversation.js";
import { run } from "./engine.js";
import { area, choice, copyButton, field, insteadOf, latest, showNow, tick } from "./parts.js";

/**
 * @param {import("./app.js").App} app
 * @param {Element} panel
 */
export function promptTab(app, panel) {
  const { state } = app;
  const editor = h("div", { class: "conversation" });
  const asText = h("div", {});
  const result = h("div", { class: "result" });
  const change = (messages) => app.set({ messages });
  const redraw = conversationEditor(
    editor,
    () => app.state.messages,
    (messages) => {
      change(messages);
      drawText();
    },
  );
  const drawText = () => {
    if (asText.contains(document.activeElement)) return;
    const isOpen = asText.querySelector("details")?.open;
    fill(
      asText,
      conversationFold(app.state.messages, (messages) => {
        change(messages);
        redraw();
      }),
    );
    asText.querySelector("details").open = isOpen;
  };
  drawText();
  const tools = area(state.tools, (value) => app.set({ tools: value }), { class: "mono", rows: 10 });
  const variables = area(state.variables, (value) => app.set({ variables: value }), {
    class: "mono",
    rows: 3,
    placeholder: '{"name": "value"}',
  });
  const names = h("p", { class: "note" });
  const thinking = choice(
    state.thinking,
    [
      ["", "as the template has it"],
      ["on", "on"],
      ["off", "off"],
    ],
    (value) => app.set({ thinking: value }),
  );
  const generation = tick("Add the generation prompt", state.generation, (value) => app.set({ generation: value }));
  const draw = latest(result);
  const drawNames = latest(names);
  const fade = fadeTick();
  fill(
    panel,
    h("h2", {}, "The prompt"),
    h(
      "div",
      { class: "halves" },
      h(
        "div",
        {},
        h("h3", {}, "The conversation"),
        editor,
        asText,
        fold(h("span", { class: "what" }, "The tools"), [field("A JSON list, as OpenAI has it; empty for none", tools)], {
          class: "quiet",
        }),
        fold(h("span", { class: "what" }, "Variables of the template"), [field("A JSON object", variables), names], {
          class: "quiet",
        }),
        h("div", { class: "options" }, h("label", { class: "tick" }, "Thinking ", thinking), generation.element),
      ),
      h("div", {}, result),
    ),
  );

  const update = (changed) => {
    if (app.model.busy) return;
    if (app.model.empty) return showNow(draw, insteadOf(app.model));
    if (tools.value !== app.state.tools && document.activeElement !== tools) tools.value = app.state.tools;
    if (!["model", "messages", "tools", "variables", "thinking", "generation"].some((name) => changed.has(name))) return;
    if (app.state.source.kind !== "template") {
      const note = "A prompt needs the text of the template. Paste it under “Template” to see what it makes of this conversation.";
      showNow(draw, insteadOf(app.model) ?? h("p", { class: "empty" }, note));
      return;
    }
    draw(
      () => promptOf(app.state),
      (prompt) => promptView(prompt, fade),
    );
    if (changed.has("model"))
      drawNames(
        () => run("variables", { source: app.state.source }),
        (all) => all.length > 0 && `The template reads: ${all.join(", ")}.`,
      );
  };
  update(new Set(["model"]));
  return update;
}

/** Renders the conversation of a state. */
async function promptOf(state) {
  const { tools, error } = toolsOf(state);
  if (error) throw new Error(`${error}\n  = next: correct them under “The tools”`);
  let variables;
  try {
    variables = state.variables.trim() === "" ? undefined : JSON.parse(state.variables);
  } catch (problem) {
    throw new Error(
      `The variables are not valid JSON: ${problem.message}\n  = next: correct them under “Variables of the template”`,
    );
  }
  const thinking = { on: true, off: false }[state.thinking];
  const messages = state.messages.map(withoutEmpty);
  return run("prompt", {
    source: state.source,
    messages,
    options: { tools, thinking, variables, addGenerationPrompt: state.generation },
  });
}

/** A message without the fields that were left empty. */
function withoutEmpty(message) {
  return Object.fromEntries(
    Object.entries(message).filter(([key, value]) => value !== "" || key === "content" || key === "role"),
  );
}

/** Whose text a piece of a prompt is: its class and its label. The content of a message has the name of its role. */
const WHOSE = new Map([
  ["markup", ["syntax", "template"]],
  ["role", ["syntax", "template"]],
  ["system", ["call_id", "system"]],
  ["user", ["user", "user"]],
  ["assistant", ["content", "answer"]],
  ["reasoning", ["reasoning", "reasoning"]],
  ["call", ["function_name", "call"]],
  ["tool_result", ["argument_name", "result"]],
  ["tool", ["arguments", "offered tool"]],
  ["variable", ["held", "variable"]],
]);

/** What a piece is called: its class and its label. */
function whoseIs({ part, message }, messages) {
  if (part !== "content") return WHOSE.get(part) ?? ["user", part];
  const role = messages[message]?.role ?? "user";
  return WHOSE.get(role === "developer" ? "system" : role) ?? ["user", String(role)];
}

/** A box that fades what the model does not write. */
function fadeTick() {
  const { control, element } = tick("Show only what the model writes", false, (value) => {
    document.querySelector(".prompt")?.classList.toggle("faded", value);
  });
  return { element, isOn: () => control.checked };
}

function promptView({ text, turn, parts, messages }, fade) {
  const whose = parts.map((part) => whoseIs(part, messages));
  const entries = new Map(whose.map((entry) => [entry[1], entry]));
  const size = `${Array.from(text).length.toLocaleString("en")} characters.`;
  const begun = turn === "" ? "Nothing of the assistant’s turn is in it." : "Its end begins the assistant’s turn:";
  const pieces = parts.map(({ start, end, byModel }, at) => {
    const [kind, label] = whose[at];
    const title = byModel ? `${label}, written by the model` : label;
    const name = byModel ? `p ${kind} by-model` : `p ${kind}`;
    return h("span", { class: name, "data-l": kind === "syntax" ? null : label, title }, block(text.slice(start, end)));
  });
  return [
    h(
      "div",
      { class: "toolbar" },
      h("h3", {}, "What the model reads"),
      h("span", { class: "grow" }),
      copyButton("the prompt", () => text),
    ),
    h("p", { class: "lead" }, `${size} ${begun} `, turn !== "" && marker(turn)),
    fade.element,
    legend(entries.values()),
    pre(
      { class: fade.isOn() ? "output prompt faded" : "output prompt", "aria-label": "The prompt, by whose text it is" },
      pieces,
    ),
  ];
}
