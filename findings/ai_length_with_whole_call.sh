#!/usr/bin/env bash
# ai 7.0.173 with @ai-sdk/openai-compatible 3.0.92 (npm): where the limit of tokens ends an answer (`finish_reason: "length"`), the loop of
# tools does the opposite of what one expects. A call whose arguments are whole is not run, no error comes, and `streamText` ends with an
# empty text. A call whose arguments are cut off goes on: the error is sent to the model as the result of a call with the arguments `{}`,
# which it never wrote, and the next step answers. With two calls, one whole and one cut, the loop ends too.
#
# Output seen (Node 20):
#     whole call: requests 1, tool run 0 times, text "", arguments in the history undefined
#     cut call: requests 2, tool run 0 times, text "Done.", arguments in the history {}
#     tool_calls: requests 2, tool run 1 times, text "Done.", arguments in the history {"to":"Bob"}
# Fails if the whole call is run or the loop goes on after it, if the loop ends after the cut call, or its history has what was written.
set -euo pipefail
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y >npm.log
npm install --silent --no-audit --no-fund ai@7.0.173 @ai-sdk/openai-compatible@3.0.92 >>npm.log 2>&1
cat >ask.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import http from "node:http";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { isStepCount, jsonSchema, streamText, tool } from "ai";

globalThis.AI_SDK_LOG_WARNINGS = false;
const piece = (delta, finish_reason = null) => {
  const choices = [{ index: 0, delta, finish_reason }];
  return `data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices })}\n\n`;
};

async function ask(name, args, reason) {
  const asked = [];
  const server = http.createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    asked.push(JSON.parse(body));
    const call = { index: 0, id: "call_1", type: "function", function: { name: "pay", arguments: args } };
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (asked.length === 1) response.write(piece({ role: "assistant", tool_calls: [call] }) + piece({}, reason));
    else response.write(piece({ role: "assistant", content: "Done." }) + piece({}, "stop"));
    response.end("data: [DONE]\n\n");
  });
  await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
  let run = 0;
  const errors = [];
  const inputSchema = jsonSchema({ type: "object", properties: { to: { type: "string" } }, required: ["to"] });
  const pay = tool({ description: "", inputSchema, execute: () => `paid ${++run}` });
  const provider = createOpenAICompatible({ name: "local", baseURL: `http://127.0.0.1:${server.address().port}/v1`, apiKey: "-" });
  const answer = streamText({
    model: provider("m"), prompt: "Pay Bob.", tools: { pay }, stopWhen: isStepCount(5), maxRetries: 0, onError: (e) => errors.push(e),
  });
  const text = await answer.text;
  const history = asked[1]?.messages.find((message) => message.role === "assistant").tool_calls[0].function.arguments;
  const said = `requests ${asked.length}, tool run ${run} times, text ${JSON.stringify(text)}`;
  console.log(`${name}: ${said}, arguments in the history ${history}`);
  server.close();
  return [asked.length, run, text, history, errors.length];
}

const whole = await ask("whole call", '{"to":"Bob"}', "length");
const cut = await ask("cut call", '{"to":"Bo', "length");
const ordinary = await ask("tool_calls", '{"to":"Bob"}', "tool_calls");
assert.deepEqual(whole, [1, 0, "", undefined, 0], "a whole call is treated otherwise");
assert.deepEqual(cut, [2, 0, "Done.", "{}", 0], "a cut call is treated otherwise");
assert.deepEqual(ordinary, [2, 1, "Done.", '{"to":"Bob"}', 0], "an ordinary call is treated otherwise");
JAVASCRIPT
node ask.mjs
