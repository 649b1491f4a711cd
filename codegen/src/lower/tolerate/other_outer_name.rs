use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another name of the tag around calls",
    written: "The tag around a call or all calls has the name that other formats have, or lacks what its own has before that name.",
    read: "Syntax.",
    diagnostic: None,
    case: "xml_parameters: the closer of a call has another name",
};

/// The names that formats give to these tags.
const NAMES: [&str; 4] = ["tool_calls", "function_calls", "tool_call", "function_call"];

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| {
        let is_closer = matches!(key, MarkerKey::SectionEnd | MarkerKey::CallEnd);
        let Some((before, own, after)) = tag_with_name(MarkerText::new(text).core) else { return Vec::new() };
        let of_all = own.ends_with('s');
        let opens_all = of_all && key == MarkerKey::SectionStart;
        if !is_closer && !opens_all {
            return Vec::new();
        }
        let names = NAMES.iter().filter(|name| name.ends_with('s') == of_all);
        let mut forms: Vec<String> = names.clone().map(|name| [before, name, after].concat()).collect();
        if is_closer && before != "</" {
            forms.extend(names.map(|name| ["</", name, after].concat()));
        }
        // What the format's own markers say stays theirs.
        forms.retain(|form| spec.markers().all(|(_, text)| !text.contains(form.as_str())));
        forms
    });
}

/// What is before such a name in a tag, the name, and what is after it.
fn tag_with_name(core: &str) -> Option<(&str, &'static str, &str)> {
    let name = NAMES.into_iter().find(|name| core.contains(name))?;
    let (before, after) = core.split_once(name)?;
    (is_one_tag(core) && begins_tag(core) && !after.contains(char::is_alphanumeric)).then_some((before, name, after))
}
