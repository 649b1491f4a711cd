// Elements, and text that is safe to show. Every text that came from a template, an output or a file becomes a text node, never markup.

/**
 * Makes an element. Properties that begin with `on` are listeners; null, undefined and false are left out.
 *
 * @param {string} name
 * @param {Record<string, unknown>} [properties]
 * @param {...unknown} children nodes, texts, lists of them; null and false are left out
 * @returns {HTMLElement}
 */
export function h(name, properties = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  append(element, children);
  return element;
}

/**
 * Appends nodes, texts and lists of them.
 *
 * @param {Element} element
 * @param {unknown[]} children
 */
export function append(element, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(element, child);
    else element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replaces what an element holds.
 *
 * @param {Element} element
 * @param {...unknown} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

// Characters that are invisible, move the cursor or reverse the text: those of `unjinja_spec::is_hidden`, which a test compares.
const HIDDEN = [
  String.raw`\u{0}-\u{1f}\u{7f}-\u{a0}\u{ad}\u{34f}\u{61c}\u{115f}-\u{1160}\u{1680}\u{17b4}-\u{17b5}\u{180b}-\u{180f}`,
  String.raw`\u{2000}-\u{200f}\u{2028}-\u{202f}\u{205f}-\u{206f}\u{3000}\u{3164}\u{fe00}-\u{fe0f}\u{feff}\u{ffa0}`,
  String.raw`\u{fff0}-\u{fffb}\u{fffe}-\u{ffff}\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}`,
];
const HIDDEN_OR_HALF = new RegExp(`[${HIDDEN.join("")}\\p{Surrogate}]`, "gu");

/**
 * How a hidden character is written.
 *
 * @param {string} char
 */
function escapeOf(char) {
  if (char === "\t") return "\\t";
  if (char === "\r") return "\\r";
  return `\\u{${char.codePointAt(0).toString(16)}}`;
}

/**
 * A text on one line; line ends are shown as `↵`.
 *
 * @param {string} text
 */
export function line(text) {
  return text.replace(HIDDEN_OR_HALF, (char) => (char === "\n" ? "↵" : escapeOf(char)));
}

/**
 * A text of several lines, without hidden characters.
 *
 * @param {string} text
 */
export function lines(text) {
  return text.replace(HIDDEN_OR_HALF, (char) => (char === "\n" ? "\n" : escapeOf(char)));
}

// How much of one text is shown: a page with a megabyte of nodes helps nobody.
const LONGEST = 12_000;

/**
 * A text for a block that keeps line ends: line ends are marked, and hidden characters are written as escapes. The middle of a very
 * long text is left out.
 *
 * @param {string} text
 * @param {number} [longest] how many UTF-16 units are shown at most
 * @returns {unknown[]}
 */
export function block(text, longest = LONGEST) {
  if (text.length > longest) {
    const head = text.slice(0, longest / 2).replace(/[\ud800-\udbff]$/, "");
    const tail = text.slice(-longest / 2).replace(/^[\udc00-\udfff]/, "");
    return [block(head, longest), cut(text.length - head.length - tail.length), block(tail, longest)];
  }
  const nodes = [];
  let at = 0;
  for (const match of text.matchAll(HIDDEN_OR_HALF)) {
    if (match.index > at) nodes.push(text.slice(at, match.index));
    if (match[0] === "\n") nodes.push(h("span", { class: "nl", "aria-hidden": "true" }, "↵"), "\n");
    else nodes.push(h("span", { class: "esc" }, escapeOf(match[0])));
    at = match.index + match[0].length;
  }
  if (at < text.length) nodes.push(text.slice(at));
  return nodes;
}

/**
 * Says that something is left out.
 *
 * @param {number} count characters
 */
export function cut(count) {
  return count > 0 && h("span", { class: "cut" }, ` … ${count.toLocaleString("en")} characters … `);
}

/**
 * A value of a spec.
 *
 * @param {unknown} value
 * @returns {unknown}
 */
export function valueOf(value) {
  if (value === null || value === undefined) return h("span", { class: "note" }, "nothing");
  if (typeof value === "string" && value !== "") return marker(value);
  if (Array.isArray(value)) return value.map((item) => [valueOf(item), " "]);
  return h("code", {}, line(JSON.stringify(value)));
}

/**
 * A marker or another short text.
 *
 * @param {string} text
 */
export function marker(text) {
  return h("code", { class: "v" }, line(text));
}

/**
 * A block of text in which one can scroll, also with the keyboard.
 *
 * @param {Record<string, unknown>} properties with `aria-label`
 * @param {...unknown} children
 */
export function pre(properties, ...children) {
  return h("pre", { tabindex: 0, role: "group", ...properties }, ...children);
}

/**
 * A message of the package: what is wrong, the place with an excerpt, and the next step.
 *
 * @param {string} text
 */
export function messageText(text) {
  const [what, ...next] = text.split(/\n\s*= next: /);
  const at = what.search(/\n\s*┌─/);
  return [
    lines(at < 0 ? what : what.slice(0, at)),
    at >= 0 && h("code", { class: "excerpt", tabindex: 0 }, lines(what.slice(at + 1))),
    next.map((step) => h("div", { class: "next" }, h("b", {}, "Next: "), lines(step))),
  ];
}

/**
 * A part that opens and closes.
 *
 * @param {unknown} title
 * @param {unknown[]} children
 * @param {Record<string, unknown>} [properties]
 */
export function fold(title, children, properties = {}) {
  return h("details", properties, h("summary", {}, title), h("div", { class: "body" }, ...children));
}

/**
 * A part that opens and closes, and whose content is drawn when it is first opened.
 *
 * @param {unknown} title
 * @param {() => unknown} draw
 * @param {Record<string, unknown>} [properties]
 */
export function lazyFold(title, draw, properties = {}) {
  const body = h("div", { class: "body" });
  const details = h("details", properties, h("summary", {}, title), body);
  const once = () => {
    if (!details.open || body.hasChildNodes()) return;
    append(body, [draw()]);
  };
  details.addEventListener("toggle", once);
  if (details.open) append(body, [draw()]);
  return details;
}

/**
 * A legend of colours. Each entry is a class and a label.
 *
 * @param {Iterable<[string, string]>} entries
 */
export function legend(entries) {
  const items = Array.from(entries, ([kind, label]) => h("li", {}, h("span", { class: `p ${kind}` }, label)));
  return items.length > 0 && h("ul", { class: "legend", "aria-label": "Legend" }, items);
}

/** Slices of a text by offsets in its UTF-8. */
export class Bytes {
  /** @param {string} text */
  constructor(text) {
    this.bytes = new TextEncoder().encode(text);
    this.decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  }

  get length() {
    return this.bytes.length;
  }

  /**
   * The boundary of a character at or before an offset.
   *
   * @param {number} at
   */
  floor(at) {
    let boundary = Math.max(0, Math.min(at, this.length));
    while (boundary > 0 && (this.bytes[boundary] & 0xc0) === 0x80) boundary -= 1;
    return boundary;
  }

  /**
   * @param {number} start
   * @param {number} [end]
   */
  slice(start, end = this.bytes.length) {
    return this.decoder.decode(this.bytes.subarray(start, end));
  }
}
