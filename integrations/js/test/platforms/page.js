// The page that Chromium opens. What it finds is the value of `window.result`.

import init, { Model } from "/lib/index.js";
import { leave } from "./memory.js";
import { readAll } from "./reading.js";

const SHORT =
  "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

window.result = (async () => {
  await init();
  const state = Model.fromTemplate(SHORT).toJSON();
  const worker = new Worker(new URL("./worker.js", import.meta.url), { type: "module" });
  const inWorker = new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) =>
      data.error === undefined ? resolve(data) : reject(new Error(`in the worker: ${data.error}`));
    worker.onerror = (event) => reject(new Error(`the worker failed: ${event.message}`));
  });
  worker.postMessage({ state, output: "Good morning!</>" });
  const [page, other] = await Promise.all([readAll(), inWorker]);
  if (other.content !== "Good morning!") throw new Error(`the worker read ${JSON.stringify(other.content)}`);
  return { page, worker: other, memory: await leave(Model, window.gc) };
})();
