//! Reads and skips the primitive values of GGUF: numbers, strings and arrays. It compares every length with the end of the
//! file before it reads or skips, and knows no keys.

use std::fmt;
use std::io::{BufReader, Read, Seek, SeekFrom};

/// How deep arrays may be nested in arrays.
const DEEPEST: u32 = 4;

/// How many strings and nested arrays a file may hold in its arrays. Vocabularies have some hundred thousand.
const MOST_ITEMS: u64 = 1 << 24;

/// What is wrong with a file, and at which offset and key.
#[derive(Debug)]
pub(super) struct Problem {
    offset: u64,
    key: Option<String>,
    cause: String,
}

impl Problem {
    /// Adds the key whose value is wrong.
    pub(super) fn of(mut self, key: &str) -> Self {
        const SHOWN: usize = 80;
        let is_long = key.chars().nth(SHOWN).is_some();
        let shown: String = key.chars().take(SHOWN).flat_map(char::escape_default).collect();
        self.key = Some(if is_long { shown + "…" } else { shown });
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "offset {}", self.offset)?;
        if let Some(key) = &self.key {
            write!(f, ", key `{key}`")?;
        }
        write!(f, ": {}; the GGUF is damaged or cut short: download it again", self.cause)
    }
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueType {
    U8,
    I8,
    U16,
    I16,
    U32,
    I32,
    F32,
    Bool,
    String,
    Array,
    U64,
    I64,
    F64,
}

impl ValueType {
    /// In the order of their numbers in the file.
    const ALL: [ValueType; 13] = [
        ValueType::U8,
        ValueType::I8,
        ValueType::U16,
        ValueType::I16,
        ValueType::U32,
        ValueType::I32,
        ValueType::F32,
        ValueType::Bool,
        ValueType::String,
        ValueType::Array,
        ValueType::U64,
        ValueType::I64,
        ValueType::F64,
    ];

    /// The number of bytes of a value, if it is fixed.
    fn size(self) -> Option<u64> {
        match self {
            ValueType::U8 | ValueType::I8 | ValueType::Bool => Some(1),
            ValueType::U16 | ValueType::I16 => Some(2),
            ValueType::U32 | ValueType::I32 | ValueType::F32 => Some(4),
            ValueType::U64 | ValueType::I64 | ValueType::F64 => Some(8),
            ValueType::String | ValueType::Array => None,
        }
    }

    /// For messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            ValueType::String => "a string",
            ValueType::Array => "an array",
            ValueType::Bool => "true or false",
            _ => "a number",
        }
    }
}

/// A position in a file, and what is known of the file as a whole.
pub(super) struct Cursor<R> {
    input: BufReader<R>,
    offset: u64,
    end: u64,
    is_big_endian: bool,
    /// Version 1 of the format has lengths of four bytes; later versions have eight.
    has_short_lengths: bool,
    items_left: u64,
}

impl<R: Read + Seek> Cursor<R> {
    pub(super) fn new(mut input: R) -> Result<Self, Problem> {
        let fail = |error: std::io::Error| Problem { offset: 0, key: None, cause: error.to_string() };
        let end = input.seek(SeekFrom::End(0)).map_err(fail)?;
        input.rewind().map_err(fail)?;
        Ok(Self {
            input: BufReader::new(input),
            offset: 0,
            end,
            is_big_endian: false,
            has_short_lengths: false,
            items_left: MOST_ITEMS,
        })
    }

    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn problem(&self, cause: impl fmt::Display) -> Problem {
        Problem { offset: self.offset, key: None, cause: cause.to_string() }
    }

    /// Reads the header. Returns the number of keys that follow.
    pub(super) fn header(&mut self, magic: [u8; 4], most_keys: u64) -> Result<u64, Problem> {
        if self.bytes::<4>()? != magic {
            self.offset = 0;
            return Err(self.problem("the file does not begin with `GGUF`"));
        }
        let raw = self.bytes::<4>()?;
        // The version is a small number, so the byte order that makes it small is the file's.
        let (little, big) = (u32::from_le_bytes(raw), u32::from_be_bytes(raw));
        self.is_big_endian = big < little;
        let version = little.min(big);
        if !(1..=3).contains(&version) {
            self.offset = 4;
            return Err(
                self.problem(format!("version {version} of the format is unknown; versions 1 to 3 are supported"))
            );
        }
        self.has_short_lengths = version == 1;
        let _tensors = self.length()?;
        let keys = self.length()?;
        if keys > most_keys {
            return Err(self.problem(format!("the file claims {keys} keys; at most {most_keys} are read")));
        }
        Ok(keys)
    }

    /// Fails unless the file has `count` more bytes.
    fn ensure(&self, count: u64, what: &str) -> Result<(), Problem> {
        let left = self.end.saturating_sub(self.offset);
        if count <= left {
            return Ok(());
        }
        Err(self.problem(format!("{what} of {count} bytes reaches past the end of the file, which has {left} more")))
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Problem> {
        self.ensure(N as u64, "a number")?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(|error| self.problem(error))?;
        self.offset += N as u64;
        Ok(bytes)
    }

    fn u32(&mut self) -> Result<u32, Problem> {
        let bytes = self.bytes::<4>()?;
        Ok(if self.is_big_endian { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) })
    }

    fn u64(&mut self) -> Result<u64, Problem> {
        let bytes = self.bytes::<8>()?;
        Ok(if self.is_big_endian { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) })
    }

    /// A count, or the length of a string.
    fn length(&mut self) -> Result<u64, Problem> {
        if self.has_short_lengths { self.u32().map(u64::from) } else { self.u64() }
    }

    /// The type of the value that follows.
    pub(super) fn value_type(&mut self) -> Result<ValueType, Problem> {
        let number = self.u32()?;
        let value_type = usize::try_from(number).ok().and_then(|number| ValueType::ALL.get(number));
        value_type
            .copied()
            .ok_or_else(|| self.problem(format!("a value has the type {number}, which the format does not define")))
    }

    /// A string of at most `most` bytes.
    pub(super) fn string(&mut self, most: u64, what: &str) -> Result<String, Problem> {
        let length = self.length()?;
        self.ensure(length, what)?;
        if length > most {
            return Err(self.problem(format!("{what} has {length} bytes; at most {most} are read")));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
        let read = self.input.by_ref().take(length).read_to_end(&mut bytes).map_err(|error| self.problem(error))?;
        if read as u64 != length {
            return Err(self.problem(format!("{what} of {length} bytes ends after {read} bytes")));
        }
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = self.offset + error.utf8_error().valid_up_to() as u64;
            Problem { offset: at, key: None, cause: format!("{what} is not UTF-8") }
        })?;
        self.offset += length;
        Ok(text)
    }

    /// A non-negative whole number; `None` for any other value, which is skipped.
    pub(super) fn whole_number(&mut self, value_type: ValueType) -> Result<Option<u64>, Problem> {
        Ok(match value_type {
            ValueType::U8 => Some(self.bytes::<1>()?[0].into()),
            ValueType::U32 => Some(self.u32()?.into()),
            ValueType::U64 => Some(self.u64()?),
            ValueType::U16 => {
                let bytes = self.bytes::<2>()?;
                Some(if self.is_big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }.into())
            }
            ValueType::I32 => u64::try_from(self.u32()?.cast_signed()).ok(),
            ValueType::I64 => u64::try_from(self.u64()?.cast_signed()).ok(),
            _ => {
                self.skip(value_type)?;
                None
            }
        })
    }

    /// The head of an array: the type and the number of the items that follow.
    pub(super) fn array(&mut self) -> Result<(ValueType, u64), Problem> {
        Ok((self.value_type()?, self.length()?))
    }

    /// Skips a value.
    pub(super) fn skip(&mut self, value_type: ValueType) -> Result<(), Problem> {
        self.skip_value(value_type, 0)
    }

    fn skip_value(&mut self, value_type: ValueType, depth: u32) -> Result<(), Problem> {
        match (value_type, value_type.size()) {
            (_, Some(size)) => self.forward(size, "a value"),
            (ValueType::Array, None) => {
                if depth == DEEPEST {
                    return Err(self.problem(format!("arrays are nested deeper than {DEEPEST}")));
                }
                let (items, count) = self.array()?;
                self.skip_items(items, count, depth + 1)
            }
            (_, None) => {
                let length = self.length()?;
                self.forward(length, "a string")
            }
        }
    }

    /// Skips the items of an array.
    pub(super) fn skip_items(&mut self, items: ValueType, count: u64, depth: u32) -> Result<(), Problem> {
        let too_many = || format!("an array of {count} items does not fit into any file");
        if let Some(size) = items.size() {
            let length = count.checked_mul(size).ok_or_else(|| self.problem(too_many()))?;
            return self.forward(length, "an array");
        }
        // Each item has at least its own length field.
        let least = if self.has_short_lengths { 4 } else { 8 };
        self.ensure(count.checked_mul(least).ok_or_else(|| self.problem(too_many()))?, "an array")?;
        self.items_left = match self.items_left.checked_sub(count) {
            Some(left) => left,
            None => return Err(self.problem(format!("the arrays hold more than {MOST_ITEMS} strings"))),
        };
        for _ in 0..count {
            self.skip_value(items, depth)?;
        }
        Ok(())
    }

    fn go_to(&mut self, at: u64) -> Result<(), Problem> {
        self.input.seek(SeekFrom::Start(at)).map_err(|error| self.problem(error))?;
        self.offset = at;
        Ok(())
    }

    /// The item at `index` of the array of strings whose first item is at offset `at`.
    pub(super) fn item(&mut self, at: u64, index: u64, most: u64) -> Result<String, Problem> {
        self.go_to(at)?;
        for _ in 0..index {
            self.skip(ValueType::String)?;
        }
        self.string(most, "a token")
    }

    /// The items at these indices, which ascend.
    pub(super) fn items(&mut self, at: u64, indices: &[u64], most: u64) -> Result<Vec<String>, Problem> {
        self.go_to(at)?;
        let (mut items, mut next) = (Vec::with_capacity(indices.len()), 0);
        for index in indices {
            for _ in next..*index {
                self.skip(ValueType::String)?;
            }
            items.push(self.string(most, "a token")?);
            next = index + 1;
        }
        Ok(items)
    }

    /// The indices of the first `most` items that are `wanted`, in an array of `count` numbers of 32 bits whose first item is
    /// at offset `at`.
    pub(super) fn positions(&mut self, at: u64, count: u64, wanted: u32, most: usize) -> Result<Vec<u64>, Problem> {
        self.go_to(at)?;
        let mut found = Vec::new();
        for index in 0..count {
            if self.u32()? == wanted {
                found.push(index);
                if found.len() == most {
                    break;
                }
            }
        }
        Ok(found)
    }

    fn forward(&mut self, count: u64, what: &str) -> Result<(), Problem> {
        self.ensure(count, what)?;
        let fail = |error: std::io::Error| Problem { offset: self.offset, key: None, cause: error.to_string() };
        // A short step stays inside the buffer.
        let steps = i64::try_from(count).map_err(|_| self.problem("the length does not fit into any file"))?;
        self.input.seek_relative(steps).map_err(fail)?;
        self.offset += count;
        Ok(())
    }
}
