use super::prelude::*;

pub(super) const RULE: Rule = Rule {
    name: "a recipient without its namespace",
    written: "A recipient that the template does not write is a tool, if one of that name was offered. If not, its message is left out.",
    read: "A call if a tool of that name was offered. If not, all of the message is broken markup.",
    diagnostic: Some("unknown_tool"),
    case: "",
};

pub(super) fn apply(spec: &Source<'_>, turn: &mut Expr) {
    let others = headers(spec);
    let Some(named) = turn.find(PlanPart::Named).cloned().filter(|_| !others.is_empty()) else { return };
    let call = by_name(&named, Some(Action::StartRecipient), &|_| Expr::Choice(others.clone()));
    turn.also(&[PlanPart::First, PlanPart::Next], vec![call]);
}

/// The beginnings of headers with a recipient outside of the namespace that the template writes, up to its name.
fn headers(spec: &Source<'_>) -> Vec<Expr> {
    let header = &spec.content.header;
    let Some((own, _)) = recipient(spec).filter(|(_, namespace)| !namespace.is_empty()) else { return Vec::new() };
    let starts = [header.start.as_str(), ""];
    let names = header.calls.iter().map(String::as_str);
    let channels: Vec<String> = names.map(|name| [header.channel.as_str(), name].concat()).collect();
    let channels = || std::iter::once("").chain(channels.iter().map(String::as_str));
    let mut cores: Vec<String> = Vec::new();
    for core in starts.iter().flat_map(|start| channels().map(|channel| [*start, channel, own].concat())) {
        if is_special(&core) && !cores.contains(&core) {
            cores.push(core);
        }
    }
    cores.iter().map(|core| Expr::from(tolerated(MarkerKey::CallStart, core, Role::CallOpen))).collect()
}
