// The comparisons of an analysis: what each rendered, what differed, and what was concluded.

import { append, block, Bytes, cut, h, lazyFold, legend, line, lines, pre, valueOf } from "./dom.js";

// How much of a render is shown before and after the part that differs, and how much of that part, in bytes.
const AROUND = 1_200;
const DIFFERENCE = 4_000;

/** What a field is: its class is its name, and this is its label. */
export const FIELDS = {
  user: "user text",
  content: "content",
  reasoning: "reasoning",
  function_name: "name",
  argument_name: "arg name",
  argument_value: "arg value",
  call_id: "id",
};

/** A comparison as its keys name it: `R1`, or its name in words. */
export function experimentName(experiment) {
  return experiment.replaceAll("_", " ");
}

/**
 * All comparisons by group.
 *
 * @param {object} explanation
 */
export function comparisonsView(explanation) {
  const groups = Map.groupBy
    ? Map.groupBy(explanation.comparisons, (one) => one.group)
    : explanation.comparisons.reduce((all, one) => all.set(one.group, [...(all.get(one.group) ?? []), one]), new Map());
  const parts = Array.from(groups, ([title, all]) => {
    const idle = all.filter((one) => one.idle);
    const shown = all.filter((one) => !one.idle).map((one) => comparisonFold(one));
    if (idle.length > 0) {
      const summary = [
        h("span", { class: "what" }, `${idle.length} probes that found nothing`),
        " ",
        varied("markers on which the template might split an answer"),
      ];
      shown.push(lazyFold(h("span", { class: "line" }, summary), () => idle.map((one) => comparisonFold(one))));
    }
    return [h("h3", {}, title), shown];
  });
  return [
    h(
      "p",
      { class: "lead" },
      "Each comparison renders conversations that differ in one respect. Every field holds a text that occurs nowhere else. ",
      "The part that differs is in ",
      h("span", { class: "d" }, "brackets"),
      ".",
    ),
    legend(Object.entries(FIELDS)),
    parts,
  ];
}

function varied(text) {
  return h("span", { class: "varied" }, line(text));
}

/** One comparison that opens. */
function comparisonFold(one) {
  const count = one.findings.length;
  const summary = [
    h(
      "span",
      { class: "line" },
      one.experiment.length === 2 && h("span", { class: "key mono" }, one.experiment),
      h("span", { class: "what" }, one.title),
      " ",
      varied(one.varied),
    ),
    count > 0 && h("span", { class: "found" }, count === 1 ? "1 finding" : `${count} findings`),
  ];
  return lazyFold(summary, () => comparisonView(one));
}

/**
 * One comparison: its renders side by side, what was found, and why.
 *
 * @param {object} one
 */
export function comparisonView(one) {
  const findings = one.findings.map(({ key, value }) => h("li", {}, h("code", {}, line(key)), " = ", valueOf(value)));
  return [
    one.renders.length > 0 && h("div", { class: "renders" }, one.renders.map(renderView)),
    findings.length > 0 && h("ul", { class: "findings" }, findings),
    one.because && h("p", { class: "because" }, `Because ${line(one.because.replace(/\.+$/, ""))}.`),
  ];
}

function renderView(render) {
  const label = line(render.of);
  const text =
    render.error === undefined || render.error === null
      ? pre({ "aria-label": `Render: ${label}` }, renderText(render))
      : pre({ class: "error", "aria-label": `Error: ${label}` }, lines(render.error));
  return h("figure", {}, h("figcaption", {}, label), text);
}

/** A render with its fields and the part that differs. A long render is cut around that part. */
function renderText({ text, fields, differs }) {
  if (text === "") return h("span", { class: "cut" }, "empty");
  const bytes = new Bytes(text);
  const labelled = (start, end) => fieldsOf(bytes, fields, start, end);
  if (!differs) return [labelled(0, Math.min(bytes.length, DIFFERENCE)), cut(bytes.length - DIFFERENCE)];
  const from = bytes.floor(Math.max(0, differs.start - AROUND));
  const to = bytes.floor(Math.min(bytes.length, differs.end + AROUND));
  const [head, tail] = [bytes.floor(differs.start + DIFFERENCE / 2), bytes.floor(differs.end - DIFFERENCE / 2)];
  const inside =
    head < tail
      ? [labelled(differs.start, head), cut(tail - head), labelled(tail, differs.end)]
      : labelled(differs.start, differs.end);
  return [
    cut(from),
    labelled(from, differs.start),
    h("span", { class: "d" }, inside),
    labelled(differs.end, to),
    cut(bytes.length - to),
  ];
}

function fieldsOf(bytes, fields, start, end) {
  const nodes = [];
  let at = start;
  for (const span of fields) {
    const [from, to] = [Math.max(span.start, at), Math.min(span.end, end)];
    if (from >= to) continue;
    if (from > at) nodes.push(block(bytes.slice(at, from)));
    const label = FIELDS[span.field] ?? experimentName(span.field);
    nodes.push(h("span", { class: `p ${span.field}`, "data-l": label }, block(bytes.slice(from, to))));
    at = to;
  }
  if (at < end) nodes.push(block(bytes.slice(at, end)));
  return nodes;
}

/**
 * The comparisons that found a key, of those of an explanation.
 *
 * @param {object} explanation
 * @param {string} key
 */
export function comparisonsOf(explanation, key) {
  const plain = key.split("[")[0];
  const finds = (finding) => finding.key === key || finding.key === plain || finding.key.startsWith(`${plain}.`);
  return explanation.comparisons.filter((one) => one.findings.some(finds));
}

/**
 * Fills an element with the comparisons that found a key.
 *
 * @param {Element} element
 * @param {object} explanation
 * @param {string} key
 */
export function showComparisons(element, explanation, key) {
  const found = comparisonsOf(explanation, key);
  for (const one of found) {
    const title = h("h4", {}, one.experiment.length === 2 && h("span", { class: "key mono" }, one.experiment), one.title);
    append(element, [
      h(
        "article",
        { class: "comparison" },
        title,
        h("p", { class: "note" }, `Compared: ${line(one.varied)}`),
        comparisonView(one),
      ),
    ]);
  }
  if (found.length === 0)
    append(element, [h("p", { class: "note" }, "No comparison found it: it follows from other keys, or an overlay says it.")]);
}
