//! The vocabulary of a format: the special tokens and the words in its markers. Templates of one model differ in details (a blank,
//! what closes a message, the order of two parts), so their specs differ; the vocabulary is the same.

use std::collections::BTreeSet;

use unjinja_runtime::abi::is_special_token;
use unjinja_spec::{FormatSpec, MarkerKey, Overlay, ToolFormat, tags, values};

/// The special tokens and the words in the markers of a spec.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Vocabulary {
    format: ToolFormat,
    /// The special tokens in markers that open something.
    tokens: BTreeSet<String>,
    /// The words in these markers.
    words: BTreeSet<String>,
    /// Those of the tokens that are not in the header of a turn: they tell one model's format from another's.
    own: BTreeSet<String>,
    /// Special tokens that have to do with tools, where calls are not known.
    around_tools: BTreeSet<String>,
    /// The header of the model's turn.
    header: String,
}

impl Vocabulary {
    pub(crate) fn of(spec: &FormatSpec) -> Self {
        let mut vocabulary =
            Self { format: spec.tools.format, header: spec.turn.assistant_start.clone(), ..Self::default() };
        let header = &spec.content.header;
        let parts = [&header.types, &header.reasoning, &header.answers, &header.calls].into_iter().flatten();
        let parts = parts.map(|text| (MarkerKey::ContentStart, text.as_str()));
        for (key, text) in spec.markers().filter(|(key, _)| opens(*key)).chain(parts) {
            for token in tags(text).into_iter().filter(|tag| is_special_token(tag.as_bytes())) {
                if key != MarkerKey::AssistantStart && !spec.turn.assistant_start.contains(token) {
                    vocabulary.own.insert(token.to_owned());
                }
                vocabulary.tokens.insert(token.to_owned());
            }
            vocabulary.words.extend(words(text));
        }
        if spec.tools.format == ToolFormat::None {
            let tokens = spec.tokens.other.iter().chain(&spec.tokens.preserved);
            vocabulary.around_tools.extend(tokens.filter(|token| token.contains("tool")).cloned());
        }
        vocabulary
    }

    /// The special tokens that this vocabulary has in addition to `base`.
    pub(crate) fn beyond<'v>(&'v self, base: &'v Self) -> Vec<&'v str> {
        self.tokens.difference(&base.tokens).map(String::as_str).collect()
    }

    /// Whether a format with this vocabulary is that of `base`, which an overlay changes to `corrected`.
    pub(crate) fn is_like(&self, base: &Self, corrected: &Self) -> bool {
        if self.format != base.format {
            return false;
        }
        if self.format == ToolFormat::None {
            let same = (&self.around_tools, &self.header) == (&base.around_tools, &base.header);
            return same && !self.around_tools.is_empty();
        }
        !base.own.is_empty()
            && base.tokens.is_subset(&self.tokens)
            && self.tokens.is_subset(&corrected.tokens)
            && base.words.is_subset(&self.words)
            && self.words.is_subset(&corrected.words)
    }
}

/// Whether an overlay only adds to a spec: it takes back nothing that the analysis found.
pub(crate) fn adds(overlay: &Overlay, spec: &FormatSpec) -> bool {
    let Ok(corrected) = overlay.apply(spec) else { return false };
    if unjinja_codegen::program(&corrected).is_err() {
        return false;
    }
    if spec.tools.format == ToolFormat::None {
        return true;
    }
    let items = |value: &str| value.trim_matches(['[', ']']).trim().trim_end_matches(',').to_owned();
    let corrected = values(&corrected);
    values(spec).iter().filter(|(key, _)| !key.starts_with("tokens.")).all(|(key, old)| {
        let old = items(old);
        old.trim_matches('"').is_empty() || corrected.iter().any(|(same, new)| same == key && items(new).contains(&old))
    })
}

/// Whether a marker opens something, or leads from one part of a turn to the next. What closes a part differs most between the
/// templates of a model.
fn opens(key: MarkerKey) -> bool {
    !matches!(
        key,
        MarkerKey::TurnEnd
            | MarkerKey::UserStart
            | MarkerKey::ContentEnd
            | MarkerKey::CallEnd
            | MarkerKey::SectionEnd
            | MarkerKey::CallSeparator
            | MarkerKey::OtherToken
    )
}

/// The words of a text.
fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_owned)
}
