//! Runs commands as they stand in a transcript, in a folder of their own, and says what they printed.
//!
//! A command is a line: `unjinja ARGUMENTS` (with `NAME=VALUE` before it, `< FILE` or `> FILE` behind it), `cat FILE`, or
//! `sed -i s/FROM/TO/g FILE`, with plain texts of which the first must stand there.

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

type Failure = Box<dyn Error>;

/// No command may take longer, in a debug build on a slow machine.
const LONGEST: Duration = Duration::from_secs(30);

/// A folder in which commands run.
pub struct Place {
    folder: PathBuf,
}

/// What a command printed, and how it ended.
pub struct Said {
    pub stdout: String,
    pub stderr: String,
    pub code: i32,
}

impl Place {
    /// An empty folder of this name.
    pub fn new(suite: &str, name: &str) -> Result<Self, Failure> {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(suite).join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    /// Puts a file there.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        Ok(fs::write(path, bytes)?)
    }

    /// The text of a file.
    pub fn read(&self, file: &str) -> Result<String, Failure> {
        Ok(fs::read_to_string(self.folder.join(file)).map_err(|e| format!("{file}: {e}"))?)
    }

    /// Runs one command.
    pub fn run(&self, command: &str, stdin: &[u8]) -> Result<Said, Failure> {
        let mut words = shlex::split(command).ok_or("the command's quotes are not closed")?;
        let nothing = |stdout| Said { stdout, stderr: String::new(), code: 0 };
        match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["cat", file] => return Ok(nothing(self.read(file)?)),
            ["mkdir", folder] => {
                fs::create_dir_all(self.folder.join(folder))?;
                return Ok(nothing(String::new()));
            }
            ["sed", "-i", change, file] => {
                let text = self.read(file)?;
                let [_, from, to, "g"] = change.split('/').collect::<Vec<_>>()[..] else { return Err(change.into()) };
                assert!(text.contains(from), "{from:?} does not stand in {file}");
                self.write(file, text.replace(from, to).as_bytes())?;
                return Ok(nothing(String::new()));
            }
            _ => {}
        }
        let mut input = stdin.to_vec();
        let mut redirected = |sign: &str| {
            let at = words.iter().position(|word| word == sign)?;
            let file = words.get(at + 1).cloned();
            words.drain(at..(at + 2).min(words.len()));
            file
        };
        let (from, to) = (redirected("<"), redirected(">"));
        if let Some(file) = from {
            input = fs::read(self.folder.join(file))?;
        }
        let program = words.iter().position(|word| word == "unjinja").ok_or("the command is to be `unjinja …`")?;
        let environment = words[..program].iter().filter_map(|word| word.split_once('='));
        let mut child = Command::new(env!("CARGO_BIN_EXE_unjinja"))
            .args(&words[program + 1..])
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("UNJINJA_LOG")
            .env_remove("HF_TOKEN")
            .env_remove("HF_HUB_CACHE")
            .env_remove("HUGGINGFACE_HUB_CACHE")
            .env_remove("HF_TOKEN_PATH")
            .env_remove("HF_HUB_DISABLE_IMPLICIT_TOKEN")
            .env("HF_HOME", "hf_home")
            .env("NO_PROXY", "127.0.0.1")
            .env("SOURCE_DATE_EPOCH", "1700000000")
            .envs(environment)
            .current_dir(&self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let begin = Instant::now();
        let mut pipe = child.stdin.take().ok_or("no standard input")?;
        // A command that ends early does not read it all.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| "the writer panicked")?;
        assert!(begin.elapsed() < LONGEST, "took {:?}", begin.elapsed());
        let mut said = Said {
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
            code: output.status.code().ok_or("the program was killed")?,
        };
        assert!(!said.stderr.contains("panicked"), "the program panicked: {}", said.stderr);
        if let Some(file) = to {
            let stdout = std::mem::take(&mut said.stdout);
            if file != "/dev/null" {
                self.write(&file, stdout.as_bytes())?;
            }
        }
        Ok(said)
    }
}

/// The top folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}
