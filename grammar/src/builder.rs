//! Collects the rules of a grammar: names them, shares equal ones, and writes repetitions in a form that llama.cpp
//! accepts.
//!
//! llama.cpp copies a repeated expression, and counts the copies of nested repetitions against one limit. So a repeated
//! body becomes a rule of its own unless it is small, and a high count is built from chunks. The chunks are
//! unambiguous: at any point at most two of them can be open.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::expr::{Class, Expr, ExprKind, Exprs, Repeat, RuleId};
use crate::free_text::{FreeText, TextPart};
use crate::special_tokens::Tokens;
use crate::syntax::{Manner, Syntax, WhiteSpace};
use crate::until::TextState;

/// The highest count that is written. llama.cpp refuses higher ones.
pub const MAX_REPETITION: u32 = 1999;
/// The highest maximum that is kept exactly, by means of chunks. A higher one is dropped.
pub const MAX_COUNT: u32 = 100_000;
/// The number of repetitions in a chunk.
const CHUNK: u32 = 1000;
/// The maximum number of rules that llama.cpp may make of a repeated group that stays in place.
const LIGHT: u64 = 32;
/// Rule names are cut at this length.
const NAME: usize = 48;
pub(super) const ROOT: &str = "root";

/// What can be written where an expression is expected: an expression, a rule, or a class.
pub trait IntoExpr {
    /// The expression.
    fn into_expr(self, builder: &Builder) -> Expr;
}

impl IntoExpr for Expr {
    fn into_expr(self, _: &Builder) -> Expr {
        self
    }
}

impl IntoExpr for RuleId {
    fn into_expr(self, _: &Builder) -> Expr {
        self.into()
    }
}

impl IntoExpr for Class {
    fn into_expr(self, builder: &Builder) -> Expr {
        builder.class(self)
    }
}

/// A rule: a name, and what it matches.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Letters, digits and `-`, distinct in its grammar.
    pub name: String,
    /// What it matches. `None` only while it is reserved.
    pub expr: Option<Expr>,
    /// A comment of one line.
    pub comment: Option<String>,
    /// The free text that the rule is, if it is one.
    pub(super) text: Option<TextPart>,
}

/// The rules of a grammar while it is built.
///
/// ```
/// use unjinja_grammar::{Builder, Class};
///
/// let mut builder = Builder::new();
/// let digit = builder.rule("digit", Class::ranges(&[('0', '9')]));
/// let number = builder.rule("a number", builder.sequence(&[digit.into(), builder.many(digit)]));
/// let either = builder.choice(&[builder.text("none\n"), number.into()]);
/// let grammar = builder.grammar(either);
/// assert_eq!(grammar, "root ::= \"none\\n\" | a-number\na-number ::= digit digit*\ndigit ::= [0-9]\n");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Builder {
    pub(super) exprs: RefCell<Exprs>,
    rules: Vec<Rule>,
    /// The names in use. For a name without a number: the last number that was added to it.
    names: HashMap<String, u32>,
    /// The rules of expressions.
    known: HashMap<Expr, RuleId>,
    /// Rules that were kept for a purpose, to be found again.
    kept: HashMap<String, RuleId>,
    syntax: Syntax,
    manner: Manner,
    texts: Vec<Arc<FreeText>>,
    /// Automata of text whose characters are counted, with their stops.
    counted: Vec<(Vec<TextState>, Vec<usize>)>,
    tokens: Tokens,
}

impl Builder {
    /// A builder without rules.
    pub fn new() -> Self {
        let mut builder = Self::default();
        builder.names.insert(ROOT.to_owned(), 1);
        builder
    }

    /// The rule for an expression. If there is none yet, a new one gets a name like `hint`.
    pub fn rule(&mut self, hint: &str, expr: impl IntoExpr) -> RuleId {
        let expr = self.normal(hint, expr.into_expr(self));
        self.intern(hint, expr)
    }

    /// A rule that other rules can use before it is defined. It must be [defined](Self::define) later; until then it
    /// matches nothing.
    pub fn reserve(&mut self, hint: &str) -> RuleId {
        self.add(hint, None)
    }

    /// Defines a reserved rule.
    pub fn define(&mut self, rule: RuleId, expr: impl IntoExpr) {
        let hint = self.name(rule).to_owned();
        let expr = self.normal(&hint, expr.into_expr(self));
        if let Some(rule) = self.rules.get_mut(rule.0 as usize) {
            rule.expr = Some(expr);
        }
    }

    /// Sets the comment of a rule: one line.
    pub fn comment(&mut self, rule: RuleId, comment: &str) {
        if let Some(rule) = self.rules.get_mut(rule.0 as usize) {
            rule.comment = Some(comment.to_owned());
        }
    }

    /// Sets the syntax for values that are added from now on.
    pub fn set_syntax(&mut self, syntax: Syntax) {
        self.syntax = syntax;
    }

    /// The syntax in which values are written.
    pub fn syntax(&self) -> &Syntax {
        &self.syntax
    }

    /// Sets how integers may be written. They must not have been written yet.
    /// Which white space values may have. It must be said before the first value is written.
    pub fn set_white_space(&mut self, white_space: WhiteSpace) {
        self.manner.white_space = white_space;
    }

    /// Whether objects may have members that their schemas do not name, where the schemas have `properties` and do not say.
    pub fn set_open_objects(&mut self, on: bool) {
        self.manner.open_objects = on;
    }

    pub(super) fn set_manner(&mut self, manner: Manner) {
        self.manner = manner;
    }

    pub(super) fn manner(&self) -> Manner {
        self.manner
    }

    /// The rule that was [kept](Self::keep) for this purpose and the current syntax.
    pub fn kept(&self, purpose: &str) -> Option<RuleId> {
        self.kept.get(&format!("{}{purpose}", self.syntax.prefix())).copied()
    }

    /// Remembers a rule for a purpose and the current syntax, so that it is made once.
    pub fn keep(&mut self, purpose: &str, rule: RuleId) {
        self.kept.insert(format!("{}{purpose}", self.syntax.prefix()), rule);
    }

    /// The number of an automaton of text with these stops: the same ones have the same number.
    pub(super) fn number_of(&mut self, states: &[TextState], stops: &[usize]) -> usize {
        let known = self.counted.iter().position(|(known, of)| known == states && of == stops);
        known.unwrap_or_else(|| {
            self.counted.push((states.to_vec(), stops.to_vec()));
            self.counted.len() - 1
        })
    }

    pub(super) fn add_text(&mut self, text: Arc<FreeText>) -> usize {
        let known = self.texts.iter().position(|known| known.stops == text.stops);
        known.unwrap_or_else(|| {
            self.texts.push(text);
            self.texts.len() - 1
        })
    }

    pub(super) fn set_tokens(&mut self, tokens: Tokens) {
        self.tokens = tokens;
    }

    pub(super) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    pub(super) fn free_text(&self, number: usize) -> Option<Arc<FreeText>> {
        self.texts.get(number).cloned()
    }

    pub(super) fn mark_text(&mut self, rule: RuleId, part: TextPart) {
        if let Some(rule) = self.rules.get_mut(rule.0 as usize) {
            rule.text = Some(part);
        }
    }

    /// The rules that an expression needs, in the order in which it needs them. Nothing is looked for below a `leaf`.
    pub(super) fn needed(&self, root: Expr, leaf: impl Fn(&Rule) -> bool) -> Vec<RuleId> {
        let mut seen = vec![false; self.rules.len()];
        let mut order = Vec::new();
        let mut pending = Vec::new();
        self.references(root, &mut pending);
        pending.reverse();
        while let Some(id) = pending.pop() {
            let Some(rule) = self.get(id).filter(|_| !std::mem::replace(&mut seen[id.0 as usize], true)) else {
                continue;
            };
            order.push(id);
            let from = pending.len();
            if let Some(expr) = rule.expr.filter(|_| !leaf(rule)) {
                self.references(expr, &mut pending);
            }
            pending[from..].reverse();
        }
        order
    }

    /// The name of a rule.
    pub fn name(&self, rule: RuleId) -> &str {
        self.get(rule).map_or("", |rule| &rule.name)
    }

    /// A rule, if it belongs to this builder.
    pub fn get(&self, rule: RuleId) -> Option<&Rule> {
        self.rules.get(rule.0 as usize)
    }

    /// The number of rules, without the root.
    pub fn len(&self) -> usize {
        self.rules.len()
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Whether a rule matches any text at all. A rule that can only ever lead back to itself does not. Reserved rules
    /// are assumed to match something.
    pub fn matches_some(&self, rule: RuleId) -> bool {
        let mut reached = vec![rule];
        let mut seen: HashSet<RuleId> = [rule].into_iter().collect();
        let mut at = 0;
        while let Some(&rule) = reached.get(at) {
            at += 1;
            let mut below = Vec::new();
            if let Some(expr) = self.get(rule).and_then(|rule| rule.expr) {
                self.references(expr, &mut below);
            }
            reached.extend(below.into_iter().filter(|rule| seen.insert(*rule)));
        }
        // Rules mostly use rules that follow them here. So going backwards, one round finds nearly all.
        let mut good: HashSet<RuleId> = HashSet::new();
        loop {
            let before = good.len();
            for &rule in reached.iter().rev() {
                let matches = self.get(rule).and_then(|rule| rule.expr);
                if !good.contains(&rule) && matches.is_none_or(|expr| self.matches_with(expr, &good)) {
                    good.insert(rule);
                }
            }
            if good.contains(&rule) || good.len() == before {
                return good.contains(&rule);
            }
        }
    }

    /// The rules of the grammar, the root first and only those that it needs, in the order in which it needs them.
    pub fn rules(mut self, root: impl IntoExpr) -> (Self, Vec<RuleId>) {
        let root = self.normal(ROOT, root.into_expr(&self));
        let mut order = vec![self.id()];
        order.extend(self.needed(root, |_| false));
        self.rules.push(Rule { name: ROOT.to_owned(), expr: Some(root), comment: None, text: None });
        (self, order)
    }

    fn intern(&mut self, hint: &str, expr: Expr) -> RuleId {
        if let ExprKind::Rule(rule) = self.kind(expr) {
            return rule;
        }
        if let Some(&rule) = self.known.get(&expr) {
            return rule;
        }
        let rule = self.add(hint, Some(expr));
        self.known.insert(expr, rule);
        rule
    }

    fn add(&mut self, hint: &str, expr: Option<Expr>) -> RuleId {
        let id = self.id();
        let name = self.free_name(hint);
        self.rules.push(Rule { name, expr, comment: None, text: None });
        id
    }

    fn id(&self) -> RuleId {
        RuleId(u32::try_from(self.rules.len()).unwrap_or(u32::MAX))
    }

    /// A name that is not in use: the hint with `-` for everything but letters and digits, and a number if needed.
    fn free_name(&mut self, hint: &str) -> String {
        let base = clean(hint);
        let mut number = self.names.get(&base).copied().unwrap_or(0);
        loop {
            number += 1;
            let name = if number == 1 { base.clone() } else { format!("{base}-{number}") };
            if number > 1 && self.names.contains_key(&name) {
                continue;
            }
            self.names.insert(base, number);
            self.names.entry(name.clone()).or_insert(1);
            return name;
        }
    }

    /// The same expression in a form that llama.cpp accepts.
    fn normal(&mut self, hint: &str, expr: Expr) -> Expr {
        if self.is_normal(expr) {
            return expr;
        }
        match self.kind(expr) {
            ExprKind::Sequence(parts) => {
                let parts = self.each(hint, &parts);
                self.sequence(&parts)
            }
            ExprKind::Choice(parts) => {
                let parts = self.each(hint, &parts);
                self.choice(&parts)
            }
            ExprKind::Repeat(Repeat { body, min, max }) => {
                let body = self.normal(hint, body);
                self.repetition(hint, body, min, max)
            }
            ExprKind::Text(_) | ExprKind::Class(_) | ExprKind::Rule(_) => expr,
        }
    }

    fn each(&mut self, hint: &str, parts: &[Expr]) -> Vec<Expr> {
        parts.iter().map(|part| self.normal(hint, *part)).collect()
    }

    fn repetition(&mut self, hint: &str, body: Expr, min: u32, max: Option<u32>) -> Expr {
        let inline = self.stays_inline(body, min, max);
        let body = if inline { body } else { self.intern(&format!("{hint}-item"), body).into() };
        let more = max.map(|max| max.saturating_sub(min));
        let (first, rest) = match more {
            _ if min.max(max.unwrap_or(0)) <= MAX_REPETITION => return self.repeat(body, min, max),
            Some(more) if more <= MAX_COUNT => (self.exactly(hint, body, min), self.up_to(hint, body, more)),
            _ => (self.exactly(hint, body, min), self.many(body)),
        };
        self.sequence(&[first, rest])
    }

    /// The body exactly `count` times: chunks, chunks of chunks, and the rest.
    fn exactly(&mut self, hint: &str, body: Expr, count: u32) -> Expr {
        if count <= MAX_REPETITION {
            return self.repeat(body, count, Some(count));
        }
        let chunk = self.chunk(hint, body);
        let chunks = self.exactly(hint, chunk.into(), count / CHUNK);
        self.sequence(&[chunks, self.repeat(body, count % CHUNK, Some(count % CHUNK))])
    }

    fn chunk(&mut self, hint: &str, body: Expr) -> RuleId {
        self.intern(&format!("{hint}-chunk"), self.repeat(body, CHUNK, Some(CHUNK)))
    }

    /// The body at most `count` times: less than a chunk, or a chunk and at most the rest.
    fn up_to(&mut self, hint: &str, body: Expr, count: u32) -> Expr {
        if count <= MAX_REPETITION {
            return self.repeat(body, 0, Some(count));
        }
        let chunk = self.chunk(hint, body);
        let less = self.intern(&format!("{hint}-less"), self.repeat(body, 0, Some(CHUNK - 1)));
        let mut all = self.repeat(body, 0, Some(count % CHUNK));
        for _ in 0..count / CHUNK {
            let more = self.sequence(&[chunk.into(), all]);
            all = self.intern(&format!("{hint}-up-to"), self.choice(&[less.into(), more])).into();
        }
        all
    }

    fn references(&self, expr: Expr, into: &mut Vec<RuleId>) {
        match self.kind(expr) {
            ExprKind::Rule(rule) => into.push(rule),
            ExprKind::Sequence(parts) | ExprKind::Choice(parts) => {
                parts.iter().for_each(|part| self.references(*part, into))
            }
            ExprKind::Repeat(this) => self.references(this.body, into),
            ExprKind::Text(_) | ExprKind::Class(_) => {}
        }
    }

    /// Whether an expression matches some text, if the rules in `good` do.
    fn matches_with(&self, expr: Expr, good: &HashSet<RuleId>) -> bool {
        match self.kind(expr) {
            ExprKind::Text(_) => true,
            ExprKind::Class(class) => !class.is_empty(),
            ExprKind::Rule(rule) => good.contains(&rule),
            ExprKind::Sequence(parts) => parts.iter().all(|part| self.matches_with(*part, good)),
            ExprKind::Choice(parts) => parts.iter().any(|part| self.matches_with(*part, good)),
            ExprKind::Repeat(this) => this.min == 0 || self.matches_with(this.body, good),
        }
    }

    /// Whether a repeated body is written in place instead of as a rule.
    fn stays_inline(&self, body: Expr, min: u32, max: Option<u32>) -> bool {
        let counted = min > 1 || max.is_some_and(|max| max > 1);
        match self.kind(body) {
            ExprKind::Class(_) | ExprKind::Rule(_) => true,
            ExprKind::Text(text) => !counted || text.chars().nth(1).is_none(),
            _ => !counted && self.weight(body) <= LIGHT,
        }
    }

    /// Whether all repetitions in an expression have a form that llama.cpp accepts.
    fn is_normal(&self, expr: Expr) -> bool {
        match self.kind(expr) {
            ExprKind::Text(_) | ExprKind::Class(_) | ExprKind::Rule(_) => true,
            ExprKind::Sequence(parts) | ExprKind::Choice(parts) => parts.iter().all(|part| self.is_normal(*part)),
            ExprKind::Repeat(Repeat { body, min, max }) => {
                min.max(max.unwrap_or(0)) <= MAX_REPETITION && self.stays_inline(body, min, max) && self.is_normal(body)
            }
        }
    }

    /// The number of rules that llama.cpp makes of an expression in parentheses, at most.
    fn weight(&self, expr: Expr) -> u64 {
        match self.kind(expr) {
            ExprKind::Text(_) | ExprKind::Class(_) => 0,
            // A rule that is used for the first time counts as well.
            ExprKind::Rule(_) => 1,
            ExprKind::Sequence(parts) | ExprKind::Choice(parts) => {
                1 + parts.iter().map(|part| self.weight(*part)).sum::<u64>()
            }
            ExprKind::Repeat(this) => {
                1 + self.weight(this.body) + u64::from(this.max.unwrap_or(1).saturating_sub(this.min))
            }
        }
    }
}

/// The hint as a rule name: letters, digits, and single `-` between them. Never empty.
fn clean(hint: &str) -> String {
    let mut name = String::with_capacity(hint.len().min(NAME));
    for byte in hint.bytes() {
        if name.len() >= NAME {
            break;
        }
        if byte.is_ascii_alphanumeric() {
            name.push(char::from(byte));
        } else if !name.is_empty() && !name.ends_with('-') {
            name.push('-');
        }
    }
    name.truncate(name.trim_end_matches('-').len());
    if name.is_empty() { "rule".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_clean_and_distinct() {
        let mut builder = Builder::new();
        let names: Vec<String> = ["a_b", "a-b", "", "é", "root", "--x--", "a-b-2", "a b", "__", "Root", "a-b"]
            .into_iter()
            .map(|hint| {
                let rule = builder.reserve(hint);
                builder.name(rule).to_owned()
            })
            .collect();
        assert_eq!(
            names,
            ["a-b", "a-b-2", "rule", "rule-2", "root-2", "x", "a-b-2-2", "a-b-3", "rule-3", "Root", "a-b-4"]
        );
        let long = builder.reserve(&"long_name".repeat(100));
        assert!(builder.name(long).len() <= NAME);
    }

    #[test]
    fn equal_bodies_are_one_rule() {
        let mut builder = Builder::new();
        let first = builder.rule("first", builder.sequence(&[builder.text("a"), builder.text("b")]));
        let second = builder.rule("second", builder.text("ab"));
        let third = builder.rule("third", builder.text("ac"));
        assert_eq!(first, second);
        assert_ne!(first, third);
        assert_eq!(builder.rule("alias", third), third);
        assert_eq!(builder.len(), 2);
    }

    #[test]
    fn a_grammar_has_what_its_root_needs() {
        let mut builder = Builder::new();
        builder.rule("unused", builder.text("x"));
        let list = builder.reserve("list");
        let item = builder.rule("item", builder.choice(&[builder.text("i"), list.into()]));
        builder.comment(item, "one\nof them");
        builder.define(list, builder.sequence(&[builder.text("["), builder.many(item), builder.text("]")]));
        let nothing = builder.reserve("undefined");
        let root = builder.sequence(&[
            item.into(),
            builder.option(nothing),
            builder.option(builder.sequence(&[builder.text("a"), builder.some(builder.text("b"))])),
        ]);
        assert_eq!(
            builder.grammar(root),
            "root ::= item undefined? (\"a\" \"b\"+)?\n# one of them\nitem ::= \"i\" | list\nlist ::= \"[\" item* \"]\"\n\
             undefined ::= [^\\x00-\\U0010FFFF]\n"
        );
    }

    #[test]
    fn repetitions_stay_inside_the_limits() {
        let builder = Builder::new();
        let ab = || builder.text("ab");
        for (expr, expected) in [
            (builder.repeat(builder.text("a"), 0, Some(1999)), "root ::= \"a\"{0,1999}\n"),
            (builder.repeat(builder.text("a"), 2, None), "root ::= \"a\"{2,}\n"),
            (builder.repeat(ab(), 3, Some(3)), "root ::= root-item{3}\nroot-item ::= \"ab\"\n"),
            (builder.many(ab()), "root ::= \"ab\"*\n"),
            (builder.option(builder.choice(&[ab(), builder.text("c")])), "root ::= (\"ab\" | \"c\")?\n"),
            (
                builder.repeat(builder.repeat(builder.text("b"), 0, Some(50)), 0, Some(50)),
                "root ::= root-item{0,50}\nroot-item ::= \"b\"{0,50}\n",
            ),
            (
                builder.option(builder.repeat(builder.text("b"), 1, Some(50))),
                "root ::= root-item?\nroot-item ::= \"b\"{1,50}\n",
            ),
            (
                builder.repeat(builder.text("a"), 2500, None),
                "root ::= root-chunk{2} \"a\"{500} \"a\"*\nroot-chunk ::= \"a\"{1000}\n",
            ),
            (
                builder.repeat(builder.text("a"), 0, Some(2500)),
                "root ::= root-up-to-2\nroot-up-to-2 ::= root-less | root-chunk root-up-to\nroot-less ::= \"a\"{0,999}\n\
                 root-chunk ::= \"a\"{1000}\nroot-up-to ::= root-less | root-chunk \"a\"{0,500}\n",
            ),
            (builder.repeat(builder.text("a"), 0, Some(MAX_COUNT + 1)), "root ::= \"a\"*\n"),
            (
                builder.repeat(builder.text("a"), u32::MAX, None),
                "root ::= root-chunk-3{4} root-chunk-2{294} root-chunk{967} \"a\"{295} \"a\"*\n\
                 root-chunk-3 ::= root-chunk-2{1000}\nroot-chunk-2 ::= root-chunk{1000}\nroot-chunk ::= \"a\"{1000}\n",
            ),
        ] {
            assert_eq!(builder.clone().grammar(expr), expected);
        }
    }
}
