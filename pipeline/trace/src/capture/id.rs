//! Ids of captures, made of paths that may hold anything.

use std::collections::BTreeSet;

/// Longest id, bytes; room for suffixes is left below the 255 of file systems.
const MAX_BYTES: usize = 120;

/// Path components, as raw bytes, as one safe name: joined by `+`, all but `[A-Za-z0-9._-]` percent-encoded.
///
/// A leading dot is encoded as well, so that neither hidden names nor `..` can come of it. A long
/// name keeps its start and gets a hash of the whole.
pub(super) fn encode(components: &[&[u8]]) -> String {
    let mut id = String::new();
    for (i, component) in components.iter().enumerate() {
        if i > 0 {
            id.push('+');
        }
        for (at, byte) in component.iter().enumerate() {
            let safe = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-') || *byte == b'.' && at > 0;
            if safe {
                id.push(char::from(*byte));
            } else {
                id.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    if id.is_empty() {
        id.push_str("capture");
    }
    if id.len() > MAX_BYTES {
        let hash = fnv1a(id.as_bytes());
        // All characters are ASCII: any byte is a boundary.
        id.truncate(MAX_BYTES - 17);
        id.push_str(&format!("~{hash:016x}"));
    }
    id
}

/// `id`, or `id~2` and so on if it is taken; the result is taken then.
pub(super) fn make_unique(id: String, taken: &mut BTreeSet<String>) -> String {
    let mut candidate = id.clone();
    let mut number = 2_u64;
    while !taken.insert(candidate.clone()) {
        candidate = format!("{id}~{number}");
        number += 1;
    }
    candidate
}

/// FNV-1a, 64 bits: enough to tell long names of one archive apart.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_path_can_leave_its_directory() {
        assert_eq!(encode(&[b"..", b"..", b"etc"]), "%2E.+%2E.+etc");
        assert_eq!(encode(&[b"."]), "%2E");
        assert_eq!(encode(&[b"a/b\0c\n"]), "a%2Fb%00c%0A");
    }

    #[test]
    fn a_plus_in_a_name_is_no_separator() {
        assert_ne!(encode(&[b"a+b"]), encode(&[b"a", b"b"]));
    }

    #[test]
    fn long_names_are_cut_and_stay_apart() {
        let (a, b) = (encode(&[&[b'x'; 300]]), encode(&[&[b'x'; 301]]));
        assert_eq!((a.len(), b.len()), (MAX_BYTES, MAX_BYTES));
        assert_ne!(a, b);
    }

    #[test]
    fn equal_ids_are_numbered() {
        let mut taken = BTreeSet::new();
        let ids: Vec<_> = (0..3).map(|_| make_unique("sda".into(), &mut taken)).collect();
        assert_eq!(ids, ["sda", "sda~2", "sda~3"]);
    }
}
