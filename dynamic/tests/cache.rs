//! The cache: a hit gives the same model and saves the analysis, and nothing that happens to the folder keeps a model from
//! being loaded.

use std::fs;
use std::path::{Path, PathBuf};

use unjinja_dynamic::{CacheUse, FormatSpec, Loader, Model, Options, SpecialTokens};
use unjinja_testkit::{Failure, sample, share};

use crate::templates::files;

const TEMPLATE: &str = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
    {% if add_generation_prompt %}<assistant>{% endif %}";

/// An empty folder for one test.
fn folder(name: &str) -> Result<PathBuf, Failure> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache").join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(folder)
}

/// The file that the cache wrote.
fn written(model: &Model) -> Result<PathBuf, Failure> {
    match model.cache() {
        CacheUse::Written(path) => Ok(path.clone()),
        other => Err(format!("not written: {other:?}").into()),
    }
}

fn is_read(model: &Model) -> bool {
    matches!(model.cache(), CacheUse::Read(_))
}

#[test]
fn a_hit_gives_the_same_model() -> Result<(), Failure> {
    let folder = folder("same")?;
    let mut seen = 0;
    for path in sample(files("templates", "jinja")?, 6) {
        seen += 1;
        let loader = Loader::new().cache(&folder);
        let fresh = Model::from_file(&path)?;
        let first = loader.from_file(&path)?;
        let again = loader.from_file(&path)?;
        assert!(
            matches!(fresh.cache(), CacheUse::Unused) && is_read(&again),
            "{}: {:?}",
            path.display(),
            again.cache()
        );
        written(&first)?;
        for model in [&first, &again] {
            assert_eq!(model.spec(), fresh.spec(), "{}", path.display());
            // A program has no equality of its own; what it prints is all of it.
            assert_eq!(format!("{:?}", model.parser()), format!("{:?}", fresh.parser()), "{}", path.display());
            assert_eq!(model.template(), fresh.template());
        }
    }
    assert!(seen > share(30, 6), "{seen} templates");
    let unfinished = fs::read_dir(&folder)?
        .filter(|entry| entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".tmp")));
    assert_eq!(unfinished.count(), 0);
    Ok(())
}

#[test]
fn the_file_is_what_is_read() -> Result<(), Failure> {
    let loader = Loader::new().cache(folder("read")?);
    let path = written(&loader.from_template(TEMPLATE)?)?;
    let text = fs::read_to_string(&path)?;
    assert!(text.contains(r#"end = "</>""#), "{text}");
    fs::write(&path, text.replace(r#"end = "</>""#, r#"end = "<stop>""#))?;
    let model = loader.name("Another name").from_template(TEMPLATE)?;
    assert!(is_read(&model));
    assert_eq!((model.name(), &*model.spec().turn.end), ("another_name", "<stop>"));
    assert_eq!(model.parse("Hello<stop>", &Options::new()).content, "Hello");
    Ok(())
}

#[test]
fn a_damaged_or_foreign_file_is_written_anew() -> Result<(), Failure> {
    let loader = Loader::new().cache(folder("damaged")?);
    let fresh = loader.from_template(TEMPLATE)?;
    let path = written(&fresh)?;
    let whole = fs::read(&path)?;
    let text = String::from_utf8(whole.clone())?;
    let hash = &fresh.spec().template.sha256;
    let damaged = [
        Vec::new(),
        b"\xFF\xFE\0".to_vec(),
        whole[..whole.len() / 2].to_vec(),
        // Cut between two lines, this is valid TOML.
        whole[..text.rfind("[evidence").ok_or("no evidence")?].to_vec(),
        text.replace(hash.as_str(), &"0".repeat(64)).into_bytes(),
        text.replace("spec_version = ", "spec_version = 9").into_bytes(),
        text.replace(r#"end = "</>""#, "end = 1").into_bytes(),
    ];
    for bytes in damaged {
        fs::write(&path, &bytes)?;
        let model = loader.from_template(TEMPLATE)?;
        written(&model).map_err(|error| format!("{error} from {:?}", String::from_utf8_lossy(&bytes)))?;
        assert_eq!(model.spec(), fresh.spec());
        assert_eq!(fs::read(&path)?, whole);
    }
    Ok(())
}

#[test]
fn special_tokens_have_files_of_their_own() -> Result<(), Failure> {
    let template = TEMPLATE.replace("</>", "{{ eos_token }}");
    let loader = Loader::new().cache(folder("tokens")?);
    let mut paths = Vec::new();
    for eos in ["</s>", "<stop>"] {
        let loader = loader.clone().tokens(SpecialTokens { eos: Some(eos.to_owned()), ..SpecialTokens::default() });
        let model = loader.from_template(&template)?;
        assert_eq!(model.spec().turn.end, eos);
        paths.push(written(&model)?);
        assert_eq!(loader.from_template(&template)?.spec(), model.spec());
    }
    assert_ne!(paths[0], paths[1]);
    Ok(())
}

#[test]
fn a_folder_that_cannot_be_written_to_is_reported() -> Result<(), Failure> {
    let folder = folder("unwritable")?;
    fs::create_dir_all(&folder)?;
    // A file is where the folder would be made, so that the test holds for every user.
    let file = folder.join("file");
    fs::write(&file, "")?;
    let model = Loader::new().cache(file.join("cache")).from_template(TEMPLATE)?;
    assert!(
        matches!(model.cache(), CacheUse::NotWritten { path, .. } if path.starts_with(&file)),
        "{:?}",
        model.cache()
    );
    assert_eq!(model.parse("Hello</>", &Options::new()).content, "Hello");
    Ok(())
}

#[test]
fn many_loads_at_once_leave_one_whole_file() -> Result<(), Failure> {
    let folder = folder("many")?;
    let loads: Vec<_> = (0..8)
        .map(|_| {
            let loader = Loader::new().cache(&folder);
            std::thread::spawn(move || loader.from_template(TEMPLATE).map(|model| model.spec().clone()))
        })
        .collect();
    let specs: Vec<FormatSpec> = loads
        .into_iter()
        .map(|load| load.join().map_err(|_| "panicked")?.map_err(Failure::from))
        .collect::<Result<_, _>>()?;
    assert!(specs.windows(2).all(|pair| pair[0] == pair[1]));
    assert_eq!(fs::read_dir(&folder)?.count(), 1);
    assert!(is_read(&Loader::new().cache(&folder).from_template(TEMPLATE)?));
    Ok(())
}
