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
            assert_eq!(found(name), Some(&*info.name), "{name}");
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
    assert!(near("qwen").len() > 1);
    let spec = &*all()[0].info().name;
    assert_eq!(near(&format!("{spec}x")), [spec.to_owned()]);
    assert!(near("no such model at all").is_empty());
}
