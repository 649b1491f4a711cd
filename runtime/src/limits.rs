//! The limits of what a parser keeps in memory.

/// The longest function name, argument name or call id, in bytes. Longer text is not taken for a name.
pub const MAX_NAME: usize = 256;

/// How much text is held back while it is not yet certain that a call has begun, in bytes.
pub const MAX_HELD: usize = 64 * 1024;

/// How much text there may be between the opener of a call that breaks off and its closer, in bytes. It is held back
/// until the closer shows that it is broken markup and not prose.
pub const MAX_UNPARSED: usize = 256;

/// How long a call in reasoning may be together with what confirms it, in bytes. Up to that it is held back; a longer one is no
/// quotation.
pub(crate) const MAX_QUOTED: usize = 64 * 1024;

/// How much of such a call is read at a time, in bytes.
pub(crate) const TRIAL_PIECE: usize = 256;

/// How much white space there may be where only markers may follow, in bytes. More of it is taken for text.
pub const MAX_SPACE: usize = 64;

/// How much white space there may be between a marker and what confirms it, in bytes.
pub(crate) const CONFIRM_SPACE: usize = 64;

/// How much of a value is translated at a time, in bytes. It bounds the memory that a long value needs.
pub(crate) const PIECE: usize = 32 * 1024;
