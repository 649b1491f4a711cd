// The page with the keyboard alone, its links, files that are dropped and chosen, and texts that are meant to do harm.

import assert from "node:assert/strict";
import { test } from "node:test";
import { check, choose, chooseFiles, config, drop, folderUrl, forAll, gguf, paste, settled, SIMPLE, text, type } from "./support.js";

const site = forAll();

/** What has the focus: its role or element, and its name. */
const focused = (page) =>
  page.evaluate(() => {
    const one = document.activeElement;
    return {
      id: one.id,
      tag: one.tagName,
      text: (one.getAttribute("aria-label") ?? one.innerText ?? "").slice(0, 60),
      visible: one.matches(":focus-visible"),
    };
  });

test("the keyboard alone reaches everything", async () => {
  const page = await site.open(folderUrl);
  await page.keyboard.press("Tab");
  assert.equal((await focused(page)).text, "Skip to the views");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Tab");
  assert.equal((await focused(page)).id, "tab-turn");
  // The tabs are one stop of the Tab key; arrows, Home and End move.
  const moves = [
    ["ArrowRight", "parse"],
    ["ArrowRight", "prompt"],
    ["End", "compare"],
    ["ArrowRight", "turn"],
    ["ArrowLeft", "compare"],
    ["Home", "turn"],
  ];
  for (const [key, tab] of moves) {
    await page.keyboard.press(key);
    assert.equal((await focused(page)).id, `tab-${tab}`);
    assert.ok(await page.locator(`#panel-${tab}`).isVisible());
  }
  await page.keyboard.press("Tab");
  assert.equal((await focused(page)).id, "panel-turn");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  assert.equal(await page.locator(".literal[aria-pressed=true]").count(), 1);
  // The stream.
  await page.locator("#tab-parse").focus();
  await page.keyboard.press("Enter");
  await settled(page);
  await page.locator("#slider").focus();
  await page.keyboard.press("Home");
  await settled(page);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  await settled(page);
  assert.match(await page.locator("#slider").getAttribute("aria-valuetext"), /^2 of \d+ pieces/);
  assert.equal((await focused(page)).id, "slider");
  // From the first stop to the last, in each tab: every stop can be seen, and nothing holds the focus.
  for (const tab of ["turn", "parse", "prompt", "check", "compare"]) {
    await choose(page, tab);
    await page.locator(".skip").focus();
    const stops = [];
    for (let count = 0; count < 150; count += 1) {
      await page.keyboard.press("Tab");
      const stop = await focused(page);
      if (stop.tag === "BODY") break;
      assert.ok(stop.visible, `${tab}: ${JSON.stringify(stop)}`);
      stops.push(stop);
    }
    assert.ok(stops.length > 8 && stops.length < 150, `${tab}: ${stops.length} stops`);
    assert.equal(stops.filter(({ id }) => id.startsWith("tab-")).length, 1, tab);
  }
  await page.done();
});

test("a link holds the state", async () => {
  const page = await site.open(site.url);
  await paste(page, text("templates/channels.jinja"));
  await choose(page, "parse");
  await type(page, page.getByLabel("What the model wrote"), text("cli/tests/page/channels.txt"));
  await page.locator("#slider").fill("9");
  await settled(page);
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => document.getElementById("status").innerText.includes("copied"));
  const link = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(link, page.url());
  const shown = await page.locator("#panel-parse").innerText();
  const other = await site.open(link);
  await settled(other);
  assert.equal(await other.locator("#tab-parse").getAttribute("aria-selected"), "true");
  assert.equal(await other.locator("#panel-parse").innerText(), shown);
  assert.equal(await other.locator("#source textarea").inputValue(), text("templates/channels.jinja"));
  await other.done();
  await page.done();
});

test("what is played stops when the tab is left, and the link is written meanwhile", async () => {
  const page = await site.open(site.url);
  const panel = await choose(page, "parse");
  const place = () => page.locator("#slider").inputValue();
  await page.waitForURL(/#1\./);
  const before = page.url();
  await panel.getByRole("button", { name: "Play" }).click();
  await page.waitForFunction(() => Number(document.getElementById("slider").value) >= 2);
  // While it plays, too.
  await page.waitForFunction((old) => location.href !== old, before);
  await choose(page, "turn");
  await page.waitForTimeout(100);
  const left = await place();
  await page.waitForTimeout(700);
  assert.equal(await place(), left);
  const other = await site.open(page.url());
  assert.equal(await other.locator("#tab-turn").getAttribute("aria-selected"), "true");
  await other.done();
  // A page that is hidden plays nothing.
  await choose(page, "parse");
  assert.ok(await panel.getByRole("button", { name: "Play" }).isVisible());
  await panel.getByRole("button", { name: "Play" }).click();
  assert.ok(await panel.getByRole("button", { name: "Pause" }).isVisible());
  await page.evaluate(() => {
    Object.defineProperty(document, "hidden", { get: () => true });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  assert.ok(await panel.getByRole("button", { name: "Play" }).isVisible());
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("a link holds which calls the grammars ask for", async () => {
  const page = await site.open(site.url);
  const panel = await choose(page, "check");
  await panel.getByLabel("For grammars, the model").selectOption("required");
  await settled(page);
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => document.getElementById("status").innerText.includes("copied"));
  const other = await site.open(await page.evaluate(() => navigator.clipboard.readText()));
  assert.equal(await other.locator("#panel-check").getByLabel("For grammars, the model").inputValue(), "required");
  const grammarOf = async (one) => {
    await one.getByText("GBNF for llama.cpp").click();
    await settled(one);
    return one.locator(".copied pre").innerText();
  };
  const [left, right] = [await grammarOf(page), await grammarOf(other)];
  assert.equal(left, right);
  await other.locator("#panel-check").getByLabel("For grammars, the model").selectOption("none");
  await settled(other);
  assert.notEqual(await other.locator("#panel-check [data-name^=GBNF] .body").innerText(), right);
  await other.done();
  await page.done();
});

test("the state of a page in a folder comes back when it is loaded again", async () => {
  const page = await site.open(folderUrl);
  await choose(page, "compare");
  await page.waitForURL(/^file:.*#1\./);
  await page.reload();
  await page.waitForSelector("#tab-compare[aria-selected=true]");
  await settled(page);
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("a damaged link gives a message and a page that works", async () => {
  for (const fragment of ["nonsense", "1.", "1.AAAA", "9.abc", "1.%F0%9F", "x".repeat(100_000)]) {
    const page = await site.open(`${site.url}#${fragment}`);
    assert.match(await page.locator("#source .reason").innerText(), /link/i);
    assert.match(await page.locator("#panel-turn").innerText(), /supported/);
    assert.equal(new URL(page.url()).hash, "");
    assert.deepEqual(page.wrong, []);
    if (fragment === "nonsense") await check(page, "damaged-link");
    await page.done();
  }
});

test("every supported model has a picture, and each of its literals a name", async () => {
  const page = await site.open(folderUrl);
  const names = await page.locator("#source option[value^=known]").evaluateAll((options) => options.map((one) => one.value));
  assert.ok(names.length > 50);
  for (const name of names) {
    await page.locator("#source select").selectOption(name);
    await settled(page);
    const turn = page.locator("#panel-turn");
    assert.ok((await turn.locator(".hole").count()) > 0, name);
    const nameless = await turn
      .locator(".literal")
      .evaluateAll(
        (literals) =>
          literals.filter((one) => (one.getAttribute("aria-label") ?? one.textContent.replaceAll("↵", "")).trim() === "").length,
      );
    assert.equal(nameless, 0, name);
  }
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("files of every kind are taken", async () => {
  const page = await site.open(folderUrl);
  const source = page.locator("#source");
  const turn = page.locator("#panel-turn");
  await chooseFiles(page, "#source", ["My Model.jinja", text("templates/hermes.jinja")]);
  assert.match(await source.innerText(), /my_model/);
  assert.match(await turn.innerText(), /json_native/);
  await chooseFiles(page, "#source", ["tokenizer_config.json", config(SIMPLE)]);
  assert.equal(await source.locator("textarea").inputValue(), SIMPLE);
  assert.match(await source.innerText(), /bos_token: <s>[^]*eos_token: <\/s>/);
  await chooseFiles(page, "#source", [
    "tokenizer_config.json",
    config([
      { name: "default", template: SIMPLE },
      { name: "tool_use", template: text("templates/hermes.jinja") },
    ]),
  ]);
  assert.match(await turn.innerText(), /json_native/);
  // The other one of the same file.
  await source.getByLabel("Template of the file").selectOption("default");
  await settled(page);
  assert.equal(await source.locator("textarea").inputValue(), SIMPLE);
  // A file of tokens, and the template next to it.
  await chooseFiles(page, "#source", ["tokenizer_config.json", config(undefined)], ["chat_template.jinja", SIMPLE]);
  assert.equal(await source.locator("textarea").inputValue(), SIMPLE);
  assert.match(await source.innerText(), /bos_token: <s>/);
  await chooseFiles(page, "#source", ["model.gguf", gguf({ "tokenizer.chat_template": text("templates/hermes.jinja") }, 20_000_000)]);
  assert.equal(await source.locator("textarea").inputValue(), text("templates/hermes.jinja"));
  await chooseFiles(page, "#source", ["hermes.toml", text("generated/specs/qwen_qwen3_0_6b.toml")]);
  assert.match(await turn.innerText(), /tag_based/);
  // Dropped.
  await drop(page, ["dropped.jinja", SIMPLE]);
  assert.match(await source.innerText(), /dropped/);
  // Pasted as JSON.
  await paste(page, config(text("templates/hermes.jinja")));
  assert.match(await turn.innerText(), /json_native/);
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("files that are none give an error and leave the page as it was", async () => {
  const page = await site.open(folderUrl);
  const before = await page.locator("#source textarea").inputValue();
  const bad = [
    ["picture.png", Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe, 0x00]), /picture\.png: it is not UTF-8[^]*Next/],
    ["model.gguf", Buffer.from("GGUF\u0003\u0000\u0000\u0000\u0000"), /model/],
    ["tokenizer_config.json", config(undefined), /template/],
    ["tokenizer_config.json", '{"chat_template": }', /JSON|template/],
  ];
  for (const [name, content, message] of bad) {
    await chooseFiles(page, "#source", [name, content]);
    assert.match(await page.locator("#source .problem .reason").innerText(), message);
    assert.equal(await page.locator("#source textarea").inputValue(), before);
  }
  assert.deepEqual(page.wrong, []);
  await check(page, "bad-file");
  await page.done();
});

test("markers that are HTML, and names that are scripts, stay text", async () => {
  const page = await site.open(site.url);
  await paste(page, text("cli/tests/page/hostile.jinja"));
  await choose(page, "parse");
  await type(page, page.getByLabel("What the model wrote"), text("cli/tests/page/hostile.txt"));
  for (const tab of ["turn", "parse", "prompt", "check", "compare"]) {
    await choose(page, tab);
    await page.evaluate((id) => document.querySelectorAll(`#panel-${id} details`).forEach((part) => (part.open = true)), tab);
    await page.waitForTimeout(200);
    await settled(page);
    // axe leaves empty attributes behind.
    const harm = 'img, iframe, object, embed, form, script, style, call, [onload], [onerror], [style]:not([style=""])';
    const strange = await page.evaluate(
      (selector) => Array.from(document.querySelectorAll(`main :is(${selector})`), (one) => one.outerHTML.slice(0, 200)),
      harm,
    );
    assert.deepEqual(strange, [], tab);
    assert.doesNotMatch(await page.locator(`#panel-${tab}`).innerText(), /[\u202a-\u202e\u2066-\u2069\u001b]/u);
    await check(page, `hostile-${tab}`);
  }
  await page.done();
});

test("a megabyte of output and of template, and endless templates, end", async () => {
  const page = await site.open(site.url);
  await choose(page, "parse");
  const long = '<tool_call>\n{"name": "f", "arguments": {"a": "' + "ä<tool_call>😀".repeat(60_000);
  await type(page, page.getByLabel("What the model wrote"), long);
  assert.match(await page.locator("#panel-parse").innerText(), /characters …/);
  assert.ok((await page.locator("#panel-parse *").count()) < 20_000);
  // It may not fit into a link.
  await page.getByRole("button", { name: "Copy link" }).click();
  await page.waitForFunction(() => document.getElementById("status").innerText !== "");
  await choose(page, "turn");
  for (const template of [
    `${text("templates/hermes.jinja")}{# ${"x".repeat(1_000_000)} #}`,
    "{% for a in range(99999999) %}{% for b in range(99999999) %}{{ a }}{% endfor %}{% endfor %}{{ messages }}",
    "{% for m in messages %}{{ 'x' * 99999999 }}{{ m.content }}{% endfor %}",
    `${"{% if messages %}".repeat(3000)}x${"{% endif %}".repeat(3000)}`,
  ]) {
    await paste(page, template);
    assert.match(await page.locator("#panel-turn").innerText(), /supported|partial|no spec|Next/);
  }
  await paste(page, text("templates/hermes.jinja"));
  assert.match(await page.locator("#panel-turn").innerText(), /json_native/);
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("without motion, without a worker", async () => {
  const page = await site.open(folderUrl, { reducedMotion: "reduce", wait: false });
  await page.addInitScript(() => {
    globalThis.Worker = class {
      constructor() {
        throw new Error("no workers here");
      }
    };
  });
  await page.reload();
  await page.waitForSelector("html[data-drawn]");
  assert.match(await page.locator("#panel-turn").innerText(), /supported/);
  assert.equal(
    await page.evaluate(() => getComputedStyle(document.querySelector("summary"), "::before").transitionDuration),
    "0s",
  );
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("a page in a folder asks for its own files alone, once each", async () => {
  const page = await site.open(folderUrl);
  for (const tab of ["parse", "prompt", "check", "compare"]) await choose(page, tab);
  const files = page.requests
    .filter((address) => !/^(blob|data):/.test(address))
    .map((address) => address.replace(/^.*\/|[?#].*$/g, ""));
  assert.deepEqual(files.toSorted(), ["index.html", "page.css", "page.js", "unjinja-full.wasm.js"]);
  await page.done();
});
