// Debian's Chromium, driven by playwright-core: node chromium.js PACKAGE REFERENCE TOOLS
//
// PACKAGE is this package, REFERENCE what Rust read, and TOOLS a folder where playwright-core is installed.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";

import { browserFlags, serve } from "./serve.js";

const [root, reference, tools] = process.argv.slice(2).map((path) => resolve(path));
const { chromium } = createRequire(join(tools, "package.json"))("playwright-core");

const server = await serve({ "/lib/": join(root, "lib"), "/test/": join(root, "test"), "/reference/": reference });
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: [...browserFlags, "--js-flags=--expose-gc"],
});
try {
  const page = await browser.newPage();
  const wrong = [];
  page.on("console", (message) => wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(`${error}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(server.address)) wrong.push(`it asks for ${request.url()}`);
  });
  await page.goto(`${server.address}/test/platforms/page.html`);
  const { page: inPage, worker, memory } = await page.evaluate(() => window.result);
  assert.deepEqual(wrong, []);
  for (const [where, { cases, turns, seconds }] of Object.entries({ "the page": inPage, "a worker": worker })) {
    console.log(
      `js: Chromium, in ${where}: ${cases} cases and ${turns} turns are read as Rust reads them, in ${seconds.toFixed(0)} s`,
    );
  }
  const { disposed, collected, bytes } = memory;
  console.log(
    `js: Chromium, 10,000 streams disposed of in ${disposed.milliseconds.toFixed(0)} ms: ` +
      `${disposed.objects} objects and ${disposed.bytes} bytes more; ` +
      `10,000 left to the collector: ${collected.objects} objects and ${collected.bytes} bytes more, of ${bytes}`,
  );
  assert.deepEqual([disposed.objects, disposed.bytes], [0, 0]);
  assert.ok(collected.objects <= 500 && collected.bytes <= 0.5 * bytes, "streams were not freed");
  console.log(`js: Chromium ${browser.version()}`);
} finally {
  await browser.close();
  server.close();
}
