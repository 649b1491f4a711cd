#!/usr/bin/env bash
# ai 7.0.173 with @ai-sdk/anthropic 4.0.105 (npm), beside @anthropic-ai/sdk 1.14.0: the event `content_block_start` has a block with a
# `text`, and the text that follows in pieces is added to it. The AI SDK takes the pieces only: a server that puts the first words there
# loses them without an error, in `streamText` alone. For a call the AI SDK does take the `input` that stands in this event, and so does the
# official SDK for both.
#
# Output seen (Node 20):
#     @anthropic-ai/sdk: text "The answer is 4.", input {"city":"Paris"}
#     ai:                text " answer is 4.", input {"city":"Paris"}
# Fails if the two agree on the text, or differ in the input.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >npm.log
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/anthropic@4.0.105 @anthropic-ai/sdk@1.14.0 >>npm.log 2>&1
cat >ask.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import http from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import { createAnthropic } from "@ai-sdk/anthropic";
import { jsonSchema, streamText, tool } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false;
const usage = { input_tokens: 1, output_tokens: 1 };
const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], stop_reason: null, stop_sequence: null, usage };
const EVENTS = [
  { type: "message_start", message },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "The" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " answer is 4." } },
  { type: "content_block_stop", index: 0 },
  { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Paris" } } },
  { type: "content_block_stop", index: 1 },
  { type: "message_delta", delta: { stop_reason: "tool_use", stop_sequence: null }, usage: { output_tokens: 9 } },
  { type: "message_stop" },
];
const server = http.createServer((request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const url = `http://127.0.0.1:${server.address().port}`;

const client = new Anthropic({ baseURL: url, apiKey: "-", maxRetries: 0 });
const request = { model: "m", max_tokens: 99, messages: [{ role: "user", content: "Hi" }] };
const [text, call] = (await client.messages.stream(request).finalMessage()).content;
const official = [text.text, call.input];
console.log(`@anthropic-ai/sdk: text ${JSON.stringify(official[0])}, input ${JSON.stringify(official[1])}`);

const errors = [];
const weather = tool({ description: "", inputSchema: jsonSchema({ type: "object", properties: { city: { type: "string" } } }) });
const model = createAnthropic({ baseURL: `${url}/v1`, apiKey: "-" })("m");
const onError = (error) => errors.push(error);
const answer = streamText({ model, prompt: "Hi", maxOutputTokens: 99, tools: { weather }, maxRetries: 0, onError });
const other = [await answer.text, (await answer.toolCalls)[0].input];
console.log(`ai:                text ${JSON.stringify(other[0])}, input ${JSON.stringify(other[1])}`);
server.close();
assert.deepEqual(errors, []);
assert.deepEqual(official, ["The answer is 4.", { city: "Paris" }], "the official SDK reads it otherwise");
assert.deepEqual(other, [" answer is 4.", { city: "Paris" }], "the AI SDK reads it otherwise now");
JAVASCRIPT
node ask.mjs
