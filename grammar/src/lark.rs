//! Lark for llguidance.
//!
//! llguidance reads a text with a lexer, which always takes the longest piece that some terminal matches, and never goes back.
//! GBNF has no lexer: any way to read the text counts. So the terminals here are chosen such that the longest piece is the right
//! one: single characters; quoted strings, of which none begins another; and runs of free text without white space at their
//! beginning and without any character of a marker. A longest piece can only lose ways to read a text and never adds one: what
//! is refused by GBNF is refused here too.
//!
//! A list of states with one rule for each would be right-recursive, which costs llguidance memory for each character. So the
//! states of free text are written the other way round: the rule of a state matches what leads to it.

mod groups;
mod quoted;
mod states;
mod symbols;

use std::collections::{HashMap, HashSet, VecDeque};
use std::fmt::Write;
use std::rc::Rc;

use crate::builder::{Builder, Rule};
use crate::expr::{Class, Expr, ExprKind, Repeat, RuleId};
use crate::free_text::TextPart;
use crate::text_rules::class;
use crate::write;
use groups::Groups;
use quoted::{Effects, Places};
use states::States;

/// The grammar of an expression: the rule `start`, and the rules and terminals that it needs. By its first line, llama.cpp tells
/// it from GBNF.
pub(super) fn lark(builder: &Builder, root: Expr) -> String {
    let mut writer = Writer {
        builder,
        out: "%llguidance {}\n".to_owned(),
        effects: Effects::default(),
        names: HashMap::new(),
        used: ["start".to_owned()].into_iter().collect(),
        waiting: VecDeque::new(),
        states: HashMap::new(),
        groups: Groups::new(builder, root),
    };
    writer.rule("start", root);
    while let Some(next) = writer.waiting.pop_front() {
        writer.definition(next);
    }
    writer.out
}

/// What is defined by a rule or a terminal of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Definition {
    Rule(RuleId),
    /// A rule of the builder, as a terminal.
    Terminal(RuleId),
    /// An expression as a terminal, or as a rule where expressions are nested too deeply.
    Quoted(Expr),
    Group(Expr),
    TerminalGroup(Expr),
    /// What leads from a state of a free text to another.
    State {
        /// The number of the text.
        text: usize,
        from: usize,
        to: usize,
    },
    Run(usize),
}

/// The maximum depth of groups. llguidance allows 30.
const NESTED: usize = 10;

struct Writer<'b> {
    builder: &'b Builder,
    out: String,
    effects: Effects,
    names: HashMap<Definition, String>,
    used: HashSet<String>,
    waiting: VecDeque<Definition>,
    states: HashMap<usize, Rc<States>>,
    groups: Groups,
}

impl Writer<'_> {
    /// The name of what a definition defines. The definition is written later.
    fn name(&mut self, definition: Definition, hint: &str) -> String {
        if let Some(name) = self.names.get(&definition) {
            return name.clone();
        }
        let terminal = matches!(
            definition,
            Definition::Terminal(_) | Definition::Quoted(_) | Definition::TerminalGroup(_) | Definition::Run(_)
        );
        let base = match hint.starts_with(|first: char| first.is_ascii_alphabetic()) {
            true => hint.to_owned(),
            false => format!("rule-{hint}"),
        };
        let base = if terminal { base.to_ascii_uppercase() } else { base.to_ascii_lowercase() };
        let mut name = base.clone();
        let mut number = 1;
        while !self.used.insert(name.clone()) {
            number += 1;
            name = format!("{base}-{number}");
        }
        self.names.insert(definition.clone(), name.clone());
        self.waiting.push_back(definition);
        name
    }

    fn definition(&mut self, definition: Definition) {
        let name = self.names.get(&definition).cloned().unwrap_or_default();
        match definition {
            Definition::Rule(id) => {
                let Some(rule) = self.builder.get(id) else { return };
                if let Some(comment) = &rule.comment {
                    write::comment(&mut self.out, "// ", comment);
                }
                match rule.text {
                    Some(part) => self.text(&name, part),
                    None => self.rule(&name, rule.expr.unwrap_or(Expr::NOTHING)),
                }
            }
            Definition::Group(expr) => self.rule(&name, expr),
            Definition::Terminal(id) => {
                if let Some(expr) = self.builder.get(id).and_then(|rule: &Rule| rule.expr) {
                    self.terminal(&name, expr);
                }
            }
            Definition::Quoted(expr) | Definition::TerminalGroup(expr) => self.terminal(&name, expr),
            Definition::State { text, from, to } => self.state(&name, text, from, to),
            Definition::Run(text) => self.run(&name, text),
        }
    }

    fn rule(&mut self, name: &str, expr: Expr) {
        let _ = write!(self.out, "{name}: ");
        self.expr(expr, 0);
        self.out.push('\n');
    }

    fn terminal(&mut self, name: &str, expr: Expr) {
        let _ = write!(self.out, "{name}: ");
        self.piece(expr, 0);
        self.out.push('\n');
    }

    // ----- rules -----

    /// Writes an expression of a rule. At `depth` 0 no parentheses are needed.
    fn expr(&mut self, expr: Expr, depth: usize) {
        let kind = self.builder.kind(expr);
        if !matches!(kind, ExprKind::Text(_) | ExprKind::Class(_)) && self.effects.is_quoted(self.builder, expr) {
            return self.quoted(expr);
        }
        match kind {
            ExprKind::Text(_) => self.group(&[expr], expr, depth, Self::sequence),
            ExprKind::Class(class) => self.class_or_tokens(&class),
            ExprKind::Rule(rule) => self.reference(rule),
            ExprKind::Sequence(parts) if parts.is_empty() => self.out.push_str("\"\""),
            ExprKind::Choice(parts) if parts.is_empty() => self.out.push_str(symbols::NOTHING),
            ExprKind::Sequence(parts) => self.group(&parts, expr, depth, Self::sequence),
            ExprKind::Choice(parts) => self.group(&parts, expr, depth, Self::choice),
            ExprKind::Repeat(this) => self.repeat(this, depth),
        }
    }

    fn reference(&mut self, rule: RuleId) {
        let rule = self.groups.rule(self.builder, rule);
        let hint = self.builder.name(rule).to_owned();
        let name = self.name(Definition::Rule(rule), &hint);
        self.out.push_str(&name);
    }

    /// A list in parentheses, or as a rule of its own if it is nested too deeply.
    fn group(&mut self, parts: &[Expr], whole: Expr, depth: usize, write: fn(&mut Self, &[Expr], usize)) {
        match depth {
            0 => write(self, parts, 0),
            NESTED.. => {
                let name = self.name(Definition::Group(whole), "group");
                self.out.push_str(&name);
            }
            depth => {
                self.out.push('(');
                write(self, parts, depth);
                self.out.push(')');
            }
        }
    }

    fn choice(&mut self, parts: &[Expr], depth: usize) {
        // Texts up to markers of one group are the same.
        let mut written: HashSet<String> = HashSet::new();
        for &part in parts {
            let from = self.out.len();
            self.out.push_str(if written.is_empty() { "" } else { " | " });
            let begin = self.out.len();
            match self.builder.kind(part) {
                ExprKind::Sequence(parts) if !parts.is_empty() && !self.effects.is_quoted(self.builder, part) => {
                    self.sequence(&parts, depth);
                }
                ExprKind::Text(_) => self.sequence(&[part], depth),
                _ => self.expr(part, depth + 1),
            }
            let alternative = self.out.get(begin..).unwrap_or_default().to_owned();
            if !written.insert(alternative) {
                self.out.truncate(from);
            }
        }
    }

    /// A sequence: its quoted strings as terminals, all other text character by character.
    fn sequence(&mut self, parts: &[Expr], depth: usize) {
        let mut first = true;
        let mut at = (0, 0);
        while let Some(&part) = parts.get(at.0) {
            let ExprKind::Text(text) = self.builder.kind(part) else {
                self.separate(&mut first);
                self.expr(part, depth + 1);
                at = (at.0 + 1, 0);
                continue;
            };
            let Some(char) = text.get(at.1..).and_then(|rest| rest.chars().next()) else {
                at = (at.0 + 1, 0);
                continue;
            };
            self.separate(&mut first);
            let after_word = match text.get(..at.1).and_then(|before| before.chars().next_back()) {
                Some(before) => before.is_alphanumeric(),
                None => at.0.checked_sub(1).is_some_and(|before| self.ends_in_word(parts[before], RULES_DEEP)),
            };
            match self.end_of_quoted(parts, at).filter(|_| !after_word) {
                Some(end) => {
                    self.quoted(between(self.builder, parts, at, end));
                    at = end;
                }
                None => {
                    self.character(char);
                    at.1 += char.len_utf8();
                }
            }
        }
        if first {
            self.out.push_str("\"\"");
        }
    }

    /// Whether an expression may end in a letter. A quote after that closes something, such as the attribute of a tag, and what follows
    /// up to the next quote is no string.
    fn ends_in_word(&self, expr: Expr, depth: usize) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return false };
        match self.builder.kind(expr) {
            ExprKind::Text(text) => text.chars().next_back().is_some_and(char::is_alphanumeric),
            ExprKind::Class(class) => class.contains('a'),
            ExprKind::Sequence(parts) => parts.last().is_some_and(|last| self.ends_in_word(*last, depth)),
            ExprKind::Choice(parts) => parts.iter().any(|part| self.ends_in_word(*part, depth)),
            ExprKind::Repeat(this) => self.ends_in_word(this.body, depth),
            ExprKind::Rule(rule) => {
                let rule = self.builder.get(rule).and_then(|rule| rule.expr);
                rule.is_some_and(|expr| self.ends_in_word(expr, depth))
            }
        }
    }

    fn separate(&mut self, first: &mut bool) {
        if !std::mem::replace(first, false) {
            self.out.push(' ');
        }
    }

    /// Where a quoted string ends that begins at a place of a sequence, if it ends in the sequence.
    fn end_of_quoted(&mut self, parts: &[Expr], from: (usize, usize)) -> Option<(usize, usize)> {
        let mut places = Places::BEFORE;
        let mut offset = from.1;
        for (number, part) in parts.iter().enumerate().skip(from.0) {
            if let ExprKind::Text(text) = self.builder.kind(*part) {
                for (at, char) in text.get(offset..)?.char_indices() {
                    places = places.read(char);
                    if places == Places::AFTER {
                        return Some((number, offset + at + char.len_utf8()));
                    }
                    if places.cannot_continue() {
                        return None;
                    }
                }
            } else {
                places = self.effects.of(self.builder, *part)?.from(places);
                if places == Places::AFTER {
                    return Some((number + 1, 0));
                }
                if places.cannot_continue() {
                    return None;
                }
            }
            offset = 0;
        }
        None
    }

    fn quoted(&mut self, expr: Expr) {
        match self.builder.kind(expr) {
            ExprKind::Text(text) => symbols::literal(&mut self.out, &text),
            ExprKind::Rule(rule) => self.terminal_of(rule),
            _ => {
                let name = self.name(Definition::Quoted(expr), "quoted");
                self.out.push_str(&name);
            }
        }
    }

    fn terminal_of(&mut self, rule: RuleId) {
        let hint = self.builder.name(rule).to_owned();
        let name = self.name(Definition::Terminal(rule), &hint);
        self.out.push_str(&name);
    }

    fn repeat(&mut self, this: Repeat, depth: usize) {
        let single = match self.builder.kind(this.body) {
            ExprKind::Class(_) | ExprKind::Rule(_) => true,
            ExprKind::Text(text) => text.chars().nth(1).is_none(),
            _ => false,
        };
        if single {
            self.expr(this.body, depth);
        } else {
            self.group(&[this.body], this.body, depth + 1, |writer, body, depth| {
                body.iter().for_each(|body| writer.expr(*body, if depth == 0 { 0 } else { depth + 1 }));
            });
        }
        symbols::count(&mut self.out, this.min, this.max);
    }

    /// A character of a rule, or the token that it stands for.
    fn character(&mut self, character: char) {
        match self.builder.tokens().of(character) {
            Some(token) => symbols::token(&mut self.out, token),
            None => symbols::literal(&mut self.out, &character.to_string()),
        }
    }

    /// A class of a rule. The tokens in it are alternatives to its characters.
    fn class_or_tokens(&mut self, class: &Class) {
        let Some((plain, tokens)) = self.builder.tokens().in_class(class) else { return self.class(class) };
        self.out.push('(');
        if !plain.is_empty() {
            self.class(&plain);
        }
        for (number, char) in tokens.into_iter().enumerate() {
            self.out.push_str(if number > 0 || !plain.is_empty() { " | " } else { "" });
            self.character(char);
        }
        self.out.push(')');
    }

    fn class(&mut self, class: &Class) {
        symbols::class(&mut self.out, class);
    }

    // ----- terminals -----

    /// Writes an expression of a terminal.
    fn piece(&mut self, expr: Expr, depth: usize) {
        match self.builder.kind(expr) {
            ExprKind::Text(text) => symbols::literal(&mut self.out, &text),
            ExprKind::Class(class) => self.class(&class),
            ExprKind::Rule(rule) => self.terminal_of(rule),
            ExprKind::Sequence(parts) if parts.is_empty() => self.out.push_str("\"\""),
            ExprKind::Choice(parts) if parts.is_empty() => self.out.push_str(symbols::NOTHING),
            ExprKind::Sequence(parts) => self.pieces(&parts, " ", expr, depth),
            ExprKind::Choice(parts) => self.pieces(&parts, " | ", expr, depth),
            ExprKind::Repeat(this) => {
                let nested = matches!(self.builder.kind(this.body), ExprKind::Repeat(_));
                self.out.push_str(if nested { "(" } else { "" });
                self.piece(this.body, depth + 1);
                self.out.push_str(if nested { ")" } else { "" });
                symbols::count(&mut self.out, this.min, this.max);
            }
        }
    }

    fn pieces(&mut self, parts: &[Expr], between: &str, whole: Expr, depth: usize) {
        if depth >= NESTED {
            let name = self.name(Definition::TerminalGroup(whole), "group");
            self.out.push_str(&name);
            return;
        }
        self.out.push_str(if depth > 0 { "(" } else { "" });
        for (number, part) in parts.iter().enumerate() {
            self.out.push_str(if number > 0 { between } else { "" });
            self.piece(*part, depth + 1);
        }
        self.out.push_str(if depth > 0 { ")" } else { "" });
    }

    // ----- free text -----

    fn states(&mut self, text: usize) -> Rc<States> {
        if let Some(states) = self.states.get(&text) {
            return Rc::clone(states);
        }
        let used = self.groups.used(text);
        let group = |stop| used.contains(&stop).then(|| self.groups.of(text, stop));
        let states = self.builder.free_text(text).map(|free| States::new(&free.until, group));
        let states = Rc::new(states.unwrap_or_default());
        self.states.insert(text, Rc::clone(&states));
        states
    }

    /// A part of a free text: what leads to a state in which the part may end, and the last character of its marker.
    fn text(&mut self, name: &str, part: TextPart) {
        let states = self.states(part.text);
        let from = states.of(part.from);
        let stop = part.stop.map(|stop| self.groups.of(part.text, stop));
        let _ = write!(self.out, "{name}: ");
        let mut first = true;
        for (number, state) in states.all.iter().enumerate() {
            let ends = state.stops.iter().filter(|(_, other)| stop == Some(*other)).map(|(char, _)| Some(*char));
            let peeks = state.peeks.iter().filter(|other| stop == Some(**other)).map(|_| None);
            let end = (stop.is_none() && state.may_end).then_some(None);
            for last in ends.chain(peeks).chain(end) {
                self.separate_alternative(&mut first);
                self.state_name(part.text, from, number);
                if let Some(last) = last {
                    self.out.push(' ');
                    self.character(last);
                }
            }
        }
        if first {
            self.out.push_str(symbols::NOTHING);
        }
        self.out.push('\n');
    }

    fn state_name(&mut self, text: usize, from: usize, state: usize) {
        let name = self.name(Definition::State { text, from, to: state }, &format!("text-{text}-{state}"));
        self.out.push_str(&name);
    }

    /// What leads to a state: nothing to the first one, and what leads to the states before it.
    fn state(&mut self, name: &str, text: usize, start: usize, state: usize) {
        let states = self.states(text);
        let _ = write!(self.out, "{name}: ");
        let mut first = true;
        if state == start {
            self.out.push_str("\"\"");
            first = false;
        }
        for (from, before) in states.all.iter().enumerate() {
            for (chars, _) in before.next.iter().filter(|(_, to)| *to == state) {
                self.separate_alternative(&mut first);
                self.state_name(text, start, from);
                self.out.push(' ');
                let chars_read = class(self.builder, chars);
                match self.builder.kind(chars_read) {
                    ExprKind::Class(class) if from == states.of(0) && state == from && chars.negated => {
                        let run = self.name(Definition::Run(text), &format!("text-{text}"));
                        self.out.push_str(&run);
                        // What may also begin a marker is a piece of its own.
                        let single = class.intersect(&Class::of(
                            &before.stops.iter().map(|(char, _)| *char).chain(SPACE).collect::<Vec<_>>(),
                        ));
                        if !single.is_empty() {
                            self.out.push_str(" | ");
                            self.state_name(text, start, from);
                            self.out.push(' ');
                            self.class(&single);
                        }
                    }
                    _ => self.expr(chars_read, 1),
                }
            }
        }
        if first {
            self.out.push_str(symbols::NOTHING);
        }
        self.out.push('\n');
    }

    fn separate_alternative(&mut self, first: &mut bool) {
        if !std::mem::replace(first, false) {
            self.out.push_str(" | ");
        }
    }

    /// A run of free text: no white space first, because white space may also belong to what comes instead of the text; and no
    /// character that is a marker by itself, such as the bracket of a list of calls.
    fn run(&mut self, name: &str, text: usize) {
        let states = self.states(text);
        let begin = states.of(0);
        let Some(state) = states.all.get(begin) else { return };
        let stops = || state.stops.iter().map(|(char, _)| *char);
        for (chars, _) in state.next.iter().filter(|(chars, to)| chars.negated && *to == begin) {
            let excluded = || chars.chars.iter().copied().chain(stops()).chain(['\0']);
            let all = Class::of(&excluded().collect::<Vec<_>>()).negate();
            let begin = Class::of(&excluded().chain(SPACE).collect::<Vec<_>>()).negate();
            let _ = write!(self.out, "{name}: ");
            self.class(&begin);
            self.out.push(' ');
            self.class(&all);
            self.out.push_str("*\n");
        }
    }
}

/// How deeply rules are followed to see whether one may end in a letter: names are close by.
const RULES_DEEP: usize = 5;

const SPACE: [char; 4] = ['\t', '\n', '\r', ' '];

/// The part of a sequence between two places.
fn between(builder: &Builder, parts: &[Expr], from: (usize, usize), to: (usize, usize)) -> Expr {
    let mut all: Vec<Expr> = Vec::new();
    for (number, part) in parts.iter().enumerate().skip(from.0).take_while(|(number, _)| *number <= to.0) {
        let (begin, end) = (if number == from.0 { from.1 } else { 0 }, if number == to.0 { Some(to.1) } else { None });
        match (builder.kind(*part), end) {
            (ExprKind::Text(whole), end) => {
                all.push(builder.text(whole.get(begin..end.unwrap_or(whole.len())).unwrap_or_default()));
            }
            (_, Some(_)) => {}
            (_, None) => all.push(*part),
        }
    }
    builder.sequence(&all)
}
