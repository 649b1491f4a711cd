//! A new spec with the result of its verification: its evidence, and the gaps that only a round trip shows. Build scripts,
//! the command line and models that are loaded at run time all settle the status of a spec here.

use unjinja_render::Template;
use unjinja_spec::FormatSpec;

use crate::verify::verify;

/// The number of random conversations that a new spec is verified with.
pub const ROUND_TRIPS: u32 = 64;

/// Verifies a spec that [`analyze`](crate::analyze) made: records its round trips, and what is wrong with it. A spec that is
/// unsupported already is returned as it is.
///
/// ```
/// use unjinja_analyzer::{Naming, ROUND_TRIPS, analyze, verified};
/// use unjinja_render::Template;
///
/// let text = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}\
///     {% if add_generation_prompt %}<assistant>{% endif %}";
/// let template = Template::parse("hello.jinja", text)?;
/// let spec = verified(&template, analyze(&template, &Naming::of_file("hello.jinja"))?);
/// assert_eq!(spec.evidence.round_trips.tried, ROUND_TRIPS);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn verified(template: &Template, mut spec: FormatSpec) -> FormatSpec {
    if !spec.status.makes_parser() {
        return spec;
    }
    let verification = verify(template, &spec, ROUND_TRIPS, 1);
    spec.evidence.round_trips = verification.round_trips();
    spec.evidence.covered = verification.covered();
    for (status, gap) in verification.gaps(&spec) {
        spec.add_gap(status, gap);
    }
    spec
}
