// The size of the modules: raw, and compressed as servers of files do it. `--show` prints it, and `--check` also holds the small module to
// the limit.

import { readFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

// How large the small module may become, compressed with brotli, in bytes. Raise this for nothing.
const LIMIT = 600_000;

/** The sizes of a module in bytes. */
export function sizes(name) {
  const bytes = readFileSync(new URL(`../lib/${name}`, import.meta.url));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
  return { raw: bytes.length, gzip: gzipSync(bytes, { level: 9 }).length, brotli: brotliCompressSync(bytes, { params }).length };
}

if (process.argv[2] === "--check" || process.argv[2] === "--show") {
  const found = ["unjinja.wasm", "unjinja-full.wasm"].map((name) => {
    const { raw, gzip, brotli } = sizes(name);
    console.log(`js: ${name} has ${raw} bytes, ${gzip} with gzip, ${brotli} with brotli`);
    return brotli;
  });
  if (process.argv[2] === "--check" && found[0] > LIMIT) {
    console.error(`js: more than ${LIMIT} bytes with brotli: look at what grew, with wasm-objdump or twiggy`);
    process.exit(1);
  }
}
