//! The adapter to minijinja's lexer and parser, and the only file that knows that crate: it turns minijinja's tokens and
//! syntax tree into ours.
//!
//! The adapter limits how deep the tree nests, so that nothing that walks the tree needs to check its stack. It must not
//! change what a template means, except where Jinja2 and minijinja differ: string escapes, and the newline after
//! `{% raw %}`.

use std::collections::HashSet;
use std::sync::Arc;

use minijinja::machinery::{self, Span, ast as mj};
use minijinja::syntax::SyntaxConfig;

use crate::builtins::filter_names::{self, FROM_JSON};
use crate::error::SourcePosition;
use crate::stack::Bounds;
use crate::syntax::ast::*;
use crate::syntax::inspect;
use crate::syntax::literals::python_literals;
use crate::syntax::problem::Problem;

/// The kinds of token that the check before parsing tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Token<'s> {
    /// `{%` or `{{`; text between tags has no token of interest.
    TagStart {
        /// Whether this is `{%`.
        block: bool,
    },
    /// `%}`.
    BlockEnd,
    Name(&'s str),
    Open(Bracket),
    Close(Bracket),
    /// `=`.
    Assign,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bracket {
    Brace,
    /// `(` or `[`.
    Other,
}

/// A token, its line from 1, and the byte at which it starts.
pub(crate) struct Located<'s> {
    pub(crate) token: Token<'s>,
    pub(crate) line: usize,
    pub(crate) start: usize,
}

/// Jinja2's delimiters, with `trim_blocks` and `lstrip_blocks` on, as Hugging Face sets them.
fn syntax() -> Result<SyntaxConfig, Problem> {
    let syntax = SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build();
    syntax.map_err(|e| Problem::new(1, e.to_string()))
}

/// The tokens of a source, up to its end or the first lexical error. The parser finds the same error and explains it
/// better.
pub(crate) fn tokens(source: &str) -> Result<impl Iterator<Item = Located<'_>>, Problem> {
    use machinery::Token as T;
    let tokens = machinery::tokenize(source, false, syntax()?).map_while(Result::ok);
    Ok(tokens.map(|(token, span)| Located {
        token: match token {
            T::VariableStart => Token::TagStart { block: false },
            T::BlockStart => Token::TagStart { block: true },
            T::BlockEnd => Token::BlockEnd,
            T::Ident(name) => Token::Name(name),
            T::ParenOpen | T::BracketOpen => Token::Open(Bracket::Other),
            T::BraceOpen => Token::Open(Bracket::Brace),
            T::ParenClose | T::BracketClose => Token::Close(Bracket::Other),
            T::BraceClose => Token::Close(Bracket::Brace),
            T::Assign => Token::Assign,
            _ => Token::Other,
        },
        line: usize::from(span.start_line),
        start: span.start_offset as usize,
    }))
}

/// Parses a source that passed the check of its tokens.
pub(crate) fn parse(name: &str, source: &str, bounds: &Bounds) -> Result<Parsed, Problem> {
    let root = machinery::parse(source, name, syntax()?).map_err(|e| {
        let cause = e.detail().map_or_else(|| e.kind().to_string(), str::to_owned);
        Problem::new(e.line().unwrap_or(1), cause)
    })?;
    let (names, limit) = (HashSet::new(), bounds.tree_depth);
    let mut lowering = Lowering { source, names, depth: 0, limit, is_soft: false, missing_filter: None };
    let body = match &root {
        mj::Stmt::Template(t) => lowering.body(&t.children)?,
        other => vec![lowering.stmt(other)?],
    };
    Ok(Parsed { body, missing_filter: lowering.missing_filter })
}

type Lowered<T> = Result<T, Problem>;

/// The translation of one syntax tree into ours.
struct Lowering<'s> {
    source: &'s str,
    /// All names read until now, so that equal names share one allocation.
    names: HashSet<Name>,
    /// How many nodes enclose the current one.
    depth: usize,
    /// The greatest allowed `depth`.
    limit: usize,
    /// Whether this is in a branch of an `if`, outside of the loops and blocks in it: there, Jinja2 looks for a filter when it is used.
    is_soft: bool,
    missing_filter: Option<(Name, SourcePosition)>,
}

fn position(span: Span) -> SourcePosition {
    SourcePosition { line: u32::from(span.start_line), column: u32::from(span.start_col) + 1 }
}

fn problem(span: Span, message: impl Into<String>) -> Problem {
    Problem::new(usize::from(span.start_line), message)
}

impl Lowering<'_> {
    /// The shared copy of a name.
    fn name(&mut self, name: &str) -> Name {
        if let Some(known) = self.names.get(name) {
            return known.clone();
        }
        let name: Name = Arc::from(name);
        self.names.insert(name.clone());
        name
    }

    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, span: Span, f: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        self.depth += 1;
        if self.depth > self.limit {
            return Err(problem(span, format!("nested deeper than {}", self.limit)));
        }
        let result = f(self);
        self.depth -= 1;
        result
    }

    /// Runs `f` in a branch of an `if`, or in a block of another kind.
    fn soft<T>(&mut self, is_soft: bool, f: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<T> {
        let before = std::mem::replace(&mut self.is_soft, is_soft);
        let result = f(self);
        self.is_soft = before;
        result
    }

    /// A call of the filter of this name.
    fn filter(&mut self, f: &mj::Filter<'_>, span: Span) -> Lowered<FilterCall> {
        let call = FilterCall { name: self.name(f.name), args: self.args(&f.args)?, at: position(span) };
        if !self.is_soft && (!filter_names::exists(f.name) || f.name == FROM_JSON) {
            self.missing_filter.get_or_insert_with(|| (call.name.clone(), call.at));
        }
        Ok(call)
    }

    fn body(&mut self, stmts: &[mj::Stmt<'_>]) -> Lowered<Body> {
        stmts.iter().map(|s| self.stmt(s)).collect()
    }

    fn stmt(&mut self, stmt: &mj::Stmt<'_>) -> Lowered<Stmt> {
        use mj::Stmt as S;
        let span = stmt_span(stmt);
        let kind = self.nested(span, |this| {
            Ok(match stmt {
                S::Template(t) => StmtKind::Scope(this.body(&t.children)?),
                S::EmitRaw(raw) => StmtKind::Text(this.text(raw.raw, span)),
                S::EmitExpr(e) => StmtKind::Emit(this.expr(&e.expr)?),
                S::ForLoop(f) => StmtKind::For(Arc::new(For {
                    target: this.target(&f.target)?,
                    iter: this.expr(&f.iter)?,
                    filter: f.filter_expr.as_ref().map(|e| this.soft(false, |this| this.expr(e))).transpose()?,
                    recursive: f.recursive,
                    body: this.soft(false, |this| this.body(&f.body))?,
                    otherwise: this.soft(false, |this| this.body(&f.else_body))?,
                })),
                S::IfCond(first) => this.soft(true, |this| this.if_chain(first))?,
                S::WithBlock(w) => {
                    let mut bindings = Vec::new();
                    for (target, value) in &w.assignments {
                        bindings.push((this.target(target)?, this.expr(value)?));
                    }
                    StmtKind::With(bindings, this.soft(false, |this| this.body(&w.body))?)
                }
                S::Set(s) => StmtKind::Set(this.target(&s.target)?, this.expr(&s.expr)?),
                S::SetBlock(s) => this.soft(false, |this| {
                    let filters = s.filter.as_ref().map(|f| this.filters(f)).transpose()?;
                    Ok(StmtKind::SetBlock(this.target(&s.target)?, filters.unwrap_or_default(), this.body(&s.body)?))
                })?,
                S::FilterBlock(f) => {
                    this.soft(false, |this| Ok(StmtKind::FilterBlock(this.filters(&f.filter)?, this.body(&f.body)?)))?
                }
                S::AutoEscape(a) => {
                    this.soft(false, |this| Ok(StmtKind::Autoescape(this.expr(&a.enabled)?, this.body(&a.body)?)))?
                }
                S::Block(b) => StmtKind::Scope(this.soft(false, |this| this.body(&b.body))?),
                S::Macro(m) => StmtKind::Macro(this.macro_def(m, Some(m.name))?),
                S::CallBlock(c) => {
                    let call = this.call(&c.call)?;
                    StmtKind::CallBlock(
                        Expr { at: position(c.call.span()), kind: call },
                        this.macro_def(&c.macro_decl, None)?,
                    )
                }
                S::Do(d) => {
                    let call = this.call(&d.call)?;
                    StmtKind::Do(Expr { at: position(d.call.span()), kind: call })
                }
                S::Continue(_) => StmtKind::Continue,
                S::Break(_) => StmtKind::Break,
                S::Import(_) | S::FromImport(_) => StmtKind::OtherTemplate("import"),
                S::Extends(_) => StmtKind::OtherTemplate("extends"),
                S::Include(_) => StmtKind::OtherTemplate("include"),
            })
        })?;
        Ok(Stmt { at: self.start_of(stmt), kind })
    }

    /// Where a statement begins, for people: the tag with its bracket, or the first visible character of a text.
    fn start_of(&self, stmt: &mj::Stmt<'_>) -> SourcePosition {
        let span = stmt_span(stmt);
        let at = position(span);
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        match stmt {
            mj::Stmt::EmitExpr(_) => at,
            mj::Stmt::EmitRaw(_) => {
                let text = self.source.get(start..end).unwrap_or_default();
                let skipped = &text[..text.len() - text.trim_start().len()];
                if skipped.len() == text.len() {
                    return at;
                }
                let lines = skipped.matches('\n').count() as u32;
                let after = skipped.rfind('\n').map_or(skipped, |line| &skipped[line + 1..]).chars().count() as u32;
                let column = if lines == 0 { at.column + after } else { 1 + after };
                SourcePosition { line: at.line + lines, column }
            }
            _ => {
                let before = self.source.get(..start).unwrap_or_default();
                let tag = before.rfind("{%").and_then(|tag| before.get(tag..)).filter(|tag| !tag.contains('\n'));
                let width = tag.map_or(0, |tag| tag.chars().count() as u32);
                SourcePosition { column: at.column.saturating_sub(width).max(1), ..at }
            }
        }
    }

    /// Text between tags. Jinja2 keeps a newline right after `{% raw %}`; minijinja trims it, so it is put back.
    fn text(&self, text: &str, span: Span) -> Arc<str> {
        let (start, end) = (span.start_offset as usize, span.end_offset as usize);
        let (Some(before), Some(written), Some(after)) =
            (self.source.get(..start), self.source.get(start..end), self.source.get(end..))
        else {
            return Arc::from(text);
        };
        let trimmed = written.starts_with('\n') && !text.starts_with('\n');
        // Here the template asks for the trimming itself.
        let meant = before.ends_with("-%}") || (text.is_empty() && after.starts_with("{%-"));
        if trimmed && !meant { format!("\n{text}").into() } else { Arc::from(text) }
    }

    /// Turns the parser's nested `elif`s into one list of branches.
    fn if_chain(&mut self, first: &mj::IfCond<'_>) -> Lowered<StmtKind> {
        let mut branches = Vec::new();
        let mut cond = first;
        loop {
            branches.push((self.expr(&cond.expr)?, self.body(&cond.true_body)?));
            match cond.false_body.as_slice() {
                [mj::Stmt::IfCond(next)] => cond = next,
                otherwise => return Ok(StmtKind::If(branches, self.body(otherwise)?)),
            }
        }
    }

    fn macro_def(&mut self, m: &mj::Macro<'_>, name: Option<&str>) -> Lowered<Arc<MacroDef>> {
        self.soft(false, |this| this.macro_parts(m, name))
    }

    fn macro_parts(&mut self, m: &mj::Macro<'_>, name: Option<&str>) -> Lowered<Arc<MacroDef>> {
        let optional = m.args.len().saturating_sub(m.defaults.len());
        let mut params = Vec::new();
        for (i, arg) in m.args.iter().enumerate() {
            let mj::Expr::Var(var) = arg else {
                return Err(problem(arg.span(), "a macro's parameter must be a name"));
            };
            let default = i.checked_sub(optional).and_then(|i| m.defaults.get(i));
            params.push((self.name(var.id), default.map(|d| self.expr(d)).transpose()?));
        }
        let body = self.body(&m.body)?;
        let takes = inspect::takes(&body);
        let name = name.map(|n| self.name(n));
        Ok(Arc::new(MacroDef { name, params, body, takes }))
    }

    fn target(&mut self, target: &mj::Expr<'_>) -> Lowered<Target> {
        Ok(match target {
            mj::Expr::Var(v) => Target::Name(self.name(v.id)),
            mj::Expr::GetAttr(a) => Target::Attr(self.expr(&a.expr)?, self.name(a.name)),
            mj::Expr::List(l) => {
                Target::Unpack(l.items.iter().map(|t| self.nested(l.span(), |s| s.target(t))).collect::<Lowered<_>>()?)
            }
            other => return Err(problem(other.span(), "cannot assign to this expression")),
        })
    }

    /// The filters of `{% filter a|b %}` and `{% set x | a %}`, in the order in which they apply.
    fn filters(&mut self, filter: &mj::Expr<'_>) -> Lowered<Vec<FilterCall>> {
        let mut calls = Vec::new();
        let mut next = Some(filter);
        while let Some(mj::Expr::Filter(f)) = next {
            calls.push(self.filter(f, f.span())?);
            next = f.expr.as_ref();
        }
        calls.reverse();
        Ok(calls)
    }

    fn args(&mut self, args: &[mj::CallArg<'_>]) -> Lowered<Vec<Arg>> {
        args.iter()
            .map(|arg| {
                Ok(match arg {
                    mj::CallArg::Pos(e) => Arg::Positional(self.expr(e)?),
                    mj::CallArg::Kwarg(name, e) => Arg::Keyword(self.name(name), self.expr(e)?),
                    mj::CallArg::PosSplat(e) => Arg::Spread(self.expr(e)?),
                    mj::CallArg::KwargSplat(e) => Arg::SpreadKeywords(self.expr(e)?),
                })
            })
            .collect()
    }

    fn call(&mut self, call: &mj::Call<'_>) -> Lowered<ExprKind> {
        Ok(ExprKind::Call(Box::new(self.expr(&call.expr)?), self.args(&call.args)?))
    }

    fn exprs(&mut self, exprs: &[mj::Expr<'_>]) -> Lowered<Vec<Expr>> {
        exprs.iter().map(|e| self.expr(e)).collect()
    }

    fn boxed(&mut self, expr: &mj::Expr<'_>) -> Lowered<Box<Expr>> {
        self.expr(expr).map(Box::new)
    }

    fn expr(&mut self, expr: &mj::Expr<'_>) -> Lowered<Expr> {
        let span = expr.span();
        let kind = self.nested(span, |this| this.expr_kind(expr))?;
        Ok(Expr { at: position(span), kind })
    }

    fn expr_kind(&mut self, expr: &mj::Expr<'_>) -> Lowered<ExprKind> {
        use mj::Expr as E;
        Ok(match expr {
            E::Var(v) => ExprKind::Var(self.name(v.id)),
            E::Const(c) => ExprKind::Const(self.constant(&c.value, c.span())?),
            E::List(l) => ExprKind::List(self.exprs(&l.items)?),
            E::Tuple(t) => ExprKind::Tuple(self.exprs(&t.items)?),
            E::Map(m) => {
                let mut pairs = Vec::new();
                for (key, value) in m.keys.iter().zip(&m.values) {
                    pairs.push((self.expr(key)?, self.expr(value)?));
                }
                ExprKind::Dict(pairs)
            }
            E::GetAttr(a) => ExprKind::Attr(self.boxed(&a.expr)?, self.name(a.name)),
            E::GetItem(i) => ExprKind::Item(self.boxed(&i.expr)?, self.boxed(&i.subscript_expr)?),
            E::Slice(s) => {
                let mut part = |e: &Option<E<'_>>| e.as_ref().map(|e| self.expr(e)).transpose();
                let parts = [part(&s.start)?, part(&s.stop)?, part(&s.step)?];
                ExprKind::Slice(self.boxed(&s.expr)?, Box::new(parts))
            }
            E::Call(c) => self.call(c)?,
            E::Filter(f) => {
                let Some(value) = &f.expr else {
                    return Err(problem(f.span(), "a filter needs a value before the `|`"));
                };
                let value = self.boxed(value)?;
                ExprKind::Filter(value, self.filter(f, f.span())?)
            }
            E::Test(t) => ExprKind::Test(self.boxed(&t.expr)?, self.name(t.name), self.args(&t.args)?),
            E::UnaryOp(u) => match u.op {
                mj::UnaryOpKind::Not => ExprKind::Not(self.boxed(&u.expr)?),
                mj::UnaryOpKind::Neg => ExprKind::Neg(self.boxed(&u.expr)?),
            },
            E::BinOp(b) => self.binary(b)?,
            E::Compare(c) => {
                let first = self.boxed(&c.expr)?;
                let mut rest = Vec::new();
                for op in &c.ops {
                    rest.push((comparison(op.op), self.expr(&op.expr)?));
                }
                ExprKind::Compare(first, rest)
            }
            E::IfExpr(i) => ExprKind::If(Box::new(self.soft(true, |this| {
                Ok(IfExpr {
                    test: this.expr(&i.test_expr)?,
                    yes: this.expr(&i.true_expr)?,
                    no: i.false_expr.as_ref().map(|e| this.expr(e)).transpose()?,
                })
            })?)),
        })
    }

    fn binary(&mut self, b: &mj::BinOp<'_>) -> Lowered<ExprKind> {
        use mj::BinOpKind as B;
        let compared = match b.op {
            B::Eq => Some(Comparison::Eq),
            B::Ne => Some(Comparison::Ne),
            B::Lt => Some(Comparison::Lt),
            B::Lte => Some(Comparison::Le),
            B::Gt => Some(Comparison::Gt),
            B::Gte => Some(Comparison::Ge),
            B::In => Some(Comparison::In),
            _ => None,
        };
        if let Some(op) = compared {
            return Ok(ExprKind::Compare(self.boxed(&b.left)?, vec![(op, self.expr(&b.right)?)]));
        }
        let arith = match b.op {
            B::Add => Arith::Add,
            B::Sub => Arith::Sub,
            B::Mul => Arith::Mul,
            B::Div => Arith::Div,
            B::FloorDiv => Arith::FloorDiv,
            B::Rem => Arith::Rem,
            B::Pow => Arith::Pow,
            B::ScAnd => return Ok(ExprKind::And(self.boxed(&b.left)?, self.boxed(&b.right)?)),
            B::ScOr => return Ok(ExprKind::Or(self.boxed(&b.left)?, self.boxed(&b.right)?)),
            _ => return self.concat(b),
        };
        Ok(ExprKind::Arith(arith, self.boxed(&b.left)?, self.boxed(&b.right)?))
    }

    /// `a ~ b ~ c` becomes one flat operation, however long it is.
    fn concat(&mut self, last: &mj::BinOp<'_>) -> Lowered<ExprKind> {
        let mut parts = vec![self.expr(&last.right)?];
        let mut left = &last.left;
        while let mj::Expr::BinOp(b) = left {
            if !matches!(b.op, mj::BinOpKind::Concat) {
                break;
            }
            parts.push(self.expr(&b.right)?);
            left = &b.left;
        }
        parts.push(self.expr(left)?);
        parts.reverse();
        Ok(ExprKind::Concat(parts))
    }

    fn constant(&self, value: &minijinja::Value, span: Span) -> Lowered<Const> {
        use minijinja::value::ValueKind;
        Ok(match value.kind() {
            ValueKind::Bool => Const::Bool(value.is_true()),
            ValueKind::String => {
                let written = self.source.get(span.start_offset as usize..span.end_offset as usize);
                let text = written.and_then(python_literals).or_else(|| value.as_str().map(str::to_owned));
                Const::Str(Arc::from(text.unwrap_or_default()))
            }
            ValueKind::Number => match i128::try_from(value.clone()) {
                Ok(int) if value.is_integer() => Const::Int(int),
                _ => match f64::try_from(value.clone()) {
                    Ok(float) => Const::Float(float),
                    Err(_) => return Err(problem(span, "the number is too large")),
                },
            },
            _ => Const::None,
        })
    }
}

fn comparison(op: mj::CompareOpKind) -> Comparison {
    match op {
        mj::CompareOpKind::Eq => Comparison::Eq,
        mj::CompareOpKind::Ne => Comparison::Ne,
        mj::CompareOpKind::Lt => Comparison::Lt,
        mj::CompareOpKind::Lte => Comparison::Le,
        mj::CompareOpKind::Gt => Comparison::Gt,
        mj::CompareOpKind::Gte => Comparison::Ge,
        mj::CompareOpKind::In => Comparison::In,
        mj::CompareOpKind::NotIn => Comparison::NotIn,
    }
}

fn stmt_span(stmt: &mj::Stmt<'_>) -> Span {
    use mj::Stmt as S;
    match stmt {
        S::Template(s) => s.span(),
        S::EmitExpr(s) => s.span(),
        S::EmitRaw(s) => s.span(),
        S::ForLoop(s) => s.span(),
        S::IfCond(s) => s.span(),
        S::WithBlock(s) => s.span(),
        S::Set(s) => s.span(),
        S::SetBlock(s) => s.span(),
        S::AutoEscape(s) => s.span(),
        S::FilterBlock(s) => s.span(),
        S::Block(s) => s.span(),
        S::Import(s) => s.span(),
        S::FromImport(s) => s.span(),
        S::Extends(s) => s.span(),
        S::Include(s) => s.span(),
        S::Macro(s) => s.span(),
        S::CallBlock(s) => s.span(),
        S::Continue(s) => s.span(),
        S::Break(s) => s.span(),
        S::Do(s) => s.span(),
    }
}
