//! The template as the renderer walks it: owned, shareable between threads, every node with its line.

use std::sync::Arc;

/// A name in the source, interned: equal names of one template share their allocation.
pub(super) type Name = Arc<str>;

/// A constant.
#[derive(Debug)]
pub(super) enum Const {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Arc<str>),
}

/// An expression and its line.
#[derive(Debug)]
pub(super) struct Expr {
    pub(super) line: u32,
    pub(super) kind: ExprKind,
}

#[derive(Debug)]
pub(super) enum ExprKind {
    Const(Const),
    Var(Name),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    Attr(Box<Expr>, Name),
    Item(Box<Expr>, Box<Expr>),
    Slice(Box<Expr>, Box<[Option<Expr>; 3]>),
    Call(Box<Expr>, Vec<Arg>),
    Filter(Box<Expr>, FilterCall),
    Test(Box<Expr>, Name, Vec<Arg>),
    Not(Box<Expr>),
    Neg(Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    Arith(Arith, Box<Expr>, Box<Expr>),
    Concat(Vec<Expr>),
    Compare(Box<Expr>, Vec<(Comparison, Expr)>),
    If(Box<IfExpr>),
}

#[derive(Debug)]
pub(super) struct IfExpr {
    pub(super) test: Expr,
    pub(super) yes: Expr,
    pub(super) no: Option<Expr>,
}

#[derive(Debug)]
pub(super) struct FilterCall {
    pub(super) name: Name,
    pub(super) args: Vec<Arg>,
    pub(super) line: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
}

/// An argument of a call, filter or test.
#[derive(Debug)]
pub(super) enum Arg {
    Positional(Expr),
    Keyword(Name, Expr),
    Spread(Expr),
    SpreadKeywords(Expr),
}

/// What is assigned to.
#[derive(Debug)]
pub(super) enum Target {
    Name(Name),
    Attr(Expr, Name),
    Unpack(Vec<Target>),
}

#[derive(Debug)]
pub(super) struct Stmt {
    pub(super) line: u32,
    pub(super) kind: StmtKind,
}

pub(super) type Body = Vec<Stmt>;

#[derive(Debug)]
pub(super) enum StmtKind {
    Text(Arc<str>),
    Emit(Expr),
    For(Arc<For>),
    If(Vec<(Expr, Body)>, Body),
    With(Vec<(Target, Expr)>, Body),
    Set(Target, Expr),
    SetBlock(Target, Vec<FilterCall>, Body),
    FilterBlock(Vec<FilterCall>, Body),
    Autoescape(Expr, Body),
    Scope(Body),
    Macro(Arc<MacroDef>),
    CallBlock(Expr, Arc<MacroDef>),
    Do(Expr),
    Break,
    Continue,
    /// Includes, imports, inheritance: there are no other templates to load.
    OtherTemplate(&'static str),
}

#[derive(Debug)]
pub(super) struct For {
    pub(super) target: Target,
    pub(super) iter: Expr,
    pub(super) filter: Option<Expr>,
    pub(super) recursive: bool,
    pub(super) body: Body,
    pub(super) otherwise: Body,
}

#[derive(Debug)]
pub(super) struct MacroDef {
    /// `None` for the body of a `{% call %}`.
    pub(super) name: Option<Name>,
    pub(super) params: Vec<(Name, Option<Expr>)>,
    pub(super) body: Body,
    pub(super) takes: Takes,
}

/// Which of the special names a macro's body mentions.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Takes {
    pub(super) varargs: bool,
    pub(super) kwargs: bool,
    pub(super) caller: bool,
}
