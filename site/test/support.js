// A browser, the page in it, and what must hold of every page: no request outside itself, no error, nothing wider than the window, and
// nothing serious that axe finds.

import assert from "node:assert/strict";
import { createReadStream, existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, resolve } from "node:path";
import { after, before } from "node:test";
import { pathToFileURL } from "node:url";

export const work = resolve(process.env.UNJINJA_SITE ?? "target/site");
export const dist = join(work, "dist");
export const root = resolve(import.meta.dirname, "../..");
const npm = join(work, "npm/node_modules");
const { chromium } = await import(pathToFileURL(join(npm, "playwright-core/index.mjs")));
const axe = readFileSync(join(npm, "axe-core/axe.min.js"), "utf8");
const { build } = await import(pathToFileURL(join(npm, "esbuild/lib/main.js")));

export const WIDTHS = { desktop: 1280, phone: 390 };

/** A template or another file of the repository. */
export const text = (path) => readFileSync(join(root, path), "utf8");

/** A module of the page, for a test that needs no browser. */
export async function bundled(entry) {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    bundle: true,
    format: "esm",
    write: false,
    loader: { ".jinja": "text" },
  });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
}

const TYPES = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm" };

/** Serves the built page, and nothing else. */
async function serve() {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url, "http://page").pathname);
    const file = join(dist, path === "/" ? "index.html" : path);
    if (!file.startsWith(dist) || !existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
    createReadStream(file).pipe(response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

/** The address of the page in a folder. */
export const folderUrl = pathToFileURL(join(dist, "index.html")).href;

const FLAGS = [
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** A browser with an empty profile. */
async function browser() {
  const profile = mkdtempSync(join(tmpdir(), "unjinja-site-"));
  const sandbox = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const launched = await chromium.launch({
    executablePath: chromiumPath(),
    args: [...FLAGS, ...sandbox],
    env: { ...process.env, HOME: profile },
  });
  return {
    ...contextsOf(launched),
    async close() {
      await launched.close();
      rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/**
 * A browser and a server of the page, for all tests of a file.
 *
 * @returns {{ open: (url: string, options?: object) => Promise<import("playwright-core").Page>, url: string }}
 */
export function forAll() {
  let chrome;
  let server;
  before(async () => {
    chrome = await browser();
    server = await serve();
  });
  after(async () => {
    await chrome.close();
    server.close();
  });
  return {
    open: (url, options) => chrome.open(url, options),
    get url() {
      return server.url;
    },
  };
}

function chromiumPath() {
  const named = process.env.CHROMIUM ?? "chromium";
  if (named.includes("/")) return named;
  const folder = process.env.PATH.split(":").find((one) => existsSync(join(one, named)));
  assert.ok(folder, `${named} is not in PATH`);
  return join(folder, named);
}

function contextsOf(launched) {
  return {
    /** Opens the page and waits until the turn is drawn. */
    async open(url, { width = WIDTHS.desktop, scheme = "light", reducedMotion = "no-preference", wait = true } = {}) {
      const context = await launched.newContext({
        viewport: { width, height: 900 },
        colorScheme: scheme,
        reducedMotion,
        hasTouch: width < 600,
      });
      if (url.startsWith("http")) await context.grantPermissions(["clipboard-read", "clipboard-write"]);
      const page = await context.newPage();
      const wrong = [];
      const own = url.startsWith("file:") ? pathToFileURL(`${dist}/`).href : new URL(url).origin;
      const requests = [];
      page.on("request", (request) => {
        const address = request.url();
        requests.push(address);
        const isOwn = address.startsWith(own) || address.startsWith("blob:") || address.startsWith("data:");
        if (!isOwn) wrong.push(`it asks for ${address}`);
      });
      page.on(
        "console",
        (message) => ["error", "warning"].includes(message.type()) && wrong.push(`the console says: ${message.text()}`),
      );
      page.on("pageerror", (error) => wrong.push(`a script fails: ${error.stack}`));
      page.on("dialog", (dialog) => {
        wrong.push(`a script ran: ${dialog.message()}`);
        dialog.dismiss();
      });
      await page.goto(url);
      if (wait) await page.waitForSelector("html[data-drawn]");
      return Object.assign(page, { wrong, requests, done: () => context.close() });
    },
  };
}

/** Waits until nothing is being worked on. */
export async function settled(page) {
  await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'), undefined, { timeout: 60_000 });
}

/** Types into a field, leaves it, and waits until the page has taken what was typed. */
export async function type(page, field, typed) {
  await field.fill(typed);
  await field.blur();
  await settled(page);
}

/** Chooses a tab by clicking it. */
export async function choose(page, tab) {
  await page.click(`#tab-${tab}`);
  await settled(page);
  return page.locator(`#panel-${tab}`);
}

/** Pastes a template in place of the one that is there. */
export async function paste(page, template) {
  await type(page, page.locator("#source textarea"), template);
}

/** Opens all parts of an element that open. */
export async function openAll(page, selector = "main") {
  for (let round = 0; round < 4; round += 1) {
    await page.evaluate((name) => {
      for (const part of document.querySelectorAll(`${name} details:not([open])`)) part.open = true;
    }, selector);
    await page.waitForTimeout(60);
    await settled(page);
  }
}

/** Checks that nothing is wider than the window. */
export async function fits(page, name) {
  const { scroll, client, widest } = await page.evaluate(() => {
    const html = document.documentElement;
    const isBoxed = (element) => {
      for (let one = element.parentElement; one; one = one.parentElement)
        if (getComputedStyle(one).overflowX !== "visible") return true;
      return false;
    };
    const out = Array.from(document.querySelectorAll("body *")).find(
      (one) => one.getBoundingClientRect().right > html.clientWidth + 1 && !isBoxed(one),
    );
    return {
      scroll: document.scrollingElement.scrollWidth,
      client: Math.min(html.clientWidth, innerWidth),
      widest: out ? `${out.tagName}.${out.className}: ${out.textContent.slice(0, 60)}` : "",
    };
  });
  assert.ok(scroll <= client, `${name}: ${scroll} pixels wide in a window of ${client}; ${widest}`);
  assert.equal(widest, "", `${name}: out of the window`);
}

/** A picture of the page, to look at. */
export const shoot = (page, name) => page.screenshot({ path: join(work, "shots", `${name}.png`), fullPage: true });

/** A `tokenizer_config.json`. */
export const config = (templates, more = {}) =>
  JSON.stringify({ bos_token: "<s>", eos_token: { content: "</s>" }, chat_template: templates, ...more });

export const SIMPLE =
  "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/** Chooses files with the button of a part of the page. */
export async function chooseFiles(page, part, ...files) {
  const chooser = page.waitForEvent("filechooser");
  await page.locator(part).getByRole("button", { name: "Choose a file" }).click();
  await (
    await chooser
  ).setFiles(files.map(([name, content]) => ({ name, mimeType: "application/octet-stream", buffer: Buffer.from(content) })));
  await page.waitForTimeout(150);
  await settled(page);
}

/** Drops files on the page. */
export async function drop(page, ...files) {
  await page.evaluate((all) => {
    const data = new DataTransfer();
    for (const [name, content] of all) data.items.add(new File([content], name));
    for (const type of ["dragenter", "dragover", "drop"])
      dispatchEvent(new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
  }, files);
  await page.waitForTimeout(150);
  await settled(page);
}

/** A GGUF file of version 3 with these keys, no tensors, and then `weights` bytes. Values are texts, lists of texts, or numbers. */
export function gguf(keys, weights = 0) {
  const number = (value, size) => {
    const bytes = Buffer.alloc(size);
    bytes.writeUInt32LE(value);
    return bytes;
  };
  const string = (value) => Buffer.concat([number(Buffer.byteLength(value), 8), Buffer.from(value)]);
  const typed = (value) => {
    if (typeof value === "number") return [number(4, 4), number(value, 4)];
    if (typeof value === "string") return [number(8, 4), string(value)];
    return [number(9, 4), number(8, 4), number(value.length, 8), ...value.map(string)];
  };
  const entries = Object.entries(keys);
  return Buffer.concat([
    Buffer.from("GGUF"),
    number(3, 4),
    number(0, 8),
    number(entries.length, 8),
    ...entries.flatMap(([key, value]) => [string(key), ...typed(value)]),
    Buffer.alloc(weights),
  ]);
}

// What axe finds that is neither serious nor critical, once each.
const lesser = new Map();

/** Checks what must hold of every page, and takes a picture of it. */
export async function check(page, name) {
  await fits(page, name);
  await shoot(page, name);
  // In a world of its own, so that the policy of the page does not concern it.
  const session = await page.context().newCDPSession(page);
  const { frameTree } = await session.send("Page.getFrameTree");
  const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
    frameId: frameTree.frame.id,
    worldName: "axe",
  });
  await session.send("Runtime.evaluate", { expression: axe, contextId });
  const expression = `axe.run(document, { resultTypes: ["violations"], preload: false }).then(({ violations }) => violations.map(
    ({ id, impact, help, nodes }) => ({ id, impact, help,
      nodes: nodes.slice(0, 4).map(({ html, failureSummary }) => html.slice(0, 200) + " " + failureSummary) })))`;
  const { result, exceptionDetails } = await session.send("Runtime.evaluate", {
    expression,
    contextId,
    awaitPromise: true,
    returnByValue: true,
  });
  assert.ok(!exceptionDetails, `${name}: axe failed: ${exceptionDetails?.exception?.description}`);
  await session.detach();
  const violations = result.value;
  const bad = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  assert.deepEqual(bad, [], `${name}: axe`);
  for (const { id, impact, help } of violations) lesser.set(id, `${impact}: ${help}`);
  assert.deepEqual(page.wrong, [], name);
}

/** What axe found that is neither serious nor critical. */
export function lesserFindings() {
  return Array.from(lesser, ([id, help]) => `${id} (${help})`);
}
