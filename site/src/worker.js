// The worker: runs one operation after the other, away from the page.

import { run, start } from "./operations.js";

let ready;

addEventListener("message", async ({ data: { id, name, values } }) => {
  try {
    if (name === "start") {
      ready = start(values);
      await ready;
      postMessage({ id });
      return;
    }
    await ready;
    postMessage({ id, answer: await run(name, values) });
  } catch (error) {
    postMessage({ id, error: { name: error?.name ?? "Error", message: error?.message ?? String(error) } });
  }
});
