#!/usr/bin/env node
// Writes the scoreboard from what was measured:
//
//     node site/scoreboard/build.js            writes index.html
//     node site/scoreboard/build.js --check    exit code 1 if the file is not what would be written
//
// README.md says where each figure comes from and how to measure it again.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

import { figures } from "./lib/figures.js";
import { page } from "./lib/page.js";

const path = join(dirname(fileURLToPath(import.meta.url)), "index.html");
const written = page(figures());
if (process.argv[2] === "--check") {
  if (readFileSync(path, "utf8") !== written) {
    console.error("site/scoreboard/index.html is out of date: run `node site/scoreboard/build.js` and commit what it writes");
    process.exit(1);
  }
} else if (process.argv.length > 2) {
  console.error("usage: node site/scoreboard/build.js [--check]");
  process.exit(2);
} else {
  writeFileSync(path, written);
}
