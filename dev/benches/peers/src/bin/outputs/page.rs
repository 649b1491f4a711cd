//! The page `docs/outputs.md`. It names cases and counts them; it quotes no output, because the corpus may not be
//! copied.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::asking::{PEERS, Right};
use crate::known_differences::KNOWN_DIFFERENCES;

const HEAD: &str = "\
# What parsers read of real outputs

This page is written by a command; `cargo run --release --bin outputs -- --write` in `dev/benches/peers/` writes it again.

Models deviate from their templates. This page counts how many of such outputs unjinja reads as expected, and how many
other parsers read. [The command](../dev/benches/peers/README.md#what-parsers-read-of-real-outputs) runs all of them on the
same outputs. The [scoreboard](../site/scoreboard/README.md) has these figures by model, next to those of other measurements.

";

const RULES: &str = "\
- A message is right if its content, its reasoning and its calls are as expected. White space at the ends of texts does
  not count. Arguments are compared as JSON values. If a call was cut short, its arguments are closed before.
- If the source does not say what a field should be, the field is not compared.
- unjinja gets the whole output. Broken markup is kept apart (`Unparsed::Separate`). Where no parser is compiled for a
  template, the result of its analysis is interpreted.
- A peer counts only where it has a parser for the format: *n of m* means that it reads n of the m outputs in its
  formats. An empty cell means that it has none of them. The format is found by the markers of the template, so a
  format without markers of its own is not found.
- A peer is called in all the ways that it offers: with and without its parser of reasoning, at once and in pieces with
  whole tags. It is right if one of them is right. If it fails, or takes more than 5 seconds, it has not read the
  output.
- Parsers of calls also run where no tools were offered, because many outputs of the test suites come without
  tools, and some of these expect a call.
- Some outputs come from the peers' own test suites. The rules of unjinja were made when all of them were known.

";

/// What was read of one output.
pub struct Row {
    pub id: String,
    /// The file of its template, without the extension.
    pub template: String,
    pub class: String,
    /// What differs in our message.
    pub ours: Option<&'static str>,
    pub peers: Right,
}

/// A group of classes.
type Group = fn(&str) -> bool;

fn arguable(class: &str) -> bool {
    class.split(", ").any(|part| part == "arguable")
}

const GROUPS: [(&str, Group); 5] = [
    ("threads, without those that are arguable", |class| class.starts_with("thread") && !arguable(class)),
    ("threads, all", |class| class.starts_with("thread")),
    ("suites, whole", |class| class.starts_with("whole")),
    ("suites, broken", |class| class.starts_with("broken")),
    ("all", |_| true),
];

/// One line of a table of counts.
fn counted(title: &str, rows: &[&Row]) -> String {
    let ours = rows.iter().filter(|row| row.ours.is_none()).count();
    let mut line = format!("| {title} | {} | {ours} of {} |", rows.len(), rows.len());
    for peer in 0..PEERS.len() {
        let tried: Vec<bool> = rows.iter().filter_map(|row| row.peers[peer]).collect();
        let right = tried.iter().filter(|right| **right).count();
        let cell = if tried.is_empty() { String::new() } else { format!(" {right} of {}", tried.len()) };
        let _ = write!(line, "{cell} |");
    }
    line + "\n"
}

/// The head of a table of counts, and its lines.
fn table(first: &str, lines: impl Iterator<Item = String>) -> String {
    let peers = PEERS.join(" | ");
    let lines: String = lines.collect();
    format!("| {first} | outputs | unjinja | {peers} |\n|---|---:|---:|---:|---:|---:|\n{lines}\n")
}

/// The rows in classes, threads first.
fn classes(rows: &[Row]) -> Vec<(&str, Vec<&Row>)> {
    let mut classes: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        classes.entry(&row.class).or_default().push(row);
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    let place = |class: &str| ["thread", "whole", "broken"].iter().position(|first| class.starts_with(first));
    classes.sort_by_key(|(class, _)| place(class));
    classes
}

/// The same count, over the outputs that a peer has the format of.
fn common(rows: &[Row]) -> String {
    let mut text = "In the formats that a peer has:\n\n| peer | outputs | the peer | unjinja | only the peer | only unjinja |\n|---|---:|---:|---:|---:|---:|\n".to_owned();
    for (peer, name) in PEERS.iter().enumerate() {
        let both = rows.iter().filter_map(|row| Some((row.peers[peer]?, row.ours.is_none())));
        let count = |which: fn((bool, bool)) -> bool| both.clone().filter(|pair| which(*pair)).count();
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} | {} | {} |",
            count(|_| true),
            count(|(theirs, _)| theirs),
            count(|(_, ours)| ours),
            count(|(theirs, ours)| theirs && !ours),
            count(|(theirs, ours)| ours && !theirs),
        );
    }
    text + "\n"
}

pub fn page(rows: &[Row]) -> String {
    let mut text = HEAD.to_owned();
    let threads = rows.iter().filter(|row| row.class.starts_with("thread")).count();
    let _ = write!(
        text,
        "## The outputs\n\nThere are {} outputs: {threads} from public threads, in which people report what a model wrote, \
         and {} from the\ntest suites of other parsers. They are part of the corpus and not of this repository\n\
         ([CONTRIBUTING.md](../CONTRIBUTING.md#the-corpus)).\n\n\
         - *thread*: from a public thread. The next word says how the output departs from the template. *arguable*: one \
         can\n  well expect another message.\n\
         - *whole*, *broken*: from a test suite; the output follows the format, or does not. The next words say whether \
         the\n  suites expect the same message.\n\n## How it is counted\n\n{RULES}",
        rows.len(),
        rows.len() - threads,
    );
    text.push_str("## Totals\n\n");
    let groups = GROUPS.iter().map(|(title, group)| {
        let rows: Vec<&Row> = rows.iter().filter(|row| group(&row.class)).collect();
        counted(title, &rows)
    });
    text.push_str(&table("group", groups));
    text.push_str(&common(rows));
    text.push_str("## By class\n\n");
    text.push_str(&table("class", classes(rows).into_iter().map(|(class, rows)| counted(class, &rows))));
    text.push_str(&different(rows));
    text
}

/// What we read differently, on purpose and not.
fn different(rows: &[Row]) -> String {
    let mut text =
        "## What unjinja reads differently on purpose\n\n| kind | outputs | reason |\n|---|---:|---|\n".to_owned();
    let mut rest: Vec<&Row> = rows.iter().filter(|row| row.ours.is_some()).collect();
    for difference in &KNOWN_DIFFERENCES {
        let before = rest.len();
        rest.retain(|row| !difference.holds(&row.id, &row.class));
        let _ = writeln!(text, "| {} | {} | {} |", difference.title, before - rest.len(), difference.reason);
    }
    let _ = write!(
        text,
        "\n## Not read yet\n\n{} outputs. The case is its name in the corpus.\n\n| class | case | what differs | peers that \
         read it |\n|---|---|---|---|\n",
        rest.len()
    );
    rest.sort_by_key(|row| &row.class);
    for row in rest {
        let peers: Vec<&str> =
            PEERS.iter().zip(row.peers).filter(|(_, right)| *right == Some(true)).map(|(name, _)| *name).collect();
        let what = row.ours.unwrap_or_default();
        let _ = writeln!(text, "| {} | `{}` | {what} | {} |", row.class, row.id, peers.join("; "));
    }
    text
}
