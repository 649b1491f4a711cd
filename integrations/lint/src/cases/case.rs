//! The type of a row in the tables of cases.

use super::super::conversation::Conversation;
use super::super::experiment::Check;
use super::super::rules::Rule;
use super::super::subject::Subject;

/// One thing that clients send.
pub(in super::super) struct Case {
    pub rule: Rule,
    /// The conversation without it; `None` where the template cannot show the difference.
    pub base: fn(&Subject) -> Option<Conversation>,
    pub change: fn(&Subject, &mut Conversation),
    pub check: Check,
    /// What is sent, and by whom; a sentence without full stop.
    pub sent: &'static str,
    pub help: &'static str,
    /// A template may refuse it on purpose: that is then only a note.
    pub may_refuse: bool,
}
