//! What unjinja reads differently on purpose, as data. No parser knows of this list.

/// Outputs that are read differently for one reason.
pub struct KnownDifference {
    pub title: &'static str,
    pub reason: &'static str,
    members: Members,
}

enum Members {
    /// The classes of which this word is a part.
    Class(&'static str),
    /// These cases.
    Cases(&'static [&'static str]),
}

pub const KNOWN_DIFFERENCES: [KnownDifference; 11] = [
    KnownDifference {
        title: "a call that is cut short",
        reason: "The file expects the arguments `{}`. We deliver the arguments as far as they came, because arguments \
                 stream: what was delivered cannot be taken back.",
        members: Members::Cases(&["thread/r033", "thread/r066", "thread/r106"]),
    },
    KnownDifference {
        title: "a call, but no tools were offered",
        reason: "The suite expects the raw text as content, with the marker that the prompt wrote in front of it. We \
                 read the call, whatever was offered, because a special token announces it.",
        members: Members::Cases(&["suite/p0832", "suite/p0836", "suite/p0837", "suite/p0848"]),
    },
    KnownDifference {
        title: "a special token opens a call that breaks off before its name",
        reason: "The file expects content here, and expects that the text is dropped in other cases. For us it is broken \
                 markup (`unparsed`).",
        members: Members::Cases(&["thread/r088"]),
    },
    KnownDifference {
        title: "a plain tag opens a call that breaks off before its name",
        reason: "The suite drops the text. For us it stays content, because such a tag may occur in prose.",
        members: Members::Cases(&["suite/p0370"]),
    },
    KnownDifference {
        title: "a marker that the end of the output cuts off",
        reason: "The suite expects its beginning as text. For us it is broken markup (`unparsed`).",
        members: Members::Cases(&["suite/p0846"]),
    },
    KnownDifference {
        title: "tokens that close nothing follow a call",
        reason: "The suite expects no call. We read the call. What follows it does not have the form of a special token, so it \
                 stays content.",
        members: Members::Cases(&["suite/p0364"]),
    },
    KnownDifference {
        title: "the value of an argument has no closer",
        reason: "The suite drops the argument. We read the value up to the end of its call.",
        members: Members::Cases(&["suite/p0072"]),
    },
    KnownDifference {
        title: "the JSON of a call breaks before its name is complete",
        reason: "The file expects that the call is guessed. A wrong guess calls a function that the model did not mean. The tag \
                 before it may occur in prose, so the text stays content.",
        members: Members::Cases(&["thread/r023", "thread/r024", "thread/r025", "thread/r026"]),
    },
    KnownDifference {
        title: "the name of the function is in the arguments",
        reason: "The file expects that name. We take the name from where the format has it, and report that no such tool was \
                 offered.",
        members: Members::Cases(&["thread/r072"]),
    },
    KnownDifference {
        title: "special tokens that the server has removed",
        reason: "What is left looks like ordinary text. If we read it as a call, text that quotes a call would become \
                 one.",
        members: Members::Class("special_token_stripped"),
    },
    KnownDifference {
        title: "the wrapper of another format, bare JSON, or JSON in a fence",
        reason: "The template of the model does not write calls like this. If we read it as a call, text that shows an \
                 example would become one.",
        members: Members::Class("wrong_wrapper"),
    },
];

impl KnownDifference {
    /// Whether an output that we read differently is one of these.
    pub fn holds(&self, id: &str, class: &str) -> bool {
        match self.members {
            Members::Class(word) => class.split(", ").any(|part| part == word),
            Members::Cases(ids) => ids.contains(&id),
        }
    }

    /// The cases that are listed by name.
    pub fn listed(&self) -> &'static [&'static str] {
        match self.members {
            Members::Class(_) => &[],
            Members::Cases(ids) => ids,
        }
    }
}
