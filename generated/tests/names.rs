//! Every name of a supported model finds its parser: the name of the spec, the Hub ids and the file names.

#![cfg(feature = "all")]

/// Its unit tests run here: a test program of the library would compile all models once more.
#[allow(dead_code, reason = "its unit tests use a part of it")]
#[path = "../src/lookup.rs"]
mod lookup;

use unjinja_generated::{LookupError, all, by_name, find, hub_ids};

fn found(name: &str) -> Option<&'static str> {
    by_name(name).map(|parser| &*parser.info().name)
}

#[test]
fn every_name_finds_its_parser() {
    let mut names = 0;
    for parser in all() {
        let info = parser.info();
        assert_eq!(found(&info.name), Some(&*info.name));
        let files = info.files.iter().map(|file| &**file);
        for name in hub_ids(&info.name).iter().copied().chain(files) {
            names += 1;
            assert_eq!(found(&name.replace("{size}", "1.7B")), Some(&*info.name), "{name}");
            if name.contains('{') {
                continue;
            }
            let spelled = name.to_uppercase().replace(['/', '-', '.'], "_");
            assert_eq!(found(&spelled), Some(&*info.name), "{spelled}");
        }
    }
    assert!(names > all().len(), "{names} names of {} models", all().len());
}

#[test]
fn errors_say_what_to_write() {
    // "unknown", and the names that are suggested.
    let near = |name: &str| match find(name).map(|parser| &*parser.info().name) {
        Err(LookupError::Unknown { near, .. }) => near,
        other => panic!("{name}: {other:?}"),
    };
    assert!(near("qwen").is_empty());
    let spec = &*all()[0].info().name;
    assert_eq!(near(&format!("{spec}x")), [spec.to_owned()]);
    assert!(near("no such model at all").is_empty());
}

/// What people ask for, and the file name of a template that these models have.
#[test]
fn families_are_found_under_the_names_of_their_members() {
    for (name, spec) in [
        ("Qwen/Qwen3-8B", Some("qwen_qwen3_0_6b")),
        ("Qwen/Qwen3-235B-A22B-FP8", Some("qwen_qwen3_0_6b")),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", Some("qwen_qwen2_5_7b_instruct")),
        ("Qwen/Qwen3-Coder-480B-A35B-Instruct", Some("qwen3_coder")),
        ("Qwen/Qwen3.6-35B-A3B", Some("qwen3_5_4b")),
        ("meta-llama/Llama-3.1-70B-Instruct", Some("meta_llama_llama_3_1_8b_instruct")),
        ("openai/gpt-oss-20b", Some("openai_gpt_oss_120b")),
        ("MiniMaxAI/MiniMax-M2.7", Some("minimax_m2")),
        ("Qwen/Qwen3.8-8B", Some("qwen3_8")),
        ("zai-org/GLM-5.2", Some("glm_5_2")),
        ("moonshotai/Kimi-K3", Some("kimi_k3")),
        // Formats of their own, which are not compiled in.
        ("Qwen/Qwen3.5-0.8B", None),
        ("Qwen/Qwen3-VL-8B", None),
        ("meta-llama/Llama-3.1-8B", None),
    ] {
        assert_eq!(found(name), spec, "{name}");
    }
}

/// A model is compiled by the feature of its name.
#[test]
fn every_spec_has_its_feature() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml"))?;
    for parser in all() {
        let line = format!("\n{} = [\"models\"]\n", parser.info().name);
        assert!(manifest.contains(&line), "add to [features] of generated/Cargo.toml:{line}");
    }
    let features = manifest.lines().filter(|line| line.ends_with(" = [\"models\"]")).count();
    assert_eq!(features, all().len() + 1, "a feature of generated/Cargo.toml has no spec");
    Ok(())
}
