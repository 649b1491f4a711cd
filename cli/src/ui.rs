//! How the commands look to people: colours where they are wanted, progress where somebody watches, and no character of
//! foreign text that would do something to a terminal.

use std::io::IsTerminal;

use crate::visible;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

/// What a heading looks like.
pub(crate) const HEADING: Style = Style::new().bold();
/// What is in order.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// What is not.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// What somebody should look at.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// What matters less.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// A name.
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();

/// A text in a style. Whether colours are written at all is decided where it is printed.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// What was said about the commands' talking.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ui {
    /// Nothing but results and errors.
    pub quiet: bool,
}

impl Ui {
    /// A word about what was done.
    pub(crate) fn remark(self, text: &str) {
        if !self.quiet {
            anstream::eprintln!("{}", visible::lines(text));
        }
    }

    /// A bar for that many files, where there are some and somebody watches.
    pub(crate) fn progress(self, count: usize) -> ProgressBar {
        if self.quiet || crate::log::is_on() || count < 4 || !std::io::stderr().is_terminal() {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::new(count as u64);
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} {wide_msg}") {
            bar.set_style(style);
        }
        bar
    }
}
