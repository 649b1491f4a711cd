//! The interpreter: statements, scopes, loops and macros, as Jinja2's compiled code runs them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;

use super::args::Args;
use super::ast::*;
use super::error::{Fault, Outcome};
use super::globals;
use super::methods;
use super::ops;
use super::repr;
use super::run::Run;
use super::value::{Map, Text, Value};

/// Variables of one block; blocks inside see them, and may only shadow them.
#[derive(Default)]
pub(super) struct Scope {
    variables: RefCell<Vec<(Name, Value)>>,
    parent: Option<Rc<Scope>>,
    kept: Cell<bool>,
}

impl Scope {
    fn inside(parent: &Rc<Scope>) -> Rc<Scope> {
        Rc::new(Scope { parent: Some(parent.clone()), ..Scope::default() })
    }

    fn get(&self, name: &str) -> Option<Value> {
        let mut scope = Some(self);
        while let Some(this) = scope {
            if let Some((_, value)) = this.variables.borrow().iter().find(|(n, _)| **n == *name) {
                return Some(value.clone());
            }
            scope = this.parent.as_deref();
        }
        None
    }

    fn set(&self, name: &Name, value: Value) {
        let mut variables = self.variables.borrow_mut();
        match variables.iter_mut().find(|(n, _)| n == name) {
            Some((_, slot)) => *slot = value,
            None => variables.push((name.clone(), value)),
        }
    }
}

/// A macro, or the body of a `{% call %}`, with the scope that it was written in.
pub(super) struct MacroValue {
    pub(super) def: Arc<MacroDef>,
    scope: Rc<Scope>,
}

/// How a block of statements ended.
#[derive(PartialEq, Eq)]
enum Flow {
    Next,
    Break,
    Continue,
}

pub(super) struct Interpreter<'r> {
    pub(super) run: &'r Run,
    context: Map,
    /// The text being written: the render's, and above it that of blocks being captured.
    outputs: Vec<String>,
    /// Scopes that macros keep, and that may therefore keep macros.
    kept: Vec<Rc<Scope>>,
    pub(super) escaping: bool,
}

impl<'r> Interpreter<'r> {
    pub(super) fn new(run: &'r Run, context: Map) -> Interpreter<'r> {
        Interpreter { run, context, outputs: vec![String::new()], kept: Vec::new(), escaping: false }
    }

    /// Renders a whole template.
    pub(super) fn template(mut self, body: &Body) -> Outcome<String> {
        let root = Rc::new(Scope::default());
        let result = self.body(body, &root);
        for scope in self.kept.drain(..) {
            drop(scope.variables.take());
        }
        result?;
        Ok(self.outputs.pop().unwrap_or_default())
    }

    /// A variable: of the scopes, of the context, of the environment.
    pub(super) fn variable(&self, name: &Name, scope: &Scope) -> Value {
        if let Some(value) = scope.get(name) {
            return value;
        }
        if let Some(value) = self.context.get_str(name) {
            self.run.read_variable(name);
            return value.clone();
        }
        if let Some(function) = globals::global(name) {
            return Value::Global(function);
        }
        if &**name == "loop" || &**name == "caller" {
            return Value::undefined(format!("'{name}' is undefined"));
        }
        self.run.read_variable(name);
        Value::undefined(format!("'{name}' is undefined"))
    }

    fn write(&mut self, text: &str) -> Outcome<()> {
        self.run.scan(text.len())?;
        let captured = self.outputs.len() > 1;
        if captured {
            self.run.make(text.len())?;
        }
        let limit = self.run.limits().output_bytes;
        if let Some(out) = self.outputs.last_mut() {
            if !captured && out.len() + text.len() > limit {
                return Err(Fault::limit(format!("more than {limit} bytes of text")));
            }
            out.push_str(text);
        }
        Ok(())
    }

    fn emit(&mut self, value: &Value) -> Outcome<()> {
        match value {
            Value::Str(text) if self.escaping => {
                let escaped = ops::escape(self.run, text)?;
                self.write(&escaped.s)
            }
            Value::Str(text) => self.write(&text.s),
            Value::Undefined(_) => Ok(()),
            other => {
                let text = repr::string(self.run, other)?;
                let text = if self.escaping { ops::escape(self.run, &Text::plain(text))?.s } else { text.into() };
                self.write(&text)
            }
        }
    }

    /// What `body` writes, as a string.
    fn capture(&mut self, body: &Body, scope: &Rc<Scope>) -> Outcome<Value> {
        self.outputs.push(String::new());
        let result = self.body(body, scope);
        let text = self.outputs.pop().unwrap_or_default();
        result?;
        Ok(Value::Str(Text { s: text.into(), safe: self.escaping }))
    }

    fn body(&mut self, body: &Body, scope: &Rc<Scope>) -> Outcome<Flow> {
        for stmt in body {
            match self.stmt(stmt, scope).map_err(|fault| fault.at(stmt.line))? {
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
                let value = self.capture(body, &Scope::inside(scope))?;
                let value = self.filter_chain(value, filters, scope)?;
                self.assign(target, value, scope)?;
            }
            StmtKind::FilterBlock(filters, body) => {
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
                let value = self.call(&callee, args).map_err(|fault| fault.at(call.line))?;
                self.emit(&value)?;
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::OtherTemplate(what) => {
                return Err(Fault::new(format!("`{what}`: a chat template stands alone, there is nothing to load")));
            }
        }
        Ok(Flow::Next)
    }

    fn branch(&mut self, branches: &[(Expr, Body)], otherwise: &Body, scope: &Rc<Scope>) -> Outcome<Flow> {
        let run = self.run;
        let _level = run.deeper()?;
        for (test, body) in branches {
            if self.eval(test, scope)?.truthy() {
                return self.body(body, scope);
            }
        }
        self.body(otherwise, scope)
    }

    fn assign(&mut self, target: &Target, value: Value, scope: &Rc<Scope>) -> Outcome<()> {
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

    fn for_loop(&mut self, def: &Arc<For>, iterable: &Value, scope: &Rc<Scope>, depth: u32) -> Outcome<()> {
        let run = self.run;
        let _level = run.deeper()?;
        let state = Rc::new(LoopState::new(run, def, iterable, scope, depth)?);
        let mut iterated = false;
        while let Some(item) = state.advance(self)? {
            iterated = true;
            run.steps(1)?;
            let inner = Scope::inside(scope);
            inner.set(&Arc::from("loop"), Value::Loop(state.clone()));
            self.assign(&def.target, item, &inner)?;
            if self.body(&def.body, &inner)? == Flow::Break {
                break;
            }
        }
        if !iterated {
            self.body(&def.otherwise, &Scope::inside(scope))?;
        }
        Ok(())
    }

    fn make_macro(&mut self, def: &Arc<MacroDef>, scope: &Rc<Scope>) -> Outcome<Value> {
        self.run.make(128)?;
        if !scope.kept.replace(true) {
            self.kept.push(scope.clone());
        }
        Ok(Value::Macro(Rc::new(MacroValue { def: def.clone(), scope: scope.clone() })))
    }

    /// Calls a macro as Jinja2's `Macro.__call__` binds its arguments.
    fn call_macro(&mut self, called: &MacroValue, args: Args) -> Outcome<Value> {
        let run = self.run;
        let _level = run.deeper()?;
        let def = &called.def;
        let shown = def.name.as_deref().unwrap_or("caller");
        let Args { positional, mut named } = args;
        let scope = Scope::inside(&called.scope);
        let mut positional = positional.into_iter();
        if def.takes.caller && !def.params.iter().any(|(p, _)| &**p == "caller") {
            let given = take(&mut named, "caller");
            let caller = given.unwrap_or_else(|| Value::undefined("No caller defined"));
            scope.set(&Arc::from("caller"), caller);
        }
        for (param, default) in &def.params {
            let by_name = take(&mut named, param);
            let value = match (positional.next(), by_name, default) {
                (Some(_), Some(_), _) => {
                    return Err(Fault::new(format!("macro '{shown}' got multiple values for argument '{param}'")));
                }
                (Some(value), None, _) | (None, Some(value), _) => value,
                (None, None, Some(default)) => self.eval(default, &scope)?,
                (None, None, None) => Value::undefined(format!("parameter '{param}' was not provided")),
            };
            scope.set(param, value);
        }
        if def.takes.kwargs {
            scope.set(&Arc::from("kwargs"), globals::keywords(run, std::mem::take(&mut named))?);
        } else if let Some((name, _)) = named.first() {
            return Err(Fault::new(format!("macro '{shown}' takes no keyword argument '{name}'")));
        }
        let rest: Vec<Value> = positional.collect();
        if def.takes.varargs {
            scope.set(&Arc::from("varargs"), Value::tuple(run, rest)?);
        } else if !rest.is_empty() {
            let most = def.params.len();
            return Err(Fault::new(format!("macro '{shown}' takes not more than {most} argument(s)")));
        }
        self.capture(&def.body, &scope)
    }

    /// `callee(args)`.
    pub(super) fn call(&mut self, callee: &Value, args: Args) -> Outcome<Value> {
        match callee {
            Value::Macro(called) => self.call_macro(called, args),
            Value::Method(method) => methods::call(self, &method.0, method.1, args),
            Value::Global(function) => globals::call(self.run, *function, args),
            Value::Joiner(joiner) => Ok(joiner.call()),
            Value::Loop(state) => state.recurse(self, args),
            other => Err(other.fault(|t| format!("'{t}' object is not callable"))),
        }
    }
}

fn take(named: &mut Vec<(Name, Value)>, name: &str) -> Option<Value> {
    let at = named.iter().position(|(n, _)| **n == *name)?;
    Some(named.remove(at).1)
}

/// Jinja2's `loop`. Elements are filtered as they are needed, so that a filter sees what the body did.
pub(super) struct LoopState {
    def: Arc<For>,
    scope: Rc<Scope>,
    rest: RefCell<VecDeque<Value>>,
    /// Elements that passed the filter ahead of their turn.
    ahead: RefCell<VecDeque<Value>>,
    previous: RefCell<Option<Value>>,
    current: RefCell<Option<Value>>,
    changed: RefCell<Option<Value>>,
    index: Cell<usize>,
    level: u32,
    /// Nesting, as of lists.
    pub(super) depth: u32,
}

impl LoopState {
    fn new(run: &Run, def: &Arc<For>, iterable: &Value, scope: &Rc<Scope>, level: u32) -> Outcome<LoopState> {
        let elements = iterable.elements(run)?;
        run.make(256)?;
        Ok(LoopState {
            def: def.clone(),
            scope: scope.clone(),
            depth: Value::nesting(run, &elements)?,
            rest: RefCell::new(elements.into()),
            ahead: RefCell::default(),
            previous: RefCell::default(),
            current: RefCell::default(),
            changed: RefCell::default(),
            index: Cell::new(0),
            level,
        })
    }

    /// The next element that the filter lets through.
    fn pull(&self, it: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        loop {
            let next = self.rest.borrow_mut().pop_front();
            let (Some(item), Some(filter)) = (&next, &self.def.filter) else { return Ok(next) };
            it.run.steps(1)?;
            let scope = Scope::inside(&self.scope);
            it.assign(&self.def.target, item.clone(), &scope)?;
            if it.eval(filter, &scope)?.truthy() {
                return Ok(next);
            }
        }
    }

    fn advance(&self, it: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        let ready = self.ahead.borrow_mut().pop_front();
        let next = match ready {
            Some(item) => Some(item),
            None => self.pull(it)?,
        };
        if next.is_some() {
            self.index.set(self.index.get() + 1);
        }
        *self.previous.borrow_mut() = self.current.replace(next.clone());
        Ok(next)
    }

    fn peek(&self, it: &mut Interpreter<'_>) -> Outcome<Option<Value>> {
        if self.ahead.borrow().is_empty() {
            let next = self.pull(it)?;
            self.ahead.borrow_mut().extend(next);
        }
        Ok(self.ahead.borrow().front().cloned())
    }

    fn length(&self, it: &mut Interpreter<'_>) -> Outcome<usize> {
        if self.def.filter.is_some() {
            while let Some(item) = self.pull(it)? {
                self.ahead.borrow_mut().push_back(item);
            }
        }
        Ok(self.index.get() + self.ahead.borrow().len() + self.rest.borrow().len())
    }

    /// `loop.name`.
    pub(super) fn attr(&self, it: &mut Interpreter<'_>, name: &str) -> Outcome<Option<Value>> {
        let int = |n: usize| Value::Int(n as i128);
        let index = self.index.get();
        Ok(Some(match name {
            "index" => int(index),
            "index0" => int(index.saturating_sub(1)),
            "first" => Value::Bool(index == 1),
            "last" => Value::Bool(self.peek(it)?.is_none()),
            "length" => int(self.length(it)?),
            "revindex" => int(self.length(it)? + 1 - index),
            "revindex0" => int(self.length(it)? - index),
            "depth" => Value::Int(i128::from(self.level) + 1),
            "depth0" => Value::Int(i128::from(self.level)),
            "previtem" => {
                let previous = self.previous.borrow().clone();
                previous.unwrap_or_else(|| Value::undefined("there is no previous item"))
            }
            "nextitem" => self.peek(it)?.unwrap_or_else(|| Value::undefined("there is no next item")),
            _ => return Ok(None),
        }))
    }

    /// `loop.cycle(…)` and `loop.changed(…)`.
    pub(super) fn method(&self, run: &Run, method: &str, args: Args) -> Outcome<Value> {
        let items = args.positional;
        if method == "cycle" {
            if items.is_empty() {
                return Err(Fault::new("no items for cycling given"));
            }
            let at = self.index.get().saturating_sub(1) % items.len();
            return Ok(items.get(at).cloned().unwrap_or(Value::None));
        }
        // As text: a loop must not come to hold what holds it.
        let now = Value::from(repr::repr(run, &Value::tuple(run, items)?)?);
        let before = self.changed.replace(Some(now.clone()));
        Ok(Value::Bool(match before {
            Some(before) => !ops::equal(run, &before, &now)?,
            None => true,
        }))
    }

    /// `loop(children)` in a recursive loop.
    fn recurse(&self, it: &mut Interpreter<'_>, args: Args) -> Outcome<Value> {
        if !self.def.recursive {
            return Err(Fault::new("The loop must have the 'recursive' marker to be called recursively."));
        }
        let [children] = args.bind("loop", ["iterable"])?;
        let children = super::args::required("loop", "iterable", children)?;
        it.outputs.push(String::new());
        let result = it.for_loop(&self.def, &children, &self.scope, self.level + 1);
        let text = it.outputs.pop().unwrap_or_default();
        result?;
        Ok(text.into())
    }
}

/// `object.name`, as Jinja2 looks it up: a Python attribute first, then an item. Not for `loop`.
pub(super) fn get_attr(run: &Run, object: &Value, name: &str) -> Outcome<Value> {
    if let Some(method) = methods::find(object, name) {
        return Ok(Value::Method(Rc::new((object.clone(), method))));
    }
    let found = match object {
        Value::Undefined(why) => return Err(Fault::new(&**why)),
        Value::Dict(dict) => {
            run.read_key(dict, name);
            dict.map.borrow().get_str(name).cloned()
        }
        Value::Namespace(namespace) => namespace.get(name),
        Value::Tuple(tuple) if tuple.group => match name {
            "grouper" => tuple.items.first().cloned(),
            "list" => tuple.items.get(1).cloned(),
            _ => None,
        },
        Value::Macro(m) => match name {
            "name" => Some(m.def.name.as_deref().map_or(Value::None, Value::from)),
            "arguments" => {
                let names = m.def.params.iter().map(|(n, _)| Value::from(&**n)).collect();
                Some(Value::tuple(run, names)?)
            }
            _ => None,
        },
        Value::Cycler(cycler) if name == "current" => Some(cycler.current()),
        _ => None,
    };
    Ok(found.unwrap_or_else(|| missing(object, name)))
}

fn missing(object: &Value, name: &str) -> Value {
    match object {
        Value::None => Value::undefined(format!("'None' has no attribute '{name}'")),
        other => Value::undefined(format!("'{} object' has no attribute '{name}'", other.type_name())),
    }
}

/// `object[index]`, as Jinja2 looks it up: an item first, then a Python attribute.
pub(super) fn get_item(run: &Run, object: &Value, index: &Value) -> Outcome<Value> {
    if let Value::Undefined(why) = object {
        return Err(Fault::new(&**why));
    }
    if let Some(value) = ops::item(run, object, index)? {
        return Ok(value);
    }
    let Some(name) = index.as_str() else {
        let shown = repr::repr(run, index)?;
        return Ok(Value::undefined(format!("{} object has no element {shown}", object.type_name())));
    };
    match object {
        Value::Dict(_) => match methods::find(object, name) {
            Some(method) => Ok(Value::Method(Rc::new((object.clone(), method)))),
            None => Ok(missing(object, name)),
        },
        _ => get_attr(run, object, name),
    }
}
