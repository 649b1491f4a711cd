// How an output is read: its bytes coloured by what they are, the places where it does not match the format, and the message.

import { block, Bytes, cut, fold, h, legend, line, lines, marker, pre } from "./dom.js";
import { table } from "./table.js";

/** How a piece of an output can be read: its class, and its label. */
export const PIECES = [
  ["content", "content"],
  ["reasoning", "reasoning"],
  ["function_name", "name"],
  ["argument_name", "arg name"],
  ["arguments", "arguments"],
  ["call_id", "id"],
  ["syntax", "syntax"],
  ["unparsed", "broken markup"],
  ["held", "held back"],
];
const LABELS = new Map(PIECES);

// How many pieces are drawn at most; the rest is said to be there.
const MOST = 2_000;

/**
 * The output with each piece in its colour.
 *
 * @param {object} output the `output` of an explanation
 */
export function outputText(output) {
  const marks = marksOf(output);
  const shown = output.spans.slice(0, MOST);
  const rest = output.spans.slice(MOST).reduce((sum, span) => sum + span.text.length, 0);
  const atEnd = marks.filter((mark) => mark.at >= output.bytes).map((mark) => mark.link());
  return pre(
    { class: "output", "aria-label": "The output, as it is read" },
    shown.map((span) => pieceView(span, marks)),
    cut(rest),
    atEnd,
  );
}

/**
 * The legend of what occurs in an output.
 *
 * @param {object} output
 */
export function outputLegend(output) {
  const used = new Set(output.spans.map((span) => span.taken));
  return legend(PIECES.filter(([kind]) => used.has(kind)));
}

/** The marks on bytes of the output: places where it does not match the format, and diagnostics. */
function marksOf(output) {
  const link = (id, sign, index, what) => () =>
    h("a", { class: "here", href: `#${id}-${index}`, "aria-label": `${what} ${index + 1}` }, `${sign} ${index + 1}`);
  const stops = output.stops.map(({ at }, index) => ({ at, link: link("stop", "✗", index, "does not fit:") }));
  const diagnostics = output.diagnostics.map(({ at }, index) => ({ at, link: link("diagnostic", "!", index, "diagnostic") }));
  return [...stops, ...diagnostics.filter(({ at }) => at !== undefined && at !== null)].sort((a, b) => a.at - b.at);
}

function pieceView(span, marks) {
  const label = `${LABELS.get(span.taken) ?? span.taken}${span.call === undefined ? "" : ` ${span.call}`}`;
  const title = span.key ? `${label}: ${span.key}` : label;
  const inside = marks.filter((mark) => mark.at >= span.start && mark.at < span.end);
  const parts = [];
  if (inside.length === 0) {
    parts.push(block(span.text));
  } else {
    const bytes = new Bytes(span.text);
    let from = 0;
    for (const mark of inside) {
      // The text of invalid UTF-8 is longer than its bytes.
      const at = bytes.floor(mark.at - span.start);
      parts.push(block(bytes.slice(from, at)), mark.link());
      from = at;
    }
    parts.push(block(bytes.slice(from)));
  }
  return h("span", { class: `p ${span.taken}`, "data-l": span.taken === "syntax" ? null : label, title }, parts);
}

/**
 * What is said about an output: whether it fits, where it does not, diagnostics.
 *
 * @param {object} output
 */
export function outputFindings(output) {
  const diagnostics = output.diagnostics.map(({ at, text }, index) => {
    const sign = at !== undefined && at !== null && [h("span", { class: "here" }, `! ${index + 1}`), " "];
    return h("li", { class: "bad", id: `diagnostic-${index}`, tabindex: -1 }, sign, line(text));
  });
  return [output.stops.map(stopView), diagnostics.length > 0 && h("ul", { class: "findings" }, diagnostics)];
}

/**
 * In one sentence: how many bytes, and whether they fit.
 *
 * @param {object} output
 */
export function verdict({ bytes, stops, over }) {
  const size = `${bytes.toLocaleString("en")} ${bytes === 1 ? "byte" : "bytes"}. `;
  if (stops.length === 0) return `${size}${over ? "All of it matches the format." : "All of it matches the format until here."}`;
  return `${size}${stops.length === 1 ? "At one place it does" : `At ${stops.length} places it does`} not match the format.`;
}

function stopView(stop, index) {
  const mild = typeof stop.held_from === "number";
  const expected = [
    stop.reads && h("div", {}, stop.reads),
    stop.expected.map((one) => h("div", {}, marker(one.text), h("span", { class: "note" }, ` ${one.key}`))),
  ];
  return h(
    "div",
    { class: mild ? "stop mild" : "stop", id: `stop-${index}`, tabindex: -1 },
    h("h4", {}, h("span", { class: "here" }, `✗ ${index + 1}`), ` byte ${stop.at}, line ${stop.line}, column ${stop.column}`),
    h("p", {}, "In state ", h("code", {}, line(stop.state)), `: ${stop.sentence}; so ${stop.consequence}.`),
    h(
      "dl",
      {},
      h("dt", {}, "expected"),
      h("dd", {}, expected),
      h("dt", {}, "found"),
      h("dd", {}, stop.found === "" ? "the end of the output" : marker(stop.found)),
    ),
  );
}

/**
 * The state in which reading ended, and the markers that it waits for.
 *
 * @param {object} output
 */
export function waitsFor({ state, expected }) {
  const known = new Map(expected.map((one) => [one.text, one]));
  const markers = Array.from(known.values(), (one) => h("li", {}, marker(one.text), h("span", { class: "note" }, ` ${one.key}`)));
  return [
    h(
      "p",
      {},
      "The parser is in state ",
      h("code", {}, line(state)),
      markers.length > 0 ? " and knows these markers there:" : ".",
    ),
    markers.length > 0 && h("ul", { class: "plain chips" }, markers),
  ];
}

/**
 * The message, and a table of the pieces.
 *
 * @param {object} output
 */
export function messageView(output) {
  return [
    h("h3", {}, "The message"),
    pre({ "aria-label": "The message" }, lines(JSON.stringify(output.message, null, 2))),
    fold(h("span", { class: "what" }, "A table of all pieces"), [piecesTable(output)]),
  ];
}

function piecesTable(output) {
  const rows = output.spans
    .slice(0, MOST)
    .map((span) =>
      h(
        "tr",
        {},
        h("td", { class: "n" }, `${span.start}…${span.end}`),
        h("td", { class: "keys" }, h("span", { class: `p ${span.taken}` }, LABELS.get(span.taken) ?? span.taken)),
        h("td", { class: "n" }, span.call === undefined ? "" : String(span.call)),
        h("td", { class: "keys" }, h("code", {}, span.key ?? "")),
        h("td", { class: "wide" }, h("code", {}, line(middleCut(span.text)))),
      ),
    );
  return table("All pieces of the output", ["bytes", "read as", "call", "key", "text"], rows);
}

function middleCut(text) {
  return text.length <= 320 ? text : `${lines(text.slice(0, 160))} … ${lines(text.slice(-160))}`;
}

/**
 * Everything about an output.
 *
 * @param {object} output
 */
export function outputView(output) {
  return [
    h("h2", {}, "The output"),
    h("p", { class: "lead" }, verdict(output)),
    outputLegend(output),
    outputText(output),
    outputFindings(output),
    waitsFor(output),
    messageView(output),
  ];
}
