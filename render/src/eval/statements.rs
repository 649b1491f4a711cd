//! Running of statements, with the scopes of Jinja2: a block sees the variables around it and cannot change them.

use std::rc::Rc;
use std::sync::Arc;

use crate::error::{Fault, Outcome};
use crate::eval::interpreter::Interpreter;
use crate::syntax::ast::{Body, Expr, ExprKind, Stmt, StmtKind, Target};
use crate::value::labelled::Buffer;
use crate::value::types::{Scope, Value};

/// How a sequence of statements ended.
#[derive(PartialEq, Eq)]
pub(crate) enum Flow {
    Next,
    Break,
    Continue,
}

/// Renders a whole template.
pub(crate) fn template(mut interpreter: Interpreter<'_>, body: &Body) -> Outcome<Buffer> {
    let result = interpreter.body(body, &Rc::new(Scope::default()));
    let text = interpreter.finish();
    result.map(|_| text)
}

impl Interpreter<'_> {
    /// Runs statements, up to the end or to a `break` or `continue`.
    pub(crate) fn body(&mut self, body: &Body, scope: &Rc<Scope>) -> Outcome<Flow> {
        for stmt in body {
            let start = self.written();
            let flow = self.stmt(stmt, scope).map_err(|fault| fault.at(stmt.at))?;
            if stmt.writes() {
                self.wrote_statement(start, stmt.at)?;
            }
            match flow {
                Flow::Next => {}
                flow => return Ok(flow),
            }
        }
        Ok(Flow::Next)
    }

    fn stmt(&mut self, stmt: &Stmt, scope: &Rc<Scope>) -> Outcome<Flow> {
        self.run.steps(1)?;
        match &stmt.kind {
            StmtKind::Text(text) => self.write(text)?,
            StmtKind::Emit(expr) => {
                let value = self.eval(expr, scope)?;
                self.emit(&value)?;
            }
            StmtKind::Do(expr) => drop(self.eval(expr, scope)?),
            StmtKind::If(branches, otherwise) => return self.branch(branches, otherwise, scope),
            StmtKind::For(def) => {
                let iterable = self.eval(&def.iter, scope)?;
                return self.for_loop(def, &iterable, scope, 0).map(|()| Flow::Next);
            }
            StmtKind::Set(target, expr) => {
                let value = self.eval(expr, scope)?;
                self.assign(target, value, scope)?;
            }
            StmtKind::SetBlock(target, filters, body) => {
                let _level = self.run.deeper()?;
                let value = self.capture(body, &Scope::inside(scope))?;
                let value = self.filter_chain(value, filters, scope)?;
                self.assign(target, value, scope)?;
            }
            StmtKind::FilterBlock(filters, body) => {
                let _level = self.run.deeper()?;
                let value = self.capture(body, &Scope::inside(scope))?;
                let value = self.filter_chain(value, filters, scope)?;
                self.emit(&value)?;
            }
            StmtKind::With(bindings, body) => {
                let _level = self.run.deeper()?;
                let inner = Scope::inside(scope);
                let mut values = Vec::new();
                for (_, expr) in bindings {
                    values.push(self.eval(expr, scope)?);
                }
                for ((target, _), value) in bindings.iter().zip(values) {
                    self.assign(target, value, &inner)?;
                }
                return self.body(body, &inner);
            }
            StmtKind::Scope(body) => {
                let _level = self.run.deeper()?;
                return self.body(body, &Scope::inside(scope));
            }
            StmtKind::Autoescape(expr, body) => {
                let _level = self.run.deeper()?;
                let on = self.eval(expr, scope)?.truthy();
                let before = std::mem::replace(&mut self.escaping, on);
                let flow = self.body(body, &Scope::inside(scope));
                self.escaping = before;
                return flow;
            }
            StmtKind::Macro(def) => {
                let value = self.make_macro(def, scope)?;
                if let Some(name) = &def.name {
                    scope.set(name, value);
                }
            }
            StmtKind::CallBlock(call, def) => {
                let ExprKind::Call(callee, args) = &call.kind else {
                    return Err(Fault::new("`call` needs a call"));
                };
                let caller = self.make_macro(def, scope)?;
                let callee = self.eval(callee, scope)?;
                let mut args = self.args(args, scope)?;
                args.named.push((Arc::from("caller"), caller));
                let value = self.call(&callee, args).map_err(|fault| fault.at(call.at))?;
                self.emit(&value)?;
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::OtherTemplate(what) => {
                return Err(Fault::new(format!("`{what}`: a chat template is one file, there is nothing to load")));
            }
        }
        Ok(Flow::Next)
    }

    /// `{% if %}`.
    fn branch(&mut self, branches: &[(Expr, Body)], otherwise: &Body, scope: &Rc<Scope>) -> Outcome<Flow> {
        let run = self.run;
        let _level = run.deeper()?;
        for (test, body) in branches {
            if self.eval(test, scope)?.holds(run) {
                return self.body(body, scope);
            }
        }
        self.body(otherwise, scope)
    }

    /// `{% set target = value %}`, and the targets of `for` and `with`.
    pub(crate) fn assign(&mut self, target: &Target, value: Value, scope: &Rc<Scope>) -> Outcome<()> {
        match target {
            Target::Name(name) => scope.set(name, value),
            Target::Attr(object, name) => match self.eval(object, scope)? {
                Value::Namespace(namespace) => namespace.set(self.run, name, value)?,
                _ => return Err(Fault::new("cannot assign attribute on non-namespace object")),
            },
            Target::Unpack(targets) => {
                let values = value.elements(self.run)?;
                if values.len() < targets.len() {
                    let (expected, got) = (targets.len(), values.len());
                    return Err(Fault::new(format!("not enough values to unpack (expected {expected}, got {got})")));
                }
                if values.len() > targets.len() {
                    return Err(Fault::new(format!("too many values to unpack (expected {})", targets.len())));
                }
                for (target, value) in targets.iter().zip(values) {
                    self.assign(target, value, scope)?;
                }
            }
        }
        Ok(())
    }

    /// Runs `body` and returns what it writes.
    pub(crate) fn capture(&mut self, body: &Body, scope: &Rc<Scope>) -> Outcome<Value> {
        self.start_capture();
        let result = self.body(body, scope);
        let text = self.end_capture();
        result?;
        Ok(Value::Str(text.into_text(self.escaping)))
    }
}
