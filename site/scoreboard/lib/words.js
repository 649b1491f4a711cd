// How names and figures are written, everywhere on the page.

/** The pages and the data are files of the repository, also where this page is published alone. */
export const FILES = "https://github.com/unjinja/unjinja/blob/main/";

const SHORT = {
  "tool-parser, reasoning-parser": "SMG: `tool-parser`, `reasoning-parser`",
  "dynamo-parsers": "`dynamo-parsers`",
  "dynamo-parsers-v2": "`dynamo-parsers-v2`",
};

/** A peer of docs/outputs.md. */
export const short = (peer) => SHORT[peer] ?? peer;

/** `N of M`; nothing where there was nothing to read. */
export const part = (read, all) => (all === 0 ? null : `${read} of ${all}`);

/** A figure of a peer, marked if it is above ours. */
export const than = (peer, ours, text = String(peer)) => ({ text, better: peer > ours });

export const percent = (share) => `${Math.round(share * 100)} %`;

/** The same figure in all ways once, else all of them. */
export const ways = (values) => (new Set(values).size === 1 ? String(values[0]) : values.join(", "));

/** How many fixtures of CanIToolCall an engine supports. */
export const supported = ({ pass, soft_pass, fail }) => pass + soft_pass + fail;
