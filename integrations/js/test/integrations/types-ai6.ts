// The same with version 6 of the AI SDK, whose middlewares have another version. Nothing here runs.

import { generateText, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Model } from "unjinja";
import { chatTemplateMiddleware } from "unjinja/ai-sdk";

const middleware = chatTemplateMiddleware({ model: Model.fromTemplate("x"), thinking: true });
export const result = generateText({ model: wrapLanguageModel({ model: new MockLanguageModelV3(), middleware }), prompt: "x" });
