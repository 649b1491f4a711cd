// Each tab, used as a person would: from a folder and from a server, on a desktop and on a phone, light and dark.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import {
  check,
  choose,
  folderUrl,
  forAll,
  lesserFindings,
  openAll,
  paste,
  settled,
  text,
  type,
  WIDTHS,
} from "./support.js";

const site = forAll();
after(() => console.log(`site: axe finds nothing serious; lesser: ${lesserFindings().join("; ") || "nothing"}`));

const WAYS = [
  ["server", "desktop", "light"],
  ["folder", "desktop", "dark"],
  ["folder", "phone", "light"],
  ["server", "phone", "dark"],
];

// It offers tools and renders no call.
const NO_CALLS = `{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<{{ m.role }}>{{ m.content or "" }}</>{% endfor %}
{%- if add_generation_prompt %}<assistant>{% endif %}`;

for (const [way, size, scheme] of WAYS) {
  const open = () => site.open(way === "server" ? site.url : folderUrl, { width: WIDTHS[size], scheme });
  const name = (what) => `${what}-${size}-${scheme}`;
  const on = `${size}, ${scheme}, from a ${way}`;

  test(`Turn: ${on}`, async () => {
    const page = await open();
    const panel = page.locator("#panel-turn");
    await paste(page, text("templates/hermes.jinja"));
    assert.match(await panel.locator(".facts").first().innerText(), /supported/);
    assert.match(await panel.innerText(), /json_native/);
    assert.equal(await panel.locator(".picture .hole").count(), 3);
    await check(page, name("turn"));
    // Where a literal comes from: the comparison with both renders, side by side, and the difference in colour.
    await panel.locator(".literal", { hasText: "</tool_call>" }).click();
    assert.equal(await panel.locator(".literal[aria-pressed=true]").count(), 1);
    const origin = panel.locator("#origin");
    assert.match(await origin.innerText(), /tools\.per_call_end[^]*one call \| two calls/);
    assert.equal(await origin.locator("figure").count(), 2);
    assert.ok((await origin.locator("figure .d").count()) > 0);
    const [left, right] = await origin
      .locator("figure")
      .evaluateAll((figures) => figures.map((one) => one.getBoundingClientRect().x));
    assert.equal(left < right, size === "desktop");
    await check(page, name("turn-origin"));
    await openAll(page, "#panel-turn");
    await check(page, name("turn-open"));
    await page.done();
  });

  test(`Turn, gaps and failures: ${on}`, async () => {
    const page = await open();
    const panel = page.locator("#panel-turn");
    await paste(page, NO_CALLS);
    assert.match(await panel.innerText(), /partial[^]*What is missing/);
    assert.ok((await panel.locator(".reason").count()) > 0);
    await check(page, name("turn-gaps"));
    await paste(page, "{% for m in messages %}{{ m.content }");
    assert.match(await panel.innerText(), /no spec[^]*\(pasted\.jinja:1\)/);
    await check(page, name("turn-failed"));
    await paste(page, "");
    assert.ok((await panel.innerText()).length > 20);
    await check(page, name("turn-empty"));
    await page.done();
  });

  test(`Parse: ${on}`, async () => {
    const page = await open();
    const panel = await choose(page, "parse");
    assert.equal(await panel.locator("pre.output .p.reasoning").innerText(), "They want the weather.");
    assert.equal(await panel.locator(".stop").count(), 1);
    await check(page, name("parse"));
    // The mark in the text leads to what is said about it.
    await panel.locator("a.here").first().click();
    assert.equal(await page.evaluate(() => document.activeElement.id), "stop-0");
    assert.ok(!page.url().endsWith("#stop-0"));
    // The stream, piece by piece: somewhere text is held back, and the page says why.
    const slider = panel.locator("#slider");
    const pieces = Number(await slider.getAttribute("max"));
    assert.ok(pieces > 20);
    await slider.fill("0");
    await settled(page);
    assert.match(await panel.locator(".step").innerText(), /Nothing was read yet/i);
    const seen = new Set();
    for (let at = 1; at <= pieces; at += 1) {
      await panel.getByRole("button", { name: "Next" }).click();
      await settled(page);
      const step = await panel.locator(".step").innerText();
      for (const what of [
        "It may become",
        "looks like the beginning of a call",
        "White space before a marker",
        "call 0 begins",
        "call 0 ends",
      ]) {
        if (step.includes(what) && !seen.has(what)) {
          seen.add(what);
          if (what.startsWith("looks")) await check(page, name("parse-held"));
        }
      }
    }
    assert.deepEqual(
      Array.from(seen).sort(),
      ["It may become", "call 0 begins", "call 0 ends", "looks like the beginning of a call"].sort(),
    );
    // Another output, which is cut off.
    await type(page, panel.getByLabel("What the model wrote"), '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Z');
    assert.match(await panel.innerText(), /broke off/);
    await panel.getByLabel("The output is complete").uncheck();
    await settled(page);
    assert.doesNotMatch(await panel.innerText(), /broke off/);
    await openAll(page, "#panel-parse");
    await check(page, name("parse-open"));
    // Tools that are no JSON: the error says where to correct them.
    await type(page, panel.getByLabel("A JSON list"), "[{");
    assert.match(await panel.locator(".reason").innerText(), /not valid JSON[^]*Next: correct them/);
    await page.done();
  });

  test(`Prompt: ${on}`, async () => {
    const page = await open();
    const panel = await choose(page, "prompt");
    const prompt = panel.locator("pre.prompt");
    assert.match(await prompt.innerText(), /Will it rain in Zürich\?/);
    for (const kind of ["user", "content", "reasoning", "argument_name"])
      assert.ok((await prompt.locator(`.p.${kind}`).count()) > 0, kind);
    await check(page, name("prompt"));
    // Another user message, typed; the tool's result moves up; the first message goes.
    await panel.getByRole("button", { name: "Add a message of the user" }).click();
    await page.keyboard.press("Tab");
    await type(page, panel.locator(".message").last().locator("textarea"), "And tomorrow? <b>&</b>");
    assert.match(await prompt.innerText(), /And tomorrow\? <b>&<\/b>/);
    await panel.getByRole("button", { name: "Remove message 1" }).click();
    await settled(page);
    assert.doesNotMatch(await prompt.innerText(), /You are a helpful assistant/);
    await panel.getByRole("button", { name: "Add a call" }).click();
    await settled(page);
    assert.equal(await panel.locator(".call").count(), 2);
    await type(page, panel.getByLabel("Arguments, JSON").last(), '{"city": "Rome"}');
    assert.match(await prompt.innerText(), /Rome/);
    await panel.getByLabel("Add the generation prompt").uncheck();
    await settled(page);
    await panel.getByLabel("Show only what the model writes").check();
    await openAll(page, "#panel-prompt");
    await check(page, name("prompt-open"));
    // A conversation that the template refuses: the error is shown, and the next change renders again.
    const variables = panel.getByLabel("A JSON object");
    await type(page, variables, "{");
    assert.match(await panel.locator(".reason").innerText(), /variables are not valid JSON/);
    await type(page, variables, "");
    assert.equal(await panel.locator(".reason").count(), 0);
    await page.done();
  });

  test(`Check: ${on}`, async () => {
    const page = await open();
    const panel = await choose(page, "check");
    assert.ok((await panel.locator(".fault").count()) > 0);
    await check(page, name("check"));
    await openAll(page, "#panel-check");
    await page.waitForTimeout(300);
    await settled(page);
    assert.equal(await panel.locator(".reason").count(), 0, await panel.innerText());
    assert.equal(await panel.locator(".copied pre").count(), 6);
    const made = await panel.locator(".copied pre").allInnerTexts();
    const wanted = [/"fields"/, /root ::=/, /"type"/, /start:/, /spec_version/, /\bfn\b|pub /];
    wanted.forEach((pattern, at) => assert.match(made[at], pattern));
    assert.match(await panel.innerText(), /The smallest conversation that shows it/i);
    if (way === "server") {
      await panel.getByRole("button", { name: "Copy Format spec" }).click();
      await page.waitForFunction(() => document.getElementById("status").innerText.includes("opied"));
      assert.match(await page.evaluate(() => navigator.clipboard.readText()), /^# Format spec/);
    }
    await check(page, name("check-open"));
    await page.done();
  });

  test(`Compare: ${on}`, async () => {
    const page = await open();
    const panel = await choose(page, "compare");
    await settled(page);
    assert.match(await panel.innerText(), /differ/);
    await check(page, name("compare"));
    // With itself.
    await type(page, panel.getByLabel("The text of the other template"), text("templates/qwen3.jinja"));
    assert.match(await panel.innerText(), /alike/);
    await check(page, name("compare-same"));
    await page.done();
  });

  test(`a supported model without its template: ${on}`, async () => {
    const page = await open();
    await page.locator("#source select").selectOption({ label: "Qwen/Qwen3-0.6B" });
    await settled(page);
    assert.match(await page.locator("#panel-turn").innerText(), /supported/);
    assert.match(await page.locator("#source").innerText(), /not the text of its template/);
    await check(page, name("known"));
    await choose(page, "parse");
    assert.equal(await page.locator("#panel-parse pre.output .p.function_name").innerText(), "get_weather");
    for (const tab of ["prompt", "check", "compare"]) {
      const panel = await choose(page, tab);
      assert.ok((await panel.locator(".empty").count()) > 0, tab);
    }
    await choose(page, "check");
    await openAll(page, "#panel-check");
    assert.ok((await page.locator("#panel-check .copied pre").count()) >= 5);
    await check(page, name("known-check"));
    await page.done();
  });
}

test("the page is drawn in under a second", async () => {
  const [drawn, pasted] = [{ server: [], folder: [] }, []];
  for (const way of ["server", "folder", "server", "folder", "server", "folder"]) {
    const page = await site.open(way === "server" ? site.url : folderUrl);
    drawn[way].push(Number(await page.evaluate(() => document.documentElement.dataset.drawn)));
    // Another template, until its turn is there.
    const began = performance.now();
    await page.locator("#source textarea").fill(text("templates/python_calls.jinja"));
    await page.locator("#source textarea").blur();
    await page.locator("#panel-turn .facts", { hasText: "call_expression" }).waitFor();
    pasted.push(performance.now() - began);
    await page.done();
  }
  const middle = (times) => Math.round(times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)]);
  const [server_, folder] = [middle(drawn.server), middle(drawn.folder)];
  console.log(`site: a turn is drawn ${server_} ms after the navigation from a server, ${folder} ms from a folder`);
  console.log(`site: another turn is drawn ${middle(pasted)} ms after its template was pasted`);
  // A machine that compiles at the same time is slower than a laptop, so this is no test of the speed: only that it is no matter of
  // minutes.
  assert.ok(Math.min(...drawn.server, ...drawn.folder) < 20_000, JSON.stringify(drawn));
});
