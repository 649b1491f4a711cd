//! What each dialect accepts.

use super::*;

/// `ok`, or the byte and the cause of the error.
fn read<D: Dialect>(pattern: &str) -> String {
    match parse::<D>(pattern) {
        Ok(_) => "ok".to_owned(),
        Err(error) => format!("{}: {}", error.at, error.cause),
    }
}

#[test]
fn what_both_dialects_refuse() {
    let cases = [
        ("a**", "2: a part can be repeated only once"),
        ("a{2}{3}", "4: a part can be repeated only once"),
        ("a*?+", "3: a part can be repeated only once"),
        ("(a", "0: this group is not closed"),
        ("é)", "2: this closing bracket has no opening one"),
        ("*a", "0: there is nothing to repeat"),
        ("a|+", "2: there is nothing to repeat"),
        ("^*", "1: repeating a condition is not supported"),
        (r"\y", r"0: the escape `\y` is not supported"),
        (r"a\", "1: a backslash ends the pattern"),
        (r"\x4", "0: 2 hexadecimal digits of a character must follow"),
        (r"\x+f", "0: 2 hexadecimal digits of a character must follow"),
        (r"\uD83D", "0: 4 hexadecimal digits of a character must follow"),
        (r"\p{", "0: the name of a property must follow in braces"),
        ("[z-a]", "1: the range ends before it begins"),
        ("b[a", "1: this set is not closed"),
        ("[a-", "0: this set is not closed"),
        (r"[\B]", r"1: the escape `\B` is not supported"),
        ("a{2,1}", "1: the largest number of repetitions is below the smallest"),
        ("(?<a", "0: the name of a group consists of letters, digits and `_`, and `>` follows it"),
        ("(?~a)", "0: this kind of group is not supported"),
    ];
    for (pattern, expected) in cases {
        assert_eq!(read::<Ecma>(pattern), expected, "ECMA: {pattern}");
        assert_eq!(read::<Python>(pattern), expected, "Python: {pattern}");
    }
    let deep = |depth: usize| "(".repeat(depth) + &")".repeat(depth);
    for depth in [41, 100_000] {
        assert_eq!(read::<Ecma>(&deep(depth)), "40: groups are nested too deep");
        assert_eq!(read::<Python>(&deep(depth)), "40: groups are nested too deep");
    }
    assert!(parse::<Ecma>(&deep(40)).is_ok() && parse::<Python>(&deep(40)).is_ok());
}

#[test]
fn what_the_dialects_read_differently() {
    let cases = [
        ("(?P<a>x)", "0: this kind of group is not supported", "ok"),
        ("(?P<a>x)(?P=a)", "0: this kind of group is not supported", "ok"),
        ("é(?P=a)", "2: this kind of group is not supported", "2: there is no group called `a` before this"),
        ("(?P>a)", "0: this kind of group is not supported", "0: a reference to a group is not supported"),
        ("(?(1)a|b)", "0: this kind of group is not supported", "0: a condition is not supported"),
        ("(?|a|b)", "0: this kind of group is not supported", "0: a branch reset is not supported"),
        ("(?R)", "0: this kind of group is not supported", "0: a recursion is not supported"),
        ("(?>a)(?i:b)(?is:c)(?s:d)", "0: this kind of group is not supported", "ok"),
        ("(?i)a|(?:b{,3}?c*+)(?#note)", "0: this kind of group is not supported", "ok"),
        ("a(?i)b", "1: this kind of group is not supported", "5: flags must be at the start of the pattern"),
        ("a(?#b", "1: this kind of group is not supported", "1: this comment is not closed"),
        ("a*+", "2: a part can be repeated only once", "ok"),
        ("a{e<=1}", "ok", "1: fuzzy matching is not supported"),
        ("a{1,5000}", "ok", "1: more than 1000 repetitions are not supported"),
        ("(?<a>x)|(?<a>y)", "ok", "8: two groups are called `a`; this is not supported"),
        ("(?<a-b>x)", "ok", "0: the name of a group consists of letters, digits and `_`, and `>` follows it"),
        (r"(a)\1", "ok", "3: a reference to a group is not supported"),
        (r"(?<a>x)\k<a>", "ok", r"7: the escape `\k` is not supported"),
        (r"\A\Z\z\a\U0001F600\012", r"0: the escape `\A` is not supported", "ok"),
        (r"\012", r"0: the escape `\0` is not supported", "ok"),
        (r"\cJ", "ok", r"0: the escape `\c` is not supported"),
        (r"\c1", r"0: a letter must follow `\c`", r"0: the escape `\c` is not supported"),
        (r"\u{1F600}", "ok", "0: 4 hexadecimal digits of a character must follow"),
        (r"\uD83D\uDE00", "ok", "0: 4 hexadecimal digits of a character must follow"),
        (r"\p{Script=Greek}", "ok", "0: the name of a property must follow in braces"),
        ("[]", "ok", "0: this set is not closed"),
        ("[^]", "ok", "0: this set is not closed"),
        ("[]a]", "ok", "ok"),
        (r"[\w-.]", "ok", "1: a range begins with a character"),
        (r"[a-\d]", "ok", "3: a range ends with a character"),
        ("[[:alpha:]]", "ok", "1: a class of POSIX is not supported"),
    ];
    for (pattern, ecma, python) in cases {
        assert_eq!(read::<Ecma>(pattern), ecma, "ECMA: {pattern}");
        assert_eq!(read::<Python>(pattern), python, "Python: {pattern}");
    }
}

#[test]
fn what_a_pattern_means() {
    let both = |pattern: &str, node: Node| {
        assert_eq!(parse::<Ecma>(pattern), Ok(node.clone()), "ECMA: {pattern}");
        assert_eq!(parse::<Python>(pattern), Ok(node), "Python: {pattern}");
    };
    let set = |negated, items: &[Item]| Node::Set(Set { negated, items: items.to_vec() });
    let repeat = |least, most, greed| Node::Repeat { part: Box::new(Node::Char('a')), least, most, greed };
    both("a", Node::Char('a'));
    both("a{x}{,}{", Node::text("a{x}{,}{"));
    both("a+?", repeat(1, None, Greed::Lazy));
    both("a{2,}", repeat(2, None, Greed::Greedy));
    both("a{3}", repeat(3, Some(3), Greed::Greedy));
    both("(?:a)", Node::Sequence(vec![Node::Char('a')]));
    both("(?<n>a)", Node::Capture(Some("n".to_owned()), Box::new(Node::Char('a'))));
    both("(?<!a)", Node::Look { ahead: false, negative: true, part: Box::new(Node::Char('a')) });
    both(
        r"^.\b|",
        Node::Choice(vec![
            Node::Sequence(vec![Node::Assertion(Assertion::Start), Node::Any, Node::Assertion(Assertion::WordEdge)]),
            Node::Sequence(Vec::new()),
        ]),
    );
    both(
        r"[^\b\x41-Z_\S-]",
        set(
            true,
            &[
                Item::Char('\u{8}'),
                Item::Range('A', 'Z'),
                Item::Char('_'),
                Item::NotNamed(Named::Space),
                Item::Char('-'),
            ],
        ),
    );
    both(r"\P{Lu}", set(false, &[Item::NotProperty("Lu".to_owned())]));
    assert_eq!(parse::<Ecma>("$"), Ok(Node::Assertion(Assertion::End)));
    assert_eq!(parse::<Python>("$"), Ok(Node::Assertion(Assertion::LastLine)));
    assert_eq!(parse::<Ecma>("a{,3}"), Ok(Node::text("a{,3}")));
    assert_eq!(parse::<Python>("a{,3}"), Ok(repeat(0, Some(3), Greed::Greedy)));
    assert_eq!(parse::<Python>("a{3}+"), Ok(repeat(3, Some(3), Greed::Possessive)));
    assert_eq!(parse::<Ecma>(r"\uD83D\uDE00\u{41}\0"), Ok(Node::text("😀A\0")));
    assert_eq!(parse::<Python>(r"\012\a\u00e9"), Ok(Node::text("\n\u{7}é")));
    assert_eq!(
        parse::<Ecma>(r"[a-\d]"),
        Ok(set(false, &[Item::Char('a'), Item::Char('-'), Item::Named(Named::Digit)]))
    );
    assert_eq!(parse::<Python>("[]a]"), Ok(set(false, &[Item::Char(']'), Item::Char('a')])));
}
