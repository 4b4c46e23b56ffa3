//! Writes small GGUF files for tests, sound ones and others.

use super::TensorType;

/// What goes into a file; every part can be overwritten afterwards.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writer {
    metadata: Vec<Vec<u8>>,
    infos: Vec<Vec<u8>>,
    data: Vec<u8>,
    pub(crate) version: Option<u32>,
    pub(crate) alignment: usize,
}

pub(crate) fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = text.as_ref();
    [&(bytes.len() as u64).to_le_bytes(), bytes].concat()
}

impl Writer {
    pub(crate) fn new() -> Self {
        Writer {
            alignment: 32,
            ..Writer::default()
        }
    }

    /// A metadata entry of the given value type, its bytes as they are.
    pub(crate) fn raw(mut self, key: &str, kind: u32, value: &[u8]) -> Self {
        let entry = [text(key), kind.to_le_bytes().to_vec(), value.to_vec()];
        self.metadata.push(entry.concat());
        self
    }

    pub(crate) fn u32(self, key: &str, value: u32) -> Self {
        self.raw(key, 4, &value.to_le_bytes())
    }

    pub(crate) fn f32(self, key: &str, value: f32) -> Self {
        self.raw(key, 6, &value.to_le_bytes())
    }

    pub(crate) fn string(self, key: &str, value: &str) -> Self {
        self.raw(key, 8, &text(value))
    }

    pub(crate) fn strings<S: AsRef<[u8]>>(self, key: &str, values: &[S]) -> Self {
        let mut bytes = [8u32.to_le_bytes().to_vec(), count(values.len())].concat();
        bytes.extend(values.iter().flat_map(text));
        self.raw(key, 9, &bytes)
    }

    pub(crate) fn i32s(self, key: &str, values: &[i32]) -> Self {
        let bytes: Vec<u8> = values.iter().flat_map(|n| n.to_le_bytes()).collect();
        self.numbers(key, 5, values.len(), &bytes)
    }

    /// An array of numbers of the given value type, their bytes as they are.
    pub(crate) fn numbers(self, key: &str, kind: u32, len: usize, bytes: &[u8]) -> Self {
        let head = [kind.to_le_bytes().to_vec(), count(len)].concat();
        self.raw(key, 9, &[&head, bytes].concat())
    }

    /// A tensor's info with any type and offset, and no data.
    pub(crate) fn info(mut self, name: &str, dims: &[u64], kind: u32, offset: u64) -> Self {
        let mut info = text(name);
        info.extend((dims.len() as u32).to_le_bytes());
        info.extend(dims.iter().flat_map(|dim| dim.to_le_bytes()));
        info.extend(kind.to_le_bytes());
        info.extend(offset.to_le_bytes());
        self.infos.push(info);
        self
    }

    /// A tensor with its bytes, after the ones before it.
    pub(crate) fn tensor(
        mut self,
        name: &str,
        dims: &[u64],
        kind: TensorType,
        data: &[u8],
    ) -> Self {
        let offset = self.data.len().next_multiple_of(self.alignment);
        self.data.resize(offset, 0);
        self.data.extend(data);
        self.info(name, dims, kind.id(), offset as u64)
    }

    /// Bytes in front of which no tensor is written.
    pub(crate) fn data(mut self, bytes: usize) -> Self {
        self.data.resize(bytes, 0);
        self
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut out = b"GGUF".to_vec();
        out.extend(self.version.unwrap_or(3).to_le_bytes());
        out.extend(count(self.infos.len()));
        out.extend(count(self.metadata.len()));
        out.extend(self.metadata.concat());
        out.extend(self.infos.concat());
        out.resize(out.len().next_multiple_of(self.alignment), 0);
        out.extend(&self.data);
        out
    }
}

fn count(n: usize) -> Vec<u8> {
    (n as u64).to_le_bytes().to_vec()
}
