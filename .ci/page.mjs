// Looks at pages in headless Chromium, by its DevTools protocol over a pipe; no packages. For each page, at two widths,
// light and dark: nothing may reach for the network, report an error, or be wider than the window, with all of its parts
// closed and all of them open. Screenshots go to the folder that is named first.
//
//     node .ci/page.mjs FOLDER PAGE.html…
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, ...pages] = process.argv.slice(2);
const widths = [1280, 390];
const schemes = ["light", "dark"];
// Opens all parts, also those that are drawn when another is opened.
const openAll = `(async () => {
  for (let closed; (closed = document.querySelectorAll("details:not([open])")).length > 0; ) {
    for (const part of closed) part.open = true;
    await new Promise((done) => setTimeout(done, 50));
  }
})()`;
// The longest picture that is taken, in pixels.
const tallest = 8000;

const profile = mkdtempSync(join(tmpdir(), "unjinja-page-"));
const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--remote-debugging-pipe", `--user-data-dir=${profile}`];
const browser = spawn(process.env.CHROMIUM ?? "chromium", flags, { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const [, , , to, from] = browser.stdio;

let last = 0;
const waiting = new Map();
const listeners = new Set();
let rest = "";
from.setEncoding("utf8");
from.on("data", (chunk) => {
  const messages = (rest + chunk).split("\0");
  rest = messages.pop();
  for (const text of messages) {
    const message = JSON.parse(text);
    if (message.id === undefined) {
      for (const listener of listeners) listener(message);
      continue;
    }
    const { done, failed } = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) failed(new Error(message.error.message));
    else done(message.result);
  }
});
const give_up = (error) => {
  for (const { failed } of waiting.values()) failed(error);
  waiting.clear();
};
browser.on("error", give_up);
browser.on("exit", () => give_up(new Error("the browser ended")));
const call = (method, params = {}, sessionId) => new Promise((done, failed) => {
  last += 1;
  waiting.set(last, { done, failed });
  to.write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
});

// One page in a window; gives what is wrong with it.
async function look(page, width, scheme) {
  const { targetId } = await call("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await call("Target.attachToTarget", { targetId, flatten: true });
  const tell = (method, params) => call(method, params, sessionId);
  const wrong = [];
  const url = pathToFileURL(resolve(page)).href;
  let loaded;
  const whole = new Promise((done) => { loaded = done; });
  const listen = ({ method, params, sessionId: from }) => {
    if (from !== sessionId) return;
    if (method === "Network.requestWillBeSent" && params.request.url !== url) wrong.push(`it asks for ${params.request.url}`);
    if (method === "Runtime.exceptionThrown") wrong.push(`a script fails: ${params.exceptionDetails.text}`);
    if (method === "Runtime.consoleAPICalled") wrong.push(`the console says: ${params.type}`);
    if (method === "Log.entryAdded" && params.entry.level === "error") wrong.push(`the console says: ${params.entry.text}`);
    if (method === "Page.javascriptDialogOpening") wrong.push(`a script ran: ${params.message}`);
    if (method === "Page.loadEventFired") loaded();
  };
  listeners.add(listen);
  for (const domain of ["Page", "Network", "Runtime", "Log"]) await tell(`${domain}.enable`);
  const height = 900;
  const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
  await tell("Emulation.setDeviceMetricsOverride", metrics);
  await tell("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
  await tell("Page.navigate", { url });
  await whole;
  const evaluate = async (expression) => (await tell("Runtime.evaluate", { expression, returnByValue: true })).result.value;
  const name = basename(page, ".html");
  for (const state of ["closed", "open"]) {
    if (state === "open") await tell("Runtime.evaluate", { expression: openAll, awaitPromise: true });
    const { scroll, client, tall, widest } = await evaluate(`(() => {
      const root = document.documentElement;
      const over = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > root.clientWidth + 1);
      const boxed = (e) => { for (let p = e.parentElement; p; p = p.parentElement) if (getComputedStyle(p).overflowX !== "visible") return true; return false; };
      const first = over.find((e) => !boxed(e));
      return { scroll: root.scrollWidth, client: root.clientWidth, tall: root.scrollHeight,
               widest: first ? first.tagName + "." + first.className + ": " + first.textContent.slice(0, 60) : "" };
    })()`);
    if (scroll > client) wrong.push(`${state}: ${scroll} pixels wide in a window of ${client}`);
    if (widest) wrong.push(`${state}: out of the window: ${widest}`);
    if (state === "closed" || process.env.UNJINJA_PAGE_OPEN) {
      await tell("Emulation.setDeviceMetricsOverride", { ...metrics, height: Math.min(tall, tallest) });
      const { data } = await tell("Page.captureScreenshot", { format: "png", captureBeyondViewport: false });
      writeFileSync(join(folder, `${name}-${width}-${scheme}${state === "open" ? "-open" : ""}.png`), Buffer.from(data, "base64"));
      await tell("Emulation.setDeviceMetricsOverride", metrics);
    }
  }
  const { scripts, drawn, hostile } = await evaluate(`({
    scripts: document.scripts.length,
    drawn: document.querySelectorAll("h1, h2, .badge").length,
    hostile: document.querySelectorAll("img, iframe, object, embed, form, [onload], [onerror], [style]").length,
  })`);
  // Its data and its own script are replaced by what they draw.
  if (scripts !== 0) wrong.push(`it holds ${scripts} scripts`);
  if (drawn < 3) wrong.push("it is not drawn");
  if (hostile !== 0) wrong.push(`${hostile} elements come from a text`);
  listeners.delete(listen);
  await call("Target.closeTarget", { targetId });
  return wrong;
}

let failed = 0;
try {
  for (const page of pages) {
    for (const width of widths) {
      for (const scheme of schemes) {
        for (const problem of await look(page, width, scheme)) {
          failed += 1;
          console.error(`${page}, ${width} pixels, ${scheme}: ${problem}`);
        }
      }
    }
  }
} finally {
  const ended = new Promise((done) => browser.once("exit", done));
  if (browser.exitCode === null && browser.kill()) await ended;
  rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
}
console.log(`${pages.length} pages at ${widths.join(" and ")} pixels, ${schemes.join(" and ")}: ${failed} problems`);
process.exitCode = failed === 0 ? 0 : 1;
