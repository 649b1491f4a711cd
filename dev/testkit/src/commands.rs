//! Runs commands in a folder of their own and records what they printed. Transcripts (a command and what it is expected
//! to print) are tests and documentation at once.
//!
//! A command is one line: `unjinja ARGUMENTS`, with `NAME=VALUE` in front for a variable of the environment and `< FILE` or
//! `> FILE` after it; `cat FILE`; `mkdir FOLDER`; or `sed -i s/FROM/TO/g FILE`, which replaces a plain text that the file
//! has to contain.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::Failure;

/// No command may take longer, in a debug build on a slow machine that does much else.
const LONGEST: Duration = Duration::from_secs(120);

/// A folder in which commands run.
pub struct CommandFolder {
    folder: PathBuf,
    program: PathBuf,
}

/// What a command printed, and how it ended.
pub struct Said {
    /// Its standard output, unless that was redirected to a file.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: i32,
}

impl CommandFolder {
    /// An empty folder. What was there before is removed. `program` is the path of `unjinja`.
    ///
    /// # Errors
    ///
    /// The folder cannot be made.
    pub fn new(folder: &Path, program: &Path) -> Result<Self, Failure> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned(), program: program.to_owned() })
    }

    /// Writes a file in the folder.
    ///
    /// # Errors
    ///
    /// It cannot be written.
    pub fn write(&self, file: &str, bytes: &[u8]) -> Result<(), Failure> {
        let path = self.folder.join(file);
        fs::create_dir_all(path.parent().ok_or("no folder")?)?;
        Ok(fs::write(path, bytes)?)
    }

    /// Reads a file of the folder.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not UTF-8.
    pub fn read(&self, file: &str) -> Result<String, Failure> {
        Ok(fs::read_to_string(self.folder.join(file)).map_err(|e| format!("{file}: {e}"))?)
    }

    /// Runs one command with `stdin` as its standard input.
    ///
    /// # Errors
    ///
    /// The line is not a command as described above, it took too long, the program panicked or was killed, or its output
    /// is not UTF-8.
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
                if !text.contains(from) {
                    return Err(format!("{file} does not contain {from:?}").into());
                }
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
        let program = words.iter().position(|word| word == "unjinja").ok_or("the command must be `unjinja …`")?;
        let environment = words[..program].iter().filter_map(|word| word.split_once('='));
        let mut child = Command::new(&self.program)
            .args(&words[program + 1..])
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .env_remove("UNJINJA_LOG")
            .env_remove("HF_TOKEN")
            .env_remove("HF_HUB_CACHE")
            .env_remove("HUGGINGFACE_HUB_CACHE")
            .env_remove("HF_TOKEN_PATH")
            .env_remove("HF_HUB_DISABLE_IMPLICIT_TOKEN")
            .env_remove("HF_HUB_OFFLINE")
            .env_remove("HF_HUB_DOWNLOAD_TIMEOUT")
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
        // An error here means that the command ended without reading all of its input, which it may.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let output = child.wait_with_output()?;
        writer.join().map_err(|_| "the writer panicked")?;
        if begin.elapsed() >= LONGEST {
            return Err(format!("it took {:?}", begin.elapsed()).into());
        }
        let mut said = Said {
            stdout: String::from_utf8(output.stdout)?,
            stderr: String::from_utf8(output.stderr)?,
            code: output.status.code().ok_or("the program was killed")?,
        };
        if said.stderr.contains("panicked") {
            return Err(format!("the program panicked: {}", said.stderr).into());
        }
        if let Some(file) = to {
            let stdout = std::mem::take(&mut said.stdout);
            if file != "/dev/null" {
                self.write(&file, stdout.as_bytes())?;
            }
        }
        Ok(said)
    }
}
