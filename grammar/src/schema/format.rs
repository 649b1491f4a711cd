//! String formats, each as a regular expression.

#[derive(Clone, Copy, Debug)]
pub(super) enum Format {
    Nothing,
    /// The format is not known.
    Unknown,
    /// The string matches this expression. The second part says what the expression does not check, if anything.
    Pattern(&'static str, Option<&'static str>),
}

const DATE: &str = "(\\d{4}-((0[13578]|1[02])-(0[1-9]|[12]\\d|3[01])|(0[469]|11)-(0[1-9]|[12]\\d|30)|02-(0[1-9]|1\\d|2[0-8]))\
    |(\\d\\d(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)-02-29)";
const OFFSET: &str = "([Zz]|[+-]([01]\\d|2[0-3]):[0-5]\\d)";
const HOURS: &str = "([01]\\d|2[0-3]):[0-5]\\d:([0-5]\\d|60)(\\.\\d+)?";
const DURATION_TIME: &str = "(T(\\d+H(\\d+M(\\d+S)?)?|\\d+M(\\d+S)?|\\d+S))";

macro_rules! ipv4 {
    () => {
        "((25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)\\.){3}(25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
    };
}

macro_rules! label {
    () => {
        "[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
    };
}

macro_rules! ipv6 {
    () => {
        concat!(
            "(H(:H){7}|(H:){1,7}:|(H:){1,6}:H|(H:){1,5}(:H){1,2}|(H:){1,4}(:H){1,3}|(H:){1,3}(:H){1,4}|(H:){1,2}(:H){1,5}",
            "|H:(:H){1,6}|:((:H){1,7}|:)|(H:){6}V|::(H:){0,5}V|H::(H:){0,4}V|(H:)H::(H:){0,3}V|(H:){2}H::(H:){0,2}V",
            "|(H:){3}H::(H:)?V|(H:){4}H::V)"
        )
    };
}

pub(super) fn of(name: &str) -> Format {
    const DOMAIN: &str = "the length of a host name, and what follows `xn--`, are not checked";
    const LOOSE: &str = "only its characters and rough shape are checked";
    const LEAP: &str = "it is not checked whether a leap second exists";
    match name {
        "date" => Format::Pattern(patterns().date, None),
        "time" => Format::Pattern(patterns().time, Some(LEAP)),
        "date-time" => Format::Pattern(patterns().date_time, Some(LEAP)),
        "duration" => Format::Pattern(patterns().duration, None),
        "uuid" => Format::Pattern("^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$", None),
        "ipv4" => Format::Pattern(concat!("^", ipv4!(), "$"), None),
        "ipv6" => Format::Pattern(patterns().ipv6, None),
        "hostname" => Format::Pattern(concat!("^", label!(), "(\\.", label!(), ")*\\.?$"), Some(DOMAIN)),
        "email" => Format::Pattern(
            "^([A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*|\"([ !#-\\[\\]-~]|\\\\[ -~])*\")\
             @([A-Za-z0-9-]+(\\.[A-Za-z0-9-]+)*|\\[[!-Z^-~]*\\])$",
            Some(LOOSE),
        ),
        "uri" => Format::Pattern("^[A-Za-z][A-Za-z0-9+.-]*:([!#-;=?-Z_a-z~\\[\\]$&]|%[0-9A-Fa-f]{2})*$", Some(LOOSE)),
        "uri-reference" => Format::Pattern("^([!#-;=?-Z_a-z~\\[\\]$&]|%[0-9A-Fa-f]{2})*$", Some(LOOSE)),
        "iri" => Format::Pattern("^[A-Za-z][A-Za-z0-9+.-]*:[^\\x00-\\x20<>\"{}|\\\\^`]*$", Some(LOOSE)),
        "iri-reference" => Format::Pattern("^[^\\x00-\\x20<>\"{}|\\\\^`]*$", Some(LOOSE)),
        "uri-template" => Format::Pattern("^([^\\x00-\\x20\"'<>\\\\^`{|}]|\\{[^\\x00-\\x20\"{}]+\\})*$", Some(LOOSE)),
        "json-pointer" => Format::Pattern("^(/([^~/]|~[01])*)*$", None),
        "relative-json-pointer" => Format::Pattern("^(0|[1-9]\\d*)(#|(/([^~/]|~[01])*)*)$", None),
        // These say how a number is stored or how a text is shown.
        "float" | "double" | "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64"
        | "string" | "text" | "textarea" | "password" | "markdown" => Format::Nothing,
        _ => Format::Unknown,
    }
}

/// The expressions that are composed of others.
struct Patterns {
    date: &'static str,
    time: &'static str,
    date_time: &'static str,
    duration: &'static str,
    ipv6: &'static str,
}

fn patterns() -> &'static Patterns {
    static PATTERNS: std::sync::OnceLock<Patterns> = std::sync::OnceLock::new();
    PATTERNS.get_or_init(|| {
        // They are composed once and live until the program ends.
        let keep = |pattern: String| -> &'static str { pattern.leak() };
        let time = DURATION_TIME;
        Patterns {
            date: keep(format!("^{DATE}$")),
            time: keep(format!("^{HOURS}{OFFSET}$")),
            date_time: keep(format!("^{DATE}[Tt]{HOURS}{OFFSET}$")),
            duration: keep(format!("^P(\\d+W|{time}|(\\d+Y(\\d+M(\\d+D)?)?|\\d+M(\\d+D)?|\\d+D){time}?)$")),
            ipv6: keep(format!(
                "^{}$",
                ipv6!().replace('H', "[0-9A-Fa-f]{1,4}").replace('V', concat!("(", ipv4!(), ")"))
            )),
        }
    })
}
