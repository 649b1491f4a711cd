//! What whoever compiles a parser must know about it: what it does not read.

use std::path::Path;

use unjinja_spec::{FormatSpec, Status};

/// A warning on one line about a parser that reads only a part of what its template renders: what is missing, and the
/// command that shows it. `path` is the file that the parser is made from.
///
/// ```
/// use unjinja_build::partial_warning;
/// use unjinja_spec::Status;
///
/// # let toml = format!("spec_version = 1\n[template]\nname = 'a'\nfile = 'a.jinja'\nsha256 = '{}'\n", "0".repeat(64));
/// # let mut spec = unjinja_spec::FormatSpec::from_toml(&toml, "a.toml")?;
/// assert_eq!(partial_warning(&spec, "a.jinja".as_ref()), None);
/// spec.add_gap(Status::Partial, "no call is rendered");
/// let warning = partial_warning(&spec, "a.jinja".as_ref()).unwrap_or_default();
/// assert!(warning.starts_with("a.jinja: the parser is partial: no call is rendered; "));
/// # Ok::<(), unjinja_spec::SpecError>(())
/// ```
#[must_use]
pub fn partial_warning(spec: &FormatSpec, path: &Path) -> Option<String> {
    let is_spec = path.extension().is_some_and(|extension| extension == "toml");
    let command = if is_spec { "explain" } else { "analyze" };
    let shown = path.display();
    let gaps = spec.gaps.join("; ");
    let warning = format!("{shown}: the parser is partial: {gaps}; `unjinja {command} {shown}` shows more");
    (spec.status == Status::Partial).then(|| warning.split_whitespace().collect::<Vec<_>>().join(" "))
}
