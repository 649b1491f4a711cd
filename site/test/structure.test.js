// The sources: no file is too long, no text becomes markup, and no two modules import each other in a cycle.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { test } from "node:test";
import { root } from "./support.js";

const folders = ["site", "site/src", "site/test", "cli/src/explain/page"];
const files = folders.flatMap((folder) => readdirSync(join(root, folder)).map((file) => join(root, folder, file)));
const sources = files.filter((file) => /\.(js|mjs|css|html)$/.test(file));
const text = (file) => readFileSync(file, "utf8");

test("no file has more than 600 lines, no line more than 140 characters", () => {
  assert.ok(sources.length > 25);
  for (const file of sources) {
    const lines = text(file).split("\n");
    assert.ok(lines.length <= 601, `${file}: ${lines.length} lines`);
    const long = lines.findIndex((line) => line.length > 140);
    assert.equal(long, -1, `${file}:${long + 1}`);
  }
});

test("no text becomes markup or a script", () => {
  const shown = sources.filter((file) => /\/(src|page)\/[^/]*\.js$/.test(file));
  assert.ok(shown.length > 20);
  for (const file of shown) {
    assert.doesNotMatch(
      text(file),
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.style\b|srcdoc/,
      file,
    );
  }
});

test("modules do not import each other in a cycle", () => {
  const imports = new Map(
    sources
      .filter((file) => file.endsWith(".js"))
      .map((file) => {
        const names = text(file).matchAll(/^import [^;]*from "(\.[^"]*\.js)";|^\} from "(\.[^"]*\.js)";/gm);
        return [file, Array.from(names, ([, one, other]) => resolve(dirname(file), one ?? other))];
      }),
  );
  const done = new Set();
  const visit = (file, path) => {
    assert.ok(!path.includes(file), [...path, file].map((one) => relative(root, one)).join(" → "));
    if (done.has(file)) return;
    for (const one of imports.get(file) ?? []) visit(one, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  assert.ok(Array.from(imports.values()).flat().length > 40);
});
