//! Sentinels: invented words, one for each field of a conversation, that no template contains. Where a sentinel appears
//! in a render, the field was rendered there.
//!
//! There are two sets without a word in common. A conclusion counts only if both sets lead to it.

/// Words that occur in no template, one for each field.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sentinels {
    pub user: &'static str,
    pub user2: &'static str,
    pub content: &'static str,
    pub reasoning: &'static str,
    pub functions: [&'static str; 2],
    pub arguments: [&'static str; 2],
    pub values: [&'static str; 2],
    pub ids: [&'static str; 2],
}

/// Two sets with nothing in common, so that a marker can be told from values that happen to be next to it.
pub(crate) const SENTINELS: [Sentinels; 2] = [
    Sentinels {
        user: "Quvortal memblin?",
        user2: "Ostrivane kelp.",
        content: "Mezzolin drabbet.",
        reasoning: "Tharnobix wullen",
        functions: ["zorpblat_fetch", "yindle_put"],
        arguments: ["jostrap", "kwimble"],
        values: ["Vexholm", "Unsprig"],
        ids: ["callaqz01", "callbwx02"],
    },
    Sentinels {
        user: "Drossack inty?",
        user2: "Plimvoor hegg.",
        content: "Farquist nobbly.",
        reasoning: "Gloombert ashy",
        functions: ["wexfor_run", "hupsal_get"],
        arguments: ["orbinel", "tazwick"],
        values: ["Cragmoth", "Belfunt"],
        ids: ["idxpvrt93", "idzkmnq84"],
    },
];
