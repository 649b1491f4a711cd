//! Which methods the values of each type have. What the methods do is in `builtins`; lookups only need the names.

use crate::value::types::{Global, Value};

const STR: &str = "capitalize casefold center count endswith expandtabs find format format_map index isalnum isalpha \
    isascii isdecimal isdigit isidentifier islower isnumeric isprintable isspace istitle isupper join ljust \
    lower lstrip partition removeprefix removesuffix replace rfind rindex rjust rpartition rsplit rstrip \
    split splitlines startswith strip swapcase title upper zfill";
const LIST: &str = "append clear copy count extend index insert pop remove reverse sort";
const DICT: &str = "clear copy fromkeys get items keys pop popitem setdefault update values";

/// The method of this name, if the value's type has it.
pub(crate) fn find(value: &Value, name: &str) -> Option<&'static str> {
    let names: &'static str = match value {
        Value::Str(_) => STR,
        Value::List(_) => LIST,
        Value::Dict(_) => DICT,
        Value::Tuple(_) | Value::Range(_) => "count index",
        Value::Int(_, _) | Value::Bool(_, _) => "bit_length is_integer",
        Value::Float(_, _) => "is_integer",
        Value::Loop(_) => "cycle changed",
        Value::Cycler(_) => "next reset",
        // Called on the type: `dict.fromkeys(keys)`, `dict.get(message, 'role')`.
        Value::Global(Global::Dict | Global::DictAlias) => DICT,
        _ => return None,
    };
    names.split(' ').find(|known| *known == name)
}
