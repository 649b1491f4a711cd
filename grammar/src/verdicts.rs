//! Verdicts: whether calls fit the schemas of their tools, said as soon as it is certain, while the model still writes.
//!
//! The path of an argument: the lexer of the runtime reads the JSON text; [`judge`] keeps, for each open value, the alternatives of its
//! schema that it may still fit; [`check`] says whether a piece rules one out; [`reason`] puts it into words. The
//! alternatives come from the table of the schema, which is compiled from the same resolved form as a grammar.
//!
//! Nothing here changes what a parser does: verdicts are made of its events, and cost nothing where they are not asked for.

mod check;
mod frame;
mod judge;
mod number;
mod reason;
mod scalar;
#[cfg(test)]
mod tests;
mod verdict;

use std::collections::HashMap;
use std::sync::Arc;

use unjinja_runtime::{Event, Tools};

use crate::schema::Table;
use crate::tool_rules::arguments_schema;
use judge::Judge;
use reason::Violation;
pub use verdict::{Verdict, VerdictKind};

/// The default limit of verdicts per call.
const PER_CALL: usize = 16;

/// Judges the calls of a stream by the schemas of their tools. Give it every event of the stream.
///
/// A verdict is final: it is given only if no continuation of the text could make the call fit. So a server can stop the
/// model at the first one. `docs/schema.md` lists what is judged and when it is certain. Where a schema is not understood or
/// is too large, nothing is judged.
///
/// ```
/// use unjinja_grammar::{VerdictKind, Verdicts};
/// use unjinja_runtime::{Event, Tools};
///
/// let tools = Tools::from_json(r#"[{"name": "get_weather", "parameters": {
///     "type": "object",
///     "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]}},
///     "required": ["city"]
/// }}]"#)?;
/// let mut verdicts = Verdicts::new(&tools);
/// assert!(verdicts.event(&Event::ToolCallStart { index: 0, name: "get_weather", id: None }).is_empty());
/// assert!(verdicts.event(&Event::ToolCallArguments { index: 0, json: r#"{"unit": "c"# }).is_empty());
/// // No unit begins with `ch`.
/// let found = verdicts.event(&Event::ToolCallArguments { index: 0, json: "h" });
/// assert_eq!(found[0].kind, VerdictKind::NotListed);
/// assert_eq!(found[0].path, "/unit");
/// assert_eq!(
///     found[0].to_string(),
///     r#"tool call 0 (`get_weather`): /unit: expected "celsius" or "fahrenheit", found "ch"…"#,
/// );
/// # Ok::<(), unjinja_runtime::ToolsError>(())
/// ```
///
/// Memory is bounded by the schemas and by how deep the arguments are nested, not by the length of the text. Schemas are
/// compiled at the first call of their tool, and only once: a clone of a `Verdicts` that was used has them ready.
#[derive(Clone, Debug)]
pub struct Verdicts {
    tools: Tools,
    per_call: usize,
    /// The tables of the tools that were called, by name.
    tables: HashMap<String, Arc<Table>>,
    open: Vec<Call>,
}

/// A call that is not over yet.
#[derive(Clone, Debug)]
struct Call {
    index: usize,
    tool: String,
    judge: Judge,
}

impl Verdicts {
    /// For calls of these tools. If there are none, nothing is judged.
    pub fn new(tools: &Tools) -> Self {
        Self { tools: tools.clone(), per_call: PER_CALL, tables: HashMap::new(), open: Vec::new() }
    }

    /// How many verdicts are given about one call at most. The default is 16. What comes later is not judged.
    pub fn per_call(mut self, most: usize) -> Self {
        self.per_call = most;
        self
    }

    /// Takes the next event of the stream. Returns what became certain with it, in the order of the text. The list is almost
    /// always empty, and then takes no memory.
    pub fn event(&mut self, event: &Event<'_>) -> Vec<Verdict> {
        match *event {
            Event::ToolCallStart { index, name, .. } => self.start(index, name),
            Event::ToolCallArguments { index, json } => self.judge(index, |judge| judge.read(json)),
            Event::ToolCallEnd { index, complete } => {
                let verdicts = if complete { self.judge(index, Judge::finish) } else { Vec::new() };
                self.open.retain(|call| call.index != index);
                verdicts
            }
            _ => Vec::new(),
        }
    }

    /// Forgets the calls of the stream. The next event is the first one of another stream.
    pub fn reset(&mut self) {
        self.open.clear();
    }

    fn start(&mut self, index: usize, name: &str) -> Vec<Verdict> {
        self.open.retain(|call| call.index != index);
        if self.tools.is_empty() || self.per_call == 0 {
            return Vec::new();
        }
        let Some(tool) = self.tools.get(name) else {
            return vec![self.unknown(index, name)];
        };
        let table = match self.tables.get(name) {
            Some(table) => Arc::clone(table),
            None => {
                let table = Arc::new(Table::of(&arguments_schema(tool)));
                self.tables.insert(name.to_owned(), Arc::clone(&table));
                table
            }
        };
        self.open.push(Call { index, tool: name.to_owned(), judge: Judge::new(table, self.per_call) });
        Vec::new()
    }

    fn unknown(&self, call: usize, name: &str) -> Verdict {
        /// The maximum number of tools that a message names.
        const NAMED: usize = 8;
        let names: Vec<String> = self.tools.iter().take(NAMED).map(|tool| format!("`{}`", tool.name)).collect();
        let more = if self.tools.len() > NAMED { ", …" } else { "" };
        Verdict {
            call,
            tool: name.to_owned(),
            path: String::new(),
            kind: VerdictKind::UnknownTool,
            expected: format!("one of the tools {}{more}", names.join(", ")),
            found: "a tool that was not offered".to_owned(),
        }
    }

    fn judge(&mut self, index: usize, judge: impl FnOnce(&mut Judge) -> Vec<Violation>) -> Vec<Verdict> {
        let Some(call) = self.open.iter_mut().rfind(|call| call.index == index) else { return Vec::new() };
        let found = judge(&mut call.judge);
        if found.is_empty() {
            return Vec::new();
        }
        let verdict = |Violation { path, kind, expected, found }| Verdict {
            call: index,
            tool: call.tool.clone(),
            path,
            kind,
            expected,
            found,
        };
        found.into_iter().map(verdict).collect()
    }
}
