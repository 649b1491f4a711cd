// Sources of models: made of a text that was pasted, or of files.

import { run } from "./engine.js";

/**
 * @typedef {import("./operations.js").Source} Source
 * @typedef {object} Taken What was made of a text or of files.
 * @property {Source} source
 * @property {{ names: string[], chosen: string, choose: (name: string) => Promise<Taken> }} [several] if a file has several templates
 * @property {{ taken: string, others: File[] }} [leftOut] the name of the file that was taken, and those that were not
 */

const PASTED = "pasted";

/** A source without a text. */
export const NOTHING = { kind: "template", name: PASTED, text: "" };

/** Whether a text is a JSON object, and so a `tokenizer_config.json`: a template may begin and end with a brace too. */
function isConfig(text) {
  if (!/^\s*\{/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return /^\s*\{\s*"/.test(text);
  }
}

/** Whether a text is a format spec. */
function isSpec(text) {
  return /^spec_version\s*=/m.test(text) && /^\[template\]/m.test(text);
}

/**
 * Reads a file that has templates and tokens.
 *
 * @param {string} name
 * @param {{ file: string | Blob, template?: string, variant?: string }} values
 * @returns {Promise<Taken>}
 */
async function takeFile(name, values) {
  const { text, tokens, names, chosen } = await run("read", values);
  const source = { kind: "template", name, text, tokens };
  if (names.length === 0) return { source };
  return { source, several: { names, chosen, choose: (variant) => takeFile(name, { ...values, variant }) } };
}

/**
 * The source in a text.
 *
 * @param {string} text
 * @param {string} name
 * @returns {Promise<Taken>}
 */
async function takeText(text, name) {
  if (isConfig(text)) return takeFile(name, { file: text });
  return { source: { kind: isSpec(text) ? "spec" : "template", name, text } };
}

/**
 * A source whose text was changed: one that begins or ends as before is the same template, with its name and tokens. A text that
 * cannot be read is taken with its error, which then stands where the views of the last template stood.
 *
 * @param {Source} source
 * @param {string} text
 * @returns {Promise<Taken>}
 */
export async function takeEdited(source, text) {
  let taken;
  try {
    taken = await takeText(text, PASTED);
  } catch {
    return { source: { kind: "config", name: PASTED, text } };
  }
  const isSame = [(whole) => whole.slice(0, 40), (whole) => whole.slice(-40)].some((part) => part(source.text) === part(text));
  if (!isSame || source.kind !== taken.source.kind || taken.source.text !== text) return taken;
  return { source: { ...source, ...taken.source, name: source.name } };
}

/** The name of a model in messages, made of the name of a file. */
function nameOf(file) {
  const name = file
    .toLowerCase()
    .replace(/\.(jinja2?|j2|txt|json|gguf|toml)$/, "")
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");
  return /^[a-z]/.test(name) ? name : `model_${name}`;
}

/**
 * The source in files: the first one, or a file of tokens with the template next to it. It says which files were left out.
 *
 * @param {readonly File[]} files
 * @returns {Promise<Taken>}
 */
export async function takeFiles(files) {
  const [first] = files;
  const taken = (part, used) => {
    const others = files.filter((file) => !used.includes(file));
    return others.length > 0 ? { ...part, leftOut: { taken: used[0].name, others } } : part;
  };
  const head = new Uint8Array(await first.slice(0, 4).arrayBuffer());
  if (new TextDecoder().decode(head) === "GGUF") return taken(await takeFile(nameOf(first.name), { file: first }), [first]);
  // A file that is left out need not be a text.
  const texts = await Promise.all(files.map((file) => (file === first ? textOf(file) : textOf(file).catch(() => ""))));
  const config = texts.findIndex(isConfig);
  if (config < 0 || files.length === 1) return taken(await takeText(texts[0], nameOf(first.name)), [first]);
  const other = texts.findIndex((text, at) => at !== config && text.trim() !== "" && !isConfig(text));
  if (other < 0) return taken(await takeText(texts[config], nameOf(files[config].name)), [files[config]]);
  const file = { file: texts[config], template: texts[other] };
  return taken(await takeFile(nameOf(files[other].name), file), [files[other], files[config]]);
}

const LARGEST = 32 << 20;

async function textOf(file) {
  const next = "\n  = next: choose a chat template, a tokenizer_config.json, a format spec or a GGUF file";
  if (file.size > LARGEST) {
    throw new Error(`${file.name}: it is too large for a chat template: ${file.size.toLocaleString("en")} bytes${next}`);
  }
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new Error(`${file.name}: it is not UTF-8 text${next}`);
  }
}
