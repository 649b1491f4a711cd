// What is said about templates: their faults, in what two differ, and response templates made of them.

import type { Json } from "./index.js";

/** A response template, and what it does not express. */
export interface Export {
  /** The response template, as it is in `tokenizer_config.json`. */
  readonly responseTemplate: { readonly [name: string]: unknown };
  /** How many random conversations were tried. */
  readonly tried: number;
  /** How many of them came back. */
  readonly held: number;
  readonly losses: readonly Loss[];
  /** What its user should know, in sentences. */
  readonly notes: readonly string[];
}

/** What a response template loses. */
export interface Loss {
  readonly kind: string;
  readonly sentence: string;
  readonly conversations: number;
  readonly example: {
    readonly output: string;
    readonly inPieces: boolean;
    readonly written: unknown;
    readonly read: unknown;
    readonly error: string | null;
  } | null;
}

/** A fault of a template. */
export interface Finding {
  readonly rule: string;
  readonly severity: "error" | "warning" | "note";
  readonly target: "chat_template" | "response_template";
  readonly message: string;
  readonly help: string;
  readonly line: number | null;
  readonly column: number | null;
  /** The smallest conversation that shows it, with the text that was expected and the one that is rendered. */
  readonly conversation: unknown;
  readonly output: string | null;
  readonly expected: string | null;
  readonly actual: string | null;
}

export interface LintOptions {
  /** A response template to check as well. */
  responseTemplate?: object | undefined;
  overlay?: string | undefined;
  /** How many random conversations are tried with a response template. The default is 200. */
  count?: number | undefined;
}

/** What two templates have in common. */
export interface TemplateComparison {
  /** Whether they render alike what clients send: the conversations with which `lintTemplate` tries both. */
  readonly render: {
    readonly alike: boolean;
    /** How many conversations were tried. */
    readonly tried: number;
    /** How many of them come out different. One that both refuse is no difference. */
    readonly differing: number;
    /** How many of these differ in white space only. */
    readonly space: number;
    /** The smallest conversation that comes out different, with both renders. */
    readonly difference: {
      /** The variables of the templates: `messages`, and where they matter `tools`, `add_generation_prompt` and others. */
      readonly conversation: { readonly messages: readonly Json[]; readonly [name: string]: unknown };
      readonly old: RenderedText;
      readonly new: RenderedText;
    } | null;
    /** The special tokens, such as `bos_token`, of which only one template says the text. Both were rendered with it. */
    readonly assumed_tokens: readonly string[];
  };
  /** Whether their parsers read alike. */
  readonly read: {
    readonly alike: boolean;
    /** The keys that differ between the specs. */
    readonly changes: readonly {
      readonly key: string;
      /** The old value as TOML. */
      readonly old: string | null;
      readonly new: string | null;
      /** `"breaking"`: a parser of the old template reads some turn of the new one wrongly. */
      readonly effect: "informational" | "compatible" | "breaking";
      readonly why: string;
    }[];
    /** Random turns of the old template that the new parser reads, and of the new one that the old parser reads. */
    readonly turns: { readonly old: TurnReadings; readonly new: TurnReadings };
  };
  /** For each template why it has no parser. */
  readonly problems: { readonly old: string | null; readonly new: string | null };
}

/** What a template writes, or why it fails. */
export type RenderedText = { readonly text: string; readonly error?: undefined } | { readonly error: string; readonly text?: undefined };

/** How one parser reads the turns of another template. */
export interface TurnReadings {
  readonly tried: number;
  readonly alike: number;
  /** The shortest turn that is read otherwise. */
  readonly difference: {
    readonly output: string;
    readonly tools: readonly Json[];
    /** The message that the template's own parser reads, as OpenAI has it, and the one that the other reads. */
    readonly own: { readonly [name: string]: Json | undefined };
    readonly other: { readonly [name: string]: Json | undefined };
  } | null;
}
