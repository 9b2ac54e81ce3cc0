//! [`Lookahead`]: bytes read ahead, so that the end of the input is known before a decoder comes to it.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::damage::again;

/// Bytes known ahead: more than the xz decoder takes in at once, which is an LZMA2 chunk of at most 64 KiB
/// with its header.
const AHEAD_BYTES: usize = 72 * 1024;
const BUFFER_BYTES: usize = AHEAD_BYTES + 32 * 1024;

/// Whether the end of an input was seen ahead; shared with the decoder that owns the input.
#[derive(Debug, Clone, Default)]
pub(super) struct EndAhead(Arc<AtomicBool>);

impl EndAhead {
    pub(super) fn is_seen(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Gives what `reader` gives, some time after it was read.
pub(super) struct Lookahead<R> {
    reader: R,
    buf: Box<[u8]>,
    pos: usize,
    filled: usize,
    /// The input ended, or failed: its error follows what came before.
    ended: bool,
    error: Option<io::Error>,
    end_ahead: EndAhead,
}

impl<R: Read> Lookahead<R> {
    /// Reads ahead from the start, so that the end of a short input is seen at once.
    pub(super) fn new(reader: R) -> Self {
        let buf = vec![0; BUFFER_BYTES].into_boxed_slice();
        let mut ahead = Self { reader, buf, pos: 0, filled: 0, ended: false, error: None, end_ahead: EndAhead::default() };
        ahead.fill();
        ahead
    }

    pub(super) fn end_ahead(&self) -> EndAhead {
        self.end_ahead.clone()
    }

    fn fill(&mut self) {
        if self.ended || self.filled - self.pos >= AHEAD_BYTES {
            return;
        }
        self.buf.copy_within(self.pos..self.filled, 0);
        (self.pos, self.filled) = (0, self.filled - self.pos);
        while !self.ended && self.filled < BUFFER_BYTES {
            match self.reader.read(self.buf.get_mut(self.filled..).unwrap_or_default()) {
                Ok(0) => self.ended = true,
                Ok(n) => self.filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => (self.ended, self.error) = (true, Some(e)),
            }
        }
        if self.ended {
            self.end_ahead.0.store(true, Ordering::Relaxed);
        }
    }
}

impl<R: Read> Read for Lookahead<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.fill();
        let mut ready = self.buf.get(self.pos..self.filled).unwrap_or_default();
        match &self.error {
            Some(error) if ready.is_empty() && !buf.is_empty() => Err(again(error)),
            _ => {
                let n = ready.read(buf)?;
                self.pos += n;
                Ok(n)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives three bytes less than it could, then an error.
    struct Stingy<'a>(&'a [u8]);

    impl Read for Stingy<'_> {
        fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Err(io::Error::other("broken"));
            }
            let most = buf.len().saturating_sub(3).max(1).min(buf.len());
            self.0.read(buf.get_mut(..most).unwrap_or_default())
        }
    }

    #[test]
    fn the_end_is_seen_while_enough_is_left_and_errors_come_behind_all_bytes() {
        let bytes: Vec<u8> = (0..1_000_000_u32).map(|i| (i % 251) as u8).collect();
        let mut ahead = Lookahead::new(Stingy(&bytes));
        let end = ahead.end_ahead();
        let (mut out, mut left_when_seen): (Vec<u8>, Option<usize>) = (Vec::new(), None);
        let mut piece = [0; 7001];
        let error = loop {
            if end.is_seen() && left_when_seen.is_none() {
                left_when_seen = Some(bytes.len() - out.len());
            }
            match ahead.read(&mut piece) {
                Ok(n) => out.extend_from_slice(&piece[..n]),
                Err(error) => break error,
            }
        };
        assert!(out == bytes);
        let left = left_when_seen.expect("is seen");
        assert!((AHEAD_BYTES - piece.len()..=BUFFER_BYTES).contains(&left), "{left}");
        assert_eq!((error.to_string().as_str(), ahead.read(&mut piece).is_err()), ("broken", true));
        assert!(Lookahead::new(&b"short"[..]).end_ahead().is_seen());
    }
}
