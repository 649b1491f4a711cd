//! Templates as syntax trees, and their printing as Jinja. One tree can be printed in many styles; all of them render the same
//! text.

use crate::rng::Rng;

/// A piece of a template.
#[derive(Clone, Debug)]
pub enum Node {
    /// Literal text.
    Text(String),
    /// An expression whose value is printed.
    Value(String),
    /// An expression that is always a string, so that `+` may join it.
    Words(String),
    /// Branches with their conditions, and the `else` branch.
    If(Vec<(String, Vec<Node>)>, Vec<Node>),
    /// A loop; `separator` comes between two rounds, `index` names the number of the round, from 0.
    For {
        /// Variable of the loop.
        var: String,
        /// The list that it iterates over.
        of: String,
        /// Name for the round's number.
        index: Option<String>,
        /// Printed between two rounds.
        separator: String,
        /// The body.
        body: Vec<Node>,
    },
    /// A literal statement.
    Do(String),
    /// A part that may be a macro: names of its parameters with their values.
    Part {
        /// Name of the macro.
        name: String,
        /// Parameters and arguments.
        parameters: Vec<(String, String)>,
        /// Whether it calls itself and so cannot be inlined.
        recursive: bool,
        /// What it prints.
        body: Vec<Node>,
    },
    /// A part that may be collected in a `set` block first.
    Block(String, Vec<Node>),
}

/// A text as a node.
pub fn text(text: impl Into<String>) -> Node {
    Node::Text(text.into())
}

/// One branch.
pub fn when(condition: impl Into<String>, then: Vec<Node>) -> Node {
    Node::If(vec![(condition.into(), then)], Vec::new())
}

/// Two branches.
pub fn either(condition: impl Into<String>, then: Vec<Node>, otherwise: Vec<Node>) -> Node {
    Node::If(vec![(condition.into(), then)], otherwise)
}

/// How statements are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// All on one line, without dashes; plain text is outside expressions.
    Line,
    /// Indented, white space removed before each tag.
    DashLeft,
    /// Indented, white space removed on both sides.
    DashBoth,
}

/// How consecutive texts are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// Each in its own expression.
    Apart,
    /// With `~`.
    Tilde,
    /// With `+` where all are strings.
    Plus,
}

/// How a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// `message.content`
    Dot,
    /// `message['content']`
    Index,
    /// `message.get('content')`
    Get,
}

/// How a loop recognises its first or last round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// `not loop.last`, after a round.
    NotLast,
    /// `not loop.first`, before a round.
    NotFirst,
    /// `loop.index < loop.length`, after a round.
    Counted,
    /// A flag in a namespace, before a round.
    Flag,
}

/// A style of Jinja.
#[derive(Clone, Debug)]
pub struct Style {
    /// How statements are laid out.
    pub layout: Layout,
    /// How texts are joined.
    pub join: Join,
    /// How fields are read.
    pub access: Access,
    /// How the rounds of a loop are separated.
    pub between: Between,
    /// Quote of string literals.
    pub quote: char,
    /// Whether parts are macros.
    pub macros: bool,
    /// Whether blocks are collected first.
    pub set_blocks: bool,
    /// Whether short branches are inline ifs.
    pub inline_if: bool,
    /// Name of the loop's variable over messages.
    pub message: &'static str,
    /// Whether each role has its own branch.
    pub separate_roles: bool,
    /// Whether there are comments between statements.
    pub comments: bool,
}

impl Style {
    /// A random style.
    pub fn draw(rng: &mut Rng) -> Self {
        Self {
            layout: rng.pick(&[Layout::Line, Layout::DashLeft, Layout::DashBoth]),
            join: rng.pick(&[Join::Apart, Join::Tilde, Join::Plus]),
            access: rng.pick(&[Access::Dot, Access::Index, Access::Get]),
            between: rng.pick(&[Between::NotLast, Between::NotFirst, Between::Counted, Between::Flag]),
            quote: rng.pick(&['\'', '"']),
            macros: rng.coin(),
            set_blocks: rng.one_in(3),
            inline_if: rng.one_in(3),
            message: rng.pick(&["message", "m", "msg"]),
            separate_roles: rng.one_in(3),
            comments: rng.one_in(4),
        }
    }

    /// A field of something.
    pub fn get(&self, of: &str, field: &str) -> String {
        let q = self.quote;
        match self.access {
            Access::Dot => format!("{of}.{field}"),
            Access::Index => format!("{of}[{q}{field}{q}]"),
            Access::Get => format!("{of}.get({q}{field}{q})"),
        }
    }

    /// A string literal.
    pub fn literal(&self, text: &str) -> String {
        let mut out = String::from(self.quote);
        for c in text.chars() {
            match c {
                '\n' => out.push_str("\\n"),
                '\\' => out.push_str("\\\\"),
                c if c == self.quote => {
                    out.push('\\');
                    out.push(c);
                }
                c => out.push(c),
            }
        }
        out.push(self.quote);
        out
    }
}

/// A template's text.
pub fn print(nodes: &[Node], style: &Style) -> String {
    let mut printer = Printer { style, out: String::new(), depth: 0, flags: 0, macros: Vec::new() };
    printer.macros_of(nodes);
    printer.nodes(nodes);
    let text = printer.out;
    text.strip_prefix('\n').map(str::to_owned).unwrap_or(text)
}

struct Printer<'s> {
    style: &'s Style,
    out: String,
    depth: usize,
    flags: usize,
    macros: Vec<String>,
}

impl Printer<'_> {
    fn begin(&mut self) {
        if self.style.layout != Layout::Line {
            self.out.push('\n');
            self.out.push_str(&"    ".repeat(self.depth));
        }
    }

    fn tag(&mut self, statement: &str) {
        self.begin();
        let (open, close) = match self.style.layout {
            Layout::Line => ("{%", "%}"),
            Layout::DashLeft => ("{%-", "%}"),
            Layout::DashBoth => ("{%-", "-%}"),
        };
        self.out.push_str(&format!("{open} {statement} {close}"));
    }

    fn output(&mut self, expression: &str) {
        self.begin();
        let (open, close) = match self.style.layout {
            Layout::Line => ("{{", "}}"),
            Layout::DashLeft => ("{{-", "}}"),
            Layout::DashBoth => ("{{-", "-}}"),
        };
        self.out.push_str(&format!("{open} {expression} {close}"));
    }

    fn inside(&mut self, nodes: &[Node]) {
        self.depth += 1;
        self.nodes(nodes);
        self.depth -= 1;
    }

    /// Definitions of the macros in a tree, those that others call first.
    fn macros_of(&mut self, nodes: &[Node]) {
        for node in nodes {
            match node {
                Node::If(branches, otherwise) => {
                    for (_, body) in branches {
                        self.macros_of(body);
                    }
                    self.macros_of(otherwise);
                }
                Node::For { body, .. } | Node::Block(_, body) => self.macros_of(body),
                Node::Part { name, parameters, recursive, body } => {
                    self.macros_of(body);
                    if (self.style.macros || *recursive) && !self.macros.contains(name) {
                        self.macros.push(name.clone());
                        let names: Vec<&str> = parameters.iter().map(|(name, _)| name.as_str()).collect();
                        if self.style.comments && self.style.layout != Layout::Line {
                            self.out.push_str("\n{#- The part that follows is written once. #}");
                        }
                        self.tag(&format!("macro {name}({})", names.join(", ")));
                        self.inside(body);
                        self.tag("endmacro");
                    }
                }
                Node::Text(_) | Node::Value(_) | Node::Words(_) | Node::Do(_) => {}
            }
        }
    }

    fn nodes(&mut self, nodes: &[Node]) {
        let mut at = 0;
        while at < nodes.len() {
            let run = nodes[at..].iter().take_while(|n| is_output(n)).count();
            if run > 0 {
                self.outputs(&nodes[at..at + run]);
                at += run;
                continue;
            }
            self.node(&nodes[at]);
            at += 1;
        }
    }

    fn node(&mut self, node: &Node) {
        match node {
            Node::Text(_) | Node::Value(_) | Node::Words(_) => self.outputs(std::slice::from_ref(node)),
            Node::Do(statement) => self.tag(statement),
            Node::If(branches, otherwise) => self.branches(branches, otherwise),
            Node::For { var, of, index, separator, body } => self.rounds(var, of, index.as_deref(), separator, body),
            Node::Part { name, parameters, recursive, body } => {
                if self.style.macros || *recursive {
                    let values: Vec<&str> = parameters.iter().map(|(_, value)| value.as_str()).collect();
                    self.output(&format!("{name}({})", values.join(", ")));
                } else {
                    for (name, value) in parameters.iter().filter(|(name, value)| name != value) {
                        self.tag(&format!("set {name} = {value}"));
                    }
                    self.nodes(body);
                }
            }
            Node::Block(name, body) => {
                if self.style.set_blocks {
                    self.tag(&format!("set {name}"));
                    self.inside(body);
                    self.tag("endset");
                    self.output(name);
                } else {
                    self.nodes(body);
                }
            }
        }
    }

    fn branches(&mut self, branches: &[(String, Vec<Node>)], otherwise: &[Node]) {
        if let [(condition, body)] = branches {
            let short = body.iter().chain(otherwise).all(is_output);
            if self.style.inline_if && short && !body.is_empty() {
                let then = self.joined(body);
                let other = if otherwise.is_empty() { self.style.literal("") } else { self.joined(otherwise) };
                self.output(&format!("({then}) if {condition} else ({other})"));
                return;
            }
        }
        for (number, (condition, body)) in branches.iter().enumerate() {
            self.tag(&format!("{} {condition}", if number == 0 { "if" } else { "elif" }));
            self.inside(body);
        }
        if !otherwise.is_empty() {
            self.tag("else");
            self.inside(otherwise);
        }
        self.tag("endif");
    }

    fn rounds(&mut self, var: &str, of: &str, index: Option<&str>, separator: &str, body: &[Node]) {
        let parted = !separator.is_empty();
        let between = self.style.between;
        let flag = format!("mark{}", self.flags);
        self.flags += 1;
        if parted && between == Between::Flag {
            self.tag(&format!("set {flag} = namespace(first=true)"));
        }
        self.tag(&format!("for {var} in {of}"));
        self.depth += 1;
        if let Some(index) = index {
            self.tag(&format!("set {index} = loop.index0"));
        }
        let glue = vec![text(separator)];
        let part = |condition: &str| when(condition, glue.clone());
        match between {
            Between::NotFirst if parted => self.node(&part("not loop.first")),
            Between::Flag if parted => {
                let seen = vec![Node::Do(format!("set {flag}.first = false"))];
                self.node(&either(format!("{flag}.first"), seen, glue.clone()));
            }
            _ => {}
        }
        self.nodes(body);
        match between {
            Between::NotLast if parted => self.node(&part("not loop.last")),
            Between::Counted if parted => self.node(&part("loop.index < loop.length")),
            _ => {}
        }
        self.depth -= 1;
        self.tag("endfor");
    }

    fn outputs(&mut self, nodes: &[Node]) {
        let nodes = merged(nodes);
        if self.style.join == Join::Apart || (self.style.layout == Layout::Line && nodes.len() == 1) {
            for node in &nodes {
                match node {
                    Node::Text(text) if self.style.layout == Layout::Line && may_be_bare(text) => {
                        self.out.push_str(text);
                    }
                    _ => {
                        let expression = self.joined(std::slice::from_ref(node));
                        self.output(&expression);
                    }
                }
            }
            return;
        }
        if !nodes.is_empty() {
            let expression = self.joined(&nodes);
            self.output(&expression);
        }
    }

    fn joined(&self, nodes: &[Node]) -> String {
        let nodes = merged(nodes);
        if nodes.is_empty() {
            return self.style.literal("");
        }
        let strings = nodes.iter().all(|node| !matches!(node, Node::Value(_)));
        let sign = if self.style.join == Join::Plus && strings { " + " } else { " ~ " };
        let pieces: Vec<String> = nodes
            .iter()
            .map(|node| match node {
                Node::Text(text) => self.style.literal(text),
                Node::Value(e) | Node::Words(e) if nodes.len() > 1 && e.contains(' ') => format!("({e})"),
                Node::Value(e) | Node::Words(e) => e.clone(),
                _ => String::new(),
            })
            .collect();
        pieces.join(sign)
    }
}

fn is_output(node: &Node) -> bool {
    matches!(node, Node::Text(_) | Node::Value(_) | Node::Words(_))
}

/// Merges consecutive texts.
fn merged(nodes: &[Node]) -> Vec<Node> {
    let mut out: Vec<Node> = Vec::new();
    for node in nodes {
        match (out.last_mut(), node) {
            (_, Node::Text(more)) if more.is_empty() => {}
            (Some(Node::Text(text)), Node::Text(more)) => text.push_str(more),
            _ => out.push(node.clone()),
        }
    }
    out
}

/// Whether a text may be outside an expression: Jinja trims white space next to tags.
fn may_be_bare(text: &str) -> bool {
    text.trim() == text && !text.contains(['{', '}', '%', '#'])
}
