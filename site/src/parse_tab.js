// The tab Parse: how an output is read, and how it arrives piece by piece.

import { block, fill, fold, h, legend, line, marker } from "../../cli/src/explain/page/dom.js";
import { messageView, outputFindings, outputText, PIECES, verdict, waitsFor } from "../../cli/src/explain/page/output.js";
import { toolsOf } from "./app.js";
import { run } from "./engine.js";
import { area, button, choice, errorView, field, insteadOf, latest, showNow, tick } from "./parts.js";
import { CHOICES } from "./state.js";

const SIZES = CHOICES.size.map((size) => [String(size), size === 1 ? "1 character" : `${size} characters`]);

// More pieces than these cannot be told apart on a slider.
const MOST_PIECES = 2_000;

// How long each piece is shown while the stream is played, in milliseconds.
const BEAT = 220;

/**
 * An output cut into pieces, never within a character.
 *
 * @param {string} output
 * @param {number} size
 */
export function piecesOf(output, size) {
  const chars = Array.from(output);
  const step = Math.max(size, Math.ceil(chars.length / MOST_PIECES));
  const pieces = [];
  for (let at = 0; at < chars.length; at += step) pieces.push(chars.slice(at, at + step).join(""));
  return pieces;
}

/**
 * @param {import("./app.js").App} app
 * @param {Element} panel
 */
export function parseTab(app, panel) {
  const { state } = app;
  const output = area(state.output, (value) => app.set({ output: value, at: null }), {
    class: "mono",
    rows: 9,
    placeholder: "Paste what the model wrote",
  });
  const tools = area(state.tools, (value) => app.set({ tools: value }), { class: "mono", rows: 10 });
  const over = tick("The output is complete", state.over, (value) => app.set({ over: value }));
  const begun = h("div", { class: "field" });
  const reading = h("div", { class: "reading" });
  const details = h("div", {});
  const player = playerOf(app);
  const draw = latest(reading);
  fill(
    panel,
    h("h2", {}, "The output"),
    field("What the model wrote", output),
    h("div", { class: "options" }, begun, over.element),
    fold(h("span", { class: "what" }, "The tools that were offered"), [field("A JSON list, as OpenAI has it", tools)], {
      class: "quiet",
    }),
    reading,
    player.element,
    details,
  );
  const showOnly = (...nodes) => {
    player.element.hidden = true;
    fill(details);
    showNow(draw, nodes);
  };

  const update = (changed) => {
    const now = app.state;
    if (output.value !== now.output && document.activeElement !== output) output.value = now.output;
    if (changed.has("model") && !app.model.busy) fill(begun, begunField(app));
    const instead = insteadOf(app.model);
    if (instead) return showOnly(instead);
    if (app.model.busy) return;
    if (app.model.explanation.states.length === 0) {
      showOnly(h("p", { class: "empty" }, "There is no parser for this template: the tab Turn says why."));
      return;
    }
    if (!["model", "output", "tools", "begun", "over", "size", "at"].some((name) => changed.has(name))) return;
    const { tools: list, error } = toolsOf(now);
    if (error) {
      showOnly(errorView(new Error(`${error}\n  = next: correct them above, under “The tools that were offered”`)));
      return;
    }
    const { output: whole } = now;
    if (whole === "") {
      showOnly(h("p", { class: "empty" }, "Paste what a model wrote to see how it is read."));
      return;
    }
    draw(
      () => readingOf(app, player, list),
      (read) => {
        player.element.hidden = false;
        fill(details, read.details);
        return read.text;
      },
    );
  };
  update(new Set(["model", "output"]));
  return update;
}

/** The choice of what the prompt has already written of the turn. */
function begunField(app) {
  const prompts = app.model.explanation?.generation_prompts ?? [];
  const texts = Array.from(new Set(prompts.map(({ text }) => text)));
  if (!texts.includes(app.state.begun)) app.state.begun = "";
  const entries = texts.filter((text) => text !== "").map((text) => [text, line(text)]);
  if (entries.length === 0) return [];
  return Array.from(
    field(
      "The prompt ends with",
      choice(app.state.begun, [["", "what the template adds by default"], ...entries], (value) => app.set({ begun: value })),
    ).childNodes,
  );
}

/** Reads the output up to where the slider is. */
async function readingOf(app, player, tools) {
  const { output, over, begun, size, at } = app.state;
  const { toml: spec, states } = app.model.explanation;
  const pieces = piecesOf(output, size);
  const place = at === null ? pieces.length : Math.min(at, pieces.length);
  const prefix = pieces.slice(0, place).join("");
  const isEnd = place === pieces.length;
  const values = { spec, tools, generationPrompt: begun };
  const [read, steps] = await Promise.all([
    run("output", { ...values, output: prefix, over: over && isEnd }),
    player.stepsOf({ ...values, pieces }),
  ]);
  player.show(pieces, place, steps);
  const rest = pieces.slice(place).join("");
  const text = outputText(read);
  if (rest !== "") text.append(h("span", { class: "rest", title: "not read yet" }, block(rest, 4_000)));
  const step = place > 0 ? steps[place - 1] : undefined;
  const last = isEnd && over;
  return {
    text: [h("p", { class: "lead" }, isEnd ? verdict(read) : `Read until here: ${verdict(read)}`), legend(PIECES), text],
    details: [
      h("div", { class: "step" }, eventsView(place, step, last ? steps.at(-1) : undefined), heldView(step, read, states, last)),
      outputFindings(read),
      !last && waitsFor(read),
      messageView(read),
    ],
  };
}

const TEXTS = { reasoning: "reasoning", content: "content", unparsed: "broken markup" };

function eventView(event) {
  if (event.type in TEXTS)
    return h("li", {}, h("span", { class: `p ${event.type}`, "data-l": TEXTS[event.type] }, block(event.text, 2_000)));
  const call = typeof event.index === "number" ? `call ${event.index}` : "";
  const say = {
    tool_call_start: () => [
      `${call} begins: `,
      h("span", { class: "p function_name", "data-l": "name" }, line(event.name)),
      event.id && [" with the id ", marker(event.id)],
    ],
    tool_call_id: () => [`${call} has the id `, marker(event.id)],
    tool_call_arguments: () => [
      `${call}: `,
      h("span", { class: "p arguments", "data-l": "arguments" }, block(event.json, 2_000)),
    ],
    tool_call_end: () => `${call} ends${event.complete ? "" : "; the model did not close it"}`,
    diagnostic: () => h("span", { class: "error" }, line(event.diagnostic.message)),
  }[event.type];
  return h("li", {}, say ? say() : line(event.type));
}

function eventsView(place, step, last) {
  const title = place === 0 ? "Nothing was read yet" : last ? "The last piece, and the end" : `Piece ${place} gives`;
  const events = [...(step?.events ?? []), ...(last?.events ?? [])];
  return h(
    "div",
    {},
    h("h3", {}, title),
    events.length > 0
      ? h("ul", { class: "plain" }, events.map(eventView))
      : h("p", { class: "note" }, place === 0 ? "Move the slider, or play the stream." : "No event."),
  );
}

/** What is held back, and why. */
function heldView(step, read, states, over) {
  const held = over ? "" : (step?.held ?? "");
  if (held === "") return h("div", {}, h("h3", {}, "Held back"), h("p", { class: "note" }, "Nothing."));
  return h(
    "div",
    {},
    h("h3", {}, "Held back"),
    h("p", {}, h("span", { class: "p held" }, block(held, 2_000))),
    h("p", {}, whyHeld(held, read, states)),
  );
}

function whyHeld(held, read, states) {
  // The markers that the end of the text may be the beginning of.
  const begins = (text) =>
    Array.from(held, (_, at) => held.slice(at)).some(
      (end) => end.trim() !== "" && end.length < text.length && text.startsWith(end),
    );
  const markers = Array.from(new Set(read.expected.map(({ text }) => text))).filter(begins);
  const state = states.find(({ name }) => name === read.state);
  if (markers.length > 0)
    return ["It may become ", markers.map((text, at) => [at > 0 && " or ", marker(text)]), ". The next characters decide."];
  if (held.trim() === "")
    return "White space before a marker belongs to the marker, and it is not known yet whether one follows.";
  const reads = state?.reads ? `, where the parser reads ${state.reads}` : "";
  return [
    "It looks like the beginning of a call. It may still turn out to be plain text, so nothing is reported before that is certain. ",
    "The state is ",
    h("code", {}, line(read.state)),
    `${reads}.`,
  ];
}

/** The slider and its buttons. */
function playerOf(app) {
  const slider = h("input", { type: "range", min: 0, max: 0, value: 0, id: "slider" });
  const place = h("output", { class: "note", for: "slider" });
  const move = (to) => app.set({ at: Math.max(0, Math.min(to, Number(slider.max))) });
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    fill(play, "Play");
  };
  const play = button("Play", () => {
    if (timer !== undefined) return stop();
    if (Number(slider.value) >= Number(slider.max)) move(0);
    fill(play, "Pause");
    timer = setInterval(() => (Number(slider.value) >= Number(slider.max) ? stop() : move(Number(slider.value) + 1)), BEAT);
  });
  slider.addEventListener("input", () => {
    stop();
    move(Number(slider.value));
  });
  const step = (by) => () => {
    stop();
    move(Number(slider.value) + by);
  };
  // Nobody watches what is played elsewhere.
  app.listen(() => app.state.tab !== "parse" && stop());
  document.addEventListener("visibilitychange", () => document.hidden && stop());
  const size = choice(String(app.state.size), SIZES, (value) => app.set({ size: Number(value), at: null }));
  const element = h(
    "div",
    { class: "player" },
    h("label", { for: "slider" }, "The stream, piece by piece"),
    slider,
    h(
      "div",
      { class: "toolbar" },
      button("Back", step(-1)),
      play,
      button("Next", step(1)),
      h("label", { class: "tick" }, "Pieces of ", size),
      place,
    ),
  );
  let key;
  let steps;
  return {
    element,
    /** The steps of a stream; they are computed once for all places of the slider. */
    stepsOf(values) {
      const wanted = JSON.stringify(values);
      if (wanted !== key) {
        key = wanted;
        steps = run("stream", values);
      }
      return steps;
    },
    show(pieces, at) {
      slider.max = String(pieces.length);
      slider.value = String(at);
      const text = `${at} of ${pieces.length} ${pieces.length === 1 ? "piece" : "pieces"}`;
      slider.setAttribute("aria-valuetext", at > 0 ? `${text}: ${line(pieces[at - 1]).slice(0, 80)}` : text);
      fill(place, text);
    },
  };
}
