//! Objects: the properties that the schemas name, in their order and in any subset that has those required, then others.

use std::collections::HashMap;

use serde_json::Value;

use super::super::subset::{Item, one_or_more, subset};
use super::super::{Expr, option, repeat, sequence, text};
use super::facts::{Count, Facts, OBJECT};
use super::flat::Part;
use super::regex::Regex;
use super::{Outcome, Schemas, impossible, json};

/// A property that schemas name.
struct Property<'s> {
    name: &'s str,
    required: bool,
    forbidden: bool,
    parts: Vec<Part<'s>>,
}

/// What schemas say of properties that they do not name.
struct Others<'s> {
    /// What each fits.
    parts: Vec<Part<'s>>,
    /// `patternProperties` of one schema, where they can be read, each with what fits it.
    patterned: Vec<(Regex, &'s Value)>,
    /// Whether names that match no pattern may be.
    unpatterned: bool,
}

impl<'s> Schemas<'s, '_> {
    pub(super) fn object(&mut self, hint: &str, facts: &Facts<'s>) -> Outcome<'s, Expr> {
        if facts.limited & OBJECT == 0 {
            return Ok(json::object(self.builder).into());
        }
        let schema = facts.objects.first().copied();
        if facts.members.is_empty() {
            return impossible(schema, "an object has more properties than it may have");
        }
        let patterns = self.patterns(facts);
        let mut properties = self.properties(facts, &patterns);
        let others = self.others(facts, patterns, &properties);
        self.named(facts, &mut properties)?;

        let space = Expr::from(json::space(self.builder));
        let mut items = Vec::new();
        for property in &mut properties {
            let value = if property.forbidden {
                impossible(schema, "a property is required and may not be")
            } else {
                self.value(&format!("{hint}-{}", property.name), std::mem::take(&mut property.parts))
            };
            match value {
                Ok(value) => {
                    let key = json::key(self.builder, property.name);
                    let expr = sequence([key, value, space.clone()]);
                    items.push(Item { expr, name: property.name.to_owned(), required: property.required });
                }
                Err(why) if property.required => return Err(why),
                // It may be left out, and must be.
                Err(_) => {}
            }
        }
        let names = properties.iter().map(|property| property.name).collect();
        let extra = self.extra(hint, facts, others, names);
        self.members(hint, facts, items, extra)
    }

    /// The patterns for names, of all schemas, each with the schema that has it.
    fn patterns(&mut self, facts: &Facts<'s>) -> HashMap<*const Value, Vec<(Regex, &'s Value)>> {
        let mut all: HashMap<*const Value, Vec<(Regex, &'s Value)>> = HashMap::new();
        for &schema in &facts.objects {
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

    /// The properties that some schema names, in the order in which they are named.
    fn properties(
        &mut self,
        facts: &Facts<'s>,
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
        for schema in &facts.objects {
            if let Some(Value::Object(named)) = schema.get("properties") {
                for name in named.keys() {
                    find(name, &mut properties);
                }
            }
        }
        for name in &facts.required {
            let at = find(name, &mut properties);
            properties[at].required = true;
        }
        // Where the names are listed, they may as well be named; what else may be is then nothing.
        for name in facts.objects.iter().filter_map(|schema| listed_names(schema)).flatten() {
            find(name, &mut properties);
        }
        for name in &facts.forbidden {
            let at = find(name, &mut properties);
            properties[at].forbidden = true;
        }
        for (name, schema) in &facts.unlike {
            let at = find(name, &mut properties);
            properties[at].parts.push(Part::Not(schema));
        }
        for &schema in &facts.objects {
            let named = schema.get("properties").and_then(Value::as_object);
            let patterns = patterns.get(&std::ptr::from_ref(schema));
            let unread = unread(schema, patterns);
            let additional = schema.get("additionalProperties").map(Part::Schema);
            for property in &mut properties {
                let own = named.and_then(|named| named.get(property.name));
                property.parts.extend(own.map(Part::Schema));
                let mut matched = own.is_some() || unread;
                for (regex, of) in patterns.into_iter().flatten() {
                    match regex.matches(property.name) {
                        Some(false) => {}
                        Some(true) => {
                            property.parts.push(Part::Schema(of));
                            matched = true;
                        }
                        None => {
                            self.report(Some(of), "patternProperties", "it takes too long to match the names");
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

    /// What properties may be that no schema names. `None` if there may be none.
    fn others(
        &mut self,
        facts: &Facts<'s>,
        mut patterns: HashMap<*const Value, Vec<(Regex, &'s Value)>>,
        properties: &[Property<'s>],
    ) -> Option<Others<'s>> {
        let mut others = Others { parts: Vec::new(), patterned: Vec::new(), unpatterned: true };
        let several = facts.objects.iter().filter(|schema| schema.get("patternProperties").is_some()).count() > 1;
        for &schema in &facts.objects {
            if !matches!(schema.get("unevaluatedProperties"), None | Some(Value::Bool(true))) {
                self.report(Some(schema), "unevaluatedProperties", "what other schemas looked at is not followed");
            }
            let additional = schema.get("additionalProperties");
            let own = patterns.remove(&std::ptr::from_ref(schema));
            if schema
                .get("patternProperties")
                .is_none_or(|patterns| patterns.as_object().is_none_or(|all| all.is_empty()))
            {
                others.parts.extend(additional.map(Part::Schema));
                continue;
            }
            let closed = additional == Some(&Value::Bool(false));
            if several || unread(schema, own.as_ref()) {
                self.report(Some(schema), "patternProperties", "names are not matched with these patterns together");
                continue;
            }
            let own = own.unwrap_or_default();
            // Names that are matched by pattern and have been named: which is meant is not told by their rules.
            let clash = properties
                .iter()
                .any(|property| own.iter().any(|(regex, _)| regex.matches(property.name) != Some(false)));
            if clash || !closed || own.len() > 1 {
                self.report(
                    Some(schema),
                    "patternProperties",
                    "a name may be taken for one that matches no pattern, or another",
                );
            }
            others.patterned = own;
            others.unpatterned = !closed;
            if !closed && others.patterned.is_empty() {
                others.parts.extend(additional.map(Part::Schema));
            } else if let Some(additional @ Value::Object(_)) = additional {
                // Only for names that match no pattern: values that fit either are accepted.
                others.patterned.push((Regex::anything(), additional));
                others.unpatterned = false;
            }
        }
        let listed = facts.objects.iter().any(|schema| listed_names(schema).is_some());
        (!listed && !others.parts.contains(&Part::Schema(&Value::Bool(false)))).then_some(others)
    }

    /// Tests the names that schemas name with what they say of names.
    fn named(&mut self, facts: &Facts<'s>, properties: &mut [Property<'s>]) -> Outcome<'s, ()> {
        let mut reports = Vec::new();
        for &schema in &facts.objects {
            let Some(names) = schema.get("propertyNames") else { continue };
            for property in &mut *properties {
                match self.fits(&Value::from(property.name), names) {
                    Some(true) => {}
                    None => reports.push((schema, "a name could not be tested")),
                    Some(false) => property.forbidden = true,
                }
            }
            if !properties.is_empty() && listed_names(schema).is_none() && names != &Value::Bool(true) {
                reports.push((schema, "beside named properties it is not checked"));
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
        facts: &Facts<'s>,
        others: Option<Others<'s>>,
        names: Vec<&'s str>,
    ) -> Option<Expr> {
        let Others { parts, patterned, unpatterned } = others?;
        let space = Expr::from(json::space(self.builder));
        let colon = || sequence([space.clone(), text(":"), space.clone()]);
        let mut alternatives = Vec::new();
        for (regex, of) in patterned {
            let value = [Part::Schema(of)].into_iter().chain(parts.iter().copied()).collect();
            let Ok(value) = self.value(&format!("{hint}-matching"), value) else { continue };
            let key = match (regex.is_anything(), regex.write(self.builder, &format!("{hint}-name"))) {
                (false, Ok(key)) => json::quoted(self.builder, key),
                (true, _) => self.other_name(hint, facts, names.clone())?,
                (false, Err(why)) => {
                    self.report(Some(of), "patternProperties", why);
                    json::string(self.builder).into()
                }
            };
            alternatives.push(sequence([key, colon(), value, space.clone()]));
        }
        if unpatterned && let Ok(value) = self.value(&format!("{hint}-other"), parts) {
            let key = self.other_name(hint, facts, names);
            alternatives.extend(key.map(|key| sequence([key, colon(), value, space.clone()])));
        }
        (!alternatives.is_empty()).then(|| {
            let extra = super::super::choice(alternatives);
            self.rule(&format!("{hint}-others"), extra)
        })
    }

    /// A name that no schema names, in quotes.
    fn other_name(&mut self, hint: &str, facts: &Facts<'s>, names: Vec<&'s str>) -> Option<Expr> {
        if !names.is_empty() {
            return Some(super::string::other_string(self.builder, &format!("{hint}-name"), names));
        }
        let rules = facts.objects.iter().filter_map(|schema| schema.get("propertyNames")).map(Part::Schema);
        let rules: Vec<Part<'s>> = rules.collect();
        if rules.is_empty() {
            return Some(json::any_key(self.builder));
        }
        let rules = rules.into_iter().chain([Part::Types(super::facts::STRING)]).collect();
        self.value(&format!("{hint}-name"), rules).ok()
    }

    /// All together, and how many there are.
    fn members(&mut self, hint: &str, facts: &Facts<'s>, items: Vec<Item>, extra: Option<Expr>) -> Outcome<'s, Expr> {
        let schema = facts.objects.first().copied();
        let Count { min, max } = facts.members;
        let named = u32::try_from(items.len()).unwrap_or(u32::MAX);
        let required = u32::try_from(items.iter().filter(|item| item.required).count()).unwrap_or(u32::MAX);
        let most = if extra.is_none() { Some(named) } else { None };
        if max.is_some_and(|max| max < required) || most.is_some_and(|most| most < min) {
            return impossible(schema, "more or fewer properties are required than there may be");
        }
        let (space, comma) = (Expr::from(json::space(self.builder)), json::comma(self.builder));
        let inside = match extra {
            _ if max == Some(0) => Expr::EMPTY,
            Some(extra) if items.is_empty() && !facts.members.is_any() => {
                let count = self.counted(facts.members, schema, "maxProperties");
                let more = self.rule(&format!("{hint}-more"), sequence([comma, extra.clone()]));
                let more = repeat(more, count.min.saturating_sub(1), count.max.map(|max| max - 1));
                let some = sequence([extra, more]);
                if count.min == 0 { option(some) } else { some }
            }
            extra => {
                if min > required.max(1) {
                    self.report(schema, "minProperties", "beside named properties it is not counted");
                }
                if max.is_some_and(|max| most.is_none_or(|most| most > max)) {
                    self.report(schema, "maxProperties", "beside named properties it is not counted");
                }
                if min > 0 && required == 0 {
                    match one_or_more(self.builder, hint, items, extra, &comma) {
                        Some(some) => some,
                        None => return impossible(schema, "fewer properties may be than are required"),
                    }
                } else {
                    subset(self.builder, hint, items, extra, &comma)
                }
            }
        };
        Ok(self.rule(hint, sequence([text("{"), space, inside, text("}")])))
    }
}

/// Whether some pattern of a schema could not be read.
fn unread(schema: &Value, read: Option<&Vec<(Regex, &Value)>>) -> bool {
    let all = schema.get("patternProperties").and_then(Value::as_object).map_or(0, serde_json::Map::len);
    all > read.map_or(0, Vec::len)
}

/// The names that properties may have, where a schema lists them.
fn listed_names(schema: &Value) -> Option<impl Iterator<Item = &str>> {
    let names = schema.get("propertyNames")?;
    let listed = match (names.get("const"), names.get("enum")) {
        (Some(name), _) => std::slice::from_ref(name),
        (None, Some(Value::Array(names))) => names,
        _ => return None,
    };
    Some(listed.iter().filter_map(Value::as_str))
}
