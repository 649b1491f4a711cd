//! The wire formats, as data: what a model of each writes, which of our compiled parsers reads it, and what the
//! peers call theirs. No code here may depend on which format it is.

/// A wire format and its parsers.
pub struct Format {
    /// Short name for the tables.
    pub name: &'static str,
    /// The model of `unjinja-generated` that reads it.
    pub ours: &'static str,
    /// The end of the prompt before an output without reasoning, and before one with reasoning.
    pub prompt: [&'static str; 2],
    /// The texts around reasoning in the output; `None` if the format has none.
    pub reasoning: Option<Reasoning>,
    /// The texts around the answer.
    pub content: [&'static str; 2],
    /// The texts around an answer before calls; `None` if a turn has either an answer or calls.
    pub preamble: Option<[&'static str; 2]>,
    /// The texts around all calls of a turn.
    pub section: [&'static str; 2],
    /// The text between two calls; `None` if a turn has at most one call.
    pub separator: Option<&'static str>,
    /// How a call is written.
    pub call: Call,
    /// The first character of the marker of a call.
    pub first: char,
    /// The names that the peers use for it.
    pub peers: Peers,
}

/// The texts around reasoning in the output.
pub struct Reasoning {
    /// Empty if the prompt has already written it.
    pub open: &'static str,
    pub close: &'static str,
}

/// How a call is written. In every part `{i}` is the index of the call and `{id}` an id of nine digits.
pub enum Call {
    /// The name, then the arguments as one JSON object.
    Json { open: &'static str, between: &'static str, close: &'static str },
    /// The name, then each argument in tags: strings as they are, other values as JSON.
    Tagged {
        open: &'static str,
        after_name: &'static str,
        key: &'static str,
        after_key: &'static str,
        /// After the key of an argument that is not a string.
        after_other_key: &'static str,
        after_value: &'static str,
        close: &'static str,
    },
    /// The name, then an object with bare keys, its strings between quote tokens.
    Quoted { open: &'static str, close: &'static str, quote: &'static str },
}

/// The peers' names for a format; `None` where a peer has no parser for it.
pub struct Peers {
    pub tool_parser: Option<&'static str>,
    pub reasoning_parser: Option<&'static str>,
    pub dynamo_tool: Option<&'static str>,
    pub dynamo_reasoning: Option<&'static str>,
    pub dynamo_v2_unified: Option<&'static str>,
    pub dynamo_v2_tool: Option<&'static str>,
}

const NO_PEERS: Peers = Peers {
    tool_parser: None,
    reasoning_parser: None,
    dynamo_tool: None,
    dynamo_reasoning: None,
    dynamo_v2_unified: None,
    dynamo_v2_tool: None,
};

/// A format of which no model is compiled in `unjinja-generated`.
pub struct Other {
    /// A marker of its calls; no other format has it.
    pub marker: &'static str,
    pub peers: Peers,
}

/// What the peers call these formats.
pub const OTHERS: &[Other] = &[
    Other {
        marker: "<｜DSML｜tool_calls>",
        peers: Peers {
            tool_parser: Some("deepseek_v4"),
            reasoning_parser: Some("deepseek_v4"),
            dynamo_tool: Some("deepseek_v4"),
            dynamo_reasoning: Some("deepseek_v4"),
            dynamo_v2_unified: Some("deepseek_v4"),
            dynamo_v2_tool: Some("deepseek_v4"),
        },
    },
    Other {
        marker: "<|content_invoke_tool_json|>",
        peers: Peers {
            tool_parser: Some("inkling"),
            reasoning_parser: Some("inkling"),
            dynamo_tool: Some("inkling"),
            dynamo_reasoning: Some("inkling"),
            ..NO_PEERS
        },
    },
    Other { marker: "<tool_calls>", peers: Peers { dynamo_tool: Some("jamba"), ..NO_PEERS } },
];

/// All formats that a peer and we have a parser for.
pub const FORMATS: &[Format] = &[
    Format {
        name: "hermes JSON (Qwen3)",
        ours: "qwen_qwen3_0_6b",
        prompt: ["<|im_start|>assistant\n", "<|im_start|>assistant\n"],
        reasoning: Some(Reasoning { open: "<think>\n", close: "\n</think>\n\n" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["", ""],
        separator: Some("\n"),
        call: Call::Json {
            open: "<tool_call>\n{\"name\": \"",
            between: "\", \"arguments\": ",
            close: "}\n</tool_call>",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("qwen"),
            reasoning_parser: Some("qwen3"),
            dynamo_tool: Some("hermes"),
            dynamo_reasoning: Some("qwen3"),
            ..NO_PEERS
        },
    },
    Format {
        name: "XML parameters (Qwen3.5)",
        ours: "qwen3_5_4b",
        prompt: ["<|im_start|>assistant\n<think>\n\n</think>\n\n", "<|im_start|>assistant\n<think>\n"],
        reasoning: Some(Reasoning { open: "", close: "\n</think>\n\n" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["", ""],
        separator: Some("\n"),
        call: Call::Tagged {
            open: "<tool_call>\n<function=",
            after_name: ">\n",
            key: "<parameter=",
            after_key: ">\n",
            after_other_key: ">\n",
            after_value: "\n</parameter>\n",
            close: "</function>\n</tool_call>",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("qwen_xml"),
            reasoning_parser: Some("qwen3_thinking"),
            dynamo_tool: Some("qwen3_coder"),
            dynamo_reasoning: Some("qwen3"),
            dynamo_v2_unified: Some("qwen3_coder"),
            dynamo_v2_tool: Some("qwen3_coder"),
        },
    },
    Format {
        name: "arg_key, lines (GLM-4.6)",
        ours: "glm_4_6",
        prompt: ["<|assistant|>\n<think></think>", "<|assistant|>"],
        reasoning: Some(Reasoning { open: "\n<think>", close: "</think>\n" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["", ""],
        separator: Some("\n"),
        call: Call::Tagged {
            open: "<tool_call>",
            after_name: "\n",
            key: "<arg_key>",
            after_key: "</arg_key>\n<arg_value>",
            after_other_key: "</arg_key>\n<arg_value>",
            after_value: "</arg_value>\n",
            close: "</tool_call>",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("glm45_moe"),
            reasoning_parser: Some("glm45"),
            dynamo_tool: Some("glm47"),
            dynamo_reasoning: Some("glm45"),
            dynamo_v2_unified: Some("glm47"),
            dynamo_v2_tool: Some("glm47"),
        },
    },
    Format {
        name: "arg_key (GLM-4.7)",
        ours: "glm_4_7_flash",
        prompt: ["<|assistant|></think>", "<|assistant|><think>"],
        reasoning: Some(Reasoning { open: "", close: "</think>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["", ""],
        separator: Some(""),
        call: Call::Tagged {
            open: "<tool_call>",
            after_name: "",
            key: "<arg_key>",
            after_key: "</arg_key><arg_value>",
            after_other_key: "</arg_key><arg_value>",
            after_value: "</arg_value>",
            close: "</tool_call>",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("glm47_moe"),
            reasoning_parser: Some("glm45"),
            dynamo_tool: Some("glm47"),
            dynamo_reasoning: Some("glm45"),
            dynamo_v2_unified: Some("glm47"),
            dynamo_v2_tool: Some("glm47"),
        },
    },
    Format {
        name: "invoke (MiniMax-M2)",
        ours: "minimax_m2",
        prompt: ["]~b]ai\n", "]~b]ai\n<think>\n"],
        reasoning: Some(Reasoning { open: "", close: "\n</think>\n\n" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["<minimax:tool_call>\n", "</minimax:tool_call>"],
        separator: Some(""),
        call: Call::Tagged {
            open: "<invoke name=\"",
            after_name: "\">\n",
            key: "<parameter name=\"",
            after_key: "\">",
            after_other_key: "\">",
            after_value: "</parameter>\n",
            close: "</invoke>\n",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("minimax_m2"),
            // `minimax` leaves the reasoning in the content, between tags, on purpose.
            reasoning_parser: Some("qwen3_thinking"),
            dynamo_tool: Some("minimax_m2"),
            dynamo_reasoning: Some("minimax_m2"),
            dynamo_v2_tool: Some("minimax_m2"),
            ..NO_PEERS
        },
    },
    Format {
        name: "DSML (DeepSeek-V3.2)",
        ours: "deepseek_ai_deepseek_v3_2",
        prompt: ["<｜Assistant｜><think></think>", "<｜Assistant｜><think>"],
        reasoning: Some(Reasoning { open: "", close: "</think>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["\n\n<｜DSML｜function_calls>\n", "</｜DSML｜function_calls>"],
        separator: Some(""),
        call: Call::Tagged {
            open: "<｜DSML｜invoke name=\"",
            after_name: "\">\n",
            key: "<｜DSML｜parameter name=\"",
            after_key: "\" string=\"true\">",
            after_other_key: "\" string=\"false\">",
            after_value: "</｜DSML｜parameter>\n",
            close: "</｜DSML｜invoke>\n",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("deepseek32"),
            reasoning_parser: Some("deepseek_v31"),
            dynamo_tool: Some("deepseek_v3_2"),
            dynamo_reasoning: Some("deepseek_v3_2"),
            ..NO_PEERS
        },
    },
    Format {
        name: "section tags (DeepSeek-V3.1)",
        ours: "deepseek_ai_deepseek_v3_1",
        prompt: ["<｜Assistant｜><think></think>", "<｜Assistant｜><think>"],
        reasoning: Some(Reasoning { open: "", close: "</think>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"],
        separator: Some(""),
        call: Call::Json {
            open: "<｜tool▁call▁begin｜>", between: "<｜tool▁sep｜>", close: "<｜tool▁call▁end｜>"
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("deepseek31"),
            reasoning_parser: Some("deepseek_v31"),
            dynamo_tool: Some("deepseek_v3_1"),
            dynamo_reasoning: Some("deepseek_v3_1"),
            ..NO_PEERS
        },
    },
    Format {
        name: "fenced JSON (DeepSeek-R1)",
        ours: "deepseek_ai_deepseek_r1_distill_llama_8b",
        prompt: ["<｜Assistant｜>", "<｜Assistant｜><think>\n"],
        reasoning: Some(Reasoning { open: "", close: "</think>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>"],
        separator: Some("\n"),
        call: Call::Json {
            open: "<｜tool▁call▁begin｜>function<｜tool▁sep｜>",
            between: "\n```json\n",
            close: "\n```<｜tool▁call▁end｜>",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("deepseek"),
            reasoning_parser: Some("deepseek_r1"),
            dynamo_tool: Some("deepseek_v3"),
            dynamo_reasoning: Some("deepseek_r1"),
            ..NO_PEERS
        },
    },
    Format {
        name: "indexed ids (Kimi-K2)",
        ours: "kimi_k2_thinking",
        prompt: ["<|im_assistant|>assistant<|im_middle|>", "<|im_assistant|>assistant<|im_middle|>"],
        reasoning: Some(Reasoning { open: "<think>", close: "</think>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"],
        separator: Some(""),
        call: Call::Json {
            open: "<|tool_call_begin|>functions.",
            between: ":{i}<|tool_call_argument_begin|>",
            close: "<|tool_call_end|>",
        },
        first: '<',
        peers: Peers {
            tool_parser: Some("kimik2"),
            reasoning_parser: Some("kimi_thinking"),
            dynamo_tool: Some("kimi_k2"),
            dynamo_reasoning: Some("kimi_k25"),
            dynamo_v2_unified: Some("kimi_k2"),
            dynamo_v2_tool: Some("kimi_k2"),
        },
    },
    Format {
        name: "array after a marker (Mistral Nemo)",
        ours: "mistralai_mistral_nemo_instruct_2407",
        prompt: ["", ""],
        reasoning: None,
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["[TOOL_CALLS] [", "]"],
        separator: Some(", "),
        call: Call::Json { open: "{\"name\": \"", between: "\", \"arguments\": ", close: ", \"id\": \"{id}\"}" },
        first: '[',
        peers: Peers { tool_parser: Some("mistral"), dynamo_tool: Some("mistral"), ..NO_PEERS },
    },
    Format {
        name: "array in tags (Nemotron Nano 2)",
        ours: "nvidia_nemotron_nano_v2",
        prompt: ["<SPECIAL_11>Assistant\n", "<SPECIAL_11>Assistant\n<think>\n"],
        reasoning: Some(Reasoning { open: "", close: "</think>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["<TOOLCALL>[", "]</TOOLCALL>"],
        separator: Some(", "),
        call: Call::Json { open: "{\"name\": \"", between: "\", \"arguments\": ", close: "}" },
        first: '<',
        peers: Peers {
            reasoning_parser: Some("deepseek_r1"),
            dynamo_tool: Some("nemotron_deci"),
            dynamo_reasoning: Some("nemotron_nano"),
            ..NO_PEERS
        },
    },
    Format {
        name: "functools array (FireFunction v2)",
        ours: "fireworks_ai_llama_3_firefunction_v2",
        prompt: ["", ""],
        reasoning: None,
        content: ["", ""],
        preamble: Some(["", ""]),
        section: [" functools[", "]"],
        separator: Some(", "),
        call: Call::Json { open: "{\"name\": \"", between: "\", \"arguments\": ", close: "}" },
        first: 'f',
        peers: Peers { dynamo_tool: Some("phi4"), ..NO_PEERS },
    },
    Format {
        name: "bare JSON (Llama 3.1)",
        ours: "meta_llama_llama_3_1_8b_instruct",
        prompt: ["<|start_header_id|>assistant<|end_header_id|>\n\n", ""],
        reasoning: None,
        content: ["", ""],
        preamble: None,
        section: ["", ""],
        separator: Some("; "),
        call: Call::Json { open: "{\"name\": \"", between: "\", \"parameters\": ", close: "}" },
        first: '{',
        peers: Peers { tool_parser: Some("llama"), dynamo_tool: Some("llama3_json"), ..NO_PEERS },
    },
    Format {
        name: "actions (Command R7B)",
        ours: "cohereforai_c4ai_command_r7b_12_2024_tool_use",
        prompt: ["", ""],
        reasoning: Some(Reasoning { open: "<|START_THINKING|>", close: "<|END_THINKING|>" }),
        content: ["<|START_RESPONSE|>", "<|END_RESPONSE|>"],
        preamble: None,
        section: ["<|START_ACTION|>[\n    ", "\n]<|END_ACTION|>"],
        separator: Some(",\n    "),
        call: Call::Json {
            open: "{\"tool_call_id\": \"{i}\", \"tool_name\": \"",
            between: "\", \"parameters\": ",
            close: "}",
        },
        first: '<',
        peers: Peers { tool_parser: Some("cohere"), reasoning_parser: Some("cohere_cmd"), ..NO_PEERS },
    },
    Format {
        name: "quote tokens (Gemma 4)",
        ours: "google_gemma_4_31b_it",
        prompt: ["<|turn>model\n<|channel>thought\n<channel|>", "<|turn>model\n"],
        reasoning: Some(Reasoning { open: "<|channel>thought\n", close: "\n<channel|>" }),
        content: ["", ""],
        preamble: Some(["", ""]),
        section: ["", ""],
        separator: Some(""),
        call: Call::Quoted { open: "<|tool_call>call:", close: "<tool_call|>", quote: "<|\"|>" },
        first: '<',
        peers: Peers {
            tool_parser: Some("gemma4"),
            reasoning_parser: Some("gemma4"),
            dynamo_tool: Some("gemma4"),
            dynamo_reasoning: Some("gemma4"),
            dynamo_v2_unified: Some("gemma4"),
            dynamo_v2_tool: Some("gemma4"),
        },
    },
    Format {
        name: "channels (gpt-oss)",
        ours: "openai_gpt_oss_120b",
        prompt: ["<|start|>assistant", "<|start|>assistant"],
        reasoning: Some(Reasoning { open: "<|channel|>analysis<|message|>", close: "<|end|><|start|>assistant" }),
        content: ["<|channel|>final<|message|>", "<|return|>"],
        preamble: Some(["<|channel|>commentary<|message|>", "<|end|><|start|>assistant"]),
        section: ["", ""],
        separator: Some("<|start|>assistant"),
        call: Call::Json {
            open: "<|channel|>commentary to=functions.",
            between: " <|constrain|>json<|message|>",
            close: "<|call|>",
        },
        first: '<',
        peers: Peers {
            dynamo_tool: Some("harmony"),
            dynamo_reasoning: Some("gpt_oss"),
            dynamo_v2_unified: Some("gpt_oss"),
            dynamo_v2_tool: Some("harmony"),
            ..NO_PEERS
        },
    },
];
