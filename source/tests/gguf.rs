//! Templates from GGUF files. The files in `gguf/` were made by `gguf/make.py` with the package `gguf`; the damaged ones are
//! made here.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use unjinja_source::{Source, SourceError};

type Done = Result<(), Box<dyn Error>>;

/// The longest that reading one file of these tests may take, in a debug build on a slow machine.
const LONGEST: Duration = Duration::from_secs(5);

/// The most memory that reading may take. The files have 6 KB.
const MOST_BYTES: u64 = 256 << 10;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gguf").join(name)
}

/// The text of one of the workspace's templates; the files hold copies.
fn template(name: &str) -> Result<String, Box<dyn Error>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../templates").join(name);
    fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()).into())
}

fn read_bytes(bytes: &[u8]) -> Result<Vec<Source>, SourceError> {
    Source::from_bytes("sample.gguf", bytes)
}

#[test]
fn both_versions_in_both_byte_orders() -> Done {
    let text = template("call_id_marker.jinja")?;
    for name in ["v2_little", "v2_big", "v3_little", "v3_big"] {
        let source = Source::read_one(fixture(&format!("{name}.gguf"))).map_err(|e| format!("{name}: {e}"))?;
        assert_eq!(source.text, text, "{name}: the template has changed: run make.py");
        assert_eq!(source.variant, None, "{name}");
        assert_eq!(source.tokens.bos.as_deref(), Some("<s>"), "{name}");
        assert_eq!(source.tokens.eos.as_deref(), Some("</s>"), "{name}");
        assert_eq!((source.name(), source.file()), (name.to_owned(), format!("{name}.gguf")));
        // The sample marks all its tokens as control tokens.
        assert_eq!(source.special_tokens.map(|tokens| tokens.len()), Some(10), "{name}");
    }
    Ok(())
}

#[test]
fn named_templates() -> Done {
    let sources = Source::read(fixture("named.gguf"))?;
    let names: Vec<String> = sources.iter().map(Source::name).collect();
    assert_eq!(names, ["named", "named_tool_use", "named_rag"], "the default is the first");
    let rag = Source::read_one(format!("{}#rag", fixture("named.gguf").display()))?;
    assert_eq!(rag.text, template("reasoning_only.jinja")?);
    assert_eq!(rag.file(), "named.gguf#rag");
    let error = Source::read_one(fixture("named.gguf")).unwrap_err().to_string();
    assert!(error.contains("the file holds 3 templates: `default`, `tool_use`, `rag`; choose one, as in "), "{error}");
    Ok(())
}

#[test]
fn a_model_without_a_template_says_what_it_is() {
    let error = Source::read(fixture("bare.gguf")).unwrap_err();
    assert!(error.is_without_template());
    assert!(
        error.to_string().contains("no `tokenizer.chat_template`; it holds a model of the architecture `llama`"),
        "{error}"
    );
}

/// The parts of a file of the first version, whose lengths have four bytes.
fn short_string(text: &str) -> Vec<u8> {
    [&u32::try_from(text.len()).unwrap_or_default().to_le_bytes(), text.as_bytes()].concat()
}

#[test]
fn the_first_version() -> Done {
    let number = |n: u32| n.to_le_bytes().to_vec();
    let string = |key: &str, value: &str| [short_string(key), number(8), short_string(value)].concat();
    let tokens = [short_string("tokenizer.ggml.tokens"), number(9), number(8), number(2)].concat();
    let file = [
        b"GGUF".to_vec(),
        number(1),
        number(0),
        number(7),
        string("general.architecture", "llama"),
        [tokens, short_string("x"), short_string("<end>")].concat(),
        [short_string("tokenizer.ggml.token_type"), number(9), number(5), number(2), number(1), number(3)].concat(),
        [short_string("tokenizer.ggml.eos_token_id"), number(4), number(1)].concat(),
        [short_string("tokenizer.ggml.padding_token_id"), number(4), number(0)].concat(),
        [short_string("tokenizer.ggml.mask_token_id"), number(4), number(u32::MAX)].concat(),
        string("tokenizer.chat_template", "{{ messages }}"),
    ];
    let sources = read_bytes(&file.concat())?;
    assert_eq!(sources.len(), 1);
    assert_eq!(sources[0].text, "{{ messages }}");
    assert_eq!((sources[0].tokens.bos.as_deref(), sources[0].tokens.eos.as_deref()), (None, Some("<end>")));
    // An id that no token has marks an absent token.
    let others: Vec<_> = sources[0].tokens.others.iter().collect();
    assert_eq!(others, [(&"pad_token".to_owned(), &"x".into())]);
    assert_eq!(sources[0].special_tokens.as_deref(), Some(&["<end>".to_owned()][..]));
    Ok(())
}

#[test]
fn hundred_gigabytes_are_read_in_no_time() -> Done {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sparse");
    fs::create_dir_all(&folder)?;
    let path = folder.join("sparse.gguf");
    fs::copy(fixture("v3_little.gguf"), &path)?;
    File::options().write(true).open(&path)?.set_len(100 << 30)?;
    let begin = Instant::now();
    let mut read = Err(SourceError::clone(&Source::read("no such file").unwrap_err()));
    let taken = allocation_counter::measure(|| read = Source::read_one(&path));
    let elapsed = begin.elapsed();
    fs::remove_file(&path)?;
    assert_eq!(read?.text, template("call_id_marker.jinja")?);
    // To read all of it would take minutes.
    assert!(elapsed < Duration::from_secs(20), "{elapsed:?}");
    assert!(taken.bytes_max < MOST_BYTES, "{taken:?}");
    Ok(())
}

/// A random generator that gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n.max(1)
    }
}

/// Damages the bytes; returns what was done.
fn damage(bytes: &mut Vec<u8>, random: &mut Random) -> String {
    const HUGE: [u64; 6] = [u64::MAX, u64::MAX / 2, 1 << 40, 1 << 32, (1 << 31) - 1, 1 << 20];
    let at = random.below(bytes.len());
    match random.below(4) {
        0 => {
            bytes.truncate(at);
            format!("cut at {at}")
        }
        1 => {
            let bit = random.below(8);
            bytes[at] ^= 1 << bit;
            format!("bit {bit} of byte {at} flipped")
        }
        2 => {
            let huge = HUGE[random.below(HUGE.len())];
            let room = bytes.len().saturating_sub(at).min(8);
            bytes[at..at + room].copy_from_slice(&huge.to_le_bytes()[..room]);
            format!("{huge} at {at}")
        }
        _ => {
            let end = (at + 1 + random.below(64)).min(bytes.len());
            bytes[at..end].iter_mut().for_each(|byte| *byte = random.below(256) as u8);
            format!("noise from {at} to {end}")
        }
    }
}

#[test]
fn damaged_files_are_clear_errors() -> Done {
    let mut random = Random(20_261_121);
    let (mut errors, mut read) = (0, 0);
    for name in ["v3_little.gguf", "v3_big.gguf", "v2_little.gguf", "named.gguf"] {
        let sound = fs::read(fixture(name))?;
        for _ in 0..300 {
            let mut bytes = sound.clone();
            let what = format!("{name}, {}", damage(&mut bytes, &mut random));
            let mut result = Ok(Vec::new());
            let begin = Instant::now();
            let taken = allocation_counter::measure(|| result = read_bytes(&bytes));
            assert!(begin.elapsed() < LONGEST, "{what}: took {:?}", begin.elapsed());
            assert!(taken.bytes_max < MOST_BYTES, "{what}: {taken:?}");
            match result {
                Ok(sources) => {
                    read += 1;
                    assert!(!sources.is_empty(), "{what}");
                }
                Err(error) => {
                    errors += 1;
                    let text = error.to_string();
                    let has_place = text.starts_with("sample.gguf: offset ") && text.contains("download it again");
                    let is_other = error.is_without_template() || text.contains("two default templates");
                    assert!(has_place || is_other, "{what}: {text}");
                    assert!(text.len() < 600 && !text.contains(char::is_control), "{what}: {text:?}");
                }
            }
        }
    }
    // Damage in a value that is skipped goes unnoticed.
    assert!(errors > 400 && read > 100, "{errors} errors, {read} read");
    Ok(())
}

#[test]
fn every_cut_is_an_error_with_its_place() -> Done {
    let sound = fs::read(fixture("v3_big.gguf"))?;
    for length in 0..sound.len() {
        let error = match read_bytes(&sound[..length]) {
            Ok(_) => return Err(format!("cut at {length}: read without an error").into()),
            Err(error) => error.to_string(),
        };
        assert!(error.starts_with("sample.gguf: offset "), "cut at {length}: {error}");
    }
    Ok(())
}

/// Overwrites each length and count with a huge number.
#[test]
fn lengths_of_more_than_there_is() -> Done {
    let sound = fs::read(fixture("v3_little.gguf"))?;
    let find = |needle: &[u8]| sound.windows(needle.len()).position(|w| w == needle).ok_or("the key is gone");
    let after = |key: &str, skip: usize| Ok::<usize, Box<dyn Error>>(find(key.as_bytes())? + key.len() + skip);
    let places = [
        ("the number of keys", 16),
        ("a key's length", after("general.architecture", 4 + 8 + "llama".len())?),
        ("a text's length", after("tokenizer.ggml.model", 4)?),
        ("the template's length", after("tokenizer.chat_template", 4)?),
        ("an array's count", after("sample.numbers", 8)?),
        ("a nested array's count", after("sample.nested", 8)?),
        ("the count of tokens", after("tokenizer.ggml.tokens", 8)?),
        ("a token's length", after("tokenizer.ggml.tokens", 16)?),
    ];
    for (what, at) in places {
        for huge in [u64::MAX, 1 << 62, 1 << 40, 1 << 31] {
            let mut bytes = sound.clone();
            bytes[at..at + 8].copy_from_slice(&huge.to_le_bytes());
            let mut result = Ok(Vec::new());
            let taken = allocation_counter::measure(|| result = read_bytes(&bytes));
            let error = result.err().ok_or_else(|| format!("{what} of {huge}: read without an error"))?.to_string();
            assert!(error.starts_with("sample.gguf: offset "), "{what} of {huge}: {error}");
            assert!(taken.bytes_max < MOST_BYTES, "{what} of {huge}: {taken:?}");
        }
    }
    Ok(())
}
