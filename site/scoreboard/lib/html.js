// Small pieces of HTML. A cell is a text, or `{ text, better, head }`: `better` marks a figure of a peer that is above ours.

const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
export const escape = (text) => String(text).replace(/[&<>"]/g, (found) => ENTITIES[found]);

/** Text in which backticks mark code. */
export const rich = (text) => escape(text).replace(/`([^`]+)`/g, "<code>$1</code>");

function cell(value, isHead) {
  const { text = value, better = false } = value !== null && typeof value === "object" ? value : {};
  const shown = text === null || text === undefined ? '<span class="none">–</span>' : rich(text);
  if (isHead) return `<th scope="row">${shown}</th>`;
  const mark = better ? ' <span class="mark" aria-hidden="true">▲</span><span class="unseen"> more than unjinja</span>' : "";
  const kinds = [...(/^[\d,+ of]+$/.test(text ?? "0") ? ["figure"] : []), ...(better ? ["better"] : [])];
  return `<td${kinds.length > 0 ? ` class="${kinds.join(" ")}"` : ""}>${shown}${mark}</td>`;
}

/**
 * A table with a caption, in a region that scrolls by itself. `groups` is a list of `[title, columns]` above `head`, whose first
 * column is the name of the row; `source` is the id of the measurement.
 */
export function table({ id, caption, groups = [], head, rows, total, source }) {
  const above = groups.map(([title, columns]) =>
    title ? `<th scope="colgroup" colspan="${columns}">${rich(title)}</th>` : `<td colspan="${columns}"></td>`,
  );
  const line = (row) => `<tr>${row.map((value, at) => cell(value, at === 0)).join("")}</tr>`;
  return `<div class="table" role="region" aria-labelledby="${id}-caption" tabindex="0">
<table id="${id}">
<caption id="${id}-caption">${rich(caption)} <a href="#${source}">Command and versions</a></caption>
<thead>${groups.length > 0 ? `\n<tr>${above.join("")}</tr>` : ""}
<tr>${head.map((title) => `<th scope="col">${rich(title)}</th>`).join("")}</tr>
</thead>
<tbody>
${rows.map(line).join("\n")}
</tbody>${total ? `\n<tfoot>\n${line(total)}\n</tfoot>` : ""}
</table>
</div>`;
}

export const list = (items) => `<ul>\n${items.map((item) => `<li>${item}</li>`).join("\n")}\n</ul>`;
