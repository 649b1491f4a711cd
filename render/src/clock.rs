//! The time that templates see, and Python's `strftime`. The time is a value that the caller sets, so that a template gives
//! the same text on every day.

use crate::error::{Fault, Outcome};

/// The date and time that `strftime_now` formats, without a time zone.
///
/// ```
/// use unjinja_render::{Clock, Template};
///
/// let template = Template::parse("t.jinja", "{{ strftime_now('%d %B %Y') }}")?;
/// let clock = Clock { year: 2024, month: 7, day: 26, ..Clock::default() };
/// assert_eq!(template.with_clock(clock).render(&serde_json::json!({}))?, "26 July 2024");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Year, from 1.
    pub year: u32,
    /// Month, 1 to 12.
    pub month: u32,
    /// Day of the month, from 1.
    pub day: u32,
    /// Hour, 0 to 23.
    pub hour: u32,
    /// Minute, 0 to 59.
    pub minute: u32,
    /// Second, 0 to 59.
    pub second: u32,
}

impl Default for Clock {
    /// Noon of 15 January 2026.
    fn default() -> Clock {
        Clock { year: 2026, month: 1, day: 15, hour: 12, minute: 0, second: 0 }
    }
}

const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

impl Clock {
    /// The time `seconds` after 1970 began. With the offset of a time zone added, it is the time in that zone. Years are 1 to 9999;
    /// what is before or after them is their first or last second.
    ///
    /// ```
    /// use unjinja_render::Clock;
    ///
    /// let leap_day = Clock { year: 2024, month: 2, day: 29, hour: 13, minute: 4, second: 59 };
    /// assert_eq!(Clock::from_unix_seconds(1_709_211_899), leap_day);
    /// ```
    pub fn from_unix_seconds(seconds: i64) -> Clock {
        let first = Clock { year: 1, month: 1, day: 1, hour: 0, minute: 0, second: 0 };
        let seconds = seconds.clamp(first.timestamp(), Clock { year: 10_000, ..first }.timestamp() - 1);
        let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400) as u32);
        // Each step takes the last one that does not begin later. A year has about 365 days: it is off by six at most.
        let begins = |clock: &Clock| clock.timestamp().div_euclid(86_400) <= day;
        let most = (1976 + day / 365).clamp(1, 9999) as u32;
        let year = (1..=most).rev().find(|&year| begins(&Clock { year, ..first })).unwrap_or(1);
        let month = (1..=12).rev().find(|&month| begins(&Clock { year, month, ..first })).unwrap_or(1);
        let day = (day - Clock { year, month, ..first }.timestamp().div_euclid(86_400)) as u32 + 1;
        Clock { year, month, day, hour: second / 3600, minute: second / 60 % 60, second: second % 60 }
    }

    fn leap(year: u32) -> bool {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    }

    /// Days since 1 January, from 0.
    fn day_of_year(&self) -> u32 {
        let lengths = [31, 28 + u32::from(Clock::leap(self.year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        lengths.iter().take(self.month.saturating_sub(1) as usize).sum::<u32>() + self.day.saturating_sub(1)
    }

    /// Days since Sunday.
    fn weekday(&self) -> u32 {
        let y = self.year.saturating_sub(1);
        (y + y / 4 - y / 100 + y / 400 + 1 + self.day_of_year()) % 7
    }

    /// ISO year and week.
    fn iso_week(&self) -> (u32, u32) {
        let weeks = |year: u32| {
            let dec31 = |y: u32| (y + y / 4 - y / 100 + y / 400) % 7;
            if dec31(year) == 4 || dec31(year.saturating_sub(1)) == 3 { 53 } else { 52 }
        };
        let monday_based = (self.weekday() + 6) % 7;
        let week = (self.day_of_year() + 10 - monday_based) / 7;
        match week {
            0 => (self.year.saturating_sub(1), weeks(self.year.saturating_sub(1))),
            w if w > weeks(self.year) => (self.year + 1, 1),
            w => (self.year, w),
        }
    }

    /// Seconds since 1970.
    fn timestamp(&self) -> i64 {
        let y = i64::from(self.year) - 1;
        let days = y * 365 + y / 4 - y / 100 + y / 400 - 719_162 + i64::from(self.day_of_year());
        ((days * 24 + i64::from(self.hour)) * 60 + i64::from(self.minute)) * 60 + i64::from(self.second)
    }

    /// Python's `strftime` in the C locale, with glibc's flags `-`, `_`, `0` and `^`.
    pub(crate) fn strftime(&self, format: &str) -> Outcome<String> {
        let mut out = String::new();
        let mut chars = format.chars();
        while let Some(c) = chars.next() {
            if c != '%' {
                out.push(c);
                continue;
            }
            let mut directive = chars.next();
            let mut flag = None;
            if let Some(f @ ('-' | '_' | '0' | '^')) = directive {
                flag = Some(f);
                directive = chars.next();
            }
            let Some(directive) = directive else {
                out.push('%');
                break;
            };
            self.directive(directive, flag, &mut out)?;
        }
        Ok(out)
    }

    fn directive(&self, directive: char, flag: Option<char>, out: &mut String) -> Outcome<()> {
        let day = DAYS.get(self.weekday() as usize).copied().unwrap_or("");
        let month = MONTHS.get(self.month.saturating_sub(1) as usize).copied().unwrap_or("");
        let short = |name: &str| name.chars().take(3).collect::<String>();
        let hour12 = (self.hour + 11) % 12 + 1;
        let half = if self.hour < 12 { "AM" } else { "PM" };
        let number = |value: u32, width: usize, pad: char| match flag {
            Some('-') => value.to_string(),
            Some('_') => format!("{value:>width$}"),
            Some('0') => format!("{value:0>width$}"),
            _ if pad == ' ' => format!("{value:>width$}"),
            _ => format!("{value:0>width$}"),
        };
        let word = |text: &str| if flag == Some('^') { text.to_uppercase() } else { text.to_owned() };
        let piece = match directive {
            'Y' => self.year.to_string(),
            'C' => number(self.year / 100, 2, '0'),
            'y' => number(self.year % 100, 2, '0'),
            'G' => self.iso_week().0.to_string(),
            'g' => number(self.iso_week().0 % 100, 2, '0'),
            'V' => number(self.iso_week().1, 2, '0'),
            'm' => number(self.month, 2, '0'),
            'd' => number(self.day, 2, '0'),
            'e' => number(self.day, 2, ' '),
            'j' => number(self.day_of_year() + 1, 3, '0'),
            'H' => number(self.hour, 2, '0'),
            'k' => number(self.hour, 2, ' '),
            'I' => number(hour12, 2, '0'),
            'l' => number(hour12, 2, ' '),
            'M' => number(self.minute, 2, '0'),
            'S' => number(self.second, 2, '0'),
            'f' => "000000".to_owned(),
            'U' => number((self.day_of_year() + 7 - self.weekday()) / 7, 2, '0'),
            'W' => number((self.day_of_year() + 7 - (self.weekday() + 6) % 7) / 7, 2, '0'),
            'w' => self.weekday().to_string(),
            'u' => ((self.weekday() + 6) % 7 + 1).to_string(),
            's' => self.timestamp().to_string(),
            'A' => word(day),
            'a' => word(&short(day)),
            'B' => word(month),
            'b' | 'h' => word(&short(month)),
            'p' => half.to_owned(),
            'P' => half.to_lowercase(),
            'z' | 'Z' => String::new(),
            'n' => "\n".to_owned(),
            't' => "\t".to_owned(),
            '%' => "%".to_owned(),
            'D' | 'x' => self.strftime("%m/%d/%y")?,
            'F' => self.strftime("%Y-%m-%d")?,
            'T' | 'X' => self.strftime("%H:%M:%S")?,
            'R' => self.strftime("%H:%M")?,
            'r' => self.strftime("%I:%M:%S %p")?,
            'c' => self.strftime("%a %b %e %H:%M:%S %Y")?,
            other => return Err(Fault::new(format!("strftime_now: unknown directive %{other}"))),
        };
        out.push_str(&piece);
        Ok(())
    }
}
