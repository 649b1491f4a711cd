//! The rules of arguments that are one object, and of calls that are one object with name and arguments.

use std::rc::Rc;

use unjinja_runtime::abi::CallShape;

use super::{Call, Offered, TurnRules};
use crate::expr::Expr;
use crate::free_text::LAYOUTS;
use crate::syntax::Syntax;

impl TurnRules<'_> {
    /// All arguments of a call as one object.
    pub(super) fn whole_arguments(&mut self, call: Call, python: bool) -> Option<Expr> {
        let syntax = if python { Syntax::Python } else { Syntax::Json };
        match (call, &self.limits.offered) {
            (Call::Tool(number, _), Some(Offered::These(tools))) => {
                let tools = Rc::clone(tools);
                let tool = &tools[number];
                self.typed(tool, "arguments", &tool.parameters, syntax)
            }
            _ => Some(self.values.any_object(&mut self.builder, syntax)),
        }
    }

    /// A call as one object that holds the name and the arguments. If the name is already written, it is that of `call`.
    pub(super) fn object(&mut self, shape: &CallShape, call: Call) -> Option<Expr> {
        let named = match call {
            Call::Tool(number, _) if shape.announced => Some(number),
            _ => None,
        };
        let syntax = if shape.python { Syntax::Python } else { Syntax::Json };
        match &self.limits.offered {
            None => None,
            Some(Offered::Any) => {
                let name = self.values.any_name(&mut self.builder, syntax.clone());
                let arguments = self.values.any_object(&mut self.builder, syntax);
                let arguments = self.as_written(shape, arguments);
                Some(self.call_object(shape, name, arguments, true))
            }
            Some(Offered::These(tools)) => {
                let tools = Rc::clone(tools);
                let mut calls = Vec::with_capacity(tools.len());
                for (number, tool) in tools.iter().enumerate() {
                    if named.is_some_and(|named| named != number) {
                        continue;
                    }
                    let arguments = self.typed(tool, "arguments", &tool.parameters, syntax.clone());
                    let Some(arguments) = arguments else { continue };
                    let arguments = self.as_written(shape, arguments);
                    let name = self.values.exact(&mut self.builder, &tool.name, syntax.clone());
                    let call = self.call_object(shape, name, arguments, tool.has_required());
                    calls.push(self.builder.rule(&format!("{}-call", tool.name), call).into());
                }
                (!calls.is_empty()).then(|| self.builder.choice(&calls))
            }
        }
    }

    /// Arguments as the template writes them: an object, or its text in a string.
    fn as_written(&mut self, shape: &CallShape, arguments: Expr) -> Expr {
        match shape.args_as_text {
            true => self.values.escaped.string(&mut self.builder, arguments),
            false => arguments,
        }
    }

    fn call_object(&mut self, shape: &CallShape, name: Expr, arguments: Expr, required: bool) -> Expr {
        let syntax = if shape.python { Syntax::Python } else { Syntax::Json };
        let space = self.values.space(&mut self.builder);
        let colon = self.builder.read("$0 ':' $0", &[space]);
        let pair = |turn: &mut Self, key: &str, value: Expr| {
            let key = turn.values.exact(&mut turn.builder, key, syntax.clone());
            turn.builder.sequence(&[key, colon, value])
        };
        let mut members: Vec<(Expr, bool)> = Vec::new();
        if shape.name_is_key {
            members.push((self.builder.sequence(&[name, colon, arguments]), true));
        } else {
            let inner =
                vec![(pair(self, &shape.name_field, name), true), (pair(self, &shape.args_field, arguments), required)];
            if shape.function_field.is_empty() {
                members = inner;
            } else {
                let inner = self.members(inner, false);
                members.push((pair(self, &shape.function_field, inner), true));
            }
        }
        if !shape.id_field.is_empty() {
            let id = self.values.any_id(&mut self.builder, syntax.clone());
            members.push((pair(self, &shape.id_field, id), false));
        }
        for key in &*shape.keys {
            let value = self.values.any(&mut self.builder, syntax.clone());
            members.push((pair(self, key, value), false));
        }
        self.members(members, shape.strict)
    }

    /// An object with these members in any order, each at most once. The flag says whether a member is required. Where the object alone is
    /// the call, it opens only with the white space by which a text knows it.
    fn members(&mut self, members: Vec<(Expr, bool)>, alone: bool) -> Expr {
        let space = self.values.space(&mut self.builder);
        let first = if alone {
            let texts: Vec<Expr> = LAYOUTS.iter().map(|layout| self.builder.text(*layout)).collect();
            self.builder.choice(&texts)
        } else {
            space
        };
        let comma = self.builder.read("$0 ',' $0", &[space]);
        let most = 1u32 << members.len().min(5);
        let mut rules: Vec<Expr> = vec![Expr::EMPTY; most as usize];
        // One rule per set of members that are already written, from the full set down: what may come after them.
        for written in (0..most).rev() {
            let left = members.iter().enumerate().filter(|(at, _)| written & (1 << at) == 0);
            let alternatives: Vec<Expr> = left
                .clone()
                .filter_map(|(at, (member, _))| {
                    let rest = *rules.get((written | 1 << at) as usize)?;
                    let lead = if written == 0 { Expr::EMPTY } else { comma };
                    Some(self.builder.sequence(&[lead, *member, rest]))
                })
                .collect();
            let complete = left.clone().all(|(_, (_, required))| !required);
            let allowed_target = match (alternatives.is_empty(), complete) {
                (true, _) => Expr::EMPTY,
                (false, true) => self.builder.option(self.builder.choice(&alternatives)),
                (false, false) => self.builder.choice(&alternatives),
            };
            let inline = members.len() <= 2;
            rules[written as usize] = if inline || allowed_target == Expr::EMPTY {
                allowed_target
            } else {
                self.builder.rule("members", allowed_target).into()
            };
        }
        let all = rules.swap_remove(0);
        self.builder.read("'{' $0 $1 $2 '}'", &[first, all, space])
    }
}
