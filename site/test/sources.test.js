// Where a template comes from: files whose template cannot be analysed, a supported model that is replaced, several files at once.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled, check, choose, chooseFiles, config, drop, forAll, gguf, paste, settled, SIMPLE, text, type, WIDTHS } from "./support.js";

const site = forAll();
const { contentOf } = await bundled("site/src/file_text.js");

const BAD = "{{ raise_exception('no') }}";
const hermes = text("templates/hermes.jinja");
const VOCABULARY = {
  "tokenizer.ggml.bos_token_id": 2,
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.tokens": ["a", "</s>", "<s>", "b"],
  "tokenizer.ggml.eos_token_id": 1,
};

/** That all tabs are about a template that cannot be rendered, and none about another one. */
async function isNotRenderable(page) {
  const source = page.locator("#source");
  assert.match(await source.locator(".about").innerText(), /no spec/);
  assert.equal(await source.locator("textarea").inputValue(), BAD);
  const turn = await (await choose(page, "turn")).innerText();
  assert.match(turn, /no spec[^]*the template refused: no/);
  assert.doesNotMatch(turn, /supported/);
  const faults = await choose(page, "check");
  assert.deepEqual(await faults.locator(".fault code").allInnerTexts(), ["not-renderable"]);
  await choose(page, "turn");
}

test("a file whose template cannot be analysed is explained, and its faults are shown", async () => {
  const page = await site.open(site.url);
  // What was there before is not shown as if it were about the new text.
  assert.ok((await (await choose(page, "check")).locator(".fault").count()) > 0);
  await paste(page, JSON.stringify({ chat_template: BAD }));
  await isNotRenderable(page);
  await check(page, "not-renderable");
  await paste(page, hermes);
  await chooseFiles(page, "#source", ["tokenizer_config.json", config(BAD)]);
  await isNotRenderable(page);
  assert.match(await page.locator("#source").innerText(), /bos_token: <s>[^]*eos_token: <\/s>/);
  await paste(page, hermes);
  await chooseFiles(page, "#source", ["model.gguf", gguf({ ...VOCABULARY, "tokenizer.chat_template": BAD }, 3_000_000)]);
  await isNotRenderable(page);
  assert.match(await page.locator("#source").innerText(), /bos_token: <s>[^]*eos_token: <\/s>/);
  // A file of tokens, and the template next to it.
  await paste(page, hermes);
  await chooseFiles(page, "#source", ["tokenizer_config.json", config(undefined)], ["chat_template.jinja", BAD]);
  await isNotRenderable(page);
  assert.match(await page.locator("#source").innerText(), /bos_token: <s>/);
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("of several templates another can be chosen where the first cannot be analysed, also in Compare", async () => {
  const several = [
    { name: "default", template: BAD },
    { name: "other", template: hermes },
  ];
  const kinds = [
    ["tokenizer_config.json", config(several)],
    ["model.gguf", gguf({ "tokenizer.chat_template.other": hermes, ...VOCABULARY, "tokenizer.chat_template": BAD })],
  ];
  const page = await site.open(site.url);
  for (const [name, content] of kinds) {
    await choose(page, "turn");
    await chooseFiles(page, "#source", [name, content]);
    await isNotRenderable(page);
    const list = page.locator("#source").getByLabel("Template of the file");
    assert.deepEqual(await list.locator("option").allInnerTexts(), ["default", "other"]);
    await list.selectOption("other");
    await settled(page);
    assert.match(await page.locator("#panel-turn").innerText(), /supported[^]*json_native/);
    await list.focus();
    await list.selectOption("default");
    await settled(page);
    assert.equal(await page.evaluate(() => document.activeElement.value), "default");
    await list.selectOption("other");
    await settled(page);
    const panel = await choose(page, "compare");
    await chooseFiles(page, "#panel-compare", [name, content]);
    assert.match(await panel.locator(".compared").innerText(), /the template refused: no/);
    await panel.getByLabel("Template of the file").selectOption("other");
    await settled(page);
    assert.match(await panel.locator(".compared").innerText(), /they render alike/);
  }
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("a text that holds no template takes the place of the last one, with its error in every tab", async () => {
  const page = await site.open(site.url);
  for (const broken of ['{"bos_token": "<s>"}', '{"chat_template": [', "spec_version = 1\n[template]\nname = 5\n"]) {
    await paste(page, hermes);
    await paste(page, broken);
    for (const tab of ["turn", "parse", "prompt", "check", "compare"]) {
      const panel = await choose(page, tab);
      assert.match(await panel.innerText(), /Next:|spec\.toml|pasted\.toml/, `${tab}: ${broken}`);
      assert.doesNotMatch(await panel.innerText(), /json_native|✓/, `${tab}: ${broken}`);
    }
    // As the other template of Compare.
    await paste(page, hermes);
    await type(page, page.getByLabel("The text of the other template"), hermes);
    assert.match(await page.locator("#panel-compare .compared").innerText(), /they render alike/);
    await type(page, page.getByLabel("The text of the other template"), broken);
    assert.doesNotMatch(await page.locator("#panel-compare .compared").innerText(), /alike|differently/);
    // It comes back with the link.
    await paste(page, broken);
    await page.waitForTimeout(600);
    await page.reload();
    await page.waitForSelector("html[data-drawn]");
    assert.equal(await page.locator("#source textarea").inputValue(), broken);
    assert.match(await page.locator("#source .about").innerText(), /no spec/);
  }
  assert.deepEqual(page.wrong, []);
  await page.done();
});

test("the templates of a file are read as they are written, and nothing from files that are none", async () => {
  assert.deepEqual(await contentOf(config(BAD)), { templates: [{ text: BAD }] });
  assert.deepEqual(await contentOf(config({ a: "x", b: "y" })), {
    templates: [
      { name: "a", text: "x" },
      { name: "b", text: "y" },
    ],
  });
  for (const bad of ["", "[", "5", "null", config(undefined), config(5), config([5]), config([{ name: "a" }]), config({ a: 5 })])
    assert.deepEqual(await contentOf(bad), { templates: [] }, bad);
  const whole = gguf({ ...VOCABULARY, "tokenizer.chat_template": "ä" });
  const tokens = { bos_token: "<s>", eos_token: "</s>" };
  assert.deepEqual(await contentOf(new Blob([whole])), { templates: [{ text: "ä" }], tokens });
  // Its metadata are longer than what is read at first.
  const large = gguf({ "general.description": "x".repeat(6 << 20), ...VOCABULARY, "tokenizer.chat_template": "ä" });
  assert.deepEqual(await contentOf(new Blob([large])), { templates: [{ text: "ä" }], tokens });
  // Cut anywhere, it is none.
  for (let end = 4; end < whole.length; end += 1)
    assert.deepEqual(await contentOf(new Blob([whole.subarray(0, end)])), { templates: [] }, String(end));
});

for (const [size, width] of Object.entries(WIDTHS)) {
  test(`a supported model is replaced by what is typed, pasted or dropped: ${size}`, async () => {
    const page = await site.open(site.url, { width, scheme: size === "phone" ? "dark" : "light" });
    const source = page.locator("#source");
    const field = source.locator("textarea");
    const known = async () => {
      await source.locator("select").first().selectOption({ label: "Qwen/Qwen3-0.6B" });
      await settled(page);
      assert.match(await source.innerText(), /a supported model/);
      assert.ok(await field.isVisible());
      assert.equal(await field.inputValue(), "");
    };
    const replaced = async () => {
      await page.waitForFunction(() => document.querySelector("#source .about .name").innerText !== "qwen_qwen3_0_6b");
      await settled(page);
      assert.equal(await field.inputValue(), hermes);
      assert.match(await page.locator("#panel-turn").innerText(), /json_native/);
      assert.doesNotMatch(await source.innerText(), /a supported model/);
    };
    await known();
    await check(page, `known-field-${size}`);
    await paste(page, hermes);
    await replaced();
    await page.evaluate((value) => navigator.clipboard.writeText(value), hermes);
    // Into the field, and with the focus still on the list.
    for (const focus of [() => field.focus(), () => {}]) {
      await known();
      await focus();
      await page.keyboard.press("ControlOrMeta+V");
      await replaced();
    }
    await known();
    await drop(page, ["hermes.jinja", hermes]);
    await replaced();
    // Where another field has the focus, or a template is there, nothing is replaced.
    const panel = await choose(page, "parse");
    await panel.getByLabel("What the model wrote").focus();
    await page.keyboard.press("ControlOrMeta+V");
    await page.locator("#panel-parse").focus();
    await page.keyboard.press("ControlOrMeta+V");
    await page.waitForTimeout(500);
    await settled(page);
    assert.match(await source.locator(".about").innerText(), /hermes/);
    assert.deepEqual(page.wrong, []);
    await page.done();
  });
}

test("of several files the page says which one was taken, and compares them", async () => {
  const page = await site.open(site.url);
  const source = page.locator("#source");
  await drop(page, ["first.jinja", hermes], ["second.jinja", SIMPLE]);
  assert.match(await source.locator(".left-out").innerText(), /first\.jinja was taken, second\.jinja was not\./);
  assert.match(await source.locator(".about").innerText(), /first/);
  await check(page, "two-files");
  await source.getByRole("button", { name: "Compare it with second.jinja" }).click();
  await page.waitForSelector("#tab-compare[aria-selected=true]");
  await settled(page);
  const panel = page.locator("#panel-compare");
  assert.equal(await panel.getByLabel("The text of the other template").inputValue(), SIMPLE);
  assert.match(await panel.locator(".compared").innerText(), /they render differently/);
  // A third one next to a template and its tokens; a picture next to a template.
  await drop(page, ["tokenizer_config.json", config(undefined)], ["a.jinja", SIMPLE], ["b.jinja", hermes]);
  assert.match(await source.locator(".left-out").innerText(), /a\.jinja was taken, b\.jinja was not\./);
  assert.match(await source.innerText(), /bos_token: <s>/);
  await drop(page, ["tokenizer_config.json", config(SIMPLE)], ["a.jinja", SIMPLE]);
  assert.equal(await source.locator(".left-out").count(), 0);
  await drop(page, ["a.gguf", "GGUF"], ["b.jinja", hermes]);
  assert.match(await source.locator(".problem .reason").innerText(), /a/);
  // In Compare, the file button takes one.
  await chooseFiles(page, "#panel-compare", ["x.jinja", hermes], ["y.jinja", SIMPLE], ["z.jinja", SIMPLE]);
  assert.match(await panel.locator(".left-out").innerText(), /x\.jinja was taken, y\.jinja, z\.jinja were not\./);
  assert.deepEqual(page.wrong, []);
  await page.done();
});
