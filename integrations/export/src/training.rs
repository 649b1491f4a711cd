//! Templates for training: `{% generation %}` around what the model writes, so that transformers tells which tokens to learn from.
//!
//! ```
//! use unjinja_dynamic::Model;
//! use unjinja_export::training::mark_generation;
//!
//! let model = Model::from_template("{% for m in messages %}{{ '<|' + m.role + '|>' + m.content + '<|end|>\n' }}{% endfor %}\
//!     {% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}")?;
//! let marked = mark_generation(&model, Vec::new())?;
//! let expected = "{{ '<|' + m.role + '|>' }}{% if m.role == 'assistant' %}{% generation %}{{ m.content + '<|end|>' }}{% endgeneration %}\
//!     {% else %}{{ m.content + '<|end|>' }}{% endif %}{{ '\\n' }}";
//! assert!(marked.source.contains(expected), "{}", marked.source);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What the model writes is decided as for `assistant_mask` of `unjinja-tokens`. A template is only given if, for every conversation that
//! was tried, it writes the same text as before and marks exactly these bytes.

// `conversations`: what is tried. `renders`: texts and masks. `tree`: the template as a tree. `expression`: sums and conditionals as text.
// `probe`: what a statement does in each run. `conditions`: what may tell the runs apart. `settle`: the parts of a statement, and
// `rewrite`: their tags. `wrap`: `{% generation %}` around runs of statements. `obstacle`: why there is no template. `mark`: all of it.
// `prefix`: whether earlier turns stay as they were written.

mod conditions;
mod conversations;
mod expression;
mod mark;
mod obstacle;
mod prefix;
mod probe;
mod renders;
mod rewrite;
mod settle;
mod tree;
mod wrap;

pub use mark::{KnownMarks, MarkedConversation, TrainingTemplate, mark_generation};
pub use obstacle::{MarkObstacle, ObstacleKind};
pub use prefix::{PrefixState, prefix_state, prefix_state_of};
