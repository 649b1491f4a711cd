//! Structural tags for XGrammar, as JSON.
//!
//! The free text of a turn, before any call, becomes the format that XGrammar has for it: `triggered_tags` where the turn may
//! continue without a call, `any_text` before a tag where it may not. What follows a marker is a `grammar` in XGrammar's EBNF,
//! made of the same rules as GBNF. It is never a `json_schema`: the engine has its own idea of white space, of the order of
//! properties and of what a schema leaves open, so that it would refuse turns that templates write.

mod ebnf;
mod format;

use format::{Begin, Format, StructuralTag, Tag};
use std::collections::HashSet;

use crate::builder::Builder;
use crate::expr::{Expr, ExprKind, RuleId};
use crate::free_text::{FreeText, TextPart};

pub(super) fn structural_tag(builder: &Builder, root: Expr) -> String {
    let mut formats = Formats { builder, open: Vec::new(), copies: 1 };
    StructuralTag(formats.format(root)).to_string()
}

struct Formats<'b> {
    builder: &'b Builder,
    /// The rules whose formats are being made. A format cannot contain itself, but a grammar can.
    open: Vec<RuleId>,
    /// How often what is made now is written: once for each alternative, and for each marker of the free texts around it.
    copies: usize,
}

/// How often a free text may be written as a format of its own. A format repeats what follows for each marker, and a grammar does
/// not: without this limit, formats whose headers have many forms take megabytes.
const MAX_COPIES: usize = 120;

/// An alternative that begins with free text: the part of the text, and what follows.
type AfterText = (TextPart, Expr);

impl Formats<'_> {
    fn format(&mut self, expr: Expr) -> Format {
        if !self.leads_to_text(expr) {
            return self.grammar(expr);
        }
        match self.builder.kind(expr) {
            ExprKind::Rule(rule) if !self.open.contains(&rule) => {
                let Some(within) = self.builder.get(rule).and_then(|rule| rule.expr) else {
                    return self.grammar(expr);
                };
                self.open.push(rule);
                let format = match self.text_of(rule) {
                    Some(_) => self.alternatives(&[expr]),
                    None => self.format(within),
                };
                self.open.pop();
                format
            }
            ExprKind::Choice(all) => self.alternatives(&all),
            ExprKind::Sequence(parts) => {
                match (parts.first().and_then(|first| self.text_at(*first)), parts.split_last()) {
                    (None, Some((last, before))) if !before.is_empty() => {
                        let before = self.grammar(self.builder.sequence(before));
                        Format::Sequence(vec![before, self.format(*last)])
                    }
                    _ => self.alternatives(&[expr]),
                }
            }
            _ => self.grammar(expr),
        }
    }

    /// One of these: those that begin with the same free text share a format, and so do those without any.
    fn alternatives(&mut self, all: &[Expr]) -> Format {
        let copies = self.copies;
        self.copies *= all.iter().filter(|one| self.leads_to_text(**one)).count().max(1);
        let format = self.format_of_alternatives(all);
        self.copies = copies;
        format
    }

    fn format_of_alternatives(&mut self, all: &[Expr]) -> Format {
        let mut texts: Vec<(usize, Vec<AfterText>)> = Vec::new();
        let mut formats: Vec<Format> = Vec::new();
        let mut others: Vec<Expr> = Vec::new();
        for &one in all {
            let parts = self.builder.parts(one);
            let rest = self.builder.sequence(parts.get(1..).unwrap_or_default());
            match parts.first().and_then(|first| self.text_at(*first)) {
                Some(part) => match texts.iter_mut().find(|(text, _)| *text == part.text) {
                    Some((_, parts)) => parts.push((part, rest)),
                    None => texts.push((part.text, vec![(part, rest)])),
                },
                None if self.leads_to_text(one) => formats.push(self.format(one)),
                None => others.push(one),
            }
        }
        for (text, parts) in texts {
            if let Some(free) = self.builder.free_text(text) {
                formats.push(self.free_text(&free, &parts));
            }
        }
        if !others.is_empty() {
            formats.push(self.grammar(self.builder.choice(&others)));
        }
        one_of(formats)
    }

    /// Free text, and what may follow it.
    fn free_text(&mut self, free: &FreeText, parts: &[AfterText]) -> Format {
        let copies = self.copies;
        self.copies *= free.followed.max(1);
        let format = self.format_of_text(free, parts);
        self.copies = copies;
        format
    }

    fn format_of_text(&mut self, free: &FreeText, parts: &[AfterText]) -> Format {
        let may_end = parts.iter().any(|(part, _)| part.stop.is_none());
        // What follows each marker, in the order of the markers.
        let mut tags: Vec<(&str, Vec<Expr>)> = Vec::new();
        let mut peeked: Vec<Expr> = Vec::new();
        for &(part, rest) in parts {
            let Some(stop) = part.stop.and_then(|stop| free.stops.get(stop)) else { continue };
            match tags.iter_mut().find(|(core, _)| *core == stop.core) {
                _ if stop.peek => peeked.push(rest),
                Some((_, all)) => all.push(rest),
                None => tags.push((&stop.core, vec![rest])),
            }
        }
        if may_end
            && peeked.is_empty()
            && !tags.is_empty()
            && let Some(format) = self.triggered(free, &tags)
        {
            return format;
        }
        let any_text =
            Format::AnyText(free.stops.iter().map(|stop| self.builder.tokens().unfold(&stop.core)).collect());
        let mut after: Vec<Format> = Vec::new();
        for (core, rest) in &tags {
            after.push(self.marker_and(core, rest));
        }
        after.extend(peeked.iter().map(|rest| self.format(*rest)));
        if after.is_empty() {
            return any_text;
        }
        let with = Format::Sequence(vec![any_text.clone(), one_of(after)]);
        one_of(if may_end { vec![any_text, with] } else { vec![with] })
    }

    /// A marker, and what follows it. Only a tag can name a token without its number.
    fn marker_and(&mut self, core: &str, rest: &[Expr]) -> Format {
        if core.chars().next().is_some_and(|char| self.builder.tokens().of(char).is_some()) {
            return Format::Tag(self.tag_of(core, rest));
        }
        Format::Sequence(vec![self.grammar(self.builder.text(core)), self.format(self.builder.choice(rest))])
    }

    /// A tag that begins with a marker. If the marker begins with a special token, the tag begins with the token.
    fn tag(&self, core: &str, content: Format) -> Tag {
        let tokens = self.builder.tokens();
        let mut chars = core.chars();
        let (begin, content) = match chars.next().and_then(|char| tokens.of(char)) {
            Some(token) if chars.as_str().is_empty() => (Begin::Token(token.clone()), content),
            Some(token) => {
                let rest = self.grammar(self.builder.text(chars.as_str()));
                (Begin::Token(token.clone()), Format::Sequence(vec![rest, content]))
            }
            None => (Begin::Text(tokens.unfold(core)), content),
        };
        Tag { begin, content: Box::new(content) }
    }

    /// The tag of a marker and what follows it. What the engine would not take as the content of a tag becomes a grammar.
    fn tag_of(&mut self, core: &str, rest: &[Expr]) -> Tag {
        let rest = self.builder.choice(rest);
        let content = self.format(rest);
        let content = if content.is_endless() { self.grammar(rest) } else { content };
        self.tag(core, content)
    }

    /// Free text up to one of the markers, or to the end. `None` if the engine would refuse the triggers, or understand them in
    /// another way.
    fn triggered(&mut self, free: &FreeText, tags: &[(&str, Vec<Expr>)]) -> Option<Format> {
        let cores: Vec<&str> = free.stops.iter().map(|stop| stop.core.as_str()).collect();
        let (triggers, excludes): (Vec<&str>, Vec<&str>) =
            cores.iter().partition(|core| tags.iter().any(|(known, _)| known == *core));
        let tokens = self.builder.tokens();
        let token = |core: &str| {
            let mut chars = core.chars();
            let token = tokens.of(chars.next()?)?;
            chars.as_str().is_empty().then(|| token.clone())
        };
        let all_tokens = |cores: &[&str]| cores.iter().map(|core| token(core)).collect::<Option<Vec<_>>>();
        if let (Some(triggers), Some(excludes)) = (all_tokens(&triggers), all_tokens(&excludes)) {
            let tags = tags.iter().map(|(core, rest)| self.tag_of(core, rest)).collect();
            return Some(Format::TokenTriggeredTags { triggers, tags, excludes });
        }
        // The engine finds one trigger for each tag, and refuses an excluded text that begins a trigger.
        let begins = |one: &str| cores.iter().any(|other| *other != one && other.starts_with(one));
        let with_token = |core: &str| core.chars().next().is_some_and(|char| tokens.of(char).is_some());
        if cores.iter().any(|core| begins(core) || with_token(core)) {
            return None;
        }
        // Where a marker contains an excluded text, the engine would refuse the text before it has read the marker: what comes before
        // the excluded text triggers the tag.
        let mut begins: Vec<&str> = Vec::new();
        for core in triggers {
            let begin =
                excludes.iter().filter_map(|excluded| core.find(*excluded)).min().map_or(core, |at| &core[..at]);
            if begin.is_empty() {
                return None;
            }
            if !begins.contains(&begin) {
                begins.push(begin);
            }
        }
        if begins.iter().any(|one| begins.iter().chain(&excludes).any(|other| other != one && other.starts_with(one))) {
            return None;
        }
        let unfolded = |cores: Vec<&str>| cores.into_iter().map(|core| tokens.unfold(core)).collect();
        let (triggers, excludes) = (unfolded(begins), unfolded(excludes));
        let tags = tags.iter().map(|(core, rest)| self.tag_of(core, rest)).collect();
        Some(Format::TriggeredTags { triggers, tags, excludes })
    }

    /// A grammar of its own. A text alone is a constant.
    fn grammar(&self, expr: Expr) -> Format {
        match self.builder.kind(expr) {
            ExprKind::Text(text) if !text.chars().any(|char| self.builder.tokens().of(char).is_some()) => {
                Format::ConstString(text.to_string())
            }
            ExprKind::Sequence(parts) if parts.is_empty() => Format::ConstString(String::new()),
            _ => Format::Grammar(ebnf::grammar(self.builder, expr)),
        }
    }

    /// The free text of a turn before any call that a rule is, if the formats for it mean the same.
    fn text_of(&self, rule: RuleId) -> Option<TextPart> {
        let part = self.builder.get(rule)?.text.filter(|part| part.top && part.from == 0)?;
        let text = self.builder.free_text(part.text)?;
        let nests = self.copies == 1 || self.copies * text.followed <= MAX_COPIES;
        (nests && text.excludes_its_stops()).then_some(part)
    }

    fn text_at(&self, expr: Expr) -> Option<TextPart> {
        match self.builder.kind(expr) {
            ExprKind::Rule(rule) => self.text_of(rule),
            _ => None,
        }
    }

    /// Whether a free text of the turn begins here, or follows something that does not contain one.
    fn leads_to_text(&self, expr: Expr) -> bool {
        let mut seen: HashSet<RuleId> = self.open.iter().copied().collect();
        let mut pending = vec![expr];
        while let Some(expr) = pending.pop() {
            match self.builder.kind(expr) {
                ExprKind::Rule(rule) if self.text_of(rule).is_some() => return true,
                ExprKind::Rule(rule) => {
                    if seen.insert(rule) {
                        pending.extend(self.builder.get(rule).and_then(|rule| rule.expr));
                    }
                }
                ExprKind::Choice(all) => pending.extend_from_slice(&all),
                ExprKind::Sequence(parts) => {
                    if parts.first().is_some_and(|first| self.text_at(*first).is_some()) {
                        return true;
                    }
                    pending.extend(parts.last());
                }
                ExprKind::Text(_) | ExprKind::Class(_) | ExprKind::Repeat(_) => {}
            }
        }
        false
    }
}

fn one_of(mut formats: Vec<Format>) -> Format {
    match (formats.len(), formats.pop()) {
        (1, Some(only)) => only,
        (_, Some(last)) => {
            formats.push(last);
            Format::Or(formats)
        }
        (_, None) => Format::ConstString(String::new()),
    }
}
