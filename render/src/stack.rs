//! How much stack parsing and rendering may use.
//!
//! Both recurse, as deep as a template nests. Two sets of bounds exist: small ones that fit into any ordinary stack, and
//! large ones for a stack of 64 MiB, which a thread of our own provides. Where no thread can be started
//! (`wasm32-unknown-unknown`), the small bounds are all there is.

use std::cell::Cell;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The size of a big stack. It is reserved, not touched: the memory is used only as far as a render goes.
const BIG_STACK: usize = 64 << 20;

/// How deep parsing and rendering may recurse on the current stack.
#[derive(Debug)]
pub(crate) struct Bounds {
    /// Tokens in one `{{ … }}` or `{% … %}`: a chain of operators nests as deep as it is long.
    pub(crate) tag_tokens: usize,
    /// `elif`s in one `if`: minijinja's parser nests them.
    pub(crate) elifs: usize,
    /// Open blocks and brackets at any place of the source.
    pub(crate) source_depth: usize,
    /// Levels of the syntax tree.
    pub(crate) tree_depth: usize,
    /// Levels of evaluation, in addition to [`Limits::depth`](crate::Limits::depth).
    pub(crate) evaluation_depth: u32,
}

/// For a big stack. minijinja's parser has a limit of its own for open blocks and brackets, which is below this one.
static DEEP: Bounds =
    Bounds { tag_tokens: 5_000, elifs: 1_000, source_depth: 1_000, tree_depth: 600, evaluation_depth: u32::MAX };

/// For any stack. Within these bounds, parsing and rendering take less than 1 MiB in a debug build, which
/// `tests/threadless.rs` checks, and a fraction of that in a release build. Of 346 templates of released models and their
/// communities, all parse within them, and all renders need an evaluation depth of at most 50.
static SHALLOW: Bounds =
    Bounds { tag_tokens: 1_000, elifs: 100, source_depth: 40, tree_depth: 80, evaluation_depth: 80 };

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stack {
    /// An ordinary one; a thread with a big one can be started.
    Ordinary,
    /// An ordinary one, and no thread may be started.
    OrdinaryOnly,
    Big,
}

thread_local! {
    /// The stack of this thread.
    static STACK: Cell<Stack> = const { Cell::new(Stack::Ordinary) };
}

/// A panic in a function that [`with_big_stack`] ran.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Panicked;

impl fmt::Display for Panicked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the renderer panicked, which is a bug: please report it with this template")
    }
}

impl std::error::Error for Panicked {}

/// Runs `f` on a stack of 64 MiB: on this thread if it has such a stack, else on a thread that is started for `f` and
/// joined.
///
/// Parsing and rendering call this themselves where a template nests deep. Call it for code that renders many deeply nested
/// templates, so that one thread serves all of them, or for recursive code of your own. Where no thread can be started, `f`
/// runs on the calling thread's stack, and parsing and rendering inside of it keep to smaller
/// [limits](crate#where-there-are-no-threads).
///
/// # Errors
/// If `f` panics.
///
/// ```
/// use unjinja_render::{Template, with_big_stack};
///
/// let template = Template::parse("hello.jinja", "Hello {{ name }}!")?;
/// let names = ["Ada", "Grace"];
/// let texts = with_big_stack(|| names.map(|name| template.render(&serde_json::json!({ "name": name }))))?;
/// assert_eq!(texts[1].as_deref(), Ok("Hello Grace!"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn with_big_stack<T: Send>(f: impl FnOnce() -> T + Send) -> Result<T, Panicked> {
    if STACK.get() != Stack::Ordinary {
        return caught(f);
    }
    let mut waiting = Some(f);
    let joined = std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("unjinja-render".to_owned()).stack_size(BIG_STACK);
        let run = || {
            STACK.set(Stack::Big);
            waiting.take().map(|f| f())
        };
        builder.spawn_scoped(scope, run).ok().map(|thread| thread.join().map_err(|_| Panicked))
    });
    match (joined, waiting) {
        (Some(Ok(Some(value))), _) => Ok(value),
        // No thread could be started, so `f` is still here.
        (None, Some(f)) => without_threads(|| caught(f)),
        _ => Err(Panicked),
    }
}

/// Runs `f`, and keeps all parsing and rendering inside of it on the calling thread.
///
/// Templates that nest deeper than an ordinary stack allows then end in an error; see
/// [the limits](crate#where-there-are-no-threads). Without this, such templates are parsed and rendered on a thread of
/// their own, so this is for programs that must not start threads.
///
/// ```
/// use unjinja_render::{Template, without_threads};
///
/// let text = without_threads(|| {
///     let template = Template::parse("t.jinja", "Hello {{ name }}")?;
///     Ok::<_, Box<dyn std::error::Error>>(template.render(&serde_json::json!({ "name": "Ada" }))?)
/// });
/// assert_eq!(text?, "Hello Ada");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn without_threads<T>(f: impl FnOnce() -> T) -> T {
    struct Restore(Stack);
    impl Drop for Restore {
        fn drop(&mut self) {
            STACK.set(self.0);
        }
    }
    let before = STACK.get();
    let _restore = Restore(before);
    if before == Stack::Ordinary {
        STACK.set(Stack::OrdinaryOnly);
    }
    f()
}

/// Runs `f` and turns a panic into an error. What `f` leaves half done is not used: its results are gone with the panic.
pub(crate) fn caught<T>(f: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(f)).map_err(|_| Panicked)
}

/// The bounds on the current stack.
pub(crate) fn bounds() -> &'static Bounds {
    if STACK.get() == Stack::Big { &DEEP } else { &SHALLOW }
}

/// Whether [`with_big_stack`] would run a function on another stack than this one.
pub(crate) fn can_grow() -> bool {
    STACK.get() == Stack::Ordinary
}
