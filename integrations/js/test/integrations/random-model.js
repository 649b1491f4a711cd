// A language model with random weights, as GGUF: a real transformer of llama.cpp that has learned nothing, with a token for each byte.
// dev/engine/src/random_model.rs has the same for Rust.

const WIDTH = 32;
const INNER = 64;
const LAYERS = 2;
const TYPES = { u32: 4, i32: 5, f32: 6, bool: 7, string: 8, array: 9 };
const KINDS = { normal: 1, unknown: 2, control: 3, defined: 4, byte: 6 };

/** Writes a GGUF file: its entries, and tensors of 32-bit floats. */
class File {
  entries = [];
  tensors = [];
  counts = { entries: 0, tensors: 0 };
  data = [];
  size = 0;

  static number(value, bytes, set) {
    const buffer = Buffer.alloc(bytes);
    buffer[set](value);
    return buffer;
  }

  static u32 = (value) => File.number(value, 4, "writeUInt32LE");
  static u64 = (value) => File.number(BigInt(value), 8, "writeBigUInt64LE");
  static f32 = (value) => File.number(value, 4, "writeFloatLE");
  static string = (text) => Buffer.concat([File.u64(Buffer.byteLength(text)), Buffer.from(text)]);

  static value = {
    string: File.string,
    u32: File.u32,
    i32: File.u32,
    f32: File.f32,
    bool: (value) => Buffer.from([value ? 1 : 0]),
  };

  entry(key, type, value) {
    this.counts.entries += 1;
    this.entries.push(File.string(key), File.u32(TYPES[type]), File.value[type](value));
  }

  list(key, type, values) {
    this.counts.entries += 1;
    this.entries.push(
      File.string(key),
      File.u32(TYPES.array),
      File.u32(TYPES[type]),
      File.u64(values.length),
      ...values.map(File.value[type]),
    );
  }

  tensor(name, dimensions, next) {
    this.counts.tensors += 1;
    this.tensors.push(
      File.string(name),
      File.u32(dimensions.length),
      ...dimensions.map(File.u64),
      File.u32(0),
      File.u64(this.size),
    );
    const values = Float32Array.from({ length: dimensions.reduce((a, b) => a * b) }, next);
    const bytes = Buffer.alloc(Math.ceil(values.byteLength / 32) * 32);
    bytes.set(new Uint8Array(values.buffer));
    this.data.push(bytes);
    this.size += bytes.length;
  }

  finish() {
    const head = Buffer.concat([
      Buffer.from("GGUF"),
      File.u32(3),
      File.u64(this.counts.tensors),
      File.u64(this.counts.entries),
      ...this.entries,
      ...this.tensors,
    ]);
    return Buffer.concat([head, Buffer.alloc((32 - (head.length % 32)) % 32), ...this.data]);
  }
}

/** Random numbers of a normal distribution, the same for the same seed. */
function normal(seed) {
  let state = seed >>> 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/**
 * The bytes of such a model.
 *
 * @param template its chat template
 * @param ends the special tokens that end a turn, two at most
 * @param special other special tokens
 * @param defined tokens that are user-defined, and not special
 */
export function randomModel({ template, ends = [], special = [], defined = [], seed = 1, context = 8192 }) {
  const file = new File();
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`);
  const added = [...ends, ...special];
  const tokens = ["<unk>", "<s>", "</s>", ...bytes, ...added, ...defined];
  const kinds = [
    ...[KINDS.unknown, KINDS.control, KINDS.control],
    ...bytes.map(() => KINDS.byte),
    ...added.map(() => KINDS.control),
    ...defined.map(() => KINDS.defined),
  ];
  file.entry("general.architecture", "string", "llama");
  file.entry("tokenizer.ggml.model", "string", "llama");
  file.list("tokenizer.ggml.tokens", "string", tokens);
  file.list(
    "tokenizer.ggml.scores",
    "f32",
    tokens.map(() => 0),
  );
  file.list("tokenizer.ggml.token_type", "i32", kinds);
  for (const [key, id] of [
    ["unknown", 0],
    ["bos", 1],
    ["eos", 2],
  ])
    file.entry(`tokenizer.ggml.${key}_token_id`, "u32", id);
  for (const [at, key] of ["eot", "eom"].slice(0, ends.length).entries())
    file.entry(`tokenizer.ggml.${key}_token_id`, "u32", 259 + at);
  for (const key of ["add_bos_token", "add_space_prefix"]) file.entry(`tokenizer.ggml.${key}`, "bool", false);
  file.entry("tokenizer.chat_template", "string", template);
  const numbers = {
    context_length: context,
    embedding_length: WIDTH,
    block_count: LAYERS,
    feed_forward_length: INNER,
    vocab_size: tokens.length,
  };
  for (const [key, value] of Object.entries({ ...numbers, "attention.head_count": 2 })) file.entry(`llama.${key}`, "u32", value);
  file.entry("llama.attention.layer_norm_rms_epsilon", "f32", 1e-5);

  const next = normal(seed);
  const weights = (name, from, to) => file.tensor(`${name}.weight`, [from, to], () => next() / Math.sqrt(from));
  const norm = (name) => file.tensor(`${name}.weight`, [WIDTH], () => 1);
  weights("token_embd", WIDTH, tokens.length);
  for (let layer = 0; layer < LAYERS; layer++) {
    const name = (part) => `blk.${layer}.${part}`;
    norm(name("attn_norm"));
    for (const part of ["attn_q", "attn_k", "attn_v", "attn_output"]) weights(name(part), WIDTH, WIDTH);
    norm(name("ffn_norm"));
    weights(name("ffn_gate"), WIDTH, INNER);
    weights(name("ffn_up"), WIDTH, INNER);
    weights(name("ffn_down"), INNER, WIDTH);
  }
  norm("output_norm");
  weights("output", WIDTH, tokens.length);
  return file.finish();
}
