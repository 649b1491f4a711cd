// What `unjinja explain --format json` writes: docs/json/explain.schema.json describes it. Offsets count bytes of UTF-8 from 0.

import type { Json } from "./index.js";

/** What the analysis of a template saw and concluded, what the spec means, and how an output is read. */
export interface Explanation {
  /** The name of the file. */
  readonly file: string;
  readonly kind: "template" | "spec";
  /**
   * `"supported"`: there is a parser. `"partial"`: it does not read everything that the template renders. `"unsupported"`: there is a
   * spec, but no parser can be made from it. `"failed"`: there is no spec.
   */
  readonly outcome: "supported" | "partial" | "unsupported" | "failed";
  /** Why there is no parser. */
  readonly reason?: string;
  /** What is missing, one sentence each. */
  readonly gaps: readonly string[];
  /** The overlays that were written for other templates and are applied, one sentence each. */
  readonly corrections?: readonly string[];
  readonly evidence?: {
    /** How many conversations the analysis rendered. */
    readonly renders: number;
    /** Random conversations that were rendered and parsed back. */
    readonly round_trips: { readonly tried: number; readonly held: number };
    /** What no render shows and the text of the prompt describes. */
    readonly described?: { readonly tool_calls?: string; readonly reasoning?: string };
  };
  /** The comparisons, in the order in which they ran; a spec has none. */
  readonly comparisons: readonly ExplainedComparison[];
  /** The spec, key by key. */
  readonly keys: readonly ExplainedKey[];
  /** The spec as TOML. */
  readonly toml?: string;
  /** What `add_generation_prompt` writes. */
  readonly generation_prompts: readonly {
    /** The value of the thinking switch, if it is set. */
    readonly thinking?: boolean;
    readonly text: string;
    readonly starts_in: "content" | "reasoning" | "marker";
    /** The state in which the parser begins. */
    readonly state?: string;
  }[];
  /** The states of the parser. */
  readonly states: readonly ExplainedState[];
  /** The grammar for llama.cpp. */
  readonly grammar?: {
    readonly text: string;
    readonly lazy: boolean;
    readonly triggers: readonly { readonly kind: "word" | "pattern"; readonly value: string }[];
    readonly widened: readonly string[];
    readonly problem?: string;
  };
  /** The output, if one was given. */
  readonly output?: ExplainedOutput;
}

/** One comparison: conversations that differ in one respect, and what their renders show. */
export interface ExplainedComparison {
  /** What it tests. */
  readonly title: string;
  /** The title of the subject that it belongs to. */
  readonly group: string;
  /** Whether it is a probe that found nothing. */
  readonly idle: boolean;
  readonly experiment: string;
  /** What varied, in words. */
  readonly varied: string;
  readonly renders: readonly {
    /** Which of the compared conversations it is. */
    readonly of: string;
    /** The part of the render that is compared; empty if rendering failed. */
    readonly text: string;
    readonly error?: string;
    /** Where the fields of the conversation are in the text. */
    readonly fields: readonly {
      readonly start: number;
      readonly end: number;
      readonly field:
        | "user"
        | "content"
        | "reasoning"
        | "function_name"
        | "argument_name"
        | "argument_value"
        | "call_id";
    }[];
    /** Where the compared texts differ. */
    readonly differs?: { readonly start: number; readonly end: number };
  }[];
  /** What was concluded, and why. */
  readonly findings: readonly { readonly key: string; readonly value: Json }[];
  readonly because: string;
}

/** A key of the spec. */
export interface ExplainedKey {
  /** The dotted key. */
  readonly key: string;
  readonly value: Json;
  /** The experiments that found it. */
  readonly found_by: readonly string[];
  /** What the analysis found, if an overlay changed it. */
  readonly overlaid?: Json;
}

/** A state of the parser. */
export interface ExplainedState {
  readonly name: string;
  /** What it reads besides markers. */
  readonly reads?: string;
  readonly markers: readonly {
    /** The key of the marker in the spec. */
    readonly key: string;
    readonly text: string;
    readonly tolerated?: boolean;
    readonly before?: string;
    readonly after?: string;
    readonly confirmed_by?: readonly string[];
    readonly at_the_start?: boolean;
    readonly at_the_end?: boolean;
    readonly does?: readonly string[];
    /** The state that follows. */
    readonly next: string;
  }[];
  readonly otherwise?: string;
  readonly otherwise_does?: readonly string[];
  readonly may_end: boolean;
  /** The generation prompts after which the parser begins here. */
  readonly entered_by?: readonly number[];
}

/** How an output is read. */
export interface ExplainedOutput {
  /** Its length. */
  readonly bytes: number;
  readonly over: boolean;
  /** What each byte is taken for: every byte is in one span, in order. */
  readonly spans: readonly {
    readonly start: number;
    readonly end: number;
    readonly taken:
      | "content"
      | "reasoning"
      | "function_name"
      | "call_id"
      | "argument_name"
      | "arguments"
      | "syntax"
      | "unparsed"
      | "held";
    /** The key of the marker in the spec. */
    readonly key?: string;
    /** The position of the call, from 0. */
    readonly call?: number;
    readonly text: string;
  }[];
  /** Where the output does not fit the format. */
  readonly stops: readonly {
    readonly at: number;
    readonly line: number;
    readonly column: number;
    readonly why: "unexpected" | "not_offered" | "ended" | "not_closed";
    readonly state: string;
    readonly reads?: string;
    readonly expected: readonly { readonly key: string; readonly text: string }[];
    readonly found: string;
    /** Where the text begins that was held back and then became plain text. */
    readonly held_from?: number;
    readonly call?: number;
    /** What happened there, and what follows from it: clauses. */
    readonly sentence: string;
    readonly consequence: string;
  }[];
  /** The state in which reading ended, and the markers for which it waits. */
  readonly state: string;
  readonly expected: readonly { readonly key: string; readonly text: string }[];
  /** The message, as OpenAI has it. */
  readonly message: { readonly [name: string]: Json | undefined };
  readonly diagnostics: readonly { readonly at?: number; readonly text: string }[];
}
