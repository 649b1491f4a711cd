// What the page begins with, so that there is something to see at once.

import hermes from "../../templates/hermes.jinja";
import channels from "../../templates/channels.jinja";
import python from "../../templates/python_calls.jinja";
import qwen from "../../templates/qwen3.jinja";
import xml from "../../templates/xml_parameters.jinja";

/** Templates of this repository: a name, a sentence, the text. */
export const EXAMPLES = [
  { name: "qwen3", title: "Reasoning, and calls in JSON", text: qwen },
  { name: "hermes", title: "Calls in JSON", text: hermes },
  { name: "xml_parameters", title: "Each argument between tags", text: xml },
  { name: "channels", title: "Messages with channels", text: channels },
  { name: "python_calls", title: "Calls in Python", text: python },
];

const TOOLS = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather in a city.",
      parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
    },
  },
];

const OUTPUT = `<think>
They want the weather.
</think>

Let me look. A <tool_call> in prose stays prose.
<tool_call>
{"name": "get_weather", "arguments": {"city": "Zürich", "days": 3}}
</tool_call><|im_end|>
`;

/** A call of the example's tool. */
export const CALL = { id: "call_1", type: "function", function: { name: "get_weather", arguments: '{"city": "Zürich"}' } };

const MESSAGES = [
  { role: "system", content: "You are a helpful assistant." },
  { role: "user", content: "Will it rain in Zürich?" },
  { role: "assistant", content: "Let me look.", reasoning_content: "They want the weather.", tool_calls: [CALL] },
  { role: "tool", content: "Rain until noon.", tool_call_id: "call_1", name: "get_weather" },
];

/** The source of an example. */
export function sourceOf({ name, text }) {
  return { kind: "template", name, text };
}

/** The state at first load. */
export const FIRST = {
  tab: "turn",
  source: sourceOf(EXAMPLES[0]),
  tools: JSON.stringify(TOOLS, null, 2),
  output: OUTPUT,
  over: true,
  begun: "",
  size: 4,
  at: null,
  messages: MESSAGES,
  generation: true,
  thinking: "",
  variables: "",
  toolChoice: "auto",
  other: sourceOf(EXAMPLES[1]),
};
