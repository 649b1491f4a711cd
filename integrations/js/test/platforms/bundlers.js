// Pages made by bundlers, opened in Chromium: each loads its WebAssembly and reads a call. And what a bundle for a server says when its
// WebAssembly is not there. It runs in a folder where this package, the bundlers and playwright-core are installed.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import * as esbuild from "esbuild";
import { chromium } from "playwright-core";
import * as vite from "vite";
import webpack from "webpack";

import { browserFlags, serve } from "./serve.js";

const folder = join(process.cwd(), "bundles");
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder);

const USE = `
const output = '<think>\\nRain?\\n</think>\\n\\n<tool_call>\\n{"name": "get_weather", "arguments": {}}\\n</tool_call>';
globalThis.result = Model.known("Qwen/Qwen3-0.6B").parse(output).toolCalls[0].name;
`;
const PLAIN = `import init, { Model } from "unjinja";\nawait init();\n${USE}`;
const FULL = `import init, { Model } from "unjinja/full";\nawait init();\nModel.known("Qwen/Qwen3-0.6B").grammar();\n${USE}`;
// Bundlers that do not know \`new URL(…, import.meta.url)\` are given the file as a module.
const FILE = `import init, { Model } from "unjinja";
import file from "unjinja/unjinja.wasm";\nawait init(new URL(file, import.meta.url));\n${USE}`;

/** A folder with a page and its script. */
function page(name, code) {
  const at = join(folder, name);
  mkdirSync(at);
  writeFileSync(join(at, "entry.js"), code);
  writeFileSync(join(at, "index.html"), '<!doctype html><meta charset="utf-8"><script type="module" src="./entry.js"></script>');
  return at;
}

const html = (at, script) =>
  writeFileSync(join(at, "index.html"), `<!doctype html><script type="module" src="./${script}"></script>`);

async function withEsbuild(name, code, copied) {
  const at = page(name, code);
  await esbuild.build({
    entryPoints: [join(at, "entry.js")],
    bundle: true,
    format: "esm",
    outfile: join(at, "dist/entry.js"),
    loader: { ".wasm": "file" },
    logLevel: "error",
  });
  html(join(at, "dist"), "entry.js");
  if (copied) cpSync("node_modules/unjinja/lib/unjinja.wasm", join(at, "dist/unjinja.wasm"));
  return join(at, "dist");
}

async function withVite(name, code) {
  const at = page(name, code);
  await vite.build({ root: at, base: "./", logLevel: "error" });
  return join(at, "dist");
}

/** Runs webpack. */
function packed(configuration) {
  return new Promise((done, failed) => {
    webpack({ mode: "production", performance: false, ...configuration }, (error, stats) => {
      if (error) failed(error);
      else if (stats.hasErrors()) failed(new Error(stats.toString("errors-only")));
      else done();
    });
  });
}

async function withWebpack(name, code) {
  const at = page(name, code);
  await packed({ entry: join(at, "entry.js"), output: { path: join(at, "dist"), publicPath: "auto" } });
  html(join(at, "dist"), "main.js");
  return join(at, "dist");
}

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: browserFlags });
async function opened(address) {
  const tab = await browser.newPage();
  const wrong = [];
  tab.on("pageerror", (error) => wrong.push(`${error}`));
  await tab.goto(address);
  await tab.waitForFunction(() => globalThis.result !== undefined, undefined, { timeout: 20_000 }).catch(() => {});
  const result = await tab.evaluate(() => globalThis.result);
  await tab.close();
  assert.equal(result, "get_weather", wrong.join("\n"));
}

try {
  const built = {
    "esbuild, the file copied": await withEsbuild("esbuild-copied", PLAIN, true),
    "esbuild, the file as a module": await withEsbuild("esbuild-file", FILE, false),
    vite: await withVite("vite", PLAIN),
    "vite, the large module": await withVite("vite-full", FULL),
    webpack: await withWebpack("webpack", PLAIN),
  };
  for (const [name, at] of Object.entries(built)) {
    const server = await serve({ "/": at });
    await opened(`${server.address}/index.html`).catch((error) => assert.fail(`${name}: ${error.message}`));
    server.close();
  }
  // Vite's server for development.
  const at = page("vite-server", PLAIN);
  const server = await vite.createServer({
    root: at,
    logLevel: "error",
    server: { port: 0, host: "127.0.0.1", fs: { strict: false } },
  });
  await server.listen();
  await opened(server.resolvedUrls.local[0]).catch((error) => assert.fail(`vite's server: ${error.message}`));
  await server.close();

  // A server: webpack keeps the file with the bundle, unless its public path is elsewhere, as that of Next.js is.
  const code = `import { Model } from "unjinja";\nconsole.log(Model.known("Qwen/Qwen3-0.6B").parse("Hi").content);`;
  const entry = join(page("server", code), "entry.js");
  const run = (path) => execFileSync(process.execPath, [path], { encoding: "utf8", stdio: "pipe" });
  for (const [publicPath, external] of [
    ["auto", false],
    ["/_next/", true],
    ["/_next/", false],
  ]) {
    const path = join(folder, `server-${external}-${publicPath.length}`);
    const externals = external ? { unjinja: "module unjinja" } : {};
    const output = { path, publicPath, module: true, chunkFormat: "module", library: { type: "module" } };
    await packed({ entry, target: "node20", externals, output, experiments: { outputModule: true } });
    const moved = publicPath !== "auto" && !external;
    if (moved) {
      // With an absolute public path the address is no file next to the bundle.
      assert.throws(() => run(join(path, "main.mjs")), /a bundler may have moved[^]*serverExternalPackages/);
    } else {
      assert.equal(run(join(path, "main.mjs")), "Hi\n");
    }
  }
  // Then it can be given to `init`.
  const given = `import { readFileSync } from "node:fs";\nimport init, { Model } from "unjinja";
await init(readFileSync(process.env.UNJINJA_WASM_FILE));\nconsole.log(Model.known("Qwen/Qwen3-0.6B").parse("Hi").content);`;
  const path = join(folder, "server-given");
  const output = { path, publicPath: "/_next/", module: true, chunkFormat: "module", library: { type: "module" } };
  await packed({ entry: join(page("given", given), "entry.js"), target: "node20", output, experiments: { outputModule: true } });
  process.env.UNJINJA_WASM_FILE = join(process.cwd(), "node_modules/unjinja/lib/unjinja-full.wasm");
  assert.equal(run(join(path, "main.mjs")), "Hi\n");
  console.log(
    `js: pages of ${Object.keys(built).join("; ")}; and of vite's server load their WebAssembly, and a bundle for a server says ` +
      "what is missing",
  );
} finally {
  await browser.close();
}
