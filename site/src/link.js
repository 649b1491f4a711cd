// The state in a link: in the fragment, which no server sees. JSON, compressed, in base64url, after a number of the version.

import { KEYS, wrongWith } from "./state.js";

const VERSION = "1.";

// What a fragment may become when it is unpacked, and how long it may be: longer ones are cut by mail programs and chats.
const LARGEST = 16 << 20;
const LONGEST = 200_000;

const NEXT = "Ask for the link again, or paste the template below.";

/** A link that cannot be read. */
export class LinkError extends Error {}

/**
 * The fragment of a state; null if it would be too long.
 *
 * @param {object} state
 * @returns {Promise<string | null>}
 */
export async function encode(state) {
  const bytes = new TextEncoder().encode(JSON.stringify(state));
  const packed = await through(bytes, new CompressionStream("deflate-raw"), Infinity);
  let text = "";
  for (let at = 0; at < packed.length; at += 0x8000) text += String.fromCharCode(...packed.subarray(at, at + 0x8000));
  const fragment = VERSION + btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return fragment.length <= LONGEST ? fragment : null;
}

/**
 * The state of a fragment: only what a state of this page has.
 *
 * @param {string} fragment without the `#`
 * @returns {Promise<object>}
 */
export async function decode(fragment) {
  if (!/^\d+\./.test(fragment)) throw new LinkError(`The link does not hold a state of this page. ${NEXT}`);
  if (!fragment.startsWith(VERSION))
    throw new LinkError("The link was made by a newer version of this page. Load the newest one.");
  let state;
  try {
    const text = atob(fragment.slice(VERSION.length).replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
    const unpacked = await through(bytes, new DecompressionStream("deflate-raw"), LARGEST);
    state = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(unpacked));
  } catch {
    throw new LinkError(`The link is damaged: a part of it is missing or changed. ${NEXT}`);
  }
  if (typeof state !== "object" || state === null || Array.isArray(state))
    throw new LinkError(`The link does not hold a state of this page. ${NEXT}`);
  const problem = wrongWith(state);
  if (problem !== null) throw new LinkError(`The link is damaged: ${problem}. ${NEXT}`);
  return Object.fromEntries(KEYS.filter((key) => Object.hasOwn(state, key)).map((key) => [key, state[key]]));
}

async function through(bytes, transform, largest) {
  const reader = new Blob([bytes]).stream().pipeThrough(transform).getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > largest) {
      await reader.cancel();
      throw new LinkError("too large");
    }
    chunks.push(value);
  }
  const all = new Uint8Array(size);
  chunks.reduce((at, chunk) => (all.set(chunk, at), at + chunk.length), 0);
  return all;
}
