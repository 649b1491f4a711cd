//! The same counts as data, for `site/scoreboard`: by template, and each output that a peer reads and unjinja does not. It
//! names cases and quotes no output, because the corpus may not be copied.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::asking::PEERS;
use crate::known_differences::KNOWN_DIFFERENCES;
use crate::page::Row;

/// The document that `--json` writes, without a date and without versions: who runs the command adds these.
pub fn document(rows: &[Row]) -> Value {
    let mut templates: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for row in rows {
        templates.entry(&row.template).or_default().push(row);
    }
    json!({
        "peers": PEERS,
        "outputs": rows.len(),
        "templates": templates.into_iter().map(|(name, rows)| template(name, &rows)).collect::<Vec<_>>(),
        "only_peers": rows.iter().filter_map(only_peers).collect::<Vec<_>>(),
    })
}

/// What is read of the outputs of one template. A peer without the format is left out.
fn template(name: &str, rows: &[&Row]) -> Value {
    let mut peers = serde_json::Map::new();
    for (index, peer) in PEERS.iter().enumerate() {
        let tried: Vec<(bool, bool)> =
            rows.iter().filter_map(|row| Some((row.peers[index]?, row.ours.is_none()))).collect();
        if !tried.is_empty() {
            let count = |which: fn(&(bool, bool)) -> bool| tried.iter().filter(|pair| which(pair)).count();
            let counts = json!({ "of": tried.len(), "peer": count(|pair| pair.0), "unjinja": count(|pair| pair.1) });
            peers.insert((*peer).to_owned(), counts);
        }
    }
    json!({
        "template": name,
        "outputs": rows.len(),
        "unjinja": rows.iter().filter(|row| row.ours.is_none()).count(),
        "peers": peers,
    })
}

/// An output that a peer reads as expected and unjinja does not.
fn only_peers(row: &Row) -> Option<Value> {
    let differs = row.ours?;
    let peers: Vec<&str> =
        PEERS.iter().zip(row.peers).filter(|(_, right)| *right == Some(true)).map(|(peer, _)| *peer).collect();
    if peers.is_empty() {
        return None;
    }
    let known = KNOWN_DIFFERENCES.iter().find(|known| known.holds(&row.id, &row.class));
    Some(json!({
        "case": row.id,
        "class": row.class,
        "template": row.template,
        "differs": differs,
        "peers": peers,
        "on_purpose": known.map(|known| json!({ "kind": known.title, "reason": known.reason })),
    }))
}
