//! The syntax tree that the evaluator walks. It is owned and can be shared between threads; every expression and
//! statement has its position. Plain data: nothing here parses or evaluates.

use std::sync::Arc;

use crate::error::SourcePosition;

/// A name in the source. Equal names of one template share one allocation.
pub(crate) type Name = Arc<str>;

/// A constant.
#[derive(Debug)]
pub(crate) enum Const {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Arc<str>),
}

/// An expression and where it begins.
#[derive(Debug)]
pub(crate) struct Expr {
    pub(crate) at: SourcePosition,
    pub(crate) kind: ExprKind,
}

#[derive(Debug)]
pub(crate) enum ExprKind {
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
pub(crate) struct IfExpr {
    pub(crate) test: Expr,
    pub(crate) yes: Expr,
    pub(crate) no: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct FilterCall {
    pub(crate) name: Name,
    pub(crate) args: Vec<Arg>,
    pub(crate) at: SourcePosition,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Arith {
    Add,
    Sub,
    Mul,
    Div,
    FloorDiv,
    Rem,
    Pow,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
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
pub(crate) enum Arg {
    Positional(Expr),
    Keyword(Name, Expr),
    Spread(Expr),
    SpreadKeywords(Expr),
}

/// The left side of an assignment.
#[derive(Debug)]
pub(crate) enum Target {
    Name(Name),
    Attr(Expr, Name),
    Unpack(Vec<Target>),
}

#[derive(Debug)]
pub(crate) struct Stmt {
    pub(crate) at: SourcePosition,
    pub(crate) kind: StmtKind,
}

impl Stmt {
    /// Whether the statement itself writes. Others only hold statements that do.
    pub(crate) fn writes(&self) -> bool {
        use StmtKind as S;
        matches!(self.kind, S::Text(_) | S::Emit(_) | S::FilterBlock(..) | S::CallBlock(..))
    }
}

/// A template's tree, and its first filter that Jinja2 looks for before it renders and does not have.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub(crate) body: Body,
    pub(crate) missing_filter: Option<(Name, SourcePosition)>,
}

pub(crate) type Body = Vec<Stmt>;

#[derive(Debug)]
pub(crate) enum StmtKind {
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
pub(crate) struct For {
    pub(crate) target: Target,
    pub(crate) iter: Expr,
    pub(crate) filter: Option<Expr>,
    pub(crate) recursive: bool,
    pub(crate) body: Body,
    pub(crate) otherwise: Body,
}

#[derive(Debug)]
pub(crate) struct MacroDef {
    /// `None` for the body of a `{% call %}`.
    pub(crate) name: Option<Name>,
    pub(crate) params: Vec<(Name, Option<Expr>)>,
    pub(crate) body: Body,
    pub(crate) takes: Takes,
}

/// Which of the special names a macro's body mentions.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Takes {
    pub(crate) varargs: bool,
    pub(crate) kwargs: bool,
    pub(crate) caller: bool,
}
