// Compares what the package reads with what Rust reads, on any platform. Nothing here belongs to Node.js.

/** A value as JSON sees it: without classes. */
const plain = (value) => JSON.parse(JSON.stringify(value));

/** Where two JSON values differ first: nothing if they are the same. */
function difference(one, other, path = "") {
  if (one === other) return undefined;
  const isObject = (value) => typeof value === "object" && value !== null;
  if (!isObject(one) || !isObject(other) || Array.isArray(one) !== Array.isArray(other)) {
    return `${path}: ${JSON.stringify(one)} instead of ${JSON.stringify(other)}`;
  }
  for (const name of new Set([...Object.keys(one), ...Object.keys(other)])) {
    const found = difference(one[name], other[name], `${path}.${name}`);
    if (found !== undefined) return found;
  }
  return undefined;
}

function check(one, other, what) {
  const found = difference(one, other);
  if (found !== undefined) throw new Error(`${what}: ${found}`);
}

/** A text in pieces of so many characters. */
function pieces(text, size) {
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, at) =>
    characters.slice(at * size, (at + 1) * size).join(""),
  );
}

/** The UTF-8 of a text in pieces of so many bytes. */
function bytesOf(text, size) {
  const bytes = new TextEncoder().encode(text);
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) => bytes.subarray(at * size, (at + 1) * size));
}

/** Reads an output in pieces. */
function read(model, options, parts) {
  const stream = model.stream(options);
  const events = parts.flatMap((part) => stream.push(part));
  events.push(...stream.finish());
  const message = plain(stream.message);
  stream.dispose();
  return { events: plain(events), message };
}

/**
 * Reads all outputs of a file that .ci/js had Rust write, whole and in pieces, and compares messages and events.
 *
 * @param lines the lines of the file
 * @param least how many there have to be
 * @returns how many there were
 */
export async function compare(Model, lines, least) {
  let [count, last, model] = [0, "", undefined];
  for await (const line of lines) {
    if (line === "") continue;
    const { id, template, text, load, options, output, message, events } = JSON.parse(line);
    if (template !== last) {
      model?.dispose();
      [last, model] = [template, Model.fromTemplate(text, load)];
    }
    check(plain(model.parse(output, options)), message, `${id}, whole`);
    check(read(model, options, pieces(output, 3)).events, events, `${id}, the events of pieces of three characters`);
    // Single units of UTF-16 cut characters, and so do bytes.
    for (const parts of [[output], output.split(""), bytesOf(output, 5)]) {
      check(read(model, options, parts).message, message, `${id}, in ${parts.length} pieces`);
    }
    count += 1;
  }
  model?.dispose();
  if (count < least) throw new Error(`${count} outputs are too few to show anything`);
  return count;
}
