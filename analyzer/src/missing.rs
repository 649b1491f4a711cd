//! What a finished spec lacks although the template shows that it exists. A parser of such a spec works, and whoever uses
//! it has to know what it does not read.
//!
//! A pure function of the spec. What a comparison could not express is a [`Gap`](crate::Gap) instead.

use unjinja_spec::FormatSpec;

/// A sentence for each thing that is missing.
pub(crate) fn gaps(spec: &FormatSpec) -> Vec<String> {
    let mut gaps = Vec::new();
    let can = &spec.capabilities;
    if can.tools && !can.tool_calls {
        gaps.push(
            "tools are offered, but the analysis found no calls in any render, so how the model writes them is unknown"
                .to_owned(),
        );
    }
    gaps
}

#[cfg(test)]
mod tests {
    use unjinja_render::Template;
    use unjinja_spec::Status;

    use crate::{Naming, analyze};

    fn status(text: &str) -> Result<(Status, usize), Box<dyn std::error::Error>> {
        let spec = analyze(&Template::parse("t.jinja", text)?, &Naming::of_file("t.jinja"))?;
        Ok((spec.status, spec.gaps.len()))
    }

    #[test]
    fn offered_tools_without_calls_are_a_gap() -> Result<(), Box<dyn std::error::Error>> {
        let turns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}";
        let offers = format!("{{% if tools %}}{{{{ tools | tojson }}}}{{% endif %}}{turns}");
        assert_eq!(status(turns)?, (Status::Supported, 0));
        assert_eq!(status(&offers)?, (Status::Partial, 1));
        let calls = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% for c in m.tool_calls or [] %}\
                     <call>{{ c.function | tojson }}</call>{% endfor %}</>{% endfor %}";
        assert_eq!(
            status(&format!("{{% if tools %}}{{{{ tools | tojson }}}}{{% endif %}}{calls}"))?,
            (Status::Supported, 0)
        );
        Ok(())
    }
}
