//! The size of structural tags, and of GBNF that counts characters.

use crate::support::{Failure, models, own_models, root};
use unjinja::{GrammarOptions, Target, ToolChoice, Tools};
use unjinja_dynamic::KnownOverlay;
use unjinja_runtime::Program;
use unjinja_spec::Overlay;
use unjinja_testkit::{sample, share};

/// One in so many models is tried in the gate.
const ONE_IN: usize = 4;

/// Ten tools with two limited texts each.
fn limited() -> Result<Tools, Failure> {
    let text = |most: usize| serde_json::json!({"type": "string", "maxLength": most});
    let tools = (1..=10).map(|at| {
        let properties = serde_json::json!({"path": text(80), "text": text(60 + at), "all": {"type": "boolean"}});
        serde_json::json!({"name": format!("tool_{at}"), "parameters": {"type": "object", "properties": properties, "required": ["text"]}})
    });
    Ok(Tools::from_json(&serde_json::to_string(&tools.collect::<Vec<_>>())?)?)
}

/// A format repeats what follows for each marker: nested without a limit, the tag of a model with many headers took 200 MB. GBNF has a rule
/// for each number of characters that are left.
#[test]
fn grammars_stay_small() -> Result<(), Failure> {
    let tools = Tools::from_json(&std::fs::read_to_string(root().join("tests/cases/tools.json"))?)?;
    let limited = limited()?;
    let (mut tags, mut together) = (0, 0);
    let mut small = |name: &str, program: &Program| -> Result<(), Failure> {
        for choice in [ToolChoice::Auto, ToolChoice::Required, ToolChoice::None] {
            let options = GrammarOptions::new().target(Target::XGrammar).tool_choice(choice);
            let text = unjinja_grammar::grammar(program, Some(&tools), &options)?.text;
            assert!(text.len() < 400_000, "{name}: {} bytes", text.len());
            let text = unjinja_grammar::grammar(program, Some(&limited), &options.clone().target(Target::Gbnf))?.text;
            assert!(text.len() < 500_000, "{name}: {} bytes of GBNF", text.len());
            tags += 1;
        }
        Ok(())
    };
    let mut all = models()?;
    all.extend(own_models()?);
    all.retain(|model| model.spec.tools.format != unjinja_spec::ToolFormat::None);
    for model in sample(all.iter(), ONE_IN) {
        small(&model.spec.template.name, model.parser.program())?;
    }
    // An overlay multiplies with what a template has of its own.
    for spec in unjinja_dynamic::known_specs() {
        let name = &spec.template.name;
        let Some(toml) = unjinja_dynamic::known_overlay(&spec) else { continue };
        let overlay = Overlay::from_toml(toml, name)?;
        let known = KnownOverlay::new(&spec, overlay.clone());
        for model in all.iter().filter(|model| known.fits(&model.spec).is_some()) {
            let parser = unjinja_codegen::interpreter(&overlay.apply(&model.spec)?)?;
            small(&format!("{} with the overlay of {name}", model.spec.template.name), parser.program())?;
            together += 1;
        }
    }
    assert!(tags > share(150, ONE_IN) && together > 5, "{tags} tags, {together} specs with an overlay");
    Ok(())
}
