// An editor of a conversation.

import { fill, fold, h, line } from "../../cli/src/explain/page/dom.js";
import { CALL } from "./examples.js";
import { area, button, choice, field } from "./parts.js";
import { wrongWith } from "./state.js";

const ROLES = ["system", "developer", "user", "assistant", "tool"].map((role) => [role, role]);

/**
 * A field with a value, which keeps its form: a text is edited as text, and lists, objects and numbers as JSON. An emptied field is an
 * empty text.
 *
 * @param {string} label
 * @param {unknown} value
 * @param {(value: unknown) => void} change
 * @param {Record<string, unknown>} [properties]
 */
function valueField(label, value, change, properties = {}) {
  if (value === undefined || value === null || typeof value === "string")
    return field(label, area(value ?? "", change, { rows: 2, ...properties }));
  const problem = h("p", { class: "error", role: "alert" });
  const take = (text) => {
    fill(problem);
    try {
      change(text.trim() === "" ? "" : JSON.parse(text));
    } catch (error) {
      fill(problem, `This cannot be read, so the last value stays: ${line(error.message)}`);
    }
  };
  const text = JSON.stringify(value, null, typeof value === "object" ? 1 : undefined);
  const rows = Math.min(8, Math.max(2, text.split("\n").length));
  const control = area(text, take, { rows, ...properties, class: "mono" });
  const form = Array.isArray(value) ? "JSON, a list of parts" : "JSON";
  return [field(label.endsWith("JSON") ? label : `${label}, ${form}`, control), problem];
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
    // What had the focus is gone. Where no message is left, the next thing to do is to add one.
    const next = element.querySelectorAll(".message")[focus]?.querySelector("select, textarea") ?? element.querySelector("button");
    next.focus();
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
        roleChoice(role, (value) => redraw(replace(at, { ...messages()[at], role: value }), at), name),
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
    const small = (key, label, rows = 2) => valueField(label, message[key], (value) => put(at, { [key]: value }), { rows });
    return h(
      "li",
      { class: ROLES.some(([known]) => known === role) ? `message ${role}` : "message" },
      head,
      role === "assistant" && small("reasoning_content", "Reasoning"),
      small("content", role === "tool" ? "Result" : "Content"),
      role === "assistant" &&
        callsView(
          message.tool_calls ?? [],
          (calls) => put(at, { tool_calls: calls }),
          (calls) => redraw(replace(at, withCalls(messages()[at], calls)), at),
        ),
      role === "tool" && h("div", { class: "pair" }, small("tool_call_id", "Id of the call", 1), small("name", "Function", 1)),
    );
  }

  function draw() {
    const list = messages();
    // Messages that were edited since are not those that were drawn.
    const add = (role) => () => {
      const now = messages();
      redraw([...now, role === "tool" ? resultFor(now) : { role, content: "" }], now.length);
    };
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
  const control = choice(role, ROLES.some(([known]) => known === role) ? ROLES : [...ROLES, [role, shortened(line(role))]], change);
  control.setAttribute("aria-label", `Role of ${name}`);
  return control;
}

function shortened(text) {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

/** A result for the last call that has none. */
function resultFor(messages) {
  const calls = messages.flatMap((message) => (Array.isArray(message.tool_calls) ? message.tool_calls : []));
  const answered = new Set(messages.map((message) => message.tool_call_id));
  const open = calls.find((call) => !answered.has(call.id)) ?? calls.at(-1);
  return { role: "tool", content: "", tool_call_id: open?.id ?? "", name: functionOf(open ?? {}).name ?? "" };
}

/** What has the name and the arguments of a call: the call itself in some formats, an object in it in those of OpenAI. */
function functionOf(call) {
  return call.function ?? call;
}

/**
 * The calls of a message.
 *
 * @param {object[]} calls
 * @param {(calls: object[]) => void} change tells that a value was changed
 * @param {(calls: object[]) => void} redraw tells that a call was added or removed
 */
function callsView(calls, change, redraw) {
  // The editor changes one call after the other, so it keeps its own list.
  const list = structuredClone(calls);
  const one = (call, index) => {
    const small = (label, owner, key, rows) => {
      const put = (value) => {
        owner(list[index])[key] = value;
        change(structuredClone(list));
      };
      return valueField(label, owner(call)[key], put, { rows, class: "mono" });
    };
    const remove = () => redraw(list.filter((_, other) => other !== index));
    return h(
      "li",
      { class: "call" },
      h(
        "div",
        { class: "pair" },
        h("div", {}, small("Function", functionOf, "name", 1)),
        h("div", {}, small("Id", (all) => all, "id", 1)),
      ),
      small("Arguments, JSON", functionOf, "arguments", 2),
      button("Remove the call", remove, { class: "button small" }),
    );
  };
  const add = () => redraw([...list, { ...structuredClone(CALL), id: `call_${list.length + 1}` }]);
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
      const wrong = wrongWith({ messages: list });
      if (wrong !== null) throw new Error(wrong);
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
