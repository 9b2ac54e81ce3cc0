//! [`PathPattern`]: small patterns of paths below an archive's root.
//!
//! | in a pattern | stands for |
//! |---|---|
//! | `*` | any characters of one name, also none |
//! | `**`, as a whole name | any number of folders, also none |
//! | `{host}` | the host: at least one character of one name, as many as fit |
//! | `{date}`, `{anything}` | at least one character of one name |
//! | else | itself |
//!
//! Braces have a meaning only where a host is asked for (`--host-from`, see `host`); in
//! `archive.toml` they stand for themselves. Where a path matches in several ways, `*` and `**` take
//! as little as possible and `{host}` as much as possible, from left to right.

use std::path::{Component as PathPart, Path};

use thiserror::Error;

/// Longest pattern, bytes.
const MAX_BYTES: usize = 4096;

/// Why a pattern cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum PatternError {
    /// It is empty, or has an empty name in it.
    #[error("expected names separated by single slashes, relative to the archive")]
    EmptyName,
    /// It would leave the archive.
    #[error("expected names below the archive, without . and ..")]
    Dots,
    /// `{host}` is not in it.
    #[error("expected {{host}} in it, such as {{date}}/{{host}}/* or logs-{{host}}-*.txt")]
    NoHost,
    /// `{host}` is in it more than once.
    #[error("expected {{host}} in it only once")]
    TwoHosts,
    /// A brace stands alone.
    #[error("expected a closing brace after each opening one, as in {{host}}")]
    Brace,
    /// It is longer than any path.
    #[error("expected at most {MAX_BYTES} bytes")]
    TooLong,
}

/// A pattern of paths, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    names: Vec<Name>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    /// `**`
    Folders,
    /// One name.
    One(Vec<Part>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Byte(u8),
    Star,
    Some,
    Host,
}

impl PathPattern {
    /// Parses a pattern in which braces have no meaning. A slash at its end is passed over.
    pub(super) fn parse(text: &str) -> Result<Self, PatternError> {
        let text = text.strip_suffix('/').unwrap_or(text);
        Self::parse_names(text, &|name| Ok(name.bytes().map(|b| if b == b'*' { Part::Star } else { Part::Byte(b) }).collect()))
    }

    /// Parses a pattern with `{host}` in it, once.
    pub(super) fn parse_with_host(text: &str) -> Result<Self, PatternError> {
        let pattern = Self::parse_names(text, &parse_braces)?;
        let parts = pattern.names.iter().flat_map(|n| match n {
            Name::One(parts) => parts.as_slice(),
            Name::Folders => &[],
        });
        match parts.filter(|p| **p == Part::Host).count() {
            0 => Err(PatternError::NoHost),
            1 => Ok(pattern),
            _ => Err(PatternError::TwoHosts),
        }
    }

    fn parse_names(text: &str, parts: &dyn Fn(&str) -> Result<Vec<Part>, PatternError>) -> Result<Self, PatternError> {
        if text.len() > MAX_BYTES {
            return Err(PatternError::TooLong);
        }
        let names = text.split('/').map(|name| match name {
            "" => Err(PatternError::EmptyName),
            "." | ".." => Err(PatternError::Dots),
            "**" => Ok(Name::Folders),
            name => Ok(Name::One(parts(name)?)),
        });
        Ok(Self { names: names.collect::<Result<_, _>>()? })
    }

    /// Whether it matches the path or a folder that holds it.
    pub(super) fn covers(&self, path: &[&[u8]]) -> bool {
        !path.is_empty() && at(&self.fits(path, true), 0, 0)
    }

    /// fits[i][j]: the names of the pattern from i on match those of the path from j on, all of them
    /// or, with `below`, the first of them.
    fn fits(&self, path: &[&[u8]], below: bool) -> Vec<Vec<bool>> {
        let (n, m) = (self.names.len(), path.len());
        let mut fits = vec![vec![false; m + 1]; n + 1];
        for i in (0..=n).rev() {
            for j in (0..=m).rev() {
                let fit = match (self.names.get(i), path.get(j)) {
                    (None, text) => below || text.is_none(),
                    (Some(Name::Folders), text) => at(&fits, i + 1, j) || text.is_some() && at(&fits, i, j + 1),
                    (Some(Name::One(parts)), Some(text)) => at(&fits, i + 1, j + 1) && match_name(parts, text).is_some(),
                    (Some(Name::One(_)), None) => false,
                };
                if let Some(cell) = fits.get_mut(i).and_then(|row| row.get_mut(j)) {
                    *cell = fit;
                }
            }
        }
        fits
    }

    /// What `{host}` stands for in a path, `None` if the path does not match as a whole.
    pub(super) fn host<'a>(&self, path: &[&'a [u8]]) -> Option<&'a [u8]> {
        let fits = self.fits(path, false);
        if !at(&fits, 0, 0) {
            return None;
        }
        let (mut j, mut host) = (0, None);
        for (i, name) in self.names.iter().enumerate() {
            match name {
                Name::Folders => {
                    while !at(&fits, i + 1, j) {
                        j += 1;
                        if j > path.len() {
                            return None;
                        }
                    }
                }
                Name::One(parts) => {
                    host = host.or(match_name(parts, path.get(j)?)?);
                    j += 1;
                }
            }
        }
        host
    }
}

fn at(rows: &[Vec<bool>], i: usize, j: usize) -> bool {
    rows.get(i).and_then(|row| row.get(j)).copied().unwrap_or(false)
}

/// The names of a relative path.
pub(super) fn names(path: &Path) -> Vec<&[u8]> {
    use std::os::unix::ffi::OsStrExt;
    let name = |part| match part {
        PathPart::Normal(name) => Some(OsStrExt::as_bytes(name)),
        _ => None,
    };
    path.components().filter_map(name).collect()
}

fn parse_braces(name: &str) -> Result<Vec<Part>, PatternError> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        match c {
            '{' => {
                let (inside, behind) = after.split_once('}').ok_or(PatternError::Brace)?;
                if inside.is_empty() || inside.contains('{') {
                    return Err(PatternError::Brace);
                }
                parts.push(if inside == "host" { Part::Host } else { Part::Some });
                rest = behind;
                continue;
            }
            '}' => return Err(PatternError::Brace),
            '*' => parts.push(Part::Star),
            c => parts.extend(c.encode_utf8(&mut [0; 4]).bytes().map(Part::Byte)),
        }
        rest = after;
    }
    Ok(parts)
}

/// Whether the parts match a name: `Some(host)` if so, with what the host stands for, if anything.
fn match_name<'a>(parts: &[Part], text: &'a [u8]) -> Option<Option<&'a [u8]>> {
    // fits[i][j]: the parts from i on match the bytes from j on.
    let (n, m) = (parts.len(), text.len());
    let mut fits = vec![vec![false; m + 1]; n + 1];
    for i in (0..=n).rev() {
        for j in (0..=m).rev() {
            let fit = match parts.get(i) {
                None => j == m,
                Some(Part::Byte(b)) => text.get(j) == Some(b) && at(&fits, i + 1, j + 1),
                Some(Part::Star) => at(&fits, i + 1, j) || j < m && at(&fits, i, j + 1),
                Some(Part::Some | Part::Host) => j < m && (at(&fits, i + 1, j + 1) || at(&fits, i, j + 1)),
            };
            if let Some(cell) = fits.get_mut(i).and_then(|row| row.get_mut(j)) {
                *cell = fit;
            }
        }
    }
    if !at(&fits, 0, 0) {
        return None;
    }
    let (mut j, mut host) = (0, None);
    for (i, part) in parts.iter().enumerate() {
        let next = match part {
            Part::Byte(_) => j + 1,
            Part::Star => (j..=m).find(|k| at(&fits, i + 1, *k))?,
            Part::Some => (j + 1..=m).find(|k| at(&fits, i + 1, *k))?,
            Part::Host => {
                let end = (j + 1..=m).rev().find(|k| at(&fits, i + 1, *k))?;
                host = text.get(j..end);
                end
            }
        };
        j = next;
    }
    Some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(pattern: &str, path: &str) -> Option<String> {
        let pattern = PathPattern::parse_with_host(pattern).unwrap_or_else(|e| panic!("{pattern}: {e}"));
        let path = Path::new(path);
        pattern.host(&names(path)).map(|h| String::from_utf8_lossy(h).into_owned())
    }

    #[test]
    fn the_host_is_what_stands_in_its_place() {
        assert_eq!(host("{date}/{host}/*", "2026-11-28/db-07/sda.blktrace.0").as_deref(), Some("db-07"));
        assert_eq!(host("{date}/{host}/*", "2026-11-28/db-07/x/sda.blktrace.0"), None);
        assert_eq!(host("{date}/{host}/**", "2026-11-28/db-07/x/sda.blktrace.0").as_deref(), Some("db-07"));
        assert_eq!(host("**/{host}/*", "a/b/db-07/sda").as_deref(), Some("db-07"));
        assert_eq!(host("**/{host}/*", "db-07/sda").as_deref(), Some("db-07"));
        assert_eq!(host("**/{host}/*", "sda"), None);
        assert_eq!(host("logs-{host}-*.txt", "logs-db07-a.txt").as_deref(), Some("db07"));
        assert_eq!(host("logs-{host}-*.txt", "logs--a.txt"), None, "a host has a character");
        assert_eq!(host("{host}", "db-07").as_deref(), Some("db-07"));
    }

    #[test]
    fn a_host_takes_as_much_as_fits_and_a_star_as_little() {
        assert_eq!(host("logs-{host}-*.txt", "logs-db-07-sda.txt").as_deref(), Some("db-07"));
        assert_eq!(host("logs-{host}-*-*-*.txt", "logs-db-07-2026-11-28.txt").as_deref(), Some("db-07"));
        assert_eq!(host("*-{host}.txt", "a-b-c.txt").as_deref(), Some("b-c"));
        assert_eq!(host("{rack}-{host}.txt", "a-b-c.txt").as_deref(), Some("b-c"));
    }

    #[test]
    fn patterns_that_cannot_name_a_host_are_refused() {
        let refused = |text: &str| PathPattern::parse_with_host(text).expect_err(text);
        assert_eq!(refused("*/*"), PatternError::NoHost);
        assert_eq!(refused("{host}/{host}"), PatternError::TwoHosts);
        assert_eq!(refused("{host}-{host}"), PatternError::TwoHosts);
        assert_eq!(
            (refused(""), refused("/{host}"), refused("a//{host}")),
            (PatternError::EmptyName, PatternError::EmptyName, PatternError::EmptyName)
        );
        assert_eq!(refused("../{host}"), PatternError::Dots);
        assert_eq!(
            (refused("{host"), refused("host}"), refused("{}{host}")),
            (PatternError::Brace, PatternError::Brace, PatternError::Brace)
        );
        assert_eq!(refused(&"x".repeat(5000)), PatternError::TooLong);
    }

    #[test]
    fn a_pattern_covers_what_lies_below_a_folder_that_it_matches() {
        let covers = |pattern: &str, path: &str| PathPattern::parse(pattern).expect("parses").covers(&names(Path::new(path)));
        assert!(covers("scratch", "scratch/a/b") && covers("scratch/", "scratch/a") && covers("scratch/**", "scratch/a"));
        assert!(covers("*.bak", "x.bak") && !covers("*.bak", "a/x.bak") && covers("**/*.bak", "a/x.bak") && covers("**/*.bak", "x.bak"));
        assert!(!covers("scratch", "scratch2/a") && !covers("a/b", "a"));
        assert!(covers("a{1}", "a{1}"), "braces stand for themselves");
    }

    #[test]
    fn patterns_made_to_take_long_do_not() {
        let stars = format!("{}{{host}}b", "*a".repeat(500));
        assert_eq!(host(&stars, &"a".repeat(250)), None);
        let folders = format!("{}{{host}}/nowhere", "**/".repeat(60));
        assert_eq!(host(&folders, &"a/".repeat(60)), None);
    }
}
