//! The names of all filters. The test `'name' is filter` needs them without the filters themselves.

/// Filters over sequences and mappings, in `filters`.
pub(crate) const SEQUENCE_FILTERS: &[&str] = &[
    "attr",
    "batch",
    "count",
    "d",
    "default",
    "dictsort",
    "first",
    "groupby",
    "items",
    "join",
    "last",
    "length",
    "list",
    "map",
    "max",
    "min",
    "random",
    "reject",
    "rejectattr",
    "reverse",
    "select",
    "selectattr",
    "slice",
    "sort",
    "sum",
    "unique",
];

/// Filters over strings, numbers and JSON, in `text_filters` and `number_filters`.
pub(crate) const SCALAR_FILTERS: &[&str] = &[
    "abs",
    "capitalize",
    "center",
    "e",
    "escape",
    "filesizeformat",
    "float",
    "forceescape",
    "format",
    "from_json",
    "indent",
    "int",
    "lower",
    "pprint",
    "replace",
    "round",
    "safe",
    "string",
    "striptags",
    "title",
    "tojson",
    "trim",
    "truncate",
    "upper",
    "urlencode",
    "wordcount",
    "wordwrap",
    "xmlattr",
];

/// Whether there is a filter of this name.
pub(crate) fn exists(name: &str) -> bool {
    SEQUENCE_FILTERS.contains(&name) || SCALAR_FILTERS.contains(&name)
}
