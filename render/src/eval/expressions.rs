//! Evaluation of expressions.

use std::rc::Rc;

use crate::builtins::args::{Args, integer};
use crate::builtins::{builtin_tests, filters, methods};
use crate::error::{Fault, Outcome};
use crate::eval::interpreter::Interpreter;
use crate::operators::lookup::{get_attr, get_item, slice};
use crate::operators::{arithmetic, comparison, method_names};
use crate::syntax::ast::{Arg, Const, Expr, ExprKind, FilterCall};
use crate::value::types::{Map, Scope, Text, Value};

impl Interpreter<'_> {
    /// The value of an expression.
    pub(crate) fn eval(&mut self, expr: &Expr, scope: &Rc<Scope>) -> Outcome<Value> {
        let run = self.run;
        run.steps(1)?;
        match &expr.kind {
            ExprKind::Const(constant) => return Ok(constant_value(constant)),
            ExprKind::Var(name) => return Ok(self.variable(name, scope)),
            _ => {}
        }
        let _level = run.deeper().map_err(|fault| fault.at(expr.at))?;
        self.eval_inner(expr, scope).map_err(|fault| fault.at(expr.at))
    }

    fn eval_all(&mut self, exprs: &[Expr], scope: &Rc<Scope>) -> Outcome<Vec<Value>> {
        self.run.make_items(exprs.len())?;
        exprs.iter().map(|e| self.eval(e, scope)).collect()
    }

    fn eval_inner(&mut self, expr: &Expr, scope: &Rc<Scope>) -> Outcome<Value> {
        let run = self.run;
        match &expr.kind {
            ExprKind::Const(constant) => Ok(constant_value(constant)),
            ExprKind::Var(name) => Ok(self.variable(name, scope)),
            ExprKind::List(items) => {
                let items = self.eval_all(items, scope)?;
                Value::list(run, items)
            }
            ExprKind::Tuple(items) => {
                let items = self.eval_all(items, scope)?;
                Value::tuple(run, items)
            }
            ExprKind::Dict(pairs) => self.dict(pairs, scope),
            ExprKind::Attr(object, name) => {
                let object = self.eval(object, scope)?;
                self.attr(&object, name)
            }
            ExprKind::Item(object, index) => {
                let object = self.eval(object, scope)?;
                let index = self.eval(index, scope)?;
                match (&object, index.as_str()) {
                    (Value::Loop(_), Some(name)) => self.attr(&object, name),
                    _ => get_item(run, &object, &index),
                }
            }
            ExprKind::Slice(object, bounds) => {
                let object = self.eval(object, scope)?;
                let mut indices = [None; 3];
                for (slot, bound) in indices.iter_mut().zip(bounds.iter()) {
                    if let Some(bound) = bound {
                        *slot = integer(Some(self.eval(bound, scope)?))?;
                    }
                }
                slice(run, &object, indices)
            }
            ExprKind::Call(callee, args) => self.call_expr(callee, args, scope),
            ExprKind::Filter(value, call) => {
                let value = self.eval(value, scope)?;
                self.filter(value, call, scope)
            }
            ExprKind::Test(value, name, args) => {
                let value = self.eval(value, scope)?;
                let args = self.args(args, scope)?;
                builtin_tests::test(run, name, &value, args.positional).map(Value::bool)
            }
            ExprKind::Not(value) => Ok(Value::bool(!self.eval(value, scope)?.holds(run))),
            ExprKind::Neg(value) => arithmetic::negate(run, &self.eval(value, scope)?),
            ExprKind::And(left, right) => {
                let left = self.eval(left, scope)?;
                if left.holds(run) { self.eval(right, scope) } else { Ok(left) }
            }
            ExprKind::Or(left, right) => {
                let left = self.eval(left, scope)?;
                if left.holds(run) { Ok(left) } else { self.eval(right, scope) }
            }
            ExprKind::Arith(op, left, right) => {
                let left = self.eval(left, scope)?;
                let right = self.eval(right, scope)?;
                arithmetic::arith(run, *op, &left, &right)
            }
            ExprKind::Concat(parts) => {
                let parts = self.eval_all(parts, scope)?;
                arithmetic::concat_all(run, &parts)
            }
            ExprKind::Compare(first, rest) => {
                let mut left = self.eval(first, scope)?;
                for (op, right) in rest {
                    let right = self.eval(right, scope)?;
                    if !comparison::compare(run, *op, &left, &right)? {
                        return Ok(Value::bool(false));
                    }
                    left = right;
                }
                Ok(Value::bool(true))
            }
            ExprKind::If(inline) => {
                if self.eval(&inline.test, scope)?.holds(run) {
                    return self.eval(&inline.yes, scope);
                }
                match &inline.no {
                    Some(no) => self.eval(no, scope),
                    None => Ok(Value::undefined(
                        "the inline if-expression evaluated to false and no else section was defined.",
                    )),
                }
            }
        }
    }

    fn dict(&mut self, pairs: &[(Expr, Expr)], scope: &Rc<Scope>) -> Outcome<Value> {
        let mut map = Map::default();
        for (key, value) in pairs {
            self.run.make_items(4)?;
            let key = self.eval(key, scope)?;
            let value = self.eval(value, scope)?;
            map.insert(key.key(self.run)?, key, value);
        }
        Value::dict(self.run, map)
    }

    /// `object.name`.
    pub(crate) fn attr(&mut self, object: &Value, name: &str) -> Outcome<Value> {
        if let Value::Loop(state) = object
            && let Some(value) = state.attr(self, name)?
        {
            return Ok(value);
        }
        get_attr(self.run, object, name)
    }

    fn call_expr(&mut self, callee: &Expr, args: &[Arg], scope: &Rc<Scope>) -> Outcome<Value> {
        if let ExprKind::Attr(object, name) = &callee.kind {
            let object = self.eval(object, scope)?;
            if let Some(method) = method_names::find(&object, name) {
                let args = self.args(args, scope)?;
                return methods::call(self.run, &object, method, args);
            }
            let callee = self.attr(&object, name)?;
            let args = self.args(args, scope)?;
            return self.call(&callee, args);
        }
        let callee = self.eval(callee, scope)?;
        let args = self.args(args, scope)?;
        self.call(&callee, args)
    }

    /// The values of arguments.
    pub(crate) fn args(&mut self, args: &[Arg], scope: &Rc<Scope>) -> Outcome<Args> {
        let mut bound = Args::default();
        for arg in args {
            match arg {
                Arg::Positional(e) => bound.positional.push(self.eval(e, scope)?),
                Arg::Keyword(name, e) => bound.named.push((name.clone(), self.eval(e, scope)?)),
                Arg::Spread(e) => bound.positional.extend(self.eval(e, scope)?.elements(self.run)?),
                Arg::SpreadKeywords(e) => {
                    let Value::Dict(dict) = self.eval(e, scope)? else {
                        return Err(Fault::new("argument after ** must be a mapping"));
                    };
                    self.run.read_whole(&dict.source);
                    for entry in &dict.map.borrow().entries {
                        let Value::Str(name) = &entry.shown else {
                            return Err(Fault::new("keywords must be strings"));
                        };
                        self.run.make_items(2)?;
                        bound.named.push((name.s.clone(), entry.value.clone()));
                    }
                }
            }
        }
        Ok(bound)
    }

    fn filter(&mut self, value: Value, call: &FilterCall, scope: &Rc<Scope>) -> Outcome<Value> {
        let args = self.args(&call.args, scope)?;
        filters::apply(self.run, &call.name, value, args).map_err(|fault| fault.at(call.at))
    }

    /// Applies the filters of `{% filter a | b %}` and `{% set x | a | b %}`.
    pub(crate) fn filter_chain(&mut self, mut value: Value, calls: &[FilterCall], scope: &Rc<Scope>) -> Outcome<Value> {
        for call in calls {
            value = self.filter(value, call, scope)?;
        }
        Ok(value)
    }
}

fn constant_value(constant: &Const) -> Value {
    match constant {
        Const::None => Value::NONE,
        Const::Bool(b) => Value::bool(*b),
        Const::Int(i) => Value::int(*i),
        Const::Float(f) => Value::float(*f),
        Const::Str(s) => Value::Str(Text::plain(s.clone())),
    }
}
