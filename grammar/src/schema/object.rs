//! Objects: the properties that schemas name, in their order and in any subset that has the required ones; then other
//! properties. Where templates sort keys, the sorted order is accepted too.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::bounds::Count;
use super::condition::Condition;
use super::constraints::Constraints;
use super::regex::Regex;
use super::types::OBJECT;
use super::{Outcome, Schemas, impossible, json};
use crate::expr::Expr;
use crate::members::{Item, Members};

/// What a grammar loses where other names are not compared with those of the schema.
pub(crate) const NAME_AGAIN: &str = "a name of the schema may come as another one";

pub(super) struct Property<'s> {
    pub name: &'s str,
    pub required: bool,
    pub forbidden: bool,
    pub parts: Vec<Condition<'s>>,
}

/// What schemas say about properties that they do not name.
pub(super) struct Others<'s> {
    /// The conditions for all of them.
    pub parts: Vec<Condition<'s>>,
    /// The readable `patternProperties` of one schema: each name pattern with the schema of its values.
    pub patterned: Vec<(Regex, &'s Value)>,
    /// Whether names that match no pattern are allowed.
    pub unpatterned: bool,
}

impl<'s> Schemas<'s, '_> {
    pub(super) fn object(&mut self, hint: &str, constraints: &Constraints<'s>) -> Outcome<'s, Expr> {
        if constraints.limited & OBJECT == 0 {
            return Ok(json::object(self.builder).into());
        }
        let schema = constraints.objects.first().copied();
        if constraints.members.is_empty() {
            return impossible(schema, "the minimum number of properties is above the maximum");
        }
        let patterns = self.patterns(constraints);
        let mut properties = self.properties(constraints, &patterns);
        let others = self.others(constraints, patterns, &properties);
        self.named(constraints, &mut properties)?;

        let space = Expr::from(json::space(self.builder));
        let mut items = Vec::new();
        for property in &mut properties {
            let value = if property.forbidden {
                impossible(schema, "a property is both required and forbidden")
            } else {
                self.value(&format!("{hint}-{}", property.name), std::mem::take(&mut property.parts))
            };
            match value {
                Ok(value) => {
                    let key = json::key(self.builder, property.name);
                    let expr = self.builder.sequence(&[key, value, space]);
                    items.push(Item { expr, name: property.name.to_owned(), required: property.required });
                }
                Err(why) if property.required => return Err(why),
                // It is optional, and has no valid value: it is left out.
                Err(_) => {}
            }
        }
        let names = properties.iter().map(|property| property.name).collect();
        let extra = self.extra(hint, constraints, others, names);
        self.members(hint, constraints, items, extra)
    }

    /// The name patterns of all schemas, by schema.
    pub(super) fn patterns(&mut self, constraints: &Constraints<'s>) -> HashMap<*const Value, Vec<(Regex, &'s Value)>> {
        let mut all: HashMap<*const Value, Vec<(Regex, &'s Value)>> = HashMap::new();
        for &schema in &constraints.objects {
            let Some(Value::Object(patterns)) = schema.get("patternProperties") else { continue };
            for (pattern, of) in patterns {
                match Regex::parse(pattern) {
                    Ok(regex) => all.entry(std::ptr::from_ref(schema)).or_default().push((regex, of)),
                    Err(why) => self.report(Some(of), "patternProperties", why),
                }
            }
        }
        all
    }

    /// The properties that schemas name, in the order in which they are named.
    pub(super) fn properties(
        &mut self,
        constraints: &Constraints<'s>,
        patterns: &HashMap<*const Value, Vec<(Regex, &'s Value)>>,
    ) -> Vec<Property<'s>> {
        let mut at: HashMap<&'s str, usize> = HashMap::new();
        let mut properties: Vec<Property<'s>> = Vec::new();
        let mut find = |name: &'s str, properties: &mut Vec<Property<'s>>| {
            *at.entry(name).or_insert_with(|| {
                properties.push(Property { name, required: false, forbidden: false, parts: Vec::new() });
                properties.len() - 1
            })
        };
        for schema in &constraints.objects {
            if let Some(Value::Object(named)) = schema.get("properties") {
                for (name, _) in named {
                    find(name, &mut properties);
                }
            }
        }
        for name in &constraints.required {
            let at = find(name, &mut properties);
            properties[at].required = true;
        }
        // Names that `propertyNames` lists are treated as named properties. No other names are allowed then.
        for name in constraints.objects.iter().filter_map(|schema| listed_names(schema)).flatten() {
            find(name, &mut properties);
        }
        for name in &constraints.forbidden {
            let at = find(name, &mut properties);
            properties[at].forbidden = true;
        }
        for (name, schema) in &constraints.unlike {
            let at = find(name, &mut properties);
            properties[at].parts.push(Condition::Not(schema));
        }
        for &schema in &constraints.objects {
            let named = schema.get("properties").and_then(Value::as_object);
            let patterns = patterns.get(&std::ptr::from_ref(schema));
            let unread = unread(schema, patterns);
            let additional = schema.get("additionalProperties").map(Condition::Schema);
            for property in &mut properties {
                let own = named.and_then(|named| named.get(property.name));
                property.parts.extend(own.map(Condition::Schema));
                let mut matched = own.is_some() || unread;
                for (regex, of) in patterns.into_iter().flatten() {
                    match regex.matches(property.name) {
                        Some(false) => {}
                        Some(true) => {
                            property.parts.push(Condition::Schema(of));
                            matched = true;
                        }
                        None => {
                            self.report(Some(of), "patternProperties", "matching the names takes too long");
                            matched = true;
                        }
                    }
                }
                if !matched {
                    property.parts.extend(additional);
                }
            }
        }
        properties
    }

    /// What other properties may be. `None` if there may be none.
    pub(super) fn others(
        &mut self,
        constraints: &Constraints<'s>,
        mut patterns: HashMap<*const Value, Vec<(Regex, &'s Value)>>,
        properties: &[Property<'s>],
    ) -> Option<Others<'s>> {
        let mut others = Others { parts: Vec::new(), patterned: Vec::new(), unpatterned: true };
        let by_default = self.is_closed_by_default(constraints, properties);
        let several = constraints.objects.iter().filter(|schema| schema.get("patternProperties").is_some()).count() > 1;
        for &schema in &constraints.objects {
            if !matches!(schema.get("unevaluatedProperties"), None | Some(Value::Bool(true))) {
                self.report(Some(schema), "unevaluatedProperties", "what other schemas evaluate is not tracked");
            }
            let additional = schema.get("additionalProperties");
            let own = patterns.get_mut(&std::ptr::from_ref(schema)).map(std::mem::take).filter(|own| !own.is_empty());
            if !is_there(schema.get("patternProperties")) {
                others.parts.extend(additional.map(Condition::Schema));
                continue;
            }
            let closed = additional == Some(&Value::Bool(false)) || by_default;
            if several || unread(schema, own.as_ref()) {
                self.report(Some(schema), "patternProperties", "these patterns are not checked together");
                continue;
            }
            let own = own.unwrap_or_default();
            // A name that is written may match a pattern and be a named property as well. The rules do not tell these
            // apart.
            let clash = properties
                .iter()
                .any(|property| own.iter().any(|(regex, _)| regex.matches(property.name) != Some(false)));
            if clash || !closed || own.len() > 1 {
                self.report(
                    Some(schema),
                    "patternProperties",
                    "a name that matches one pattern may have the value of another name",
                );
            }
            others.patterned = own;
            others.unpatterned = !closed;
            if !closed && others.patterned.is_empty() {
                others.parts.extend(additional.map(Condition::Schema));
            } else if let Some(additional @ Value::Object(_)) = additional {
                // This holds only for names that match no pattern. The grammar accepts either value.
                others.patterned.push((Regex::anything(), additional));
                others.unpatterned = false;
            }
        }
        let listed = constraints.objects.iter().any(|schema| listed_names(schema).is_some());
        let patterns = constraints.objects.iter().any(|schema| is_there(schema.get("patternProperties")));
        let closed =
            listed || (by_default && !patterns) || others.parts.contains(&Condition::Schema(&Value::Bool(false)));
        (!closed).then_some(others)
    }

    /// Whether schemas that do not say so have no other properties than those that they name. So it is by default where one of them
    /// has `properties`, unless more properties are required than are named.
    fn is_closed_by_default(&self, constraints: &Constraints<'s>, properties: &[Property<'s>]) -> bool {
        let named = constraints.objects.iter().any(|schema| schema.get("properties").is_some());
        let enough = constraints.members.min as usize <= properties.len();
        !self.builder.manner().open_objects
            && named
            && enough
            && !constraints.objects.iter().any(|schema| schema.as_object().is_some_and(says_open))
    }

    /// Tests the named properties against `propertyNames`.
    pub(super) fn named(&mut self, constraints: &Constraints<'s>, properties: &mut [Property<'s>]) -> Outcome<'s, ()> {
        let mut reports = Vec::new();
        for &schema in &constraints.objects {
            let Some(names) = schema.get("propertyNames") else { continue };
            for property in &mut *properties {
                match self.fits(&Value::from(property.name), names) {
                    Some(true) => {}
                    None => reports.push((schema, "a name could not be tested")),
                    Some(false) => property.forbidden = true,
                }
            }
            if !properties.is_empty() && listed_names(schema).is_none() && names != &Value::Bool(true) {
                reports.push((schema, "together with named properties, other names are not checked"));
            }
        }
        for (schema, why) in reports {
            self.report(Some(schema), "propertyNames", why);
        }
        Ok(())
    }

    /// One property that no schema names.
    fn extra(
        &mut self,
        hint: &str,
        constraints: &Constraints<'s>,
        others: Option<Others<'s>>,
        names: Vec<&'s str>,
    ) -> Option<Expr> {
        let Others { parts, patterned, unpatterned } = others?;
        let space = Expr::from(json::space(self.builder));
        let mut alternatives = Vec::new();
        for (regex, of) in patterned {
            let value = [Condition::Schema(of)].into_iter().chain(parts.iter().copied()).collect();
            let Ok(value) = self.value(&format!("{hint}-matching"), value) else { continue };
            let key = match (regex.is_anything(), regex.write(self.builder, &format!("{hint}-name"))) {
                (false, Ok(key)) => json::quoted(self.builder, key),
                (true, _) => self.other_name(hint, constraints, names.clone())?,
                (false, Err(why)) => {
                    self.report(Some(of), "patternProperties", why);
                    json::string(self.builder).into()
                }
            };
            alternatives.push(self.builder.read("$0 $1 ':' $1 $2 $1", &[key, space, value]));
        }
        if unpatterned && let Ok(value) = self.value(&format!("{hint}-other"), parts) {
            let key = self.other_name(hint, constraints, names);
            alternatives.extend(key.map(|key| self.builder.read("$0 $1 ':' $1 $2 $1", &[key, space, value])));
        }
        (!alternatives.is_empty()).then(|| {
            let extra = self.builder.choice(&alternatives);
            self.rule(&format!("{hint}-others"), extra)
        })
    }

    /// The name of a property that no schema names, in quotes.
    fn other_name(&mut self, hint: &str, constraints: &Constraints<'s>, names: Vec<&'s str>) -> Option<Expr> {
        if !names.is_empty() && self.builder.manner().unlimited {
            self.report(constraints.objects.first().copied(), "additionalProperties", NAME_AGAIN);
        } else if !names.is_empty() {
            return Some(super::string::other_string(self.builder, &format!("{hint}-name"), names));
        }
        let rules = constraints.objects.iter().filter_map(|schema| schema.get("propertyNames")).map(Condition::Schema);
        let rules: Vec<Condition<'s>> = rules.collect();
        if rules.is_empty() {
            return Some(json::any_key(self.builder));
        }
        let rules = rules.into_iter().chain([Condition::Types(super::types::STRING)]).collect();
        self.value(&format!("{hint}-name"), rules).ok()
    }

    /// The object with all its properties, and their number.
    fn members(
        &mut self,
        hint: &str,
        constraints: &Constraints<'s>,
        items: Vec<Item>,
        extra: Option<Expr>,
    ) -> Outcome<'s, Expr> {
        let schema = constraints.objects.first().copied();
        let Count { min, max } = constraints.members;
        let named = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let required = u32::try_from(items.iter().filter(|item| item.required).count()).unwrap_or(u32::MAX);
        let most = if extra.is_none() { Some(named) } else { None };
        if max.is_some_and(|max| max < required) || most.is_some_and(|most| most < min) {
            return impossible(schema, "the required number of properties is impossible");
        }
        let (space, comma) = (Expr::from(json::space(self.builder)), json::comma(self.builder));
        let inside = match extra {
            _ if max == Some(0) => Expr::EMPTY,
            Some(extra) if items.is_empty() && !constraints.members.is_any() => {
                let count = self.writable_count(constraints.members, schema, "maxProperties");
                let more = self.rule(&format!("{hint}-more"), self.builder.sequence(&[comma, extra]));
                let more = self.builder.repeat(more, count.min.saturating_sub(1), count.max.map(|max| max - 1));
                let some = self.builder.sequence(&[extra, more]);
                if count.min == 0 { self.builder.option(some) } else { some }
            }
            extra => {
                if min > required.max(1) {
                    self.report(schema, "minProperties", "together with named properties, properties are not counted");
                }
                if max.is_some_and(|max| most.is_none_or(|most| most > max)) {
                    self.report(schema, "maxProperties", "together with named properties, properties are not counted");
                }
                let members = Members { items, extra, between: comma };
                let some = match self.sorting {
                    Some(sorting) => sorting.either_order(self.builder, hint, members),
                    None => members.one_or_more(self.builder, hint),
                };
                match some {
                    Some(some) if min == 0 && required == 0 => self.builder.option(some),
                    Some(some) => some,
                    None if min > 0 => return impossible(schema, "the required number of properties is impossible"),
                    None => Expr::EMPTY,
                }
            }
        };
        Ok(self.rule(hint, self.builder.read("'{' $0 $1 '}'", &[space, inside])))
    }
}

/// Whether a name pattern of a schema could not be read.
fn unread(schema: &Value, read: Option<&Vec<(Regex, &Value)>>) -> bool {
    let all = schema.get("patternProperties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
    all > read.map_or(0, Vec::len)
}

/// The names that `propertyNames` lists.
/// Whether a schema says that it may have other properties.
pub(crate) fn says_open(schema: &Map<String, Value>) -> bool {
    let others = schema.get("additionalProperties").or_else(|| schema.get("unevaluatedProperties"));
    others.is_some_and(|others| *others != Value::Bool(false))
}

fn is_there(patterns: Option<&Value>) -> bool {
    patterns.and_then(Value::as_object).is_some_and(|patterns| !patterns.is_empty())
}

fn listed_names(schema: &Value) -> Option<impl Iterator<Item = &str>> {
    let names = schema.get("propertyNames")?;
    let listed = match (names.get("const"), names.get("enum")) {
        (Some(name), _) => std::slice::from_ref(name),
        (None, Some(Value::Array(names))) => names,
        _ => return None,
    };
    Some(listed.iter().filter_map(Value::as_str))
}
