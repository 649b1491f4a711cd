#!/usr/bin/env node
// Keeps what a command measured as a data file of the scoreboard, with the date, the versions and what was read. It changes no figure.
//
//     (cd dev/benches/peers && cargo run --release --bin outputs -- --json) | node site/scoreboard/record.js outputs
//     node site/scoreboard/record.js canitoolcall /tmp/results/unjinja-0.2.0.json

import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, "../..");
const git = (...args) => execFileSync("git", args, { cwd: root, encoding: "utf8" }).trim();

/** The version of a package in a Cargo.lock. */
function locked(lock, name) {
  const version = lock.match(new RegExp(`name = "${name}"\\nversion = "([^"]+)"`))?.[1];
  if (!version) throw new Error(`Cargo.lock has no package ${name}`);
  return version;
}

/** The first digits of the SHA-256 of a file of the corpus. */
function corpusFile(name) {
  const corpus = process.env.UNJINJA_CORPUS ?? join(root, "../shared/corpus");
  return createHash("sha256").update(readFileSync(join(corpus, name))).digest("hex").slice(0, 12);
}

/** The unjinja that was measured: the last commit before the measurement. */
function ours() {
  const lock = readFileSync(join(root, "Cargo.lock"), "utf8");
  return `unjinja ${locked(lock, "unjinja")}, commit ${git("rev-parse", "--short=8", "HEAD")}`;
}

const recorders = {
  outputs() {
    const measured = JSON.parse(readFileSync(0, "utf8"));
    const lock = readFileSync(join(root, "dev/benches/peers/Cargo.lock"), "utf8");
    const packages = ["tool-parser", "reasoning-parser", "dynamo-parsers", "dynamo-parsers-v2"];
    const source = {
      date: new Date().toISOString().slice(0, 10),
      command: "cargo run --release --bin outputs -- --json   # in dev/benches/peers",
      versions: [ours(), ...packages.map((name) => `${name} ${locked(lock, name)}`)],
      corpus: `outputs.jsonl, sha256 ${corpusFile("outputs.jsonl")}…`,
    };
    return { source, ...measured };
  },
  canitoolcall(file) {
    const { canitoolcall_version: version, run, summary, cases } = JSON.parse(readFileSync(file, "utf8"));
    const source = {
      date: run.finished_at.slice(0, 10),
      command: "canitoolcall run --engine canitoolcall_unjinja:UnjinjaAdapter   # all of it: dev/canitoolcall/README.md",
      versions: [ours(), `canitoolcall ${version}`],
      corpus: `fixtures of canitoolcall, digest ${run.fixtures_digest.replace(/^sha256:/, "").slice(0, 12)}`,
    };
    const counts = ({ pass, soft_pass, fail, error, unsupported }) => ({ pass, soft_pass, fail: fail + error, unsupported });
    const families = Object.fromEntries(Object.entries(summary.by_family).map(([name, found]) => [name, counts(found)]));
    const not = (status) => cases.filter((one) => status.includes(one.status)).map((one) => one.fixture_id ?? one.id);
    return { source, families, totals: counts(summary.totals), fails: not(["fail", "error"]), soft: not(["soft_pass"]) };
  },
};

const [what, ...args] = process.argv.slice(2);
if (!Object.hasOwn(recorders, what ?? "")) {
  console.error(`usage: node site/scoreboard/record.js ${Object.keys(recorders).join("|")}; the first lines of this file say how`);
  process.exit(2);
}
const path = join(here, "data", `${what}.json`);
writeFileSync(path, `${JSON.stringify(recorders[what](...args), null, 1)}\n`);
console.log(`wrote ${path}; now: node site/scoreboard/build.js`);
