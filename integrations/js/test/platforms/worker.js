// The worker of the page: it reads the same, and gets a model that the page has analysed.

import init, { Model } from "/lib/index.js";
import { readAll } from "./reading.js";

self.onmessage = async ({ data }) => {
  try {
    await init();
    const message = Model.fromJSON(data.state).parse(data.output);
    const read = await readAll();
    self.postMessage({ ...read, content: message.content });
  } catch (error) {
    self.postMessage({ error: `${error}` });
  }
};
