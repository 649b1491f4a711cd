use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "another name of the tag around calls",
    written: "The tag around a call or all calls has the name that other formats have, or its own with an `s` more or less, or lacks what its own has around that name.",
    read: "Syntax.",
    diagnostic: None,
    case: "xml_parameters: the closer of a call has another name",
};

/// The names that formats give to these tags.
const NAMES: [&str; 4] = ["tool_calls", "function_calls", "tool_call", "function_call"];

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    or_forms(spec, turn, &|key, text| {
        let is_closer = matches!(key, MarkerKey::SectionEnd | MarkerKey::CallEnd);
        let is_opener = matches!(key, MarkerKey::SectionStart | MarkerKey::CallStart);
        let parts = tag_with_name(MarkerText::new(text).core).filter(|_| is_closer || is_opener);
        let Some((before, own, after)) = parts else { return Vec::new() };
        let number = match own.strip_suffix('s') {
            Some(one) => one.to_owned(),
            None => format!("{own}s"),
        };
        // Whoever lists other forms of a marker knows them.
        let is_listed = spec.alternatives.contains_key(&key);
        let mut forms: Vec<String> = (!is_listed).then(|| [before, &number, after].concat()).into_iter().collect();
        if !after.contains(char::is_alphanumeric) {
            let of_all = own.ends_with('s');
            let names = NAMES.iter().filter(|name| name.ends_with('s') == of_all);
            if is_closer || (of_all && key == MarkerKey::SectionStart) {
                forms.extend(names.clone().map(|name| [before, name, after].concat()));
            }
            if is_closer {
                forms.extend(names.map(|name| ["</", name, after].concat()));
            } else {
                forms.push(["<", own, ">"].concat());
            }
        }
        // What the format's own markers say stays theirs.
        forms.retain(|form| is_new(spec, form));
        forms
    });
}

/// What is before such a name in a tag, the name, and what is after it.
fn tag_with_name(core: &str) -> Option<(&str, &'static str, &str)> {
    let name = NAMES.into_iter().find(|name| core.contains(name))?;
    let (before, after) = core.split_once(name)?;
    (is_one_tag(core) && begins_tag(core)).then_some((before, name, after))
}
