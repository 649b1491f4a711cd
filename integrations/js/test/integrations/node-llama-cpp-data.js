// The data of docs/node-llama-cpp.md: a model with random weights.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { randomModel } from "./random-model.js";
import { template } from "./support.js";

const folder = mkdtempSync(join(tmpdir(), "unjinja-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

export const modelPath = join(folder, "random.gguf");
writeFileSync(modelPath, randomModel({ template: template("qwen3"), ends: ["<|im_end|>"], special: ["<tool_call>"] }));

const parameters = { type: "object", properties: { days: { enum: [1, 2, 3] } }, required: ["days"], additionalProperties: false };
export const tools = [{ type: "function", function: { name: "get_weather", description: "The weather.", parameters } }];
