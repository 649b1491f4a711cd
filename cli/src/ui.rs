//! The look of the commands in a terminal: colours, remarks and progress bars. Text from templates and models must pass
//! through [`visible`] before it is printed, so that it cannot control the terminal.

use std::io::IsTerminal;

use crate::visible;
use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

pub(crate) const HEADING: Style = Style::new().bold();
/// The style of what is in order.
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
/// The style of errors and differences.
pub(crate) const BAD: Style = AnsiColor::Red.on_default().bold();
/// The style of what deserves attention.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default();
/// The style of details.
pub(crate) const FAINT: Style = Style::new().dimmed();
pub(crate) const NAME: Style = AnsiColor::Cyan.on_default();

/// Adds a style to a text. The stream that prints it removes the style if it must not use colours.
pub(crate) fn paint(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// What the flags say about output for people.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ui {
    /// Print results and errors only.
    pub quiet: bool,
}

impl Ui {
    /// Prints a remark about what was done, to standard error.
    pub(crate) fn remark(self, text: &str) {
        if !self.quiet {
            anstream::eprintln!("{}", visible::lines(text));
        }
    }

    /// A progress bar for `count` files. It is hidden if there are few or standard error is not a terminal.
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
