// The data of docs/web-llm.md.

import { template } from "./support.js";

export const config = { chat_template: template("qwen3") };

// As in mlc-chat-config.json of Qwen 3.
export const conversation = {
  name: "qwen2",
  system_template: "<|im_start|>system\n{system_message}<|im_end|>\n",
  system_message: "You are a helpful assistant.",
  system_prefix_token_ids: null,
  add_role_after_system_message: true,
  roles: { user: "<|im_start|>user", assistant: "<|im_start|>assistant", tool: "<|im_start|>tool" },
  role_templates: { user: "{user_message}", assistant: "{assistant_message}", tool: "{tool_message}" },
  seps: ["<|im_end|>\n"],
  role_content_sep: "\n",
  role_empty_sep: "\n",
  stop_str: ["<|endoftext|>", "<|im_end|>"],
  stop_token_ids: [151643, 151645],
};

export const tools = [
  {
    type: "function",
    function: {
      name: "get_weather",
      description: "The weather of a place.",
      parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] },
    },
  },
];
