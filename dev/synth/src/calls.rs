//! The part of a template that writes calls.

use unjinja_spec::{ArgumentOrder, CallIdPosition, REPEATED_NAME, ToolFormat};

use crate::behaviour::{AcceptedArguments, Literals};
use crate::draw::Drawn;
use crate::node::{Node, either, text, when};
use crate::tools::first_opener;

/// All calls of a turn; `list` is the expression of the list of them.
pub fn calls(drawn: &Drawn, list: &str) -> Vec<Node> {
    let mut drawn = drawn.clone();
    let lead = drawn.behaviour.lead.len();
    if let Some(first) = first_opener(&mut drawn.spec.tools).filter(|_| lead > 0) {
        first.drain(..lead);
    }
    let drawn = &drawn;
    let tools = &drawn.spec.tools;
    let mut nodes = Vec::new();
    let mut of = list.to_owned();
    if !drawn.spec.capabilities.parallel_tool_calls {
        if drawn.behaviour.refuses {
            let raise = format!("raise_exception({})", drawn.style.literal("One call at a time."));
            nodes.push(when(format!("{list} | length > 1"), vec![Node::Value(raise)]));
        } else {
            of = format!("{list}[:1]");
        }
    }
    let array = tools.format == ToolFormat::JsonNative && tools.tools_array_wrapped;
    nodes.push(text(&tools.section_start));
    if array && !drawn.behaviour.by_hand {
        // The array as a value.
        let item = dictionary(drawn);
        nodes.push(Node::Do("set found = namespace(calls=[])".to_owned()));
        let body = vec![Node::Do(format!("set found.calls = found.calls + [{item}]"))];
        nodes.push(round(&of, "", body));
        nodes.push(Node::Words(printed("found.calls", tools.uses_python_dicts)));
    } else {
        let part = Node::Part {
            name: "call_text".to_owned(),
            parameters: vec![("call".to_owned(), "call".to_owned()), ("number".to_owned(), "number".to_owned())],
            recursive: false,
            body: one(drawn),
        };
        let separator = if array { drawn.behaviour.array_glue } else { &tools.separator };
        if array {
            nodes.push(text("["));
        }
        nodes.push(round(&of, separator, vec![part]));
        if array {
            nodes.push(text("]"));
        }
    }
    nodes.push(text(&tools.section_end));
    nodes
}

fn round(of: &str, separator: &str, body: Vec<Node>) -> Node {
    Node::For {
        var: "call".to_owned(),
        of: of.to_owned(),
        index: Some("number".to_owned()),
        separator: separator.to_owned(),
        body,
    }
}

fn printed(value: &str, python: bool) -> String {
    if python { format!("{value} | string") } else { format!("{value} | tojson") }
}

/// A field of the function that is called.
fn of_function(drawn: &Drawn, field: &str) -> String {
    drawn.style.get(&drawn.style.get("call", "function"), field)
}

fn one(drawn: &Drawn) -> Vec<Node> {
    let tools = &drawn.spec.tools;
    let mut nodes = vec![text(&tools.per_call_start)];
    match tools.format {
        ToolFormat::None => {}
        ToolFormat::JsonNative if drawn.behaviour.by_hand => {
            nodes.extend(name_before(drawn));
            by_hand(drawn, &mut nodes);
        }
        ToolFormat::JsonNative => {
            nodes.extend(name_before(drawn));
            nodes.push(Node::Words(printed(&format!("({})", dictionary(drawn)), tools.uses_python_dicts)))
        }
        _ => tagged(drawn, &mut nodes),
    }
    nodes.push(text(&tools.per_call_end));
    nodes
}

/// The name before an object that holds it too.
fn name_before(drawn: &Drawn) -> Vec<Node> {
    let function = &drawn.spec.tools.function;
    if function.name_suffix.is_empty() {
        return Vec::new();
    }
    vec![text(&function.name_prefix), Node::Words(of_function(drawn, "name")), text(&function.name_suffix)]
}

/// The arguments as JSON text.
fn as_text(drawn: &Drawn) -> String {
    let arguments = of_function(drawn, "arguments");
    format!("({arguments} if {arguments} is string else {arguments} | tojson)")
}

/// The number of a call, as an expression.
fn number(drawn: &Drawn) -> String {
    if drawn.behaviour.first_id == 0 { "number".to_owned() } else { "(number + 1)".to_owned() }
}

/// The arguments as one object.
fn arguments(drawn: &Drawn) -> Node {
    let arguments = of_function(drawn, "arguments");
    if drawn.spec.tools.uses_python_dicts {
        return Node::Words(format!("{arguments} | string"));
    }
    let tojson = match drawn.spec.tools.argument_order {
        ArgumentOrder::Given => "tojson",
        _ => "tojson(sort_keys=true)",
    };
    match drawn.behaviour.accepts {
        AcceptedArguments::Both => {
            let then = vec![Node::Words(arguments.clone())];
            either(format!("{arguments} is string"), then, vec![Node::Words(format!("{arguments} | {tojson}"))])
        }
        AcceptedArguments::Object => Node::Words(format!("{arguments} | {tojson}")),
        // A string and an object cannot be joined.
        AcceptedArguments::Text => Node::Words(format!("('' + {arguments})")),
    }
}

/// A call's keys with the expressions of their values.
fn fields(drawn: &Drawn, keys: &[String]) -> Vec<(String, String)> {
    let tools = &drawn.spec.tools;
    let number = number(drawn);
    let value = |key: &String| match key {
        key if *key == tools.name_field => of_function(drawn, "name"),
        key if *key == tools.args_field && tools.args_as_text => as_text(drawn),
        key if *key == tools.args_field => of_function(drawn, "arguments"),
        key if *key == tools.id_field => drawn.style.get("call", "id"),
        key if *key == tools.gen_id_field && drawn.behaviour.id_is_text => format!("({number} | string)"),
        key if *key == tools.gen_id_field => number.clone(),
        _ => drawn.style.literal("function"),
    };
    keys.iter().map(|key| (key.clone(), value(key))).collect()
}

/// A call as a dictionary expression.
fn dictionary(drawn: &Drawn) -> String {
    let tools = &drawn.spec.tools;
    if tools.fun_name_is_key {
        return format!("{{{}: {}}}", of_function(drawn, "name"), of_function(drawn, "arguments"));
    }
    let entries = |keys: &[String]| -> Vec<String> {
        let fields = fields(drawn, keys);
        fields.into_iter().map(|(key, value)| format!("{}: {value}", drawn.style.literal(&key))).collect()
    };
    let mut outer = entries(&tools.parameter_order);
    if !tools.function_field.is_empty() {
        let inner = format!("{{{}}}", entries(&drawn.behaviour.inner_order).join(", "));
        for (key, entry) in tools.parameter_order.iter().zip(&mut outer) {
            if *key == tools.function_field {
                *entry = format!("{}: {inner}", drawn.style.literal(key));
            }
        }
    }
    format!("{{{}}}", outer.join(", "))
}

/// A call's object, put together from pieces.
fn by_hand(drawn: &Drawn, nodes: &mut Vec<Node>) {
    let tools = &drawn.spec.tools;
    if tools.fun_name_is_key {
        nodes.extend([text("{\""), Node::Words(of_function(drawn, "name")), text("\": "), arguments(drawn), text("}")]);
        return;
    }
    let object = |nodes: &mut Vec<Node>, keys: &[String]| {
        nodes.push(text("{"));
        for (at, (key, value)) in fields(drawn, keys).into_iter().enumerate() {
            nodes.push(text(format!("{}\"{key}\": ", if at > 0 { ", " } else { "" })));
            if key == tools.function_field {
                nodes.push(text("{"));
                for (at, (key, value)) in fields(drawn, &drawn.behaviour.inner_order).into_iter().enumerate() {
                    nodes.push(text(format!("{}\"{key}\": ", if at > 0 { ", " } else { "" })));
                    field(drawn, nodes, &key, value);
                }
                nodes.push(text("}"));
            } else {
                field(drawn, nodes, &key, value);
            }
        }
        nodes.push(text("}"));
    };
    object(nodes, &tools.parameter_order);
}

fn field(drawn: &Drawn, nodes: &mut Vec<Node>, key: &str, value: String) {
    let tools = &drawn.spec.tools;
    if key == tools.args_field && tools.args_as_text {
        nodes.push(Node::Words(format!("{} | tojson", as_text(drawn))));
    } else if key == tools.args_field {
        nodes.push(arguments(drawn));
    } else if key == tools.gen_id_field && !drawn.behaviour.id_is_text {
        nodes.push(Node::Value(value));
    } else if key == tools.name_field && drawn.behaviour.bos {
        nodes.push(Node::Words(format!("{value} | tojson")));
    } else {
        nodes.extend([text("\""), Node::Words(value), text("\"")]);
    }
}

/// A call whose name is outside JSON.
fn tagged(drawn: &Drawn, nodes: &mut Vec<Node>) {
    let tools = &drawn.spec.tools;
    let id = |position| {
        let there = tools.call_id.position == position;
        let id = match drawn.behaviour.counts_calls {
            true => Node::Value(number(drawn)),
            false => Node::Words(drawn.style.get("call", "id")),
        };
        let pieces = [text(&tools.call_id.prefix), id, text(&tools.call_id.suffix)];
        pieces.into_iter().filter(move |_| there)
    };
    nodes.extend(id(CallIdPosition::PreFuncName));
    nodes.push(text(&tools.function.name_prefix));
    let name = Node::Words(of_function(drawn, "name"));
    if tools.call_id.position == CallIdPosition::InName {
        nodes.extend([
            text(&tools.call_id.prefix),
            name,
            text(&tools.call_id.suffix),
            Node::Value("number".to_owned()),
        ]);
    } else {
        nodes.push(name);
    }
    nodes.extend(with_name(drawn, &tools.function.name_suffix));
    nodes.extend(id(CallIdPosition::BetweenFuncAndArgs));
    nodes.push(text(&tools.arguments.start));
    if tools.format == ToolFormat::TagWithJson {
        nodes.push(arguments(drawn));
    } else {
        nodes.push(Node::For {
            var: "key, value".to_owned(),
            of: items(drawn, &of_function(drawn, "arguments")),
            index: None,
            separator: tools.arguments.separator.clone(),
            body: argument(drawn),
        });
    }
    nodes.push(text(&tools.arguments.end));
    nodes.extend(with_name(drawn, &tools.function.close));
    nodes.extend(id(CallIdPosition::PostArgs));
}

/// A marker, with the function's name where the marker repeats it.
fn with_name(drawn: &Drawn, marker: &str) -> Vec<Node> {
    let mut nodes = Vec::new();
    for (at, piece) in marker.split(REPEATED_NAME).enumerate() {
        if at > 0 {
            nodes.push(Node::Words(of_function(drawn, "name")));
        }
        nodes.push(text(piece));
    }
    nodes
}

/// The keys and values of an object, as an expression.
fn items(drawn: &Drawn, object: &str) -> String {
    match drawn.spec.tools.argument_order {
        ArgumentOrder::Given => format!("{object}.items()"),
        _ => format!("{object} | dictsort"),
    }
}

fn argument(drawn: &Drawn) -> Vec<Node> {
    let arguments = &drawn.spec.tools.arguments;
    if arguments.nested {
        return vec![element(drawn)];
    }
    let mut nodes = vec![text(&arguments.name_prefix), Node::Words("key".to_owned())];
    if !arguments.type_prefix.is_empty() {
        nodes.extend([text(&arguments.type_prefix), Node::Words(KIND.to_owned()), text(&arguments.type_suffix)]);
    } else if arguments.other_name_suffix.is_empty() {
        nodes.push(text(&arguments.name_suffix));
    } else {
        let other = vec![text(&arguments.other_name_suffix)];
        nodes.push(either("value is string", vec![text(&arguments.name_suffix)], other));
    }
    nodes.push(text(&arguments.value_prefix));
    nodes.push(value(drawn));
    nodes.push(text(&arguments.value_suffix));
    if !arguments.close_prefix.is_empty() {
        nodes.extend([text(&arguments.close_prefix), Node::Words("key".to_owned()), text(&arguments.close_suffix)]);
    }
    nodes
}

/// The JSON type of a value, as an expression.
const KIND: &str = "'null' if value is none else 'boolean' if value is boolean else 'number' if value is number else \
                    'string' if value is string else 'object' if value is mapping else 'array'";

/// An argument as an element, its members or items as elements in turn: a recursive macro. What elements cannot tell is
/// JSON: what is empty, a list of one item if items have no name of their own, and what holds a text that looks like JSON or an element.
fn element(drawn: &Drawn) -> Node {
    let arguments = &drawn.spec.tools.arguments;
    let open = || [text(&arguments.name_prefix), Node::Words("key".to_owned()), text(&arguments.name_suffix)];
    let close = || [text(&arguments.close_prefix), Node::Words("key".to_owned()), text(&arguments.close_suffix)];
    let around = |inner: Node| open().into_iter().chain([inner]).chain(close()).collect::<Vec<_>>();
    let items = |var: &str, of: &str, key: &str| Node::For {
        var: var.to_owned(),
        of: of.to_owned(),
        index: None,
        separator: String::new(),
        body: vec![Node::Words(format!("element({key}, item)"))],
    };
    let looks: Vec<String> =
        "[{<".chars().chain(drawn.behaviour.before_tags.chars().next()).map(|c| format!("'{c}'")).collect();
    let clear = |of: &str, least: usize| {
        let texts = format!("{of} | reject('mapping') | map('string') | map('trim') | map('first')");
        format!("{of} | length > {least} and not ({texts} | select('in', ['', {}]) | list)", looks.join(", "))
    };
    // The items of a list have a name of their own, or that of the list.
    let (least, list) = if arguments.item.is_empty() {
        (1, vec![items("item", "value", "key")])
    } else {
        (0, around(items("item", "value", &drawn.style.literal(&arguments.item))))
    };
    let other = either(
        "value is string",
        vec![Node::Words("value".to_owned())],
        vec![Node::Words("value | tojson".to_owned())],
    );
    let branches = vec![
        (
            format!("value is mapping and {}", clear("value.values() | list", 0)),
            around(items("inner, item", "value.items()", "inner")),
        ),
        (
            format!("value is iterable and value is not string and value is not mapping and {}", clear("value", least)),
            list,
        ),
    ];
    Node::Part {
        name: "element".to_owned(),
        parameters: vec![("key".to_owned(), "key".to_owned()), ("value".to_owned(), "value".to_owned())],
        recursive: true,
        body: vec![Node::If(branches, around(other))],
    }
}

fn value(drawn: &Drawn) -> Node {
    let tools = &drawn.spec.tools;
    if !tools.arguments.quote.is_empty() {
        return quoted(drawn);
    }
    let expression = tools.format == ToolFormat::CallExpression;
    let mut string = Node::Words(if expression { "value | tojson".to_owned() } else { "value".to_owned() });
    if tools.arguments.cdata {
        let guarded = vec![text("<![CDATA["), string.clone(), text("]]>")];
        string = either("'<' in value or '&' in value or '\\n' in value", guarded, vec![string]);
    }
    match drawn.behaviour.literals {
        Literals::Json if expression => Node::Words("value | tojson".to_owned()),
        Literals::Json => either("value is string", vec![string], vec![Node::Words("value | tojson".to_owned())]),
        Literals::Python => either("value is string", vec![string], vec![Node::Words("value | string".to_owned())]),
    }
}

/// Literals whose strings are between quote tokens: a recursive macro.
fn quoted(drawn: &Drawn) -> Node {
    let quote = &drawn.spec.tools.arguments.quote;
    let again = || Node::Words("literal(item)".to_owned());
    let each = |var: &str, of: &str, body| Node::For {
        var: var.to_owned(),
        of: of.to_owned(),
        index: None,
        separator: ",".to_owned(),
        body,
    };
    let string = vec![text(quote), Node::Words("value".to_owned()), text(quote)];
    let pair = vec![Node::Words("key".to_owned()), text(":"), again()];
    let object = vec![text("{"), each("key, item", &items(drawn, "value"), pair), text("}")];
    let list = vec![text("["), each("item", "value", vec![again()]), text("]")];
    let branches = vec![
        ("value is string".to_owned(), string),
        ("value is mapping".to_owned(), object),
        ("value is iterable".to_owned(), list),
    ];
    Node::Part {
        name: "literal".to_owned(),
        parameters: vec![("value".to_owned(), "value".to_owned())],
        recursive: true,
        body: vec![Node::If(branches, vec![Node::Words("value | tojson".to_owned())])],
    }
}
