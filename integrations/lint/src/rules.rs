//! The list of all rules: their names, how bad a finding is at worst, and what they say in a line. The experiments for
//! them are in the files of the groups.

use super::severity::Severity;

/// The fewest letters of a word by which [`Rule::similar`] finds rules.
const LEAST_WORD: usize = 4;

/// What a rule is called, and what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Rule {
    /// The name, in kebab-case: `null-content`.
    pub id: &'static str,
    /// How bad a finding of this rule is at worst.
    pub severity: Severity,
    /// What the rule finds, in a sentence.
    pub about: &'static str,
}

impl Rule {
    /// The rule with this name.
    ///
    /// ```
    /// use unjinja_lint::{Rule, Severity};
    ///
    /// assert_eq!(Rule::named("null-content").map(|rule| rule.severity), Some(Severity::Error));
    /// assert_eq!(Rule::named("no-such-rule"), None);
    /// ```
    pub fn named(id: &str) -> Option<Rule> {
        RULES.iter().chain(RESPONSE_RULES).find(|rule| rule.id == id).copied()
    }

    /// Whether a template with a finding of this rule is not examined further: it cannot be parsed or rendered, so no other rule can
    /// say anything, and nothing can be repaired.
    ///
    /// ```
    /// use unjinja_lint::Rule;
    ///
    /// assert!(Rule::named("syntax-error").is_some_and(Rule::ends_examination));
    /// assert!(!Rule::named("null-content").is_some_and(Rule::ends_examination));
    /// ```
    pub fn ends_examination(self) -> bool {
        self == SYNTAX_ERROR || self == NOT_RENDERABLE
    }

    /// The rules that someone may have meant by a name that no rule has: the one that is spelled most like it, or else all that have a
    /// word of it.
    ///
    /// ```
    /// use unjinja_lint::Rule;
    ///
    /// let ids = |name| Rule::similar(name).iter().map(|rule| rule.id).collect::<Vec<_>>();
    /// assert_eq!(ids("null_content"), ["null-content"]);
    /// assert!(ids("reasoning").contains(&"reasoning-dropped") && ids("reasoning").contains(&"content-as-reasoning"));
    /// assert!(ids("banana").is_empty());
    /// ```
    pub fn similar(name: &str) -> Vec<Rule> {
        let all = || RULES.iter().chain(RESPONSE_RULES);
        let name = name.to_lowercase().replace(['_', ' '], "-");
        if let Some(rule) = unjinja_spec::nearest(&name, all().map(|rule| rule.id)).and_then(Rule::named) {
            return vec![rule];
        }
        // Shorter words, such as `in`, say too little.
        let words: Vec<&str> = name.split('-').filter(|word| word.len() >= LEAST_WORD).collect();
        let has_word = |rule: &&Rule| rule.id.split('-').any(|word| words.contains(&word));
        all().filter(has_word).copied().collect()
    }

    /// Why the rule matters, an example, and what to do, as Markdown.
    ///
    /// ```
    /// use unjinja_lint::Rule;
    ///
    /// let rule = Rule::named("null-content").ok_or("no such rule")?;
    /// assert!(rule.explanation().starts_with("**Why.** The OpenAI API returns"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explanation(&self) -> &'static str {
        let heading = format!("## {}\n", self.id);
        let (_, rest) = include_str!("explanations.md").split_once(&heading).unwrap_or_default();
        rest.split("\n## ").next().unwrap_or_default().trim()
    }
}

macro_rules! rules {
    ($(#[$docs:meta])* $list:ident: $($name:ident = $id:literal, $severity:ident, $about:literal;)+) => {
        $(pub(super) const $name: Rule = Rule { id: $id, severity: Severity::$severity, about: $about };)+

        $(#[$docs])*
        pub const $list: &[Rule] = &[$($name),+];
    };
}

rules! {
    /// The rules about chat templates.
    RULES:
    // The template as a whole.
    SYNTAX_ERROR = "syntax-error", Error, "The template cannot be parsed.";
    NOT_RENDERABLE = "not-renderable", Error, "A user message and an answer cannot be rendered.";
    TRANSFORMERS_REFUSES = "transformers-refuses", Error, "transformers refuses a conversation that other engines render.";
    NOT_READ_BACK = "not-read-back", Note, "The analysis cannot read back something that the template writes.";
    // What clients send.
    NULL_CONTENT = "null-content", Error, "Where null reaches the template, a turn of calls whose content is `null` fails, or `None` is written.";
    MISSING_CONTENT = "missing-content", Error, "A turn of calls without the key `content` fails.";
    OBJECT_ARGUMENTS = "object-arguments", Error, "Arguments as an object fail; servers hand them over that way.";
    TEXT_ARGUMENTS = "text-arguments", Warning,
        "Arguments as JSON text, as the OpenAI API has them, fail or are encoded twice.";
    EMPTY_ARGUMENTS = "empty-arguments", Error, "A call without arguments fails or is lost.";
    EMPTY_TOOL_CALLS = "empty-tool-calls", Warning, "`tool_calls` that is `null` or empty changes a plain answer.";
    EMPTY_TOOLS = "empty-tools", Warning, "An empty list of tools is not the same as no tools.";
    TYPED_CONTENT = "typed-content", Note, "Content as a list of typed parts fails or is written as a list.";
    PLAIN_CONTENT = "plain-content", Note, "Content as a plain text fails or is lost: only typed parts are taken.";
    TYPED_RESULT = "typed-tool-result", Warning,
        "A tool result of typed parts is lost, although other messages may have them.";
    TOOLS_ONCE = "tools-not-sent-again", Error, "A conversation with calls is lost or fails if `tools` are not sent again.";
    REASONING_ALONE = "reasoning-without-content", Error, "A turn with reasoning and `null` as its content fails.";
    TOOL_RESULTS = "consecutive-tool-results", Error, "The results of two calls in a row fail, or one is lost.";
    RESULT_NAME = "tool-result-without-name", Error, "A tool result without `name` fails, or its tool is not named.";
    CALL_ID = "call-id-form", Error, "Call ids as the OpenAI API makes them are refused, or the name is lost.";
    NAME_FIELD = "name-field", Error, "A message with the field `name` fails or is lost.";
    SYSTEM_ROLE = "system-role", Warning, "A system message is lost or refused.";
    LATE_SYSTEM = "late-system", Warning, "A system message in the middle is lost or refused.";
    DEVELOPER_ROLE = "developer-role", Warning, "A message of the role `developer` is lost or refused.";
    CONSECUTIVE_USERS = "consecutive-users", Warning, "Two user messages in a row: one is lost, or they are refused.";
    SEVERAL_CALLS = "several-calls", Error, "Of two calls in a turn one is lost, or they are refused.";
    // Values.
    PYTHON_IN_CALLS = "python-in-calls", Error, "Python's `None`, `True` or `{'a': 1}` is in calls instead of JSON.";
    PYTHON_IN_TOOLS = "python-in-tools", Warning, "Python's `None`, `True` or `{'a': 1}` is in the offered tools.";
    HTML_ESCAPE = "html-escape", Warning, "Text is escaped as for HTML, so the model reads `&lt;` instead of `<`.";
    UNESCAPED_QUOTE = "unescaped-quote", Error, "A text is put between quotes, and quotes in it are not escaped.";
    VALUE_CHANGED = "value-changed", Warning, "An argument comes back as another value than the one that was given.";
    VALUE_CAN_END = "value-can-end-early", Note, "A value that contains its own closing marker ends there.";
    // Losses.
    MESSAGE_DROPPED = "message-dropped", Error, "The text of a message is not in the prompt.";
    CALL_DROPPED = "call-dropped", Error, "Tools are offered, but calls of earlier turns are not in the prompt.";
    CONTENT_DROPPED = "content-dropped", Warning, "The content of a turn of calls is not in the prompt.";
    CONTENT_AS_REASONING = "content-as-reasoning", Error, "The content of a turn of calls is written as reasoning.";
    RESULT_DROPPED = "result-dropped", Error, "A tool result is not in the prompt.";
    RESULT_NOT_LINKED = "result-not-linked", Note, "Results in another order than their calls cannot be told apart.";
    TOOLS_IGNORED = "tools-ignored", Note, "The offered tools are not in the prompt.";
    CONTENT_TWICE = "content-twice", Warning, "The text of a message is in the prompt twice.";
    MESSAGE_ORDER = "message-order", Warning, "Messages are in the prompt in another order than they were sent.";
    WHITE_SPACE = "white-space-lost", Note, "White space at the ends of a user message or a tool result is removed.";
    // Turns and the server's cache.
    TURN_NOT_CONTINUED = "turn-not-continued", Warning,
        "A turn in the history does not begin like the prompt that asked for it.";
    PREFIX_CHANGES = "prefix-changes", Warning, "A longer conversation changes the text before it.";
    REASONING_DROPPED = "reasoning-dropped", Note, "Reasoning of an earlier turn is left out.";
    NO_GENERATION_PROMPT = "no-generation-prompt", Warning, "`add_generation_prompt` does not begin the answer.";
    UNBALANCED = "unbalanced-markers", Warning, "A marker is opened and not closed, or closed and not opened.";
    OPENS_TURN = "text-opens-turn", Note, "The text of a user can end its turn and begin another.";
    // Variables.
    UNDEFINED = "undefined-variable", Warning, "A variable is written that nothing sets.";
    TOKEN_UNSET = "special-token-unset", Warning, "The template writes a special token that the tokenizer does not set.";
    DATE = "date-dependent", Note, "The prompt depends on the date.";
    // Comments to the linter.
    UNUSED_ALLOW = "unused-allow", Warning, "A comment allows a rule that finds nothing.";
    UNKNOWN_ALLOW = "unknown-allow", Error, "A comment to the linter names no rule.";
}

rules! {
    /// The rules about response templates.
    RESPONSE_RULES:
    RESPONSE_INVALID = "response-invalid", Error, "The response template is not valid, or has a pattern that cannot be tried.";
    RESPONSE_CONVERSATION = "response-conversation", Error, "A turn that the chat template writes is read as something else.";
    RESPONSE_TEXT_AROUND = "response-text-around-call", Warning, "Text before or after a call is lost.";
    RESPONSE_MENTION = "response-mentioned-marker", Warning, "Text that only mentions the marker of a call is lost, or fails.";
    RESPONSE_CLOSER = "response-closer-in-value", Warning, "A closing marker in an argument ends the argument or the call.";
    RESPONSE_SPACE = "response-white-space", Warning, "White space at the ends of an argument is lost.";
    RESPONSE_CUT = "response-cut-call", Warning, "A call that is cut off takes the whole message with it.";
    RESPONSE_REASONING = "response-call-in-reasoning", Warning,
        "A call after reasoning that was not closed is read as reasoning.";
}
