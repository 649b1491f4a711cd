// Reads the tables that commands printed into the pages of docs/, and the expectations of a test. A table that is not there, or has
// other columns, is an error: a figure is never left out in silence.

/** The cells of the table whose first line begins with `head`, below the heading or comment `after` if there is one. */
export function table(text, head, after = "") {
  const from = text.indexOf(after);
  const start = from < 0 ? -1 : text.indexOf(`\n${head}`, from);
  if (start < 0) throw new Error(`there is no table that begins with ${head}${after && ` after ${after}`}`);
  const lines = text.slice(start + 1).split("\n");
  const rows = lines.slice(0, lines.findIndex((line) => !line.startsWith("|")));
  return rows.slice(2).map((line) => line.split(/(?<!\\)\|/).slice(1, -1).map((cell) => cell.trim()));
}

/** A number of a table, such as `3,383`; `null` for a dash. */
export function number(cell) {
  if (cell === "–" || cell === "") return null;
  const digits = cell.replaceAll(",", "");
  if (!/^\d+$/.test(digits)) throw new Error(`${cell} is no number`);
  return Number(digits);
}

/** The numbers of a cell such as `29, 29, 27`. */
export const numbers = (cell) => cell.split(", ").map(number);

/** The two numbers of a cell such as `82 of 100`. */
export function part(cell) {
  const found = /^(\d+) of (\d+)$/.exec(cell);
  if (!found) throw new Error(`${cell} is not \`N of M\``);
  return { read: Number(found[1]), of: Number(found[2]) };
}

/** A cell without the marks of Markdown. */
export const plain = (cell) => cell.replaceAll("`", "").replaceAll("\\|", "|");

/** Turns and outputs by model, of docs/vllm.md: `[whole, by token, 24 tokens]`. */
export function vllm(text) {
  const rows = table(text, "| template | vLLM's parsers |").map(([name, parsers, turns, theirs, ours, outputs, theirsOut, oursOut]) => ({
    name,
    parsers,
    turns: { of: number(turns), peer: numbers(theirs), unjinja: numbers(ours) },
    outputs: { of: number(outputs), peer: numbers(theirsOut), unjinja: numbers(oursOut) },
  }));
  return { rows: rows.filter((row) => row.name !== "all"), all: rows.find((row) => row.name === "all") };
}

/** Turns or outputs by pair of parsers, of docs/sglang.md: `[whole, streamed]`. */
export function sglang(text, after) {
  const rows = table(text, "| SGLang's parsers: calls, reasoning |", after).map(([name, templates, of, ...cells]) => {
    const [auto, autoStreamed, best, bestStreamed, ours, oursStreamed] = cells.map(number);
    return {
      name: plain(name),
      templates: number(templates),
      of: number(of),
      auto: [auto, autoStreamed],
      best: [best, bestStreamed],
      unjinja: [ours, oursStreamed],
    };
  });
  const totals = ["all of these", "none found"];
  return { rows: rows.filter((row) => !totals.includes(row.name)), all: rows.find((row) => row.name === totals[0]) };
}

/** What the libraries on crates.io read of real outputs, of docs/outputs.md. A cell of a peer is `N of M`, or empty. */
export function outputs(text) {
  const counts = (head) =>
    table(text, head).map(([name, of, ours, ...peers]) => ({
      name,
      of: number(of),
      unjinja: part(ours),
      peers: peers.map((cell) => (cell === "" ? null : part(cell))),
    }));
  return {
    peers: table(text, "| peer | outputs |").map(([name, of, peer, unjinja, only, onlyOurs]) => ({
      name,
      of: number(of),
      peer: number(peer),
      unjinja: number(unjinja),
      only: number(only),
      onlyOurs: number(onlyOurs),
    })),
    groups: counts("| group | outputs |"),
    classes: counts("| class | outputs |"),
  };
}

/** What came back of each model, of exports.expected. */
export function exportsOf(text) {
  const rows = [...text.matchAll(/^(\w+): (.*) came back$/gm)].map(([, name, said]) => ({ name, ...part(said) }));
  if (rows.length === 0) throw new Error("exports.expected has no models");
  return rows;
}
