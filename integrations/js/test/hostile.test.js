// No input stops the module: not by depth, not by length, not by bytes that are no text.

import assert from "node:assert/strict";
import test from "node:test";

import { Model, UnjinjaError } from "../lib/node.js";
import { instance } from "../lib/runtime.js";
import { SHORT, WEATHER } from "./support.js";

const inside = instance();
const qwen = Model.known("Qwen/Qwen3-0.6B");

/** Runs something that may fail, but only with an error of the package that is no stop of the module. */
function survives(run) {
  try {
    run();
  } catch (error) {
    assert.ok(error instanceof UnjinjaError, error.stack);
  }
  assert.equal(inside.stopped, false, "the module stopped");
}

test("templates that nest deep, or never end", () => {
  const templates = [
    `{% for m in messages %}${"{% if m %}".repeat(5000)}x${"{% endif %}".repeat(5000)}{% endfor %}`,
    `{{ ${"[".repeat(5000)}1${"]".repeat(5000)} }}${SHORT}`,
    `{{ ${"(".repeat(5000)}1${")".repeat(5000)} }}${SHORT}`,
    `{{ ${"not ".repeat(5000)}1 }}${SHORT}`,
    `{{ ${"1 + ".repeat(5000)}1 }}${SHORT}`,
    `{{ 1${" | string".repeat(5000)} }}${SHORT}`,
    `{{ messages${"[0]".repeat(5000)} }}${SHORT}`,
    `{% if a %}${"{% elif b %}".repeat(5000)}{% endif %}${SHORT}`,
    "{% macro f() %}{% set t %}{{ [f()] | join }}{% endset %}{{ t }}{% endmacro %}{{ f() }}",
    "{% for x in [1] recursive %}{% if true %}{{ '%s' % loop([1]) }}{% endif %}{% endfor %}",
    "{% for a in range(100000) %}{% for b in range(100000) %}x{% endfor %}{% endfor %}",
    "{{ 'a' * 100000000000 }}",
    `{% set ns = namespace(x=[]) %}{% for i in range(900) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x }}${SHORT}`,
    `{% set ns = namespace(x=[]) %}{% for i in range(20000) %}{% set ns.x = [ns.x] %}{% endfor %}{{ ns.x | tojson }}${SHORT}`,
  ];
  for (const text of templates) survives(() => Model.fromTemplate(text));
  for (const text of templates) survives(() => Model.fromTemplate(text.slice(0, text.length / 2)));
});

test("values that nest deep", () => {
  for (const depth of [100, 127, 128, 5000]) {
    const nested = `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    const schema = `${'{"type":"object","properties":{"a":'.repeat(depth)}{}${"}}".repeat(depth)}`;
    survives(() => qwen.parse(`<tool_call>\n{"name": "f", "arguments": ${nested}}\n</tool_call>`));
    survives(() => qwen.parse(`<tool_call>\n{"name": "f", "arguments": ${nested.slice(0, nested.length / 2)}`).toolCalls[0]?.closedArguments());
    survives(() => qwen.grammar({ tools: `[{"name": "f", "parameters": ${schema}}]`, toolChoice: "required" }));
    survives(() => qwen.parse("", { tools: `[{"name": "f", "parameters": ${schema}}]` }));
    survives(() => Model.fromSpec(`x = ${"[".repeat(depth)}${"]".repeat(depth)}`));
    survives(() => Model.fromTokenizerConfig(`{"chat_template": ${nested}}`));
    survives(() => Model.fromTemplate(SHORT).prompt([{ role: "user", content: JSON.parse(nested) }]));
  }
  for (const depth of [40, 60]) {
    const schema = `${'{"type":"array","items":'.repeat(depth)}{}${"}".repeat(depth)}`;
    for (const kind of ["gbnf", "xgrammar", "llguidance"]) {
      survives(() => qwen.grammar({ kind, tools: `[{"name": "f", "parameters": {"type": "object", "properties": {"a": ${schema}}}}]` }));
    }
  }
});

test("bytes that are no text, and markers without end", () => {
  let state = 1;
  const next = () => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 16;
  const words = ["<think>", "</think>", "<tool_call>", "</tool_call>", '{"name": "get_weather", "arguments": {', "}", '"', "\\u", "\ud83c", "é", " ", "[", "<|im_end|>"];
  for (let round = 0; round < 300; round++) {
    const bytes = Uint8Array.from({ length: 200 }, () => next() & 0xff);
    const text = Array.from({ length: 60 }, () => words[next() % words.length]).join("");
    for (const output of [bytes, text]) {
      survives(() => qwen.parse(output, { tools: [WEATHER] }));
      const stream = qwen.stream({ tools: [WEATHER] });
      const chunks = qwen.stream({ tools: [WEATHER] }).anthropicEvents();
      for (let at = 0; at < output.length; at += 3) {
        survives(() => stream.push(output.slice(at, at + 3)));
        survives(() => chunks.push(output.slice(at, at + 3)));
      }
      survives(() => stream.finish());
      survives(() => chunks.finish());
      assert.equal(stream.message.toolCalls.length, qwen.parse(output, { tools: [WEATHER] }).toolCalls.length);
    }
    survives(() => Model.fromTokenizerConfig(bytes));
    survives(() => Model.fromTemplate(text));
  }
});
