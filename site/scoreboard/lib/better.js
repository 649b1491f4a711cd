// Where a peer reads more than unjinja. Everything here is computed from the figures; what is empty is said to be so.

const WAYS = ["whole", "streamed by token", "streamed by 24 tokens"];

/** The places of `peer` that are above those of `unjinja`, with a name for each. */
function above(peer, unjinja, ways) {
  return ways.flatMap((way, at) => (peer[at] > unjinja[at] ? [`${way} ${peer[at]}, unjinja ${unjinja[at]}`] : []));
}

/** Models of which vLLM's parsers read more, turns or outputs. */
export function vllm({ rows }) {
  return rows.flatMap(({ name, parsers, turns, outputs }) =>
    [["turns", turns], ["outputs", outputs]].flatMap(([what, { of, peer, unjinja }]) => {
      const found = above(peer, unjinja, WAYS);
      return found.length > 0 ? [{ name, parsers, what, of, found }] : [];
    }),
  );
}

/** Pairs of SGLang's parsers that read more, even if only with the best of their settings. */
export function sglang(measured) {
  return Object.entries(measured).flatMap(([what, { rows }]) =>
    rows.flatMap(({ name, of, auto, best, unjinja }) => {
      const found = above(best.map((read, at) => Math.max(read, auto[at])), unjinja, ["whole, at best", "streamed, at best"]);
      return found.length > 0 ? [{ name, what, of, found }] : [];
    }),
  );
}

/** Libraries that read outputs which unjinja does not. */
export const libraries = ({ peers }) => peers.filter(({ only }) => only > 0);

/** Templates of which a library reads more of the same outputs. */
export function templates(outputs) {
  const each = outputs.templates.flatMap(({ template, peers }) =>
    Object.entries(peers).map(([peer, counts]) => ({ template, peer, of: counts.of, theirs: counts.peer, unjinja: counts.unjinja })),
  );
  return each.filter(({ theirs, unjinja }) => theirs > unjinja);
}

/** The share of the fixtures that an engine supports and reads exactly. */
export const strict = ({ pass, soft_pass, fail }) => pass / (pass + soft_pass + fail);

/** Families that an engine reads better, by the share of the fixtures that it supports. */
export function engines(published, canitoolcall) {
  return published.engines.flatMap(({ name, version, families }) =>
    Object.entries(families).flatMap(([family, counts]) => {
      const ours = canitoolcall.families[family];
      return strict(counts) > strict(ours) ? [{ engine: `${name} ${version}`, family, counts, ours }] : [];
    }),
  );
}

/** Chat templates whose response template by others is read better than the one that unjinja makes. */
export const others = (rows) => rows.filter(({ peer, unjinja }) => peer.read > unjinja.read);
