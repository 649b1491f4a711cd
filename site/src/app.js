// The state of the page, who is told of its changes, and the link that holds it.

import { run } from "./engine.js";
import { FIRST } from "./examples.js";
import { decode, encode } from "./link.js";
import { wrongWith } from "./state.js";

const SAVE_AFTER = 400;

export class App {
  constructor() {
    this.state = structuredClone(FIRST);
    /** What is known about the template: an `explanation`, an `error`, or that it is `empty`; `busy` while it is analysed. */
    this.model = { busy: true };
    this.listeners = new Set();
    this.loads = 0;
    /** Whether the page failed to draw the state. */
    this.isBroken = false;
  }

  /** Calls a function after each change, with the names of what changed; `model` is one of them. */
  listen(listener) {
    this.listeners.add(listener);
  }

  tell(names) {
    const changed = new Set(names);
    for (const listener of this.listeners) listener(changed);
  }

  /** Changes the state. What could not be drawn changes nothing. */
  set(values) {
    const problem = wrongWith(values);
    if (problem !== null) throw new Error(problem);
    Object.assign(this.state, values);
    if ("source" in values) {
      this.state.at = null;
      this.load();
    }
    this.tell(Object.keys(values));
    this.saveSoon();
  }

  /** Analyses the template anew. */
  async load() {
    const { source } = this.state;
    const number = (this.loads += 1);
    this.model = { ...this.model, busy: true };
    this.tell(["model"]);
    let model;
    try {
      model = source.text.trim() === "" ? { empty: true } : { explanation: await run("explain", { source }) };
    } catch (error) {
      model = { error };
    }
    // Another template came meanwhile.
    if (number !== this.loads) return;
    this.model = { ...model, busy: false };
    this.tell(["model"]);
  }

  /** Takes over the state of a fragment. */
  async open(fragment) {
    const state = await decode(fragment);
    this.state = { ...structuredClone(FIRST), ...state };
  }

  /** The state as a fragment; null if it is too long for a link. */
  fragment() {
    const changed = Object.entries(this.state).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(FIRST[key]));
    return encode(Object.fromEntries(changed));
  }

  /** Saves a moment later, also while changes follow each other without end. */
  saveSoon() {
    this.timer ??= setTimeout(() => this.save(), SAVE_AFTER);
  }

  /** Writes the state into the address, unless it could not be drawn. */
  async save() {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.isBroken) return null;
    const fragment = await this.fragment();
    this.written = fragment;
    history.replaceState(null, "", fragment === null ? location.pathname + location.search : `#${fragment}`);
    return fragment;
  }
}

/**
 * The list of tools of the state, or what is wrong with it.
 *
 * @param {{ tools: string }} state
 * @returns {{ tools?: object[], error?: string }}
 */
export function toolsOf({ tools }) {
  if (tools.trim() === "") return {};
  try {
    const list = JSON.parse(tools);
    return Array.isArray(list) ? { tools: list } : { error: "The tools are not a list: write them between [ and ]." };
  } catch (error) {
    return { error: `The tools are not valid JSON: ${error.message}` };
  }
}
