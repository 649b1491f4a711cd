//! Texts of any length, the same in every run.

use std::fmt::Write;

const WORDS: [&str; 40] = [
    "harbour", "lantern", "slowly", "under", "copper", "the", "a", "of", "window", "because", "river", "nine", "quiet",
    "market", "and", "then", "carries", "stone", "between", "letter", "green", "without", "train", "arrives",
    "morning", "it", "was", "paper", "north", "kept", "answer", "simple", "to", "wire", "house", "remember", "winter",
    "in", "bread", "evening",
];

/// Sentences in scripts of two, three and four bytes a letter.
const SCRIPTS: [&str; 8] = [
    "Утром поезд приходит вовремя, и рынок уже открыт. ",
    "川の北に小さな家があって、冬は静かだった。",
    "Το πρωί ο άνεμος φέρνει μυρωδιά από ψωμί. ",
    "बाज़ार में आज नौ दीये जल रहे हैं। ",
    "Größere Brücken übers Moor, naïve Café-Gäste. ",
    "الرسالة وصلت مساءً بلا عنوان. ",
    "🚆🌾 겨울 아침에 기차가 도착했다 🏠. ",
    "窗外的灯慢慢亮了，信还在桌上。",
];

/// Lines of a program; the number of the line is put in.
const CODE: [(&str, &str); 10] = [
    ("def step_", "(state, *, limit=10):\n"),
    ("    \"\"\"Goes on from part ", ", if there is one.\"\"\"\n"),
    ("    if state[\"left\"] < ", " and not state.get('done'):\n"),
    ("        print(f\"left:\\t{state['left']}\\n\", end=\"\") # ", "\n"),
    ("        path = \"C:\\\\data\\\\run_", ".txt\"\n"),
    ("        html = '<div class=\"row\" id=\"", "\"></div>'\n"),
    ("        values = [x ** 2 for x in range(", ") if x % 3 == 1]\n"),
    ("        assert re.match(r\"^\\d+\\s*\\[", "\\]$\", line), line\n"),
    ("    return {\"state\": state, \"part\": ", "}\n"),
    ("\n# part ", "\n"),
];

/// A word; which one depends on the number in no simple way.
pub(super) fn word(number: usize) -> &'static str {
    WORDS[mixed(number) % WORDS.len()]
}

/// A number that depends on another in no simple way.
pub(super) fn mixed(number: usize) -> usize {
    ((number as u64).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as usize
}

/// A text of `count` words, which begins elsewhere in the list for each `from`.
pub(super) fn words(count: usize, from: usize) -> String {
    let words: Vec<&str> = (0..count).map(|number| word(from * 97 + number)).collect();
    words.join(" ")
}

/// A text of `count` words of prose: sentences, and paragraphs of them; other ones for each `from`.
pub(super) fn prose(count: usize, from: usize) -> String {
    let mut out = String::with_capacity(count * 7);
    for number in 0..count {
        match number {
            0 => {}
            _ if number % 96 == 0 => out.push_str(".\n\n"),
            _ if number % 12 == 0 => out.push_str(". "),
            _ if number % 7 == 0 => out.push_str(", "),
            _ => out.push(' '),
        }
        out.push_str(word(from * 97 + number));
    }
    out.push('.');
    out
}

/// A text of `count` sentences of other scripts.
pub(super) fn unicode(count: usize) -> String {
    let sentences: String = (0..count).map(|number| SCRIPTS[number % SCRIPTS.len()]).collect();
    format!("{}.", sentences.trim_end())
}

/// A text of `count` lines of code.
pub(super) fn code(count: usize) -> String {
    let mut out = String::with_capacity(count * 40);
    for number in 0..count {
        let (before, after) = CODE[number % CODE.len()];
        // Writing to a String cannot fail.
        let _ = write!(out, "{before}{number}{after}");
    }
    out.push_str("# end");
    out
}
