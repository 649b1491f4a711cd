// Builds the page into a folder: one HTML file, one classic script, one style sheet, and the WebAssembly twice: as a file for servers,
// and in a script for pages that are opened from a folder, which may not fetch.
//
//     node site/build.mjs FOLDER MODULE.wasm NPM
//
// NPM is a folder in which esbuild is installed.

import { existsSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";

const [folder, module, npm] = process.argv.slice(2);
const site = fileURLToPath(new URL(".", import.meta.url));
const root = join(site, "..");
const { build } = await import(pathToFileURL(resolve(npm, "node_modules/esbuild/lib/main.js")));

const text = (path) => readFile(join(root, path), "utf8");

/** The supported models: the name of each spec, and the ids on the Hub that it is for. */
async function knownModels() {
  const folder = "generated/specs";
  const files = (await readdir(join(root, folder))).filter((file) => file.endsWith(".toml") && !file.endsWith(".overlay.toml"));
  const one = async (file) => {
    const spec = await text(`${folder}/${file}`);
    const models = /^models = \[([^\]]*)\]/m.exec(spec)?.[1] ?? "";
    return { name: file.slice(0, -".toml".length), models: Array.from(models.matchAll(/"([^"]+)"/g), ([, id]) => id) };
  };
  return Promise.all(files.sort().map(one));
}

const common = {
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  minify: true,
  write: false,
  loader: { ".jinja": "text" },
  alias: { "unjinja/full": join(root, "integrations/js/lib/full.js") },
  // Only the entry that finds its module by itself asks where it is; this page hands it over.
  logOverride: { "empty-import-meta": "silent" },
};
const bundled = async (entry, define) => {
  const { outputFiles } = await build({ ...common, entryPoints: [join(site, "src", entry)], define });
  return outputFiles[0].text;
};

await rm(folder, { recursive: true, force: true });
await mkdir(folder, { recursive: true });
const worker = await bundled("worker.js", {});
const define = { WORKER_SOURCE: JSON.stringify(worker), KNOWN_MODELS: JSON.stringify(await knownModels()) };
const page = await bundled("main.js", define);
const style = `${await text("cli/src/explain/page/page.css")}\n${await text("site/src/site.css")}`;
// The scoreboard is written by a command of its own; without it, nothing leads there.
const hasScoreboard = existsSync(join(site, "scoreboard/index.html"));
const shell = await text("site/index.html");
const html = hasScoreboard ? shell : shell.replace(/<a href="scoreboard[^\n]*\n/, "");
const wasm = await readFile(module);
const packed = gzipSync(wasm, { level: 9 });

await writeFile(join(folder, "index.html"), html);
await writeFile(join(folder, "page.js"), page);
await writeFile(join(folder, "page.css"), style);
await writeFile(join(folder, "unjinja-full.wasm"), wasm);
await writeFile(join(folder, "unjinja-full.wasm.js"), `globalThis.unjinjaModule=${JSON.stringify(packed.toString("base64"))};\n`);
if (hasScoreboard) await cp(join(site, "scoreboard"), join(folder, "scoreboard"), { recursive: true });

const size = (bytes) => `${(bytes / 1000).toFixed(0)} KB`;
const packedSize = (data) => size(gzipSync(data).length);
const sizes = [
  `script ${size(page.length)} (${packedSize(page)} packed)`,
  `style ${size(style.length)}`,
  `module ${size(wasm.length)} (${size(packed.length)} packed)`,
];
console.log(`${folder}: ${sizes.join(", ")}`);
