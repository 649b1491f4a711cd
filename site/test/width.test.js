// Nothing is wider than the window, whatever a model or a user writes, in any tab.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, check, choose, fits, forAll, paste, shoot, text } from "./support.js";

const site = forAll();
const { encode } = await bundled("site/src/link.js");

const call = (value) => `<tool_call>\n{"name": "get_weather", "arguments": {"city": "${value}"}}\n</tool_call>`;
const NAME = "n".repeat(300);
const CASES = {
  "one long word": { tab: "parse", output: "a".repeat(200), size: 64, at: 3 },
  "arguments in base64": { tab: "parse", output: call("QUJD".repeat(60)), size: 64, at: 3 },
  "a hundred thousand letters": { tab: "parse", output: "x".repeat(100_000) },
  "three hundred thousand letters": { tab: "parse", output: "x".repeat(300_000) },
  "long names": {
    tab: "prompt",
    messages: [
      { role: "user".repeat(200), content: "x".repeat(400) },
      { role: "assistant", content: "", tool_calls: [{ id: NAME, type: "function", function: { name: NAME, arguments: "{}" } }] },
      { role: "tool", content: NAME, tool_call_id: NAME, name: NAME },
    ],
    source: { kind: "template", name: NAME, text: text("templates/hermes.jinja"), tokens: { bos_token: NAME } },
    output: `<tool_call>\n{"name": "${NAME}", "arguments": {"${NAME}": 1`,
    variables: `{"${NAME}": 1}`,
  },
  "long markers": {
    tab: "turn",
    source: { kind: "template", name: "long", text: longMarkers() },
    other: { kind: "known", name: NAME, text: NAME },
  },
};

/** A template whose markers are long words. */
function longMarkers() {
  const word = "m".repeat(250);
  return `{% for m in messages %}<${word}{{ m.role }}>{{ m.content }}</${word}>{% endfor %}
{%- if add_generation_prompt %}<${word}assistant>{% endif %}`;
}

for (const width of [320, 390, 1280]) {
  test(`nothing is wider than ${width} pixels`, async () => {
    const page = await site.open(site.url, { width });
    for (const [what, state] of Object.entries(CASES)) {
      await page.goto("about:blank");
      await page.goto(`${site.url}#${await encode(state)}`);
      await page.waitForSelector("html[data-drawn]");
      assert.equal(await page.locator("#source > .reason").count(), 0, what);
      for (const tab of ["turn", "parse", "prompt", "check", "compare"]) {
        await choose(page, tab);
        await fits(page, `${what}, ${tab}, ${width}`);
        if (tab === state.tab) await shoot(page, `wide-${what.replaceAll(" ", "-")}-${width}`);
      }
      // Also with everything open that opens.
      const open = (id) => document.querySelectorAll(`#panel-${id} details`).forEach((one) => (one.open = true));
      for (const tab of ["turn", "parse", "prompt"]) {
        await choose(page, tab);
        await page.evaluate(open, tab);
        await fits(page, `${what}, ${tab}, ${width}, open`);
      }
    }
    assert.deepEqual(page.wrong, []);
    await page.done();
  });
}

test("all tabs can be seen at 320 pixels", async () => {
  for (const scheme of ["light", "dark"]) {
    const page = await site.open(site.url, { width: 320, scheme });
    await paste(page, text("templates/hermes.jinja"));
    const tabs = await page.locator("[role=tab]").evaluateAll((all) => all.map((one) => one.getBoundingClientRect().toJSON()));
    assert.equal(tabs.length, 5);
    for (const { left, right } of tabs) assert.ok(left >= 0 && right <= 320, JSON.stringify(tabs));
    await check(page, `tabs-320-${scheme}`);
    await page.done();
  }
});
