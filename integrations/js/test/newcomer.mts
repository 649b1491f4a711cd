// What somebody writes first, in TypeScript. Checked with several settings; nothing here runs.

import init, { Model, type Event } from "unjinja";

await init();
const stream = Model.known("Qwen/Qwen3-0.6B").stream();
const events: Event[] = stream.push("Hello!");
const names: string[] = stream.message.toolCalls.map(({ name }) => name);
export { events, names };
