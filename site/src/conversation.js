// An editor of a conversation.

import { fill, fold, h, line } from "../../cli/src/explain/page/dom.js";
import { CALL } from "./examples.js";
import { area, button, choice, field } from "./parts.js";

const ROLES = ["system", "developer", "user", "assistant", "tool"].map((role) => [role, role]);

/** A field of a message that is left out when it is empty. */
function textOf(message, key) {
  const value = message[key];
  if (typeof value === "string") return value;
  return value === undefined || value === null ? "" : JSON.stringify(value);
}

/**
 * Draws the editor into an element, and draws it anew when messages are added, moved or removed.
 *
 * @param {Element} element
 * @param {() => object[]} messages
 * @param {(messages: object[]) => void} change
 */
export function conversationEditor(element, messages, change) {
  const redraw = (list, focus) => {
    change(list);
    draw();
    if (focus !== undefined) element.querySelectorAll(".message")[focus]?.querySelector("select, textarea")?.focus();
  };
  const replace = (at, message) => messages().map((one, index) => (index === at ? message : one));
  const put = (at, values) => change(replace(at, { ...messages()[at], ...values }));

  function messageView(message, at) {
    const { role } = message;
    const count = messages().length;
    const swap = (to) => {
      const list = [...messages()];
      [list[at], list[to]] = [list[to], list[at]];
      redraw(list, to);
    };
    const name = `message ${at + 1}`;
    const head = h(
      "div",
      { class: "toolbar" },
      h(
        "label",
        { class: "tick" },
        h("span", { class: "number" }, `${at + 1}`),
        " ",
        roleChoice(role, (value) => redraw(replace(at, { ...message, role: value }), at), name),
      ),
      h("span", { class: "grow" }),
      button("↑", () => swap(at - 1), { "aria-label": `Move ${name} up`, disabled: at === 0, class: "button small" }),
      button("↓", () => swap(at + 1), { "aria-label": `Move ${name} down`, disabled: at === count - 1, class: "button small" }),
      button(
        "Remove",
        () =>
          redraw(
            messages().filter((_, index) => index !== at),
            Math.max(0, at - 1),
          ),
        { "aria-label": `Remove ${name}`, class: "button small" },
      ),
    );
    const small = (key, label, rows = 2) =>
      field(
        label,
        area(textOf(message, key), (value) => put(at, { [key]: value }), { rows }),
      );
    return h(
      "li",
      { class: `message ${role}` },
      head,
      role === "assistant" && small("reasoning_content", "Reasoning"),
      small("content", role === "tool" ? "Result" : "Content"),
      role === "assistant" && callsView(message, at, put, redraw, replace),
      role === "tool" && h("div", { class: "pair" }, small("tool_call_id", "Id of the call", 1), small("name", "Function", 1)),
    );
  }

  function draw() {
    const list = messages();
    const add = (role) => () => redraw([...list, role === "tool" ? resultFor(list) : { role, content: "" }], list.length);
    fill(
      element,
      list.length > 0 ? h("ol", { class: "messages" }, list.map(messageView)) : h("p", { class: "empty" }, "No message yet."),
      h(
        "div",
        { class: "toolbar" },
        h("span", { class: "note" }, "Add:"),
        ["user", "assistant", "tool", "system"].map((role) =>
          button(`${role}`, add(role), { "aria-label": `Add a message of the ${role}` }),
        ),
      ),
    );
  }
  draw();
  return draw;
}

function roleChoice(role, change, name) {
  const control = choice(role, ROLES.some(([known]) => known === role) ? ROLES : [...ROLES, [role, line(role)]], change);
  control.setAttribute("aria-label", `Role of ${name}`);
  return control;
}

/** A result for the last call that has none. */
function resultFor(messages) {
  const calls = messages.flatMap((message) => (Array.isArray(message.tool_calls) ? message.tool_calls : []));
  const answered = new Set(messages.map((message) => message.tool_call_id));
  const open = calls.find((call) => !answered.has(call.id)) ?? calls.at(-1);
  return { role: "tool", content: "", tool_call_id: open?.id ?? "", name: open?.function?.name ?? "" };
}

function callsView(message, at, put, redraw, replace) {
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  // The editor changes one call after the other, so it keeps its own list.
  const list = structuredClone(calls);
  const tell = () => put(at, { tool_calls: list });
  const one = (call, index) =>
    h(
      "li",
      { class: "call" },
      h(
        "div",
        { class: "pair" },
        field(
          "Function",
          area(call.function?.name ?? "", (value) => ((list[index].function.name = value), tell()), { rows: 1, class: "mono" }),
        ),
        field(
          "Id",
          area(call.id ?? "", (value) => ((list[index].id = value), tell()), { rows: 1, class: "mono" }),
        ),
      ),
      field(
        "Arguments, JSON",
        area(argumentsOf(call), (value) => ((list[index].function.arguments = value), tell()), { rows: 2, class: "mono" }),
      ),
      button(
        "Remove the call",
        () =>
          redraw(
            replace(
              at,
              withCalls(
                message,
                list.filter((_, other) => other !== index),
              ),
            ),
            at,
          ),
        { class: "button small" },
      ),
    );
  const add = () =>
    redraw(replace(at, withCalls(message, [...list, { ...structuredClone(CALL), id: `call_${list.length + 1}` }])), at);
  return h(
    "div",
    {},
    calls.length > 0 && h("ol", { class: "calls" }, calls.map(one)),
    button("Add a call", add, { class: "button small" }),
  );
}

function withCalls(message, calls) {
  const { tool_calls: _, ...rest } = message;
  return calls.length > 0 ? { ...rest, tool_calls: calls } : rest;
}

function argumentsOf(call) {
  const value = call.function?.arguments;
  return typeof value === "string" ? value : JSON.stringify(value ?? {});
}

/**
 * The messages as JSON, to be edited as text.
 *
 * @param {object[]} messages
 * @param {(messages: object[]) => void} change
 */
export function conversationText(messages, change) {
  const problem = h("p", { class: "error", role: "alert" });
  const take = (value) => {
    try {
      const list = JSON.parse(value);
      if (!Array.isArray(list) || list.some((one) => typeof one?.role !== "string"))
        throw new Error("expected a list of messages, each with a role");
      fill(problem);
      change(list);
    } catch (error) {
      fill(problem, `These messages cannot be read: ${line(error.message)}`);
    }
  };
  const text = area(JSON.stringify(messages, null, 2), take, { rows: 14, class: "mono" });
  return [field("A JSON list of messages, as OpenAI has it", text), problem];
}

/** The same, folded. */
export function conversationFold(messages, change) {
  return fold(h("span", { class: "what" }, "The conversation as JSON"), conversationText(messages, change), { class: "quiet" });
}
