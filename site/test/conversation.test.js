// The editor of a conversation: every value is edited in the form that it has, and the focus never gets lost.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, check, choose, forAll, settled, type, WIDTHS } from "./support.js";

const site = forAll();
const { encode } = await bundled("site/src/link.js");

/** Opens the tab Prompt with messages. */
async function openWith(messages, options) {
  const page = await site.open(`${site.url}#${await encode({ tab: "prompt", messages })}`, options);
  await settled(page);
  return { page, panel: page.locator("#panel-prompt") };
}

/** The messages, as the page has them. */
async function messagesOf(panel) {
  const fold = panel.locator("details", { hasText: "The conversation as JSON" });
  await fold.evaluate((one) => (one.open = true));
  return JSON.parse(await fold.locator("textarea").inputValue());
}

const FLAT = { name: "w", arguments: { a: 1 } };
const NESTED = { id: "c2", type: "function", function: { name: "v", arguments: '{"b": 2}' } };
const PARTS = [
  { type: "text", text: "Look:" },
  { type: "text", text: "here" },
];

for (const [size, width] of Object.entries(WIDTHS)) {
  test(`calls and content keep their form: ${size}`, async () => {
    const messages = [
      { role: "user", content: PARTS },
      { role: "assistant", content: null, tool_calls: [FLAT, NESTED] },
    ];
    const { page, panel } = await openWith(messages, { width, scheme: size === "phone" ? "dark" : "light" });
    const prompt = panel.locator("pre.prompt");
    const calls = panel.locator(".call");
    assert.equal(await calls.nth(0).getByLabel("Function").inputValue(), "w");
    assert.deepEqual(JSON.parse(await calls.nth(0).getByLabel("Arguments").inputValue()), { a: 1 });
    assert.equal(await calls.nth(1).getByLabel("Function").inputValue(), "v");
    assert.match(await prompt.innerText(), /Look:[^]*here[^]*"w"[^]*"v"/);
    await check(page, `conversation-forms-${size}`);
    await type(page, calls.nth(0).getByLabel("Function"), "weather");
    await type(page, calls.nth(0).getByLabel("Arguments"), '{"a": 2}');
    await type(page, calls.nth(1).getByLabel("Function"), "view");
    await type(page, calls.nth(1).getByLabel("Arguments"), '{"b": 3}');
    const parts = panel.locator(".message").first().getByLabel("Content, JSON, a list of parts");
    await type(page, parts, '[{"type": "text", "text": "Listen"}]');
    assert.match(await prompt.innerText(), /Listen[^]*"weather"[^]*"a": 2[^]*"view"[^]*"b": 3/);
    assert.doesNotMatch(await prompt.innerText(), /"type": ?"text"/);
    assert.deepEqual(await messagesOf(panel), [
      { role: "user", content: [{ type: "text", text: "Listen" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { name: "weather", arguments: { a: 2 } },
          { id: "c2", type: "function", function: { name: "view", arguments: '{"b": 3}' } },
        ],
      },
    ]);
    // What is not JSON changes nothing, and says so.
    await type(page, parts, "[{");
    assert.match(await panel.locator(".message .error").first().innerText(), /cannot be read, so the last value stays: .*JSON/);
    assert.match(await prompt.innerText(), /Listen/);
    await check(page, `conversation-error-${size}`);
    await type(page, parts, '[{"type": "text", "text": "Again"}]');
    assert.match(await prompt.innerText(), /Again/);
    // Emptied, it is a text.
    await type(page, parts, "");
    assert.equal((await messagesOf(panel))[0].content, "");
    assert.deepEqual(page.wrong, []);
    await page.done();
  });
}

test("a result is for a call in either form, and unknown values are edited as JSON", async () => {
  const { page, panel } = await openWith([{ role: "assistant", content: 5, name: "x", tool_calls: [{ ...FLAT, id: "c1" }] }]);
  await panel.getByRole("button", { name: "Add a message of the tool" }).click();
  await settled(page);
  assert.deepEqual((await messagesOf(panel))[1], { role: "tool", content: "", tool_call_id: "c1", name: "w" });
  await type(page, panel.getByLabel("Content, JSON"), "6");
  assert.equal((await messagesOf(panel))[0].content, 6);
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("removing a message moves the focus to the next thing to do", async () => {
  const { page, panel } = await openWith([
    { role: "user", content: "a" },
    { role: "assistant", content: "b" },
  ]);
  const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label") ?? document.activeElement.tagName);
  await panel.getByRole("button", { name: "Remove message 2" }).click();
  assert.equal(await focused(), "Role of message 1");
  await panel.getByRole("button", { name: "Remove message 1" }).click();
  assert.equal(await focused(), "Add a message of the user");
  await page.keyboard.press("Enter");
  assert.equal(await focused(), "Role of message 1");
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("what was edited stays when the conversation is drawn anew", async () => {
  const { page, panel } = await openWith([
    { role: "user", content: "a" },
    { role: "assistant", content: "b", tool_calls: [FLAT, NESTED] },
  ]);
  const content = (at) => panel.locator(".message").nth(at).getByLabel("Content");
  await type(page, content(0), "first");
  await panel.getByRole("button", { name: "Add a message of the user" }).click();
  assert.equal(await content(0).inputValue(), "first");
  await type(page, content(0), "second");
  await panel.getByLabel("Role of message 1").selectOption("system");
  assert.equal(await content(0).inputValue(), "second");
  await type(page, content(1), "third");
  await type(page, panel.locator(".call").nth(1).getByLabel("Function"), "view");
  await panel.getByRole("button", { name: "Remove the call" }).first().click();
  assert.equal(await content(1).inputValue(), "third");
  assert.deepEqual(
    (await messagesOf(panel)).map(({ role, content: text, tool_calls: calls }) => [role, text, calls?.[0].function.name]),
    [
      ["system", "second", undefined],
      ["assistant", "third", "view"],
      ["user", "", undefined],
    ],
  );
  assert.deepEqual(page.wrong, []);
  await page.done();
});
