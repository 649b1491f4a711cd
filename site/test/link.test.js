// The state in a link: what goes in comes out, and what is damaged gives a message.

import assert from "node:assert/strict";
import { test } from "node:test";
import { bundled } from "./support.js";

const { decode, encode, LinkError } = await bundled("site/src/link.js");
const { FIRST } = await bundled("site/src/examples.js");

test("a state comes back from its link", async () => {
  const state = {
    ...FIRST,
    tab: "parse",
    at: 7,
    output: "Zürich 🌦 \u0000 </script>",
    over: false,
    messages: [{ role: "user", content: "" }],
  };
  const fragment = await encode(state);
  assert.match(fragment, /^1\.[A-Za-z0-9_-]+$/);
  assert.deepEqual(await decode(fragment), state);
  assert.deepEqual(await decode(await encode({})), {});
});

test("what the page does not know is left out", async () => {
  assert.deepEqual(await decode(await encode({ tab: "check", __proto__: null, other_thing: 1, constructor: 2 })), {
    tab: "check",
  });
});

test("a state that is too large for a link has none", async () => {
  const noise = Array.from({ length: 300_000 }, () => String.fromCharCode(33 + Math.floor(Math.random() * 90))).join("");
  assert.equal(await encode({ output: noise }), null);
  assert.ok((await encode({ output: "a".repeat(1_000_000) })).length < 10_000);
});

test("a damaged link says so, and what to do", async () => {
  const good = await encode({ tab: "parse", output: "a text of some length, a text of some length" });
  const damaged = [
    "nonsense",
    "2.abc",
    "1.",
    "1.%%%",
    "1.AAAA",
    good.slice(0, -6),
    `${good.slice(0, 20)}x${good.slice(21)}`,
    await encode([]),
    await encode(5),
    await encode(null),
    await encode({ tab: 5 }),
    await encode({ source: { kind: "template" } }),
    await encode({ source: "text" }),
    await encode({ messages: ["text"] }),
    await encode({ messages: {} }),
    await encode({ output: null, over: "no" }),
    // It would be 64 MB.
    await encode({ output: "a".repeat(64 << 20) }),
  ];
  for (const fragment of damaged) {
    await assert.rejects(
      decode(fragment),
      (error) => error instanceof LinkError && /link/.test(error.message),
      String(fragment).slice(0, 40),
    );
  }
});
