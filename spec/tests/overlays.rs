//! Overlays over `base.toml`: what each sets, which keys are idle, and the result as a diff; or its refusal.

use std::path::Path;

use unjinja_spec::{FormatSpec, Overlay, Status, diff};
use unjinja_testkit::expect;

#[test]
fn overlays_apply_or_say_why_not() -> Result<(), Box<dyn std::error::Error>> {
    let base = FormatSpec::from_toml(include_str!("base.toml"), "base.toml")?;
    expect::folder(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/overlays"), "toml", |name, text| {
        let overlay = match Overlay::from_toml(text, name) {
            Ok(overlay) => overlay,
            Err(error) => return Ok(format!("refused\n{error}")),
        };
        let mut out = String::new();
        let idle = overlay.idle(&base);
        for key in overlay.keys() {
            let mark = if idle.contains(key) { "idle" } else { "sets" };
            out.push_str(&format!("{mark} {} (line {}): {}\n", key.key, key.line, key.why));
        }
        match overlay.apply(&base) {
            Ok(spec) => {
                for change in diff(&base, &spec) {
                    out.push_str(&format!("{change}\n"));
                }
            }
            Err(error) => out.push_str(&format!("does not apply\n{error}")),
        }
        Ok(out)
    })
}

#[test]
fn an_empty_overlay_changes_nothing() -> Result<(), Box<dyn std::error::Error>> {
    let base = FormatSpec::from_toml(include_str!("base.toml"), "base.toml")?;
    let overlay = Overlay::from_toml("# nothing\n", "empty.toml")?;
    assert_eq!(overlay.apply(&base)?, base);
    assert_eq!(overlay.keys().count(), 0);
    Ok(())
}

#[test]
fn an_overlay_can_take_a_verdict_back() -> Result<(), Box<dyn std::error::Error>> {
    let mut spec = FormatSpec::from_toml(include_str!("base.toml"), "base.toml")?;
    let supported = spec.clone();
    spec.add_gap(Status::Unsupported, "the analysis could not tell");
    let overlay = Overlay::from_toml("status = 'supported' # the model card tells", "back.toml")?;
    assert_eq!(overlay.apply(&spec)?, supported);
    assert!(overlay.idle(&spec).is_empty());
    let text = "status = 'partial' # a parser reads the rest\ngaps = ['calls are drawn'] # the model card tells";
    let partial = Overlay::from_toml(text, "partial.toml")?.apply(&spec)?;
    assert_eq!((partial.status, partial.gaps), (Status::Partial, vec!["calls are drawn".to_owned()]));
    Ok(())
}
