//! Numbers in a range, digit by digit and exactly.
//!
//! Integers are written without an exponent; a fraction of zeros is allowed. Other numbers with bounds may have an
//! exponent after one digit other than 0 and a fraction.

use serde_json::Value;

use super::bounds::{Bound, Decimal};
use super::constraints::Constraints;
use super::{Outcome, Schemas, impossible, json};
use crate::builder::Builder;
use crate::expr::{Class, Expr};

/// The maximum number of multiples that are listed.
const LISTED: i128 = 300;

impl<'s> Schemas<'s, '_> {
    pub(super) fn number(&mut self, hint: &str, constraints: &Constraints<'s>, integer: bool) -> Outcome<'s, Expr> {
        for &(schema, format) in &constraints.formats {
            if matches!(format, "int8" | "int16" | "int32" | "int64" | "uint8" | "uint16" | "uint32" | "uint64") {
                self.report(Some(schema), "format", "the range of this format is not checked");
            }
        }
        let multiples: Vec<(&'s Value, &'s Value)> =
            constraints.multiples.iter().copied().filter(|(_, of)| !(integer && divides_one(of))).collect();
        if integer {
            return self.integer(hint, constraints, &multiples);
        }
        for (schema, _) in multiples {
            self.report(Some(schema), "multipleOf", "a grammar cannot check divisibility");
        }
        if constraints.lower.is_none() && constraints.upper.is_none() {
            return Ok(json::number(self.builder).into());
        }
        self.decimal(hint, constraints)
    }

    fn integer(
        &mut self,
        hint: &str,
        constraints: &Constraints<'s>,
        multiples: &[(&'s Value, &'s Value)],
    ) -> Outcome<'s, Expr> {
        let schema = constraints.schemas.first().copied();
        let (Ok(low), Ok(high)) = (whole(&constraints.lower, 1), whole(&constraints.upper, -1)) else {
            self.report(schema, "minimum", "the bound has too many digits");
            return Ok(json::integer(self.builder).into());
        };
        if let (Some(low), Some(high)) = (low, high)
            && low > high
        {
            return impossible(schema, "no integer is in the range");
        }
        if !multiples.is_empty() {
            if let (Some(low), Some(high)) = (low, high)
                && let Some(values) = few_multiples(low, high, multiples)
            {
                if values.is_empty() {
                    return impossible(schema, "no multiple is in the range");
                }
                let zeros = json::zeros(self.builder);
                let values: Vec<Expr> = values.into_iter().map(|value| self.builder.text(value.to_string())).collect();
                let values = self.builder.choice(&values);
                return Ok(self.rule(hint, self.builder.sequence(&[values, zeros])));
            }
            for (schema, _) in multiples {
                self.report(Some(schema), "multipleOf", "a grammar cannot check divisibility");
            }
        }
        if low.is_none() && high.is_none() {
            return Ok(json::integer(self.builder).into());
        }
        let mut alternatives = Vec::new();
        if low.is_none_or(|low| low < 0) {
            let least = high.map_or(1, |high| high.saturating_neg().max(1));
            alternatives.push(
                self.builder
                    .sequence(&[self.builder.text("-"), sizes(self.builder, least, low.map(i128::saturating_neg))]),
            );
        }
        if high.is_none_or(|high| high >= 0) {
            let least = low.map_or(0, |low| low.max(0));
            if least == 0 {
                alternatives.push(json::zero(self.builder));
            }
            if high != Some(0) {
                alternatives.push(sizes(self.builder, least.max(1), high));
            }
        }
        let zeros = json::zeros(self.builder);
        Ok(self.rule(hint, self.builder.sequence(&[self.builder.choice(&alternatives), zeros])))
    }

    /// A number with bounds that may have a fraction.
    fn decimal(&mut self, hint: &str, constraints: &Constraints<'s>) -> Outcome<'s, Expr> {
        let schema = constraints.schemas.first().copied();
        let (lower, upper) = (constraints.lower.as_ref(), constraints.upper.as_ref());
        if let (Some(lower), Some(upper)) = (lower, upper) {
            let order = lower.value.compare(&upper.value);
            if order.is_gt() || (order.is_eq() && (lower.exclusive || upper.exclusive)) {
                return impossible(schema, "no number is in the range");
            }
        }
        let purpose = format!("number {lower:?} {upper:?}");
        if let Some(rule) = self.builder.kept(&purpose) {
            return Ok(rule.into());
        }
        let zero = |bound: &Bound| bound.value.is_zero();
        let mut alternatives = Vec::new();
        let mut signs = Vec::new();
        // Numbers below zero: their sizes lie between that of the upper bound and that of the lower bound.
        if lower.is_none_or(|bound| bound.value.negative) {
            let least = upper.filter(|bound| bound.value.negative);
            alternatives.push(self.builder.sequence(&[self.builder.text("-"), between(self.builder, least, lower)]));
            signs.push(("-", least, lower));
        }
        if upper.is_none_or(|bound| !bound.value.negative && (!zero(bound) || !bound.exclusive)) {
            let least = lower.filter(|bound| !bound.value.negative);
            alternatives.push(between(self.builder, least, upper));
            signs.push(("", least, upper));
            if least.is_none_or(|bound| zero(bound) && !bound.exclusive) {
                let zeros = json::zeros(self.builder);
                alternatives.push(self.builder.read("'-0' $0", &[zeros]));
            }
        }
        for (sign, least, most) in signs {
            alternatives.extend(
                scientific(self.builder, least, most)
                    .into_iter()
                    .map(|expr| self.builder.sequence(&[self.builder.text(sign), expr])),
            );
        }
        let rule = self.builder.rule(hint, self.builder.choice(&alternatives));
        self.builder.keep(&purpose, rule);
        Ok(rule.into())
    }
}

/// The lowest or highest integer that a bound allows, if there is a bound. `side` is 1 for a lower bound and -1 for an upper
/// one.
fn whole(bound: &Option<Bound>, side: i128) -> Result<Option<i128>, ()> {
    let Some(Bound { value, exclusive }) = bound else { return Ok(None) };
    let whole = value.truncated().ok_or(())?;
    // Truncation rounds towards zero. So a negative lower bound and a positive upper bound move inwards. The others move
    // outwards, which one step corrects.
    let inside = !value.fraction.is_empty() && value.negative != (side > 0);
    let on = value.fraction.is_empty() && *exclusive;
    Ok(Some(if on || inside { whole.checked_add(side).ok_or(())? } else { whole }))
}

/// The integers in a range that are multiples of all these, if they are few.
fn few_multiples(low: i128, high: i128, multiples: &[(&Value, &Value)]) -> Option<Vec<i128>> {
    let steps: Option<Vec<i128>> = multiples.iter().map(|(_, of)| of.as_i64().map(i128::from)).collect();
    let steps = steps.filter(|steps| steps.iter().all(|&step| step > 0))?;
    listed(low, high, &steps)
}

/// The common multiples of all steps from `low` to `high`, unless there are too many.
fn listed(low: i128, high: i128, steps: &[i128]) -> Option<Vec<i128>> {
    let step = *steps.iter().max()?;
    let first = low.checked_add((-low).rem_euclid(step))?;
    if high.checked_sub(first)? / step > LISTED {
        return None;
    }
    let values = (0..=LISTED).map(|at| first + at * step).take_while(|&value| value <= high);
    Some(values.filter(|value| steps.iter().all(|step| value % step == 0)).collect())
}

/// Whether every integer is a multiple of this number.
fn divides_one(of: &Value) -> bool {
    of.as_f64().is_some_and(|of| of > 0.0 && of <= 1.0 && (1.0 / of).fract() == 0.0)
}

fn digit(builder: &Builder, first: u8, last: u8) -> Expr {
    match first == last {
        true => builder.char(char::from(first)),
        false => builder.class(Class::ranges(&[(char::from(first), char::from(last))])),
    }
}

fn any_digits(builder: &Builder, count: usize) -> Expr {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    builder.repeat(json::digit(builder), count, Some(count))
}

/// Integers from `least`, at least 1, to `most`, without a sign.
fn sizes(builder: &Builder, least: i128, most: Option<i128>) -> Expr {
    let low = least.max(1).to_string().into_bytes();
    let Some(most) = most else {
        let more = builder.repeat(json::digit(builder), u32::try_from(low.len()).unwrap_or(0), None);
        let longer = builder.read("[1-9] $0", &[more]);
        return builder.choice(&[same_length(builder, &low, &vec![b'9'; low.len()]), longer]);
    };
    let high = most.to_string().into_bytes();
    let mut alternatives = Vec::new();
    for length in low.len()..=high.len() {
        let mut first = vec![b'0'; length];
        first[0] = b'1';
        let from = if length == low.len() { low.clone() } else { first };
        let to = if length == high.len() { high.clone() } else { vec![b'9'; length] };
        alternatives.push(same_length(builder, &from, &to));
    }
    builder.choice(&alternatives)
}

/// Integers between two bounds that have the same number of digits.
fn same_length(builder: &Builder, low: &[u8], high: &[u8]) -> Expr {
    let (Some((&first, low_rest)), Some((&last, high_rest))) = (low.split_first(), high.split_first()) else {
        return Expr::EMPTY;
    };
    let all_low = low_rest.iter().all(|&digit| digit == b'0');
    let all_high = high_rest.iter().all(|&digit| digit == b'9');
    if first == last && !(all_low && all_high) {
        return builder.sequence(&[digit(builder, first, last), same_length(builder, low_rest, high_rest)]);
    }
    let mut alternatives = Vec::new();
    let (mut from, mut to) = (first, last);
    if !all_low {
        alternatives.push(
            builder
                .sequence(&[digit(builder, first, first), same_length(builder, low_rest, &vec![b'9'; low_rest.len()])]),
        );
        from += 1;
    }
    let mut end = None;
    if !all_high {
        let rest = same_length(builder, &vec![b'0'; high_rest.len()], high_rest);
        end = Some(builder.sequence(&[digit(builder, last, last), rest]));
        to -= 1;
    }
    if from <= to {
        alternatives.push(builder.sequence(&[digit(builder, from, to), any_digits(builder, low_rest.len())]));
    }
    alternatives.extend(end);
    builder.choice(&alternatives)
}

/// Numbers with an optional fraction and a size between two bounds, without a sign.
fn between(builder: &Builder, least: Option<&Bound>, most: Option<&Bound>) -> Expr {
    let any_fraction = || builder.read("('.' [0-9]+)?", &[]);
    let whole = |bound: &Bound| bound.value.truncated().map_or(i128::MAX, |whole| whole.saturating_abs());
    let low = least.map_or(0, whole);
    let high = most.map(whole);
    let mut alternatives = Vec::new();
    let spelled = |whole: i128| builder.text(whole.to_string());
    let tail = |least: Option<&Bound>, most: Option<&Bound>| {
        let (low, high) =
            (least.map(|bound| bound.value.fraction.as_slice()), most.map(|bound| bound.value.fraction.as_slice()));
        // Whether the whole number without a fraction is in range.
        let alone_low = least.is_none_or(|bound| bound.value.fraction.is_empty() && !bound.exclusive);
        let alone_high = most.is_none_or(|bound| !bound.value.fraction.is_empty() || !bound.exclusive);
        let strict = (least.is_some_and(|bound| bound.exclusive), most.is_some_and(|bound| bound.exclusive));
        let digits =
            fractions(builder, low, high, strict, true).map(|digits| builder.sequence(&[builder.text("."), digits]));
        match (alone_low && alone_high, digits) {
            (true, Some(digits)) => Some(builder.option(digits)),
            (true, None) => Some(Expr::EMPTY),
            (false, digits) => digits,
        }
    };
    if Some(low) == high {
        alternatives.extend(tail(least, most).map(|tail| builder.sequence(&[spelled(low), tail])));
        return builder.choice(&alternatives);
    }
    let mut from = low;
    if least.is_some() {
        alternatives.extend(tail(least, None).map(|tail| builder.sequence(&[spelled(low), tail])));
        from = low.saturating_add(1);
    }
    let to = high.map(|high| high - 1);
    if to.is_none_or(|to| from <= to) {
        let mut wholes = Vec::new();
        if from == 0 {
            wholes.push(builder.text("0"));
        }
        if to.is_none_or(|to| to >= 1) {
            wholes.push(sizes(builder, from.max(1), to));
        }
        alternatives.push(builder.sequence(&[builder.choice(&wholes), any_fraction()]));
    }
    if let Some(high) = high {
        alternatives.extend(tail(None, most).map(|tail| builder.sequence(&[spelled(high), tail])));
    }
    builder.choice(&alternatives)
}

/// Numbers in scientific notation with a size between two bounds, without a sign.
fn scientific(builder: &Builder, least: Option<&Bound>, most: Option<&Bound>) -> Vec<Expr> {
    let split = |bound: &Bound| {
        let (value, exponent) = bound.value.scientific()?;
        Some((Bound { value, exclusive: bound.exclusive }, exponent))
    };
    let whole = |digit: &[u8]| Decimal { negative: false, whole: digit.to_vec(), fraction: Vec::new() };
    let one = Bound { value: whole(b"1"), exclusive: false };
    let ten = Bound { value: whole(b"10"), exclusive: true };
    let low = least.and_then(split);
    let high = match most.map(split) {
        // The upper bound is zero, which has no scientific notation.
        Some(None) => return Vec::new(),
        high => high.flatten(),
    };
    let e = || builder.class(Class::of(&['E', 'e']));
    let at = |size: Expr, exponent: i32| builder.sequence(&[size, e(), exponents(builder, exponent, exponent)]);
    let mut alternatives = Vec::new();
    if let (Some((low, exponent)), Some((high, same))) = (&low, &high)
        && exponent == same
    {
        return vec![at(between(builder, Some(low), Some(high)), *exponent)];
    }
    if let Some((low, exponent)) = &low {
        alternatives.push(at(between(builder, Some(low), Some(&ten)), *exponent));
    }
    let (from, to) = (low.map_or(-330, |low| low.1 + 1), high.as_ref().map_or(307, |high| high.1 - 1));
    if from <= to {
        alternatives.push(builder.read("[1-9] ('.' [0-9]+)? [Ee] $0", &[exponents(builder, from, to)]));
    }
    if let Some((high, exponent)) = &high {
        alternatives.push(at(between(builder, Some(&one), Some(high)), *exponent));
    }
    alternatives
}

/// Exponents from `low` to `high`, with an optional sign and leading zeros.
fn exponents(builder: &Builder, low: i32, high: i32) -> Expr {
    let mut alternatives = Vec::new();
    if low < 0 {
        let sizes = sizes(builder, (-high).max(1).into(), Some((-low).into()));
        alternatives.push(builder.read("'-' '0'{0,2} $0", &[sizes]));
    }
    if low <= 0 && high >= 0 {
        alternatives.push(builder.read(r"[+\-]? '0'{1,3}", &[]));
    }
    if high > 0 {
        let sizes = sizes(builder, low.max(1).into(), Some(high.into()));
        alternatives.push(builder.read("'+'? '0'{0,2} $0", &[sizes]));
    }
    builder.choice(&alternatives)
}

/// The digits of a fraction that lies between two bounds. A strict bound is itself excluded. At the beginning at least
/// one digit is required.
fn fractions(
    builder: &Builder,
    low: Option<&[u8]>,
    high: Option<&[u8]>,
    strict: (bool, bool),
    begin: bool,
) -> Option<Expr> {
    // A lower bound without digits left is always met, unless it is strict.
    let low = low.filter(|low| !low.is_empty() || strict.0);
    match (low, high) {
        (None, None) => Some(builder.read(if begin { "[0-9]+" } else { "[0-9]*" }, &[])),
        _ => {
            let mut alternatives = Vec::new();
            // To stop here means that all further digits are zero.
            let ends_low = low.is_none_or(|low| low.is_empty() && !strict.0);
            let ends_high = high.is_none_or(|high| !high.is_empty() || !strict.1);
            if ends_low && ends_high && !begin {
                alternatives.push(Expr::EMPTY);
            }
            let bottom = low.map_or(b'0', |low| low.first().copied().unwrap_or(b'0'));
            let top = high.map_or(b'9', |high| high.first().copied().unwrap_or(b'0'));
            if low.is_none_or(<[u8]>::is_empty) && high.is_none_or(<[u8]>::is_empty) {
                return at_the_bounds(builder, low.is_some(), high.is_some(), strict, begin);
            }
            let rest = |digits: Option<&'_ [u8]>| digits.map(|digits| digits.get(1..).unwrap_or_default().to_vec());
            let mut next = |from: u8, to: u8, on_low: bool, on_high: bool| {
                let (low, high) = (rest(low).filter(|_| on_low), rest(high).filter(|_| on_high));
                let next = fractions(builder, low.as_deref(), high.as_deref(), strict, false);
                alternatives.extend(next.map(|next| builder.sequence(&[digit(builder, from, to), next])));
            };
            if bottom == top {
                next(bottom, top, true, true);
            } else if bottom < top {
                next(bottom, bottom, true, false);
                if top - bottom > 1 {
                    next(bottom + 1, top - 1, false, false);
                }
                next(top, top, false, true);
            }
            (!alternatives.is_empty()).then(|| builder.choice(&alternatives))
        }
    }
}

/// The digits after the last digit of the bounds.
fn at_the_bounds(builder: &Builder, low: bool, high: bool, strict: (bool, bool), begin: bool) -> Option<Expr> {
    let notation = match (low && strict.0, high) {
        // A digit other than zero must follow.
        (true, false) => "'0'* [1-9] [0-9]*",
        (true, true) => return None,
        (false, true) if strict.1 => return None,
        (false, true) if begin => "'0'+",
        (false, true) => "'0'*",
        (false, false) if begin => "[0-9]+",
        (false, false) => "[0-9]*",
    };
    Some(builder.read(notation, &[]))
}
