//! For tests: zip archives of given files, as the usual tools write them.

use std::io::Write;

/// An archive of these files, each stored where its place in the list is odd, else deflated.
pub fn zip(files: &[(&str, &[u8])], large: bool) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (number, (name, body)) in files.iter().enumerate() {
        let mut crc = flate2::Crc::new();
        crc.update(body);
        let (method, packed) = match number % 2 {
            0 => (8u16, deflated(body)),
            _ => (0, body.to_vec()),
        };
        let header = bytes.len();
        // What both headers of an entry share: version, flags, method, time, date, sum, sizes.
        let mut shared = Vec::new();
        for field in [45u16, 0, method, 0, 0x21] {
            shared.extend(field.to_le_bytes());
        }
        shared.extend(crc.sum().to_le_bytes());
        let sizes = [packed.len(), body.len()].map(|n| if large { u32::MAX } else { n as u32 });
        shared.extend(sizes.iter().flat_map(|n| n.to_le_bytes()));
        shared.extend((name.len() as u16).to_le_bytes());
        let mut extra = Vec::new();
        if large {
            extra.extend([0x55, 0x54, 1, 0, 7]);
            extra.extend([1, 0, 16, 0]);
            extra.extend(
                [body.len() as u64, packed.len() as u64]
                    .map(u64::to_le_bytes)
                    .concat(),
            );
        }
        bytes.extend(b"PK\x03\x04");
        bytes.extend(&shared);
        bytes.extend((extra.len() as u16).to_le_bytes());
        bytes.extend(name.as_bytes());
        bytes.extend(&extra);
        bytes.extend(&packed);
        directory.extend(b"PK\x01\x02");
        // Made by a Unix.
        directory.extend([45, 3]);
        directory.extend(&shared);
        directory.extend((extra.len() as u16).to_le_bytes());
        directory.extend([0u8; 10]);
        directory.extend((header as u32).to_le_bytes());
        directory.extend(name.as_bytes());
        directory.extend(&extra);
    }
    let (offset, entries) = (bytes.len(), files.len());
    bytes.extend(&directory);
    if large {
        let record = bytes.len() as u64;
        bytes.extend(b"PK\x06\x06");
        bytes.extend(44u64.to_le_bytes());
        bytes.extend([45, 3, 45, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        for field in [entries, entries, directory.len(), offset] {
            bytes.extend((field as u64).to_le_bytes());
        }
        bytes.extend(b"PK\x06\x07\0\0\0\0");
        bytes.extend(record.to_le_bytes());
        bytes.extend(1u32.to_le_bytes());
    }
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    let count = if large { u16::MAX } else { entries as u16 };
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    let ends = [directory.len(), offset].map(|n| if large { u32::MAX } else { n as u32 });
    bytes.extend(ends.iter().flat_map(|n| n.to_le_bytes()));
    bytes.extend([0, 0]);
    bytes
}

fn deflated(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::fast());
    // Memory takes everything.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}
