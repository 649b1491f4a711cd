//! What a template reveals without being rendered: the variables that it expects and the strings that it contains.
//! Nothing here evaluates; a variable that only an unreachable branch reads is reported too.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use crate::syntax::ast::*;

/// Called for the names, texts and scopes of a body, in source order.
trait Visit {
    /// A variable is read.
    fn name(&mut self, _name: &Name) {}
    /// A text between tags, or a string constant.
    fn text(&mut self, _text: &Arc<str>) {}
    /// A variable is set in the current scope.
    fn declare(&mut self, _name: &Name) {}
    /// A scope begins.
    fn enter(&mut self) {}
    /// A scope ends.
    fn leave(&mut self) {}
    /// Walks the branches of an `if`.
    fn branches(&mut self, bodies: &[&Body]);
}

fn walk_body(v: &mut dyn Visit, body: &Body) {
    for stmt in body {
        walk_stmt(v, stmt);
    }
}

fn scoped(v: &mut dyn Visit, body: &Body) {
    v.enter();
    walk_body(v, body);
    v.leave();
}

fn walk_stmt(v: &mut dyn Visit, stmt: &Stmt) {
    match &stmt.kind {
        StmtKind::Text(text) => v.text(text),
        StmtKind::Emit(e) | StmtKind::Do(e) => walk_expr(v, e),
        StmtKind::For(f) => {
            walk_expr(v, &f.iter);
            v.enter();
            walk_target(v, &f.target);
            v.declare(&Arc::from("loop"));
            if let Some(filter) = &f.filter {
                walk_expr(v, filter);
            }
            walk_body(v, &f.body);
            v.leave();
            scoped(v, &f.otherwise);
        }
        StmtKind::If(branches, otherwise) => {
            for (test, _) in branches {
                walk_expr(v, test);
            }
            let mut bodies: Vec<&Body> = branches.iter().map(|(_, body)| body).collect();
            bodies.push(otherwise);
            v.branches(&bodies);
        }
        StmtKind::With(bindings, body) => {
            for (_, value) in bindings {
                walk_expr(v, value);
            }
            v.enter();
            for (target, _) in bindings {
                walk_target(v, target);
            }
            walk_body(v, body);
            v.leave();
        }
        StmtKind::Set(target, value) => {
            walk_expr(v, value);
            walk_target(v, target);
        }
        StmtKind::SetBlock(target, filters, body) => {
            scoped(v, body);
            walk_filters(v, filters);
            walk_target(v, target);
        }
        StmtKind::FilterBlock(filters, body) => {
            scoped(v, body);
            walk_filters(v, filters);
        }
        StmtKind::Autoescape(e, body) => {
            walk_expr(v, e);
            scoped(v, body);
        }
        StmtKind::Scope(body) => scoped(v, body),
        StmtKind::Macro(def) => {
            if let Some(name) = &def.name {
                v.declare(name);
            }
            walk_macro(v, def);
        }
        StmtKind::CallBlock(call, def) => {
            walk_expr(v, call);
            walk_macro(v, def);
        }
        StmtKind::Break | StmtKind::Continue | StmtKind::OtherTemplate(_) => {}
    }
}

fn walk_macro(v: &mut dyn Visit, def: &MacroDef) {
    v.enter();
    for special in ["varargs", "kwargs", "caller"] {
        v.declare(&Arc::from(special));
    }
    for (name, default) in &def.params {
        if let Some(default) = default {
            walk_expr(v, default);
        }
        v.declare(name);
    }
    walk_body(v, &def.body);
    v.leave();
}

fn walk_target(v: &mut dyn Visit, target: &Target) {
    match target {
        Target::Name(name) => v.declare(name),
        Target::Attr(object, _) => walk_expr(v, object),
        Target::Unpack(targets) => targets.iter().for_each(|t| walk_target(v, t)),
    }
}

fn walk_filters(v: &mut dyn Visit, filters: &[FilterCall]) {
    for filter in filters {
        walk_args(v, &filter.args);
    }
}

fn walk_args(v: &mut dyn Visit, args: &[Arg]) {
    for arg in args {
        match arg {
            Arg::Positional(e) | Arg::Keyword(_, e) | Arg::Spread(e) | Arg::SpreadKeywords(e) => walk_expr(v, e),
        }
    }
}

fn walk_expr(v: &mut dyn Visit, expr: &Expr) {
    match &expr.kind {
        ExprKind::Const(Const::Str(text)) => v.text(text),
        ExprKind::Const(_) => {}
        ExprKind::Var(name) => v.name(name),
        ExprKind::List(items) | ExprKind::Tuple(items) | ExprKind::Concat(items) => {
            items.iter().for_each(|e| walk_expr(v, e));
        }
        ExprKind::Dict(pairs) => {
            for (key, value) in pairs {
                walk_expr(v, key);
                walk_expr(v, value);
            }
        }
        ExprKind::Attr(object, _) => walk_expr(v, object),
        ExprKind::Item(a, b) | ExprKind::And(a, b) | ExprKind::Or(a, b) | ExprKind::Arith(_, a, b) => {
            walk_expr(v, a);
            walk_expr(v, b);
        }
        ExprKind::Slice(object, parts) => {
            walk_expr(v, object);
            parts.iter().flatten().for_each(|e| walk_expr(v, e));
        }
        ExprKind::Call(callee, args) => {
            walk_expr(v, callee);
            walk_args(v, args);
        }
        ExprKind::Filter(value, call) => {
            walk_expr(v, value);
            walk_args(v, &call.args);
        }
        ExprKind::Test(value, _, args) => {
            walk_expr(v, value);
            walk_args(v, args);
        }
        ExprKind::Not(e) | ExprKind::Neg(e) => walk_expr(v, e),
        ExprKind::Compare(first, rest) => {
            walk_expr(v, first);
            rest.iter().for_each(|(_, e)| walk_expr(v, e));
        }
        ExprKind::If(i) => {
            walk_expr(v, &i.test);
            walk_expr(v, &i.yes);
            if let Some(no) = &i.no {
                walk_expr(v, no);
            }
        }
    }
}

/// Which of the special names `varargs`, `kwargs` and `caller` the body of a macro mentions.
pub(crate) fn takes(body: &Body) -> Takes {
    struct Mentions(Takes);
    impl Visit for Mentions {
        fn name(&mut self, name: &Name) {
            match &**name {
                "varargs" => self.0.varargs = true,
                "kwargs" => self.0.kwargs = true,
                "caller" => self.0.caller = true,
                _ => {}
            }
        }
        fn branches(&mut self, bodies: &[&Body]) {
            bodies.iter().for_each(|body| walk_body(self, body));
        }
    }
    let mut mentions = Mentions(Takes::default());
    walk_body(&mut mentions, body);
    mentions.0
}

/// The strings of a template, texts between tags and string constants, each once, in source order.
pub(crate) fn strings(body: &Body) -> Vec<String> {
    #[derive(Default)]
    struct Strings {
        seen: HashSet<Arc<str>>,
        list: Vec<String>,
    }
    impl Visit for Strings {
        fn text(&mut self, text: &Arc<str>) {
            if !text.is_empty() && self.seen.insert(text.clone()) {
                self.list.push(text.to_string());
            }
        }
        fn branches(&mut self, bodies: &[&Body]) {
            bodies.iter().for_each(|body| walk_body(self, body));
        }
    }
    let mut strings = Strings::default();
    walk_body(&mut strings, body);
    strings.list
}

/// The variables that the template reads and does not set itself; `is_global` tells the names that every template
/// has. A variable that is set in only some branches of an `if` counts as not set.
pub(crate) fn variables(body: &Body, is_global: fn(&str) -> bool) -> BTreeSet<String> {
    struct Undeclared {
        is_global: fn(&str) -> bool,
        scopes: Vec<HashSet<Name>>,
        found: BTreeSet<String>,
    }
    impl Visit for Undeclared {
        fn name(&mut self, name: &Name) {
            if !(self.is_global)(name) && !self.scopes.iter().any(|s| s.contains(name)) {
                self.found.insert(name.to_string());
            }
        }
        fn declare(&mut self, name: &Name) {
            if let Some(scope) = self.scopes.last_mut() {
                scope.insert(name.clone());
            }
        }
        fn enter(&mut self) {
            self.scopes.push(HashSet::new());
        }
        fn leave(&mut self) {
            self.scopes.pop();
        }
        fn branches(&mut self, bodies: &[&Body]) {
            let mut common: Option<HashSet<Name>> = None;
            for body in bodies {
                self.enter();
                walk_body(self, body);
                let declared = self.scopes.pop().unwrap_or_default();
                common = Some(match common {
                    Some(before) => before.intersection(&declared).cloned().collect(),
                    None => declared,
                });
            }
            for name in common.unwrap_or_default() {
                self.declare(&name);
            }
        }
    }
    let mut undeclared = Undeclared { is_global, scopes: vec![HashSet::new()], found: BTreeSet::new() };
    walk_body(&mut undeclared, body);
    undeclared.found
}
