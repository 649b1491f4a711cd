//! The limits of a render, and the time that it sees.

use serde_json::json;

use unjinja_render::{Clock, Limits, RenderErrorKind, Template};

/// A template that looks through all messages for each of them, as some templates do.
const QUADRATIC: &str =
    "{% for m in messages %}{% for n in messages %}{% if n.content == m.content %}x{% endif %}{% endfor %}{% endfor %}";

#[test]
fn a_long_conversation_may_take_more_steps_and_a_small_one_may_not() {
    let template = Template::parse("t.jinja", QUADRATIC).unwrap();
    let conversation = |count: usize| json!({"messages": (0..count).map(|number| json!({"role": "user", "content": number.to_string()})).collect::<Vec<_>>()});
    assert_eq!(template.render(&conversation(2_000)).unwrap().len(), 2_000);
    let mut limits = Limits::default();
    limits.fuel_per_byte = 0;
    let error = template.with_limits(limits).render(&conversation(2_000)).unwrap_err();
    assert_eq!(error.kind(), RenderErrorKind::Limit);
    let endless =
        Template::parse("t.jinja", "{% for a in range(9999) %}{% for b in range(9999) %}{% endfor %}{% endfor %}")
            .unwrap();
    let error = endless.render(&conversation(1)).unwrap_err();
    assert!(error.message().contains("more than 3000000 steps"), "{error}");
}

#[test]
fn seconds_become_the_time_that_has_them() {
    let template = Template::parse("t.jinja", "{{ strftime_now('%s') }}").unwrap();
    let timestamp = |clock| -> i64 {
        let text = template.clone().with_clock(clock).render(&json!({})).unwrap();
        text.parse().unwrap()
    };
    let first = Clock { year: 1, month: 1, day: 1, hour: 0, minute: 0, second: 0 };
    let last = Clock { year: 9999, month: 12, day: 31, hour: 23, minute: 59, second: 59 };
    let mut before = 0;
    // A prime number of seconds, about 59 days: each time of the day, and all seasons.
    for seconds in (timestamp(first)..=timestamp(last)).step_by(5_097_613) {
        let clock = Clock::from_unix_seconds(seconds);
        assert_eq!(timestamp(clock), seconds, "{clock:?}");
        let Clock { year, month, day, hour, minute, second } = clock;
        assert!(
            (1..=12).contains(&month) && (1..=31).contains(&day) && hour < 24 && minute < 60 && second < 60,
            "{clock:?}"
        );
        let number = year * 10_000 + month * 100 + day;
        assert!(number > before, "{clock:?} comes after {before}");
        before = number;
    }
    assert_eq!(Clock::from_unix_seconds(i64::MIN), first);
    assert_eq!(Clock::from_unix_seconds(i64::MAX), last);
}
