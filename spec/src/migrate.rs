//! Migration: reads specs of older versions of the spec language and turns them into specs of this one.
//!
//! Each step works on the TOML document, because the data model only knows the newest version. A step changes what the
//! next version needs and nothing else: what people wrote into a spec stays.

use crate::document::{Node, Value};
use crate::error::{Source, SpecError};
use crate::model::{FormatSpec, OLDEST_SPEC_VERSION, SPEC_VERSION};
use crate::parse;

/// Turns a document of one version into one of the next.
type Step = fn(&mut Node);

/// The steps, by the version that each starts from.
const STEPS: &[(u32, Step)] = &[(1, from_1), (2, from_2)];

/// A spec that was read from a file of this or an older version.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Migrated {
    /// The spec, in the current version.
    pub spec: FormatSpec,
    /// The version of the file; [`SPEC_VERSION`] if there was nothing to migrate.
    pub from: u32,
}

impl FormatSpec {
    /// Reads a spec of the current or an older version of the spec language. `file_name` is only for messages.
    ///
    /// [`FormatSpec::from_toml`] refuses older versions, so that no command works with a spec that the next one
    /// rewrites. `unjinja check --write` migrates specs by this function.
    ///
    /// # Errors
    /// As those of [`FormatSpec::from_toml`]; versions that no step starts from are refused.
    ///
    /// ```
    /// use unjinja_spec::{FormatSpec, SPEC_VERSION};
    ///
    /// let old = format!(
    ///     "spec_version = 1\n[template]\nname = 'sample'\nfile = 'sample.jinja'\nsha256 = '{}'\n\
    ///      [reasoning]\nmode = 'tag_based'\nend = '</think>'\n",
    ///     "0".repeat(64),
    /// );
    /// assert!(FormatSpec::from_toml(&old, "sample.toml").is_err());
    /// let migrated = FormatSpec::migrate(&old, "sample.toml")?;
    /// assert_eq!((migrated.from, migrated.spec.spec_version), (1, SPEC_VERSION));
    /// assert_eq!(migrated.spec.tokens.preserved, ["</think>"]);
    /// # Ok::<(), unjinja_spec::SpecError>(())
    /// ```
    pub fn migrate(text: &str, file_name: &str) -> Result<Migrated, SpecError> {
        let source = Source { file: file_name.to_owned(), text: text.to_owned() };
        let mut root = Node::parse(&source)?;
        let from = version(&root);
        for (_, step) in STEPS.iter().filter(|(start, _)| from.is_some_and(|from| from <= *start)) {
            step(&mut root);
        }
        let mut spec = parse::from_document(&root, &source)?;
        let from = from.unwrap_or(SPEC_VERSION);
        if from == 1 {
            // Version 1 listed the tags of some markers only.
            spec.tokens.preserved = spec.preserved_tokens();
        }
        Ok(Migrated { spec, from })
    }
}

/// The version that a document says it has, if it is one that a step starts from.
fn version(root: &Node) -> Option<u32> {
    let Value::Integer(version) = root.get("spec_version")?.value else { return None };
    let version = u32::try_from(version).ok()?;
    (OLDEST_SPEC_VERSION..SPEC_VERSION).contains(&version).then_some(version)
}

/// Version 2 adds `template.models`, which may be absent, and lists every tag of a marker in `tokens.preserved`.
fn from_1(root: &mut Node) {
    set_version(root, 2);
}

/// Version 3 replaces `unsupported = "x"` by `status = "unsupported"` and `gaps = ["x"]`.
fn from_2(root: &mut Node) {
    set_version(root, 3);
    let Value::Table(entries) = &mut root.value else { return };
    let Some(at) = entries.iter().position(|(key, _)| key == "unsupported") else { return };
    let (_, reason) = entries.remove(at);
    let place = |value: Value| Node { value, key_span: reason.key_span.clone(), span: reason.span.clone() };
    let status = place(Value::String("unsupported".to_owned()));
    let gaps = place(Value::Array(vec![reason.clone()]));
    entries.splice(at..at, [("status".to_owned(), status), ("gaps".to_owned(), gaps)]);
}

fn set_version(root: &mut Node, version: u32) {
    if let Value::Table(entries) = &mut root.value
        && let Some((_, node)) = entries.iter_mut().find(|(key, _)| key == "spec_version")
    {
        node.value = Value::Integer(version.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::Status;

    /// The base spec of the tests as version 1 wrote it: the tags around a turn were not listed.
    fn version_1() -> String {
        let base = include_str!("../tests/base.toml");
        let old = base.replace("spec_version = 3\nstatus = \"supported\"", "spec_version = 1");
        old.replace("    \"<|im_end|>\",\n    \"<|im_start|>\",\n", "")
    }

    #[test]
    fn version_1_becomes_the_current_version() -> Result<(), SpecError> {
        let old = version_1();
        assert_eq!(old.lines().count() + 3, include_str!("../tests/base.toml").lines().count());
        let migrated = FormatSpec::migrate(&old, "old.toml")?;
        assert_eq!(migrated.from, 1);
        assert_eq!(migrated.spec.to_toml(), include_str!("../tests/base.toml"));
        Ok(())
    }

    #[test]
    fn version_2_says_its_reason_as_a_gap() -> Result<(), SpecError> {
        let base = include_str!("../tests/base.toml");
        let old = base.replace("spec_version = 3\nstatus = \"supported\"", "spec_version = 2\nunsupported = \"why\"");
        let migrated = FormatSpec::migrate(&old, "old.toml")?;
        assert_eq!((migrated.from, migrated.spec.status), (2, Status::Unsupported));
        assert_eq!(migrated.spec.gaps, ["why"]);
        let old = base.replace("spec_version = 3\nstatus = \"supported\"", "spec_version = 2");
        assert_eq!(FormatSpec::migrate(&old, "old.toml")?.spec.to_toml(), base);
        Ok(())
    }

    #[test]
    fn the_current_version_is_left_alone() -> Result<(), SpecError> {
        let text = include_str!("../tests/base.toml");
        let migrated = FormatSpec::migrate(text, "base.toml")?;
        assert_eq!((migrated.from, migrated.spec), (SPEC_VERSION, FormatSpec::from_toml(text, "base.toml")?));
        Ok(())
    }

    #[test]
    fn what_is_wrong_in_an_old_spec_is_reported_at_its_place() {
        let old = version_1().replace("mode = \"tag_based\"", "mode = \"tags\"");
        let line = old.lines().position(|line| line == "mode = \"tags\"").map(|index| index + 1);
        let problems = FormatSpec::migrate(&old, "old.toml").map_err(|error| error.problems);
        let found = problems.err().and_then(|problems| Some((problems.first()?.key.clone(), problems.first()?.line)));
        assert_eq!(found, line.map(|line| ("reasoning.mode".to_owned(), line)));
    }

    #[test]
    fn unknown_versions_are_refused() {
        for version in ["0", "4", "99999999999999999999", "\"1\""] {
            let text = version_1().replace("spec_version = 1", &format!("spec_version = {version}"));
            assert!(FormatSpec::migrate(&text, "other.toml").is_err(), "{version}");
        }
    }

    #[test]
    fn steps_lead_to_the_current_version() {
        let starts: Vec<u32> = STEPS.iter().map(|(start, _)| *start).collect();
        assert_eq!(starts, (OLDEST_SPEC_VERSION..SPEC_VERSION).collect::<Vec<u32>>());
    }
}
