// Runs the examples of a README in a folder where the package is installed, and compares what they print with their comments
// `// prints: …`. Each begins with an import.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

const [file, folder] = process.argv.slice(2).map((path) => resolve(path));
const blocks = [...readFileSync(file, "utf8").matchAll(/```js\n([^]*?)```/g)].map(([, text]) => text);
const examples = blocks.filter((text) => /^import /.test(text) && /^\/\/ prints: /m.test(text));
assert.ok(examples.length > 0, `${file} has no examples`);
for (const [at, text] of examples.entries()) {
  const path = join(folder, `example-${at}.mjs`);
  writeFileSync(path, text);
  const printed = execFileSync(process.execPath, [path], { cwd: folder, encoding: "utf8" });
  const expected = [...text.matchAll(/^\/\/ prints: (.*)$/gm)].map(([, line]) => `${line}\n`).join("");
  assert.equal(printed, expected, `example ${at + 1} of ${file}`);
}
console.log(`js: ${examples.length} examples of ${basename(file)} print what they say`);
