// The picture of a turn is true: filled with values, it is read by the parser of its spec as these values.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { bundled, root } from "./support.js";

const { pictureOf, written } = await bundled("cli/src/explain/page/picture.js");
const { Model } = await import(join(root, "integrations/js/lib/node.js"));

const VALUES = {
  reasoning: "It may rain.",
  content: "Let me look.",
  function_name: "get_weather",
  argument_name: "city",
  call_id: "0",
};

/** The turn of a spec in which everything is there that can be: with calls, and without. */
function turnOf(keys, withCalls) {
  const key = (name) => keys.find((one) => one.key === name)?.value;
  const quote = key("tools.arguments.quote");
  const value = (hole) => {
    if (hole.kind === "arguments")
      return hole.label.includes("string")
        ? '{\\"city\\": \\"Paris\\"}'
        : key("tools.uses_python_dicts")
          ? "{'city': 'Paris'}"
          : '{"city": "Paris"}';
    if (hole.label === "type") return "string";
    if (hole.kind === "argument_value") return key("tools.format") === "call_expression" && !quote ? '"Paris"' : "Paris";
    if (hole.kind === "call_id" && key("messages.ids") === "nine") return "abcdef123";
    return VALUES[hole.kind];
  };
  const has = ({ caption }) => {
    if (caption === "if the model calls tools") return withCalls;
    if (caption.startsWith("instead") || caption === "if it does not think" || caption === "some turns") return false;
    if (caption === "in turns with calls" || caption === "if a call follows") return withCalls;
    if (caption === "if nothing follows") return !withCalls;
    return true;
  };
  return written(pictureOf(keys), value, has);
}

const tools = [
  {
    type: "function",
    function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } },
  },
];

/** What is wrong with the picture of a model; null if nothing is. */
function wrongWith(model) {
  const { keys } = model.explain();
  const key = (name) => keys.find((one) => one.key === name)?.value;
  for (const withCalls of [false, true]) {
    const output = turnOf(keys, withCalls);
    const start = key("turn.assistant_start") ?? "";
    const message = model.parse(output.slice(start.length), { tools, prompt: start });
    const calls = message.toolCalls.map(
      ({ name, arguments: json, complete }) => `${name} ${JSON.stringify(JSON.parse(json || "null"))} ${complete}`,
    );
    const wanted = {
      content: VALUES.content,
      reasoning: (key("reasoning.mode") ?? "none") === "none" ? "" : VALUES.reasoning,
      calls: withCalls && (key("tools.format") ?? "none") !== "none" ? ['get_weather {"city":"Paris"} true'] : [],
    };
    const read = { content: message.content.trim(), reasoning: message.reasoningContent.trim(), calls };
    if (JSON.stringify(read) !== JSON.stringify(wanted)) return `${JSON.stringify(output)}\n  is read as ${JSON.stringify(read)}`;
  }
  return null;
}

const templates = readdirSync(join(root, "templates")).filter((file) => file.endsWith(".jinja"));
const specs = readdirSync(join(root, "generated/specs")).filter(
  (file) => file.endsWith(".toml") && !file.endsWith(".overlay.toml"),
);

test("the picture of each template is read as what it shows", () => {
  const wrong = templates.map((file) => {
    const model = Model.fromTemplate(readFileSync(join(root, "templates", file), "utf8"), { name: file.replace(".jinja", "") });
    const problem = wrongWith(model);
    return problem && `${file}: ${problem}`;
  });
  assert.deepEqual(wrong.filter(Boolean), []);
  assert.ok(templates.length > 40);
});

test("the picture of each supported model is read as what it shows", () => {
  const wrong = specs.map((file) => {
    const problem = wrongWith(Model.known(file.replace(".toml", "")));
    return problem && `${file}: ${problem}`;
  });
  assert.deepEqual(wrong.filter(Boolean), []);
  assert.ok(specs.length > 50);
});
