//! Records of POSIX extended headers: `LENGTH KEY=VALUE\n`, the length counting all of it.

use super::Damage;

/// What the records say that matters here.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Pax {
    /// The next entry's name.
    pub(super) path: Option<Vec<u8>>,
    /// Length of its content as it is stored.
    pub(super) size: Option<u64>,
    /// It is a file with holes.
    pub(super) sparse: Option<PaxSparse>,
}

/// GNU's records about a file with holes.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PaxSparse {
    /// The name, where `path` is that of a stand-in.
    pub(super) name: Option<Vec<u8>>,
    /// Length with the holes.
    pub(super) real_size: Option<u64>,
    /// Version 1.0: the map is at the beginning of the content.
    pub(super) map_in_content: bool,
    /// Versions 0.0 and 0.1: offsets and lengths in turn.
    pub(super) map: Vec<u64>,
}

impl Pax {
    /// Reads the records.
    ///
    /// # Errors
    /// [`Damage::BadHeader`] if they are none.
    pub(super) fn parse(mut records: &[u8]) -> Result<Self, Damage> {
        let mut pax = Self::default();
        // Some write zeros behind the records.
        while !records.is_empty() && records.first() != Some(&0) {
            let (key, value, rest) = split_record(records).ok_or(Damage::BadHeader("malformed extended records"))?;
            records = rest;
            pax.take(key, value)?;
        }
        Ok(pax)
    }

    fn take(&mut self, key: &[u8], value: &[u8]) -> Result<(), Damage> {
        let sparse = |pax: &mut Self| pax.sparse.take().unwrap_or_default();
        match key {
            b"path" => self.path = Some(value.to_vec()),
            b"size" => self.size = Some(number(value)?),
            b"GNU.sparse.major" => {
                let is_1 = number(value)? == 1;
                self.sparse = Some(PaxSparse { map_in_content: is_1, ..sparse(self) });
            }
            b"GNU.sparse.name" => self.sparse = Some(PaxSparse { name: Some(value.to_vec()), ..sparse(self) }),
            b"GNU.sparse.realsize" | b"GNU.sparse.size" => {
                self.sparse = Some(PaxSparse { real_size: Some(number(value)?), ..sparse(self) });
            }
            b"GNU.sparse.offset" | b"GNU.sparse.numbytes" => {
                let mut found = sparse(self);
                found.map.push(number(value)?);
                self.sparse = Some(found);
            }
            b"GNU.sparse.map" => {
                let map = value.split(|b| *b == b',').map(number).collect::<Result<_, _>>()?;
                self.sparse = Some(PaxSparse { map, ..sparse(self) });
            }
            _ => {}
        }
        Ok(())
    }
}

fn number(text: &[u8]) -> Result<u64, Damage> {
    crate::formats::lines::decimal(text).ok_or(Damage::BadHeader("an extended record that is no number"))
}

/// Key and value of the first record, and what follows it. A value may hold anything, `\n` included.
fn split_record(records: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let space = records.iter().take(20).position(|b| *b == b' ')?;
    let length = usize::try_from(crate::formats::lines::decimal(records.get(..space)?)?).ok()?;
    let (record, rest) = records.split_at_checked(length)?;
    let body = record.get(space + 1..)?.strip_suffix(b"\n")?;
    let equals = body.iter().position(|b| *b == b'=')?;
    Some((body.get(..equals)?, body.get(equals + 1..)?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_split_by_their_length_not_by_their_lines() {
        // Two digits, a space, `path=`, 9 bytes and a line feed: 2 + 1 + 5 + 9 + 1 = 18.
        let pax = Pax::parse(b"18 path=a\nb=c/def\n20 size=12345678901\n30 mtime=1700000000.123456789\n").expect("are records");
        assert_eq!((pax.path.as_deref(), pax.size, pax.sparse), (Some(&b"a\nb=c/def"[..]), Some(12_345_678_901), None));
    }

    #[test]
    fn maps_of_all_versions_are_found() {
        let old = Pax::parse(b"24 GNU.sparse.offset=10\n25 GNU.sparse.numbytes=7\n").expect("are records");
        assert_eq!(old.sparse.expect("is sparse").map, [10, 7]);
        assert!(Pax::parse(b"28 GNU.sparse.map=0,3,99,4\n").is_err(), "a length beyond the end is no record");
        let later = Pax::parse(b"27 GNU.sparse.map=0,3,99,4\n").expect("are records");
        assert_eq!(later.sparse.expect("is sparse").map, [0, 3, 99, 4]);
        let new = Pax::parse(b"22 GNU.sparse.major=1\n31 GNU.sparse.realsize=1048576\n").expect("are records");
        let sparse = new.sparse.expect("is sparse");
        assert_eq!((sparse.map_in_content, sparse.real_size), (true, Some(1_048_576)));
    }

    #[test]
    fn malformed_records_are_refused() {
        for bad in [&b"x"[..], b"5 a=b", b"99 a=b\n", b"6 a b\n", b"0 a=b\n", b"18446744073709551616 a=b\n", b"9 size=x\n"] {
            assert!(Pax::parse(bad).is_err(), "{bad:?}");
        }
    }
}
