// What the page asks of the package `unjinja`: each operation takes and returns plain data, so that a worker can run it.

import {
  compareTemplates,
  explainTemplate,
  explainTokenizerConfig,
  init,
  lintTemplate,
  lintTokenizerConfig,
  Model,
} from "unjinja/full";
import { contentOf } from "./file_text.js";

/**
 * @typedef {object} Source What a model is made from.
 * @property {"template" | "spec" | "known" | "config"} kind `config`: a `tokenizer_config.json` of which no template can be read
 * @property {string} text the template, the spec, the name of a supported model, or the text of the file
 * @property {string} name how it is called in messages
 * @property {Record<string, unknown>} [tokens] the rest of a `tokenizer_config.json`: `bos_token`, `eos_token` and others
 */

/** Loads the module: its bytes, or gzip in base64. */
export async function start(module) {
  await init(typeof module === "string" ? await unpacked(module) : module);
}

async function unpacked(text) {
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).arrayBuffer();
}

// The last models that were made: typing into one field must not analyse the template again.
const made = new Map();
const MOST = 4;

/** @param {Source} source */
function modelOf(source) {
  const key = JSON.stringify(source);
  const known = made.get(key);
  if (known !== undefined) {
    made.delete(key);
    made.set(key, known);
    return known;
  }
  const model = makeModel(source);
  made.set(key, model);
  if (made.size > MOST) {
    const [oldest, old] = made.entries().next().value;
    made.delete(oldest);
    old.dispose();
  }
  return model;
}

/** @param {Source} source */
function makeModel({ kind, text, name, tokens }) {
  if (kind === "known") return Model.known(text);
  if (kind === "spec") return Model.fromSpec(text);
  if (kind === "config") return Model.fromTokenizerConfig(text, { name });
  if (tokens === undefined) return Model.fromTemplate(text, { name });
  return Model.fromTokenizerConfig(configOf({ text, tokens }), { name });
}

/** A source as a `tokenizer_config.json`. */
function configOf({ text, tokens }) {
  return { ...tokens, chat_template: text };
}

/** The options that are set. */
function given(options) {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined && value !== ""));
}

function loadFile(file, options) {
  return file instanceof Blob ? Model.fromGguf(file, options) : Model.fromTokenizerConfig(file, options);
}

/** The template and the tokens of a file, if its template can be analysed. */
async function readSound(file, options) {
  const model = await loadFile(file, options);
  const { template: text, tokens } = model.toJSON();
  model.dispose();
  const others = { bos_token: tokens.bos ?? undefined, eos_token: tokens.eos ?? undefined };
  return { text, tokens: { ...tokens.others, ...given(others) } };
}

// In its place a file is read for its tokens alone.
const ANY = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

/** The same where the template cannot be analysed; undefined if the file itself is the fault. */
async function readUnsound(file, { template, variant }) {
  const { templates, tokens } = await contentOf(file);
  const text = template ?? templates.find(({ name }, _, all) => (variant === undefined ? all.length === 1 : name === variant))?.text;
  if (text === undefined) return undefined;
  return { text, tokens: tokens ?? (await readSound(file, { template: ANY })).tokens };
}

async function readFile(file, options) {
  try {
    return await readSound(file, options);
  } catch (error) {
    // A template that cannot be analysed is explained, as if it were pasted alone.
    const content = await readUnsound(file, options).catch(() => undefined);
    if (content === undefined) throw error;
    return content;
  }
}

/** The names in the error of a file with several templates. */
function namesIn(error) {
  const several = /it has several templates\s*= next: name one as `variant`: (.*)/.exec(error.message);
  if (several === null) throw error;
  return JSON.parse(`[${several[1]}]`);
}

/** A model that only reads: made from a spec, without another analysis. */
function readerOf(spec) {
  return modelOf({ kind: "spec", text: spec });
}

const OPERATIONS = {
  /** What the analysis saw and concluded. */
  explain({ source }) {
    const { kind, text, name, tokens } = source;
    if (kind !== "template") return modelOf(source).explain();
    return tokens === undefined ? explainTemplate(text, { name }) : explainTokenizerConfig(configOf(source), { name });
  },

  /** How an output is read. */
  output({ spec, output, over, tools, generationPrompt }) {
    return readerOf(spec).explain({ output, over, ...given({ tools, generationPrompt }) }).output;
  },

  /**
   * The template in a `tokenizer_config.json` or a GGUF file, of which only the header is read. Of several, `names` are all, and the one
   * for tools is taken where none is named.
   */
  async read({ file, variant, template }) {
    const options = given({ template });
    try {
      return { ...(await readFile(file, options)), names: [] };
    } catch (error) {
      const names = namesIn(error);
      const chosen = variant ?? (names.includes("tool_use") ? "tool_use" : names[0]);
      return { ...(await readFile(file, { ...options, variant: chosen })), names, chosen };
    }
  },

  /** A stream in pieces: the events of each piece, and what is held back after it. */
  stream({ spec, pieces, tools, generationPrompt }) {
    const stream = readerOf(spec).stream(given({ tools, prompt: generationPrompt }));
    try {
      const decoder = new TextDecoder();
      const steps = pieces.map((piece) => ({
        events: stream.push(piece),
        held: decoder.decode(stream.held),
        channel: stream.channel,
      }));
      steps.push({ events: stream.finish(), held: "", channel: stream.channel });
      return steps;
    } finally {
      stream.dispose();
    }
  },

  /** A prompt, and whose text each piece of it is. */
  prompt({ source, messages, options }) {
    const model = modelOf(source);
    const prompt = model.prompt(messages, given(options));
    return { text: prompt.text, turn: prompt.turn, parts: prompt.parts, messages: prompt.messages };
  },

  /** The variables that a template reads. */
  variables({ source }) {
    return modelOf(source).variables;
  },

  lint({ source }) {
    const { text, name, tokens } = source;
    return tokens === undefined ? lintTemplate(text, { name }) : lintTokenizerConfig(configOf(source));
  },

  export({ source, reader }) {
    return modelOf(source).export(reader);
  },

  grammar({ source, options }) {
    return modelOf(source).grammar(given(options));
  },

  rust({ source }) {
    return modelOf(source).rust();
  },

  compare({ left, right }) {
    return compareTemplates(modelOf(left), modelOf(right));
  },
};

/**
 * Runs an operation.
 *
 * @param {string} name
 * @param {object} values
 */
export function run(name, values) {
  return OPERATIONS[name](values);
}
