//! Makes a grammar from a program, tools and options: decides for which part of the turn it holds and what triggers it,
//! and collects what a sampler needs besides.

use unjinja_runtime::abi::{Action, Channel, Hole, Program, State, enter};
use unjinja_runtime::{ChatParser, Tools, Trigger};

use crate::engine::{EngineInput, complete};
use crate::error::GrammarError;
use crate::key_order::sorting;
use crate::options::{GrammarOptions, ToolChoice};
use crate::tool_rules::ToolRules;
use crate::trigger;
use crate::turn::{Limits, Offered, Texts, TurnRules};
use crate::values::Wider;

/// A grammar, and what a sampler needs with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grammar {
    /// The grammar in the language of its [`Target`](super::Target): GBNF, whose first rule is `root`; a structural tag as
    /// JSON; or Lark. Empty if nothing has to be constrained.
    pub text: String,
    /// Whether the grammar holds only from a trigger on; all text before the trigger is free. If false, it holds for
    /// the whole turn.
    pub lazy: bool,
    /// The triggers of a lazy grammar.
    pub triggers: Vec<Trigger>,
    /// Special tokens that the detokenizer must keep as text.
    pub preserved_tokens: Vec<String>,
    /// Texts that end a turn.
    pub stops: Vec<String>,
    /// The part of the constrained text that the prompt already contains. The sampler must be fed with it first. Empty unless
    /// the grammar is GBNF: others begin after it.
    pub prefill: String,
    /// The markers of reasoning; samplers use them for reasoning budgets.
    pub reasoning: Option<Reasoning>,
    /// Where the grammar accepts more than the schemas allow.
    pub widened: Vec<Wider>,
}

/// The markers of reasoning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reasoning {
    /// The opening marker; empty if only a prompt opens reasoning.
    pub start: String,
    /// The closing marker.
    pub end: String,
    /// Whether the model's output begins inside reasoning.
    pub open: bool,
}

/// Makes the grammar of a program. If `tools` is `None`, any tool may be called with any arguments.
///
/// ```
/// use unjinja_grammar::{GrammarError, GrammarOptions, ToolChoice, grammar};
/// use unjinja_runtime::{Tools, abi::*};
///
/// // A format without calls: everything is content.
/// static PROGRAM: Program = Program::new(
///     ModelInfo::named("plain"),
///     const { &[State::new("CONTENT", Some(Hole::Text(Channel::Content))).end(&[])] },
///     StateId(0),
/// );
/// let tools = Tools::from_json(r#"[{"name": "now"}]"#)?;
/// let error = grammar(&PROGRAM, Some(&tools), &GrammarOptions::new().tool_choice(ToolChoice::Required)).unwrap_err();
/// assert_eq!(error, GrammarError::NoCalls);
/// # Ok::<(), unjinja_runtime::ToolsError>(())
/// ```
///
/// # Errors
/// The options cannot be met: a call is required without tools, or no value fits a schema.
pub fn grammar(program: &Program, tools: Option<&Tools>, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
    if program.states.is_empty() {
        return Err(GrammarError::NoProgram);
    }
    let (state, read, rest) = match enter(program, &options.turn) {
        (Some(entry), rest) => (entry.state, &*entry.read, rest),
        (None, rest) => (program.start, "", rest),
    };
    let open = program.reasoning == Some(state);
    let mut grammar = Grammar {
        preserved_tokens: program.info.preserved_tokens.iter().map(ToString::to_string).collect(),
        stops: program.stops().into_iter().map(str::to_owned).collect(),
        reasoning: reasoning(program, open),
        ..Grammar::default()
    };
    let offered = offered(program, tools, options)?;
    let required = matches!(options.tool_choice, ToolChoice::Required | ToolChoice::Named(_));
    if offered.is_none() && options.response_schema.is_none() {
        // Where no call may be made, text that looks like one must be ruled out, whatever tools there are.
        let free = tools.is_none() || options.tool_choice != ToolChoice::None;
        if free || !has_calls(program) {
            return Ok(grammar);
        }
    }
    // Other engines than llama.cpp know free text, so that their grammars hold for the whole turn.
    let gbnf = options.engine.is_none();
    let lazy = gbnf && offered.is_some() && !required && options.response_schema.is_none() && read.is_empty();
    let triggers = match &offered {
        Some(offered) if lazy => trigger::triggers(program, offered, options.manner.white_space),
        _ => Vec::new(),
    };
    grammar.lazy = !triggers.is_empty();
    let limits = Limits {
        offered,
        names: tools.map(|tools| tools.iter().map(|tool| tool.name.clone()).collect()).unwrap_or_default(),
        required,
        parallel: options.parallel_tool_calls,
        manner: options.manner,
        bounds: options.bounds,
        reasoning: options.thinking != Some(false) || open,
        response: options.response_schema.as_ref(),
        texts: Texts::States,
    };
    let (text, values) = match options.engine {
        Some(make) => {
            make(EngineInput { program, state, read, rest, limits, special_tokens: &options.special_tokens })?
        }
        None => {
            let turn = TurnRules::new(program, limits);
            let (made, values) = if grammar.lazy { turn.calls() } else { turn.whole(state, read) };
            let (builder, root) = complete(made, &values)?;
            (builder.grammar(root), values)
        }
    };
    grammar.text = text;
    grammar.triggers = triggers;
    grammar.prefill = if grammar.lazy || !gbnf { String::new() } else { rest.to_owned() };
    grammar.widened = values.widened;
    Ok(grammar)
}

/// The tools that may be called; `None` if none may.
fn offered(
    program: &Program,
    tools: Option<&Tools>,
    options: &GrammarOptions,
) -> Result<Option<Offered>, GrammarError> {
    let choice = &options.tool_choice;
    let named = match choice {
        ToolChoice::None => return Ok(None),
        ToolChoice::Named(name) => Some(name),
        ToolChoice::Auto | ToolChoice::Required => None,
    };
    let wanted = *choice != ToolChoice::Auto;
    if !has_calls(program) {
        return if wanted { Err(GrammarError::NoCalls) } else { Ok(None) };
    }
    let Some(tools) = tools else { return Ok(Some(Offered::Any)) };
    let sorting = sorting(program.key_order);
    let rules = |tool| ToolRules::new(tools, tool, sorting, options.manner.open_objects);
    if let Some(name) = named {
        let tool = tools.get(name).ok_or_else(|| GrammarError::UnknownTool(name.clone()))?;
        return Ok(Some(Offered::These([rules(tool)].into())));
    }
    if tools.is_empty() {
        return if wanted { Err(GrammarError::NoTools) } else { Ok(None) };
    }
    Ok(Some(Offered::These(tools.iter().map(rules).collect())))
}

fn has_calls(program: &Program) -> bool {
    program.states.iter().flat_map(|state| state.transitions.iter()).any(|step| step.does(&Action::Speculate))
}

fn reasoning(program: &Program, open: bool) -> Option<Reasoning> {
    let inside = program.state(program.reasoning?)?;
    let with = |state: &State, action: Action| {
        state.arrows().find(|(_, step)| step.does(&action)).map(|(marker, _)| marker.core.to_string())
    };
    let end = with(inside, Action::CloseReasoning)?;
    let texts = program.states.iter().filter(|state| state.hole == Some(Hole::Text(Channel::Content)));
    let start = texts.filter_map(|state| with(state, Action::OpenReasoning)).next().unwrap_or_default();
    Some(Reasoning { start, end, open })
}

/// Grammars for any parser.
///
/// ```
/// use unjinja_grammar::{GrammarExt, GrammarOptions};
/// use unjinja_runtime::{ChatParser, Tools};
///
/// fn constrained(parser: &dyn ChatParser, tools: &Tools) -> String {
///     match parser.grammar(tools, &GrammarOptions::new()) {
///         Ok(grammar) => grammar.text,
///         Err(error) => error.to_string(),
///     }
/// }
/// ```
pub trait GrammarExt {
    /// The grammar for a sampler, with the schema of each tool compiled in.
    ///
    /// # Errors
    /// The options cannot be met: a call is required without tools, or no value fits a schema.
    fn grammar(&self, tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError>;

    /// A grammar for calls of any tool with any arguments.
    ///
    /// # Errors
    /// Those of [`grammar`](Self::grammar).
    fn grammar_for_any(&self, options: &GrammarOptions) -> Result<Grammar, GrammarError>;
}

impl<P: ChatParser + ?Sized> GrammarExt for P {
    fn grammar(&self, tools: &Tools, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        grammar(self.program(), Some(tools), options)
    }

    fn grammar_for_any(&self, options: &GrammarOptions) -> Result<Grammar, GrammarError> {
        grammar(self.program(), None, options)
    }
}
