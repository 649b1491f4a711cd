//! Writes GGUF files, version 3: entries and tensors of 32-bit floats. The caller decides what a file contains.

/// The types of values, as numbers of the file format.
#[derive(Clone, Copy)]
pub(crate) enum Type {
    U32 = 4,
    I32 = 5,
    F32 = 6,
    Bool = 7,
    String = 8,
    Array = 9,
}

/// Tensors begin at multiples of this.
const ALIGNMENT: usize = 32;

/// The number of the file format for tensors of 32-bit floats.
const FLOATS: u32 = 0;

/// A file while it is being written.
#[derive(Default)]
pub(crate) struct File {
    entries: Section,
    tensors: Section,
    data: Vec<u8>,
}

#[derive(Default)]
struct Section {
    bytes: Vec<u8>,
    count: u64,
}

impl File {
    fn entry(&mut self, key: &str, kind: Type) -> &mut Vec<u8> {
        let Section { bytes, count } = &mut self.entries;
        *count += 1;
        string(bytes, key);
        bytes.extend((kind as u32).to_le_bytes());
        bytes
    }

    pub(crate) fn text(&mut self, key: &str, value: &str) {
        string(self.entry(key, Type::String), value);
    }

    pub(crate) fn number(&mut self, key: &str, value: u32) {
        self.entry(key, Type::U32).extend(value.to_le_bytes());
    }

    pub(crate) fn float(&mut self, key: &str, value: f32) {
        self.entry(key, Type::F32).extend(value.to_le_bytes());
    }

    pub(crate) fn flag(&mut self, key: &str, value: bool) {
        self.entry(key, Type::Bool).push(value.into());
    }

    pub(crate) fn list<T>(&mut self, key: &str, kind: Type, items: &[T], write: impl Fn(&mut Vec<u8>, &T)) {
        let bytes = self.entry(key, Type::Array);
        bytes.extend((kind as u32).to_le_bytes());
        bytes.extend((items.len() as u64).to_le_bytes());
        for item in items {
            write(bytes, item);
        }
    }

    /// A tensor with these dimensions; the first is the length of a row.
    pub(crate) fn tensor(&mut self, name: &str, dimensions: &[u64], values: impl Iterator<Item = f32>) {
        let Section { bytes, count } = &mut self.tensors;
        *count += 1;
        string(bytes, name);
        bytes.extend((dimensions.len() as u32).to_le_bytes());
        bytes.extend(dimensions.iter().flat_map(|dimension| dimension.to_le_bytes()));
        bytes.extend(FLOATS.to_le_bytes());
        bytes.extend((self.data.len() as u64).to_le_bytes());
        let count = dimensions.iter().product::<u64>() as usize;
        self.data.extend(values.take(count).flat_map(f32::to_le_bytes));
        self.data.resize(self.data.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// The whole file: magic number, version, the entries, where the tensors are, and the tensors.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut whole = b"GGUF".to_vec();
        whole.extend(3_u32.to_le_bytes());
        whole.extend(self.tensors.count.to_le_bytes());
        whole.extend(self.entries.count.to_le_bytes());
        whole.extend(self.entries.bytes);
        whole.extend(self.tensors.bytes);
        whole.resize(whole.len().next_multiple_of(ALIGNMENT), 0);
        whole.extend(self.data);
        whole
    }
}

pub(crate) fn string(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u64).to_le_bytes());
    bytes.extend(text.as_bytes());
}
