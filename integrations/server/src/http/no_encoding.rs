//! Replaces `encoding` where this crate is built without the feature `tokens`: there is none, and nothing asks it.

use std::convert::Infallible;

use unjinja_dynamic::LabelledPrompt;
use unjinja_runtime::{Options, Token};

use super::config::SpelledMarkers;
use crate::error::ApiError;

/// A model with its tokenizer: there is none.
#[derive(Debug, Clone)]
#[allow(dead_code, reason = "nothing makes one")]
pub(crate) struct Encoding(Infallible);

impl Encoding {
    pub(crate) fn number(&self) -> u64 {
        match self.0 {}
    }

    pub(crate) fn samples(&self) -> &[String] {
        match self.0 {}
    }

    pub(crate) fn prompt(&self, _: &LabelledPrompt, _: SpelledMarkers) -> Result<(Vec<u32>, usize), ApiError> {
        match self.0 {}
    }

    pub(crate) fn ids(&self, _: &str) -> Option<Vec<u32>> {
        match self.0 {}
    }

    pub(crate) fn agrees(&self, _: &[u32], _: &[u32]) -> bool {
        match self.0 {}
    }

    pub(crate) fn options(&self, _: &Options) -> Options {
        match self.0 {}
    }

    pub(crate) fn control_id(&self, _: &str) -> Option<u32> {
        match self.0 {}
    }

    pub(crate) fn token(&self, _: u32) -> Option<Token<'_>> {
        match self.0 {}
    }
}
