// The templates in a file, as they are written there. The package reads files too, but only together with an analysis, and has no text
// of a template that cannot be analysed. So this is asked after the package refused one; it must refuse what it does not understand.

// How much of a GGUF file is read at first, and at most: its metadata come before the weights.
const FIRST = 1 << 20;
const MOST = 1 << 28;

/**
 * @typedef {object} Content
 * @property {{ name?: string, text: string }[]} templates
 * @property {Record<string, string>} [tokens] of a GGUF file
 */

/**
 * The templates of a `tokenizer_config.json` or of a GGUF file; none if it cannot be read.
 *
 * @param {string | Blob} file
 * @returns {Promise<Content>}
 */
export async function contentOf(file) {
  if (typeof file === "string") return { templates: ofConfig(file) };
  for (let size = FIRST; ; size *= 4) {
    try {
      return ofGguf(new DataView(await file.slice(0, size).arrayBuffer()));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      if (size >= Math.min(file.size, MOST)) return { templates: [] };
    }
  }
}

function ofConfig(file) {
  let value;
  try {
    value = JSON.parse(file)?.chat_template;
  } catch {
    return [];
  }
  if (typeof value === "string") return [{ text: value }];
  if (typeof value !== "object" || value === null) return [];
  const all = Array.isArray(value)
    ? value.map((entry) => ({ name: entry?.name, text: entry?.template }))
    : Object.entries(value).map(([name, text]) => ({ name, text }));
  return all.every(({ name, text }) => typeof name === "string" && typeof text === "string") ? all : [];
}

const TEMPLATE = "tokenizer.chat_template";
const TOKENS = "tokenizer.ggml.tokens";

// The keys of special tokens, and the names that templates know them by. The format spells `seperator` so.
const IDS = new Map([
  ["tokenizer.ggml.bos_token_id", "bos_token"],
  ["tokenizer.ggml.eos_token_id", "eos_token"],
  ["tokenizer.ggml.unknown_token_id", "unk_token"],
  ["tokenizer.ggml.seperator_token_id", "sep_token"],
  ["tokenizer.ggml.padding_token_id", "pad_token"],
  ["tokenizer.ggml.cls_token_id", "cls_token"],
  ["tokenizer.ggml.mask_token_id", "mask_token"],
]);

// The types of values, and the sizes of those that have one.
const [U32, TEXT, LIST] = [4, 8, 9];
const SIZES = [1, 1, 2, 2, 4, 4, 4, 1, undefined, undefined, 8, 8, 8];

/** Reads the metadata of a GGUF file. It throws a `RangeError` where the bytes end. */
class Metadata {
  #view;
  #isLittle;
  #hasShortLengths;

  /** @param {DataView} view */
  constructor(view) {
    this.#view = view;
    /** Where it reads next: after the magic bytes at first. */
    this.at = 4;
    this.#isLittle = view.getUint32(4, true) < 1 << 16;
    this.#hasShortLengths = this.u32() === 1;
  }

  #step(size) {
    const from = this.at;
    this.at += size;
    return from;
  }

  u32() {
    return this.#view.getUint32(this.#step(4), this.#isLittle);
  }

  length() {
    return this.#hasShortLengths ? this.u32() : Number(this.#view.getBigUint64(this.#step(8), this.#isLittle));
  }

  text() {
    const length = this.length();
    const bytes = new Uint8Array(this.#view.buffer, this.#step(length), length);
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  }

  /** The texts of a list, by their places. */
  texts(places) {
    const [type, count] = [this.u32(), this.length()];
    const found = new Map();
    for (let at = 0; at < count; at += 1) {
      if (type === TEXT && places.has(at)) found.set(at, this.text());
      else this.skip(type);
    }
    return found;
  }

  skip(type) {
    if (type === TEXT) {
      const length = this.length();
      this.#step(length);
    } else if (type === LIST) {
      const [items, count] = [this.u32(), this.length()];
      if (SIZES[items] !== undefined) this.#step(SIZES[items] * count);
      else for (let at = 0; at < count; at += 1) this.skip(items);
    } else if (SIZES[type] !== undefined) {
      this.#step(SIZES[type]);
    } else {
      throw new RangeError("a type that this does not know");
    }
    if (this.at > this.#view.byteLength) throw new RangeError("the end");
  }
}

/** @param {DataView} view */
function ofGguf(view) {
  const metadata = new Metadata(view);
  // How many tensors there are comes before how many keys.
  metadata.length();
  const count = metadata.length();
  const templates = [];
  const ids = new Map();
  let list;
  for (let key = 0; key < count; key += 1) {
    const [name, type] = [metadata.text(), metadata.u32()];
    if (name === TEMPLATE && type === TEXT) {
      templates.unshift({ text: metadata.text() });
    } else if (name.startsWith(`${TEMPLATE}.`) && type === TEXT) {
      templates.push({ name: name.slice(TEMPLATE.length + 1), text: metadata.text() });
    } else if (IDS.has(name) && type === U32) {
      ids.set(IDS.get(name), metadata.u32());
    } else {
      if (name === TOKENS && type === LIST) list = metadata.at;
      metadata.skip(type);
    }
  }
  // The one without a name is the default where others have names.
  if (templates.length > 1) templates[0].name ??= "default";
  if (list === undefined) return { templates, tokens: {} };
  metadata.at = list;
  const texts = metadata.texts(new Set(ids.values()));
  const known = Array.from(ids).filter(([, id]) => texts.has(id));
  return { templates, tokens: Object.fromEntries(known.map(([name, id]) => [name, texts.get(id)])) };
}
