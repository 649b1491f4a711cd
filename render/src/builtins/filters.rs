//! Jinja2's filters over sequences and mappings, and the way to every filter by its name.

use std::rc::Rc;

use crate::builtins::args::{Args, flag, required};
use crate::builtins::builtin_tests;
use crate::builtins::text_filters;
use crate::error::{Fault, Outcome};
use crate::operators::arithmetic::arith;
use crate::operators::lookup::{get_attr, get_item, item, slice};
use crate::operators::method_names;
use crate::run::Run;
use crate::syntax::ast::Arith;
use crate::value::compare::{equal, order};
use crate::value::labelled::Buffer;
use crate::value::repr;
use crate::value::sort::sort;
use crate::value::types::{Text, Value, View};

/// `value | name(args)`.
pub(crate) fn apply(run: &Run, name: &str, value: Value, args: Args) -> Outcome<Value> {
    match name {
        "d" | "default" => {
            let [default, boolean] = args.bind(name, ["default_value", "boolean"])?;
            let replace = value.is_undefined() || (flag(boolean, false) && !value.holds(run));
            Ok(if replace { default.unwrap_or_else(|| Value::from("")) } else { value })
        }
        "attr" => attribute(run, &value, args),
        "length" | "count" => Ok(Value::int(value.length(run)? as i128).computed_from(run, &[&value])),
        "list" => match &value {
            Value::List(list) => Value::list_at(run, value.elements(run)?, list.source.clone()),
            _ => Value::list(run, value.elements(run)?),
        },
        "first" => first(run, &value),
        "last" => {
            if matches!(value, Value::Iter(_)) {
                return Err(Fault::new("'generator' object is not reversible"));
            }
            let last = value.elements(run)?.pop();
            Ok(last.unwrap_or_else(|| Value::undefined("No last item, sequence was empty.")))
        }
        "random" => {
            Err(Fault::new("the filter `random` is not available: a chat template must give the same text every time"))
        }
        "reverse" => match &value {
            Value::Str(_) => slice(run, &value, [None, None, Some(-1)]),
            _ => {
                let mut items = value.elements(run)?;
                items.reverse();
                Value::iter(run, items)
            }
        },
        "items" => match &value {
            Value::Undefined(_) => Value::iter(run, Vec::new()),
            Value::Dict(dict) => Value::iter(run, Value::View(View::Items, dict.clone()).elements(run)?),
            _ => Err(Fault::new("Can only get item pairs from a mapping.")),
        },
        "join" => join(run, &value, args),
        "map" => map(run, &value, args),
        "select" | "reject" | "selectattr" | "rejectattr" => select(run, name, &value, args),
        "sort" => sorted(run, &value, args),
        "dictsort" => dictsort(run, &value, args),
        "unique" => unique(run, &value, args),
        "min" | "max" => extreme(run, name, &value, args),
        "sum" => sum(run, &value, args),
        "batch" | "slice" => grouped(run, name, &value, args),
        "groupby" => group_by(run, &value, args),
        _ => text_filters::apply(run, name, value, args),
    }
}

fn attribute(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [attribute] = args.bind("attr", ["name"])?;
    let attribute = required("attr", "name", attribute)?;
    let attribute = repr::soft_string(run, &attribute)?;
    match value {
        // The keys of a dict are not attributes.
        Value::Dict(_) if method_names::find(value, &attribute.s).is_none() => {
            Ok(Value::undefined(format!("'dict object' has no attribute '{}'", attribute.s)))
        }
        _ => get_attr(run, value, &attribute.s),
    }
}

fn sorted(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [reverse, sensitive, attribute] = args.bind("sort", ["reverse", "case_sensitive", "attribute"])?;
    let folded = !flag(sensitive, false);
    let getters = match &attribute {
        Some(Value::Str(several)) => several.s.split(',').map(|a| Getter::of_path(a, folded)).collect(),
        other => vec![Getter::new(other.as_ref(), folded)?],
    };
    let mut keyed = Vec::new();
    for item in value.elements(run)? {
        let keys = getters.iter().map(|g| g.get(run, &item)).collect::<Outcome<_>>()?;
        keyed.push((Value::list(run, keys)?, item));
    }
    Value::list(run, sort(run, keyed, flag(reverse, false))?)
}

fn unique(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [sensitive, attribute] = args.bind("unique", ["case_sensitive", "attribute"])?;
    let getter = Getter::new(attribute.as_ref(), !flag(sensitive, false))?;
    let (mut seen, mut items) = (std::collections::HashSet::new(), Vec::new());
    for item in value.elements(run)? {
        if seen.insert(getter.get(run, &item)?.key(run)?) {
            items.push(item);
        }
    }
    Value::iter(run, items)
}

fn extreme(run: &Run, name: &str, value: &Value, args: Args) -> Outcome<Value> {
    let [sensitive, attribute] = args.bind(name, ["case_sensitive", "attribute"])?;
    let getter = Getter::new(attribute.as_ref(), !flag(sensitive, false))?;
    let mut best: Option<(Value, Value)> = None;
    for item in value.elements(run)? {
        let key = getter.get(run, &item)?;
        let better = match &best {
            None => true,
            Some((than, _)) => match name {
                "min" => order(run, &key, than)?.is_some_and(|o| o.is_lt()),
                _ => order(run, &key, than)?.is_some_and(|o| o.is_gt()),
            },
        };
        if better {
            best = Some((key, item));
        }
    }
    Ok(best.map_or_else(|| Value::undefined("No aggregated item, sequence was empty."), |(_, item)| item))
}

fn sum(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [attribute, start] = args.bind("sum", ["attribute", "start"])?;
    let getter = Getter::new(attribute.as_ref().filter(|a| !matches!(a, Value::None(_))), false)?;
    let mut total = start.unwrap_or(Value::int(0));
    if matches!(total, Value::Str(_)) {
        return Err(Fault::new("sum() can't sum strings [use ''.join(seq) instead]"));
    }
    for item in value.elements(run)? {
        total = arith(run, Arith::Add, &total, &getter.get(run, &item)?)?;
    }
    Ok(total)
}

fn grouped(run: &Run, name: &str, value: &Value, args: Args) -> Outcome<Value> {
    let [size, fill] = args.bind(name, ["size", "fill_with"])?;
    let size = required(name, "size", size)?.index()?;
    let fill = fill.filter(|f| !matches!(f, Value::None(_)));
    let items = value.elements(run)?;
    let parts = if name == "batch" { batch(run, items, size, fill)? } else { slices(run, items, size, fill)? };
    Value::iter(run, parts)
}

fn first(run: &Run, value: &Value) -> Outcome<Value> {
    let first = match value {
        Value::Iter(iter) => iter.items.borrow_mut().pop_front(),
        Value::Str(_) | Value::List(_) | Value::Tuple(_) | Value::Range(_) => item(run, value, &Value::int(0))?,
        other => other.elements(run)?.into_iter().next(),
    };
    Ok(first.unwrap_or_else(|| Value::undefined("No first item, sequence was empty.")))
}

/// The parameter `attribute` of a filter: a path like `function.name` or `0`, which is looked up in each item.
struct Getter {
    path: Vec<Value>,
    /// The value that replaces an undefined attribute.
    default: Option<Value>,
    /// Whether strings are compared without regard to case.
    fold_case: bool,
}

impl Getter {
    fn new(attribute: Option<&Value>, fold_case: bool) -> Outcome<Getter> {
        match attribute {
            None | Some(Value::None(_)) => Ok(Getter { path: Vec::new(), default: None, fold_case }),
            Some(Value::Int(i, _)) => Ok(Getter { path: vec![Value::int(i.get())], default: None, fold_case }),
            Some(Value::Str(path)) => Ok(Getter::of_path(&path.s, fold_case)),
            Some(other) => Err(other.fault(|t| format!("an attribute is a string or a number, not {t}"))),
        }
    }

    fn of_path(path: &str, fold_case: bool) -> Getter {
        let part = |part: &str| match part.parse::<u32>() {
            Ok(index) if part.bytes().all(|b| b.is_ascii_digit()) => Value::int(index.into()),
            _ => Value::from(part),
        };
        Getter { path: path.split('.').map(part).collect(), default: None, fold_case }
    }

    fn get(&self, run: &Run, item: &Value) -> Outcome<Value> {
        run.steps(1)?;
        let mut value = item.clone();
        for part in &self.path {
            value = get_item(run, &value, part)?;
            if let (true, Some(default)) = (value.is_undefined(), &self.default) {
                value = default.clone();
            }
        }
        match &value {
            Value::Str(text) if self.fold_case => {
                run.make(text.s.len())?;
                Ok(Value::Str(Text::plain(text.s.to_lowercase())))
            }
            _ => Ok(value),
        }
    }
}

fn join(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [separator, attribute] = args.bind("join", ["d", "attribute"])?;
    let getter = Getter::new(attribute.as_ref(), false)?;
    let separator = match &separator {
        Some(separator) => repr::soft_string(run, separator)?,
        None => Text::plain(""),
    };
    let mut out = Buffer::default();
    for (i, item) in value.elements(run)?.iter().enumerate() {
        if i > 0 {
            run.make(separator.s.len())?;
            out.push_text(run, &separator)?;
        }
        repr::write_string(run, &getter.get(run, item)?, &mut out)?;
    }
    Ok(out.into())
}

fn map(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    if !value.truthy() {
        return Value::iter(run, Vec::new());
    }
    let mut mapped = Vec::new();
    let Args { positional, named } = args;
    let mut positional = positional.into_iter();
    match positional.next() {
        None => {
            let [attribute, default] = Args { positional: Vec::new(), named }.bind("map", ["attribute", "default"])?;
            let mut getter = Getter::new(Some(&required("map", "attribute", attribute)?), false)?;
            getter.default = default.filter(|d| !matches!(d, Value::None(_)));
            for item in value.elements(run)? {
                mapped.push(getter.get(run, &item)?);
            }
        }
        Some(name) => {
            let Some(name) = name.as_str() else {
                return Err(name.fault(|t| format!("map: a filter's name is a str, not {t}")));
            };
            let rest: Vec<Value> = positional.collect();
            for item in value.elements(run)? {
                let args = Args { positional: rest.clone(), named: named.clone() };
                let _level = run.deeper()?;
                mapped.push(apply(run, name, item, args)?);
            }
        }
    }
    Value::iter(run, mapped)
}

fn select(run: &Run, name: &str, value: &Value, args: Args) -> Outcome<Value> {
    if !value.truthy() {
        return Value::iter(run, Vec::new());
    }
    let mut positional = args.positional.into_iter();
    let getter = if name.ends_with("attr") {
        let attribute = positional.next().ok_or_else(|| Fault::new("Missing parameter for attribute name"))?;
        Getter::new(Some(&attribute), false)?
    } else {
        Getter::new(None, false)?
    };
    let wanted = name.starts_with("select");
    let test = positional.next();
    let rest: Vec<Value> = positional.collect();
    let mut kept = Vec::new();
    for item in value.elements(run)? {
        let found = getter.get(run, &item)?;
        let passes = match &test {
            Some(Value::Str(test)) => builtin_tests::test(run, &test.s, &found, rest.clone())?,
            Some(other) => return Err(other.fault(|t| format!("{name}: a test's name is a str, not {t}"))),
            None => found.holds(run),
        };
        if passes == wanted {
            kept.push(item);
        }
    }
    Value::iter(run, kept)
}

fn dictsort(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [sensitive, by, reverse] = args.bind("dictsort", ["case_sensitive", "by", "reverse"])?;
    let position = match by.as_ref().map(Value::as_str) {
        None | Some(Some("key")) => 0,
        Some(Some("value")) => 1,
        _ => return Err(Fault::new("You can only sort by either \"key\" or \"value\"")),
    };
    let Value::Dict(dict) = value else {
        return Err(value.fault(|t| format!("'{t}' object has no attribute 'items'")));
    };
    let mut getter = Getter::new(Some(&Value::int(position)), false)?;
    getter.fold_case = !flag(sensitive, false);
    let mut keyed = Vec::new();
    for pair in Value::View(View::Items, Rc::clone(dict)).elements(run)? {
        keyed.push((getter.get(run, &pair)?, pair));
    }
    Value::list(run, sort(run, keyed, flag(reverse, false))?)
}

fn batch(run: &Run, items: Vec<Value>, size: i128, fill: Option<Value>) -> Outcome<Vec<Value>> {
    let size = usize::try_from(size).unwrap_or(0);
    let mut batches = Vec::new();
    let mut row: Vec<Value> = Vec::new();
    for item in items {
        if row.len() == size {
            batches.push(Value::list(run, std::mem::take(&mut row))?);
        }
        row.push(item);
    }
    if !row.is_empty() {
        if let Some(fill) = fill {
            let missing = size.saturating_sub(row.len());
            run.make_items(missing)?;
            row.extend(std::iter::repeat_n(fill, missing));
        }
        batches.push(Value::list(run, row)?);
    }
    Ok(batches)
}

fn slices(run: &Run, items: Vec<Value>, count: i128, fill: Option<Value>) -> Outcome<Vec<Value>> {
    let count = usize::try_from(count).unwrap_or(0);
    if count == 0 {
        return Err(Fault::new("integer division or modulo by zero"));
    }
    run.make_items(count)?;
    let (each, extra) = (items.len() / count, items.len() % count);
    let mut items = items.into_iter();
    let mut slices = Vec::new();
    for i in 0..count {
        let mut slice: Vec<Value> = items.by_ref().take(each + usize::from(i < extra)).collect();
        if let (Some(fill), true) = (&fill, i >= extra) {
            slice.push(fill.clone());
        }
        slices.push(Value::list(run, slice)?);
    }
    Ok(slices)
}

fn group_by(run: &Run, value: &Value, args: Args) -> Outcome<Value> {
    let [attribute, default, sensitive] = args.bind("groupby", ["attribute", "default", "case_sensitive"])?;
    let attribute = required("groupby", "attribute", attribute)?;
    let mut getter = Getter::new(Some(&attribute), !flag(sensitive, false))?;
    getter.default = default.filter(|d| !matches!(d, Value::None(_)));
    let mut keyed = Vec::new();
    for item in value.elements(run)? {
        keyed.push((getter.get(run, &item)?, item));
    }
    let sorted = sort(run, keyed, false)?;
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    for item in sorted {
        let key = getter.get(run, &item)?;
        match groups.last_mut() {
            Some((last, members)) if equal(run, last, &key)? => members.push(item),
            _ => groups.push((key, vec![item])),
        }
    }
    getter.fold_case = false;
    let mut out = Vec::new();
    for (key, members) in groups {
        let shown = match members.first() {
            Some(first) => getter.get(run, first)?,
            None => key,
        };
        let members = Value::list(run, members)?;
        out.push(Value::group(run, shown, members)?);
    }
    Value::list(run, out)
}
