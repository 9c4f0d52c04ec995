//! JSON objects with their keys in the order in which a logger would write them.

/// A JSON object being written.
pub(super) struct Object(Vec<u8>);

impl Object {
    /// An empty object.
    pub(super) fn new() -> Object {
        Object(vec![b'{'])
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if self.0.len() > 1 {
            self.0.push(b',');
        }
        quote(key, &mut self.0);
        self.0.push(b':');
        &mut self.0
    }

    /// A string.
    pub(super) fn text(&mut self, key: &str, value: &str) -> &mut Object {
        quote(value, self.key(key));
        self
    }

    /// A number, `true`, `null`, or finished JSON.
    pub(super) fn raw(&mut self, key: &str, value: impl AsRef<[u8]>) -> &mut Object {
        self.key(key).extend_from_slice(value.as_ref());
        self
    }

    /// An integer.
    pub(super) fn number(&mut self, key: &str, value: i64) -> &mut Object {
        self.raw(key, value.to_string())
    }

    /// The finished object.
    pub(super) fn end(mut self) -> Vec<u8> {
        self.0.push(b'}');
        self.0
    }
}

fn quote(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text.as_bytes() {
        match byte {
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            b'\n' => out.extend_from_slice(b"\\n"),
            0..0x20 => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}
