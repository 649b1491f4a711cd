// What tests in browsers share: a server of files, and how Chromium is started.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

/** As root, in a container, without anything that asks for the network. */
export const browserFlags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

const TYPES = {
  ".js": "text/javascript",
  ".mjs": "text/javascript",
  ".html": "text/html",
  ".wasm": "application/wasm",
  ".jsonl": "text/plain",
};

/** Serves the files of folders, by the beginnings of their addresses. */
export async function serve(folders) {
  const server = createServer(async (request, response) => {
    const path = normalize(new URL(request.url, "http://localhost").pathname);
    const prefix = Object.keys(folders).find((start) => path.startsWith(start));
    if (path === "/favicon.ico") return response.writeHead(204).end();
    try {
      const bytes = await readFile(join(folders[prefix], path.slice(prefix.length)));
      response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { address: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}
