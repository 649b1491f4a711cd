//! Sentinels: invented words, one for each field of a conversation, that no template contains. Where a sentinel appears
//! in a render, the field was rendered there.

/// Words that occur in no template, one for each field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sentinels {
    pub user: &'static str,
    pub user2: &'static str,
    pub content: &'static str,
    pub reasoning: &'static str,
    /// The content of a call turn, for templates that look into it.
    pub word: &'static str,
    pub functions: [&'static str; 2],
    pub arguments: [&'static str; 2],
    pub values: [&'static str; 2],
    pub ids: [&'static str; 2],
    /// Names of arguments, and keys of an object in one of them, that no way of sorting leaves in this order.
    pub unsorted: [[&'static str; 3]; 2],
}

/// The words of all comparisons.
pub(crate) const SENTINELS: Sentinels = Sentinels {
    user: "Quvortal memblin?",
    user2: "Ostrivane kelp.",
    content: "Mezzolin drabbet.",
    reasoning: "Tharnobix wullen",
    word: "Wimberlo.",
    functions: ["zorpblat_fetch", "yindle_put"],
    arguments: ["jostrap", "kwimble"],
    values: ["Vexholm", "Unsprig"],
    ids: ["callaqz01", "callbwx02"],
    unsorted: [["prundle", "Quorvex", "blimset"], ["wendlot", "Xorbick", "cramsey"]],
};
