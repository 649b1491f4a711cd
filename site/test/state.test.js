// States that nobody's page wrote: damaged links, crafted links, and JSON that is typed. Nothing that cannot be drawn is taken or saved.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, choose, forAll, settled, type } from "./support.js";

const site = forAll();
const { decode, encode, LinkError } = await bundled("site/src/link.js");
const { FIRST } = await bundled("site/src/examples.js");
const { wrongWith } = await bundled("site/src/state.js");

const TABS = ["turn", "parse", "prompt", "check", "compare"];

/** Random numbers from 0 to 1, the same for the same seed. */
function randomOf(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A state with everything that a state can have. */
const RICH = {
  ...FIRST,
  at: 3,
  source: { ...FIRST.source, tokens: { bos_token: "<s>", additional_special_tokens: ["a"] } },
  messages: [
    ...FIRST.messages,
    { role: "user", content: [{ type: "text", text: "and?" }, { type: "image" }] },
    { role: "assistant", content: null, tool_calls: [{ name: "w", arguments: { a: 1 } }] },
  ],
};

const nested = (levels) => JSON.parse(`${"[".repeat(levels)}1${"]".repeat(levels)}`);
const VALUES = [
  null,
  0,
  -1,
  2.5,
  1e300,
  true,
  false,
  "",
  "x",
  "known",
  "\u202e\ud800",
  "y".repeat(3_000),
  [],
  [null],
  [[]],
  [5],
  {},
  { role: {} },
  { role: "user" },
  { role: "assistant", tool_calls: [null] },
  { function: 5 },
  { toString: 1, constructor: null, length: -1 },
  nested(200),
];

/** All places in a value: what holds each, and its key. */
function placesOf(value) {
  if (typeof value !== "object" || value === null) return [];
  return Object.keys(value).flatMap((key) => [[value, key], ...placesOf(value[key])]);
}

/** A state of which one to three places are changed. */
function mutated(random) {
  const pick = (list) => list[Math.floor(random() * list.length)];
  const state = structuredClone(RICH);
  for (let count = Math.ceil(random() * 3); count > 0; count -= 1) {
    const [holder, key] = pick(placesOf(random() < 0.7 ? { messages: state.messages, source: state.source, at: state.at } : state));
    const value = structuredClone(pick(VALUES));
    // A place at the top is a key of the state itself.
    const target = holder.messages === state.messages ? state : holder;
    if (random() < 0.2) delete target[key];
    else if (Array.isArray(target) && random() < 0.3) target.push(value);
    else target[key] = value;
  }
  return state;
}

/** What every view takes for granted of messages; written apart from the page's own rules. */
function canBeDrawn({ messages = [], at = null }) {
  const isObject = (value) => Object.prototype.toString.call(value) === "[object Object]";
  const isCall = (call) => isObject(call) && (call.function == null || isObject(call.function));
  return (
    (at === null || Number.isInteger(at)) &&
    messages.every(
      (one) => isObject(one) && typeof one.role === "string" && (one.tool_calls == null || one.tool_calls.every(isCall)),
    )
  );
}

test("of hundreds of mutated states each is taken or refused with its place", async () => {
  const random = randomOf(35);
  let taken = 0;
  const refused = [];
  for (let count = 0; count < 800; count += 1) {
    const state = mutated(random);
    const fragment = await encode(state);
    try {
      const read = await decode(fragment);
      taken += 1;
      assert.ok(canBeDrawn(read), JSON.stringify(read.messages));
    } catch (error) {
      assert.ok(error instanceof LinkError, `${error.stack}\n${JSON.stringify(state.messages)}`);
      assert.match(error.message, /link is damaged: `[^`]+` is .*(expected|deeper)/);
      refused.push(error.message);
    }
  }
  assert.ok(taken > 150 && refused.length > 250, `${taken} taken, ${refused.length} refused`);
  assert.ok(new Set(refused).size > 60);
});

test("what is wrong is said with its place, and what a page writes is right", () => {
  assert.equal(wrongWith(FIRST), null);
  assert.equal(wrongWith(RICH), null);
  const cases = [
    [{ messages: [{}] }, "`messages[0].role` is missing; expected a text"],
    [{ messages: [[]] }, "`messages[0]` is a list; expected an object"],
    [{ messages: [{ content: "x" }] }, "`messages[0].role` is missing; expected a text"],
    [{ messages: [{ role: {} }] }, "`messages[0].role` is an object; expected a text"],
    [
      { messages: [{ role: "a", tool_calls: [{}, null] }] },
      "`messages[0].tool_calls[1]` is null; expected an object",
    ],
    [{ at: 2.5 }, "`at` is 2.5; expected a whole number, or null"],
    [{ size: 0 }, "`size` is 0; expected one of 1, 4, 16, 64"],
    [{ tab: "x" }, '`tab` is "x"; expected one of "turn", "parse", "prompt", "check", "compare"'],
    [{ messages: nested(200) }, "`messages` is nested deeper than 100 levels"],
  ];
  for (const [values, message] of cases) assert.equal(wrongWith(values), message);
});

/** Opens a page with a state, and looks at every tab. */
async function walk(page, state, name) {
  const fragment = await encode(state);
  await page.goto("about:blank");
  await page.goto(`${site.url}#${fragment}`);
  await page.waitForSelector("html[data-drawn]");
  const isRefused = (await page.locator("#source > .reason").count()) > 0;
  if (isRefused) assert.match(await page.locator("#source > .reason").innerText(), /link is damaged[^]*Ask for the link again/, name);
  for (const tab of TABS) {
    const panel = await choose(page, tab);
    const shown = await panel.innerText();
    assert.ok(shown.length > 20, `${name}: ${tab} is empty`);
    assert.doesNotMatch(shown, /cannot draw|undefined|is not a function|\[object/, `${name}: ${tab}`);
  }
  assert.deepEqual(page.wrong, [], name);
  return isRefused;
}

test("crafted links give a message and a page that works", async () => {
  const page = await site.open(site.url);
  const bad = [
    { messages: [{}] },
    { messages: [[]] },
    { messages: [{ content: "x" }] },
    { messages: [{ role: {} }] },
    { messages: [{ role: "assistant", content: "x", tool_calls: [null] }] },
    { tab: "parse", at: 2.5 },
    { tab: "prompt", size: "4" },
  ];
  for (const state of bad) assert.equal(await walk(page, state, JSON.stringify(state)), true);
  await page.done();
});

test("dozens of mutated states, at the page itself", async () => {
  const page = await site.open(site.url);
  const random = randomOf(36);
  let refused = 0;
  for (let count = 0; count < 30; count += 1) if (await walk(page, mutated(random), `state ${count}`)) refused += 1;
  assert.ok(refused > 5 && refused < 25, `${refused} of 30 are refused`);
  await page.done();
});

test("messages that are typed as JSON and are none change nothing, and are not saved", async () => {
  const page = await site.open(site.url);
  const panel = await choose(page, "prompt");
  await page.waitForURL(/#1\./);
  const before = page.url();
  await panel.getByText("The conversation as JSON").click();
  const field = panel.getByLabel("A JSON list of messages");
  const call = '[{"role":"user","content":"x"},{"role":"assistant","content":"x","tool_calls":[null]}]';
  const cases = [
    [call, /`messages\[1\]\.tool_calls\[0\]` is null; expected an object/],
    ["[{}]", /`messages\[0\]\.role` is missing/],
    ["[", /cannot be read/],
  ];
  for (const [typed, message] of cases) {
    await type(page, field, typed);
    assert.match(await panel.locator(".error").innerText(), message);
    await page.waitForTimeout(600);
    assert.equal(page.url(), before);
  }
  await page.reload();
  await page.waitForSelector("html[data-drawn]");
  assert.match(await page.locator("#panel-prompt pre.prompt").innerText(), /Will it rain/);
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("a state that the page fails to draw is not saved, and the other tabs work on", async () => {
  const page = await site.open(site.url);
  await choose(page, "parse");
  await page.waitForURL(/#1\./);
  const before = page.url();
  // The calls of a conversation are copied when they are drawn.
  await page.evaluate(() => {
    globalThis.kept = structuredClone;
    globalThis.structuredClone = () => {
      throw new Error("a defect of the page");
    };
  });
  const panel = await choose(page, "prompt");
  assert.match(await panel.innerText(), /cannot draw this: a defect of the page[^]*Next:/);
  await page.waitForTimeout(700);
  assert.equal(page.url(), before);
  assert.match(await (await choose(page, "turn")).innerText(), /supported/);
  await page.evaluate(() => (globalThis.structuredClone = globalThis.kept));
  assert.match(await (await choose(page, "prompt")).innerText(), /What the model reads/i);
  await settled(page);
  assert.deepEqual(page.wrong, []);
  await page.done();
});
