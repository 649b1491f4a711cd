//! What to change, where the format in which the template writes calls decides it. A JSON object can be written as a whole; where
//! each argument is written on its own, other changes are needed, and some are not possible in a template.

use unjinja_spec::{CallIdForm, ToolFormat};

use super::rules::{self, Rule};
use super::subject::Subject;

/// A rule, the formats of calls, and what to change in a template with one of these formats.
const BY_FORMAT: &[(Rule, &[ToolFormat], &str)] = &[
    (
        rules::TEXT_ARGUMENTS,
        &[ToolFormat::TagWithTagged, ToolFormat::CallExpression],
        "this format writes each argument on its own, and a template cannot take JSON text apart: refuse it with a clear message, \
         `{% if arguments is string %}{{ raise_exception('arguments must be an object') }}{% endif %}`, so that callers make an \
         object of it",
    ),
    (
        rules::PYTHON_IN_CALLS,
        &[ToolFormat::TagWithTagged],
        "write `value if value is string else value | tojson`: between markers, a text stays without quotes",
    ),
    (
        rules::VALUE_CHANGED,
        &[ToolFormat::JsonNative, ToolFormat::TagWithJson],
        "write the arguments as a whole with `| tojson`, without a filter that changes texts",
    ),
    (
        rules::VALUE_CHANGED,
        &[ToolFormat::CallExpression],
        "write texts with `| tojson`, which adds the quotes and escapes what is in them, and other values as the format has them",
    ),
    (
        rules::UNESCAPED_QUOTE,
        &[ToolFormat::TagWithTagged],
        "write the value between two markers and not between quotes; or escape quotes in the way in which the reader takes them back",
    ),
];

/// What to change for a finding of this rule; `None` where the usual advice fits every format.
pub(super) fn advice(rule: Rule, subject: &Subject) -> Option<&'static str> {
    if rule == rules::CALL_ID && subject.calls.is_some_and(|manner| manner.needs.ids == CallIdForm::Named) {
        return Some(
            "do not take the name from the id: write `functions.{{ call.function.name }}:{{ index }}` with a count of your own, for \
             calls and for results",
        );
    }
    let format = subject.tool_format();
    BY_FORMAT.iter().find(|(of, formats, _)| *of == rule && formats.contains(&format)).map(|(.., advice)| *advice)
}
