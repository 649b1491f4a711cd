// The forms of APIs in which a stream can be written.

import type { Diagnostic } from "./index.js";

export interface AnthropicOptions {
  /** The name of the model. The default is the name of the spec. */
  model?: string | undefined;
  /** The id of the first answer. The default is a random one. */
  id?: string | undefined;
  /** Whether diagnostics are written, which the API does not know. */
  diagnostics?: boolean | undefined;
  /** The ids of the earlier calls in the conversation. New ids differ from them. */
  callIds?: readonly string[] | undefined;
}

export interface OpenAIOptions extends AnthropicOptions {
  /** When the first answer was begun, in seconds since 1970. The default is now. */
  created?: number | undefined;
  /** The field for reasoning. The default is `"reasoning_content"`. */
  reasoning?: "reasoning_content" | "reasoning" | undefined;
  /** Whether the last chunk says how many tokens were used. */
  includeUsage?: boolean | undefined;
}

/** OpenAI's `chat.completion.chunk`. */
export interface OpenAIChunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: {
    index: number;
    delta: {
      role?: "assistant";
      content?: string;
      reasoning_content?: string;
      reasoning?: string;
      tool_calls?: {
        index: number;
        id?: string;
        type?: "function";
        function: { name?: string; arguments: string };
      }[];
      unparsed?: string;
      diagnostics?: Diagnostic[];
    };
    finish_reason: "stop" | "length" | "tool_calls" | "content_filter" | null;
  }[];
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number } | null;
}

/** An event of Anthropic's Messages API. */
export type AnthropicEvent =
  | { type: "message_start"; message: { id: string; type: "message"; role: "assistant"; model: string; [name: string]: unknown } }
  | {
      type: "content_block_start";
      index: number;
      content_block:
        | { type: "text"; text: string }
        | { type: "thinking"; thinking: string; signature: string }
        | { type: "tool_use"; id: string; name: string; input: object };
    }
  | {
      type: "content_block_delta";
      index: number;
      delta:
        | { type: "text_delta"; text: string }
        | { type: "thinking_delta"; thinking: string }
        | { type: "signature_delta"; signature: string }
        | { type: "input_json_delta"; partial_json: string };
    }
  | { type: "content_block_stop"; index: number }
  | {
      type: "message_delta";
      delta: { stop_reason: string | null; stop_sequence: string | null; unparsed?: string; diagnostics?: Diagnostic[] };
      usage: { [name: string]: number };
    }
  | { type: "message_stop" };
