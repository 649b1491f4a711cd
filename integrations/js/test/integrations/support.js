// What the tests of the integrations share. They run in a folder of their own, where the packed package is installed, so
// UNJINJA_ROOT says where the repository is. What other tests of the package have, too, is taken from there.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const { href } = pathToFileURL(join(process.env.UNJINJA_ROOT, "integrations/js/test/support.js"));

/** A template of the project by its name, an output of Qwen3 with a call, and a text in pieces of so many characters. */
export const { template, CALL, pieces } = await import(href);
