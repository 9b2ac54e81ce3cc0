//! Which files are one capture: blktrace leaves a file per CPU, `NAME.blktrace.N`.

/// The name of a file of a per-CPU set, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuFileName<'a> {
    /// What the set is called.
    pub(super) set: &'a [u8],
    /// The CPU.
    pub(super) cpu: u32,
    /// Whether the name ends like that of a packed file.
    pub(super) packed: bool,
}

impl<'a> CpuFileName<'a> {
    /// Takes `NAME.blktrace.N`, the ending of a packed file stripped, apart; `None` for other names.
    pub(super) fn parse(name: &'a [u8]) -> Option<Self> {
        let plain = [&b".gz"[..], b".zst", b".xz", b".bz2"].into_iter().find_map(|ending| name.strip_suffix(ending));
        let packed = plain.is_some();
        let name = plain.unwrap_or(name);
        let dot = name.iter().rposition(|b| *b == b'.')?;
        let (rest, number) = name.split_at_checked(dot)?;
        let digits = number.strip_prefix(b".")?;
        if digits.is_empty() || digits.len() > 6 || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let cpu = digits.iter().fold(0, |n, d| n * 10 + u32::from(d - b'0'));
        Some(Self { set: rest.strip_suffix(b".blktrace")?, cpu, packed })
    }
}

/// The numbers missing between 0 and the largest of `cpus`, which are sorted.
pub(super) fn missing_numbers(cpus: &[u32]) -> Vec<u32> {
    let last = cpus.last().copied().unwrap_or(0);
    (0..last).filter(|cpu| cpus.binary_search(cpu).is_err()).collect()
}

/// `0-3,5,7-9`
pub(super) fn ranges(numbers: &[u32]) -> String {
    let mut out = String::new();
    let mut rest = numbers.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while rest.peek() == Some(&(last + 1)) {
            last += 1;
            rest.next();
        }
        if !out.is_empty() {
            out.push(',');
        }
        out.push_str(&first.to_string());
        if last > first {
            out.push_str(&format!("-{last}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_per_cpu_files_are_taken_apart() {
        let name = |n: &'static str| CpuFileName::parse(n.as_bytes()).map(|f| (String::from_utf8_lossy(f.set), f.cpu, f.packed));
        assert_eq!(name("sda.blktrace.12"), Some(("sda".into(), 12, false)));
        assert_eq!(name("my.disk.blktrace.0.zst"), Some(("my.disk".into(), 0, true)));
        for packed in ["sda.blktrace.1.gz", "sda.blktrace.1.zst", "sda.blktrace.1.xz", "sda.blktrace.1.bz2"] {
            assert_eq!(name(packed), Some(("sda".into(), 1, true)), "{packed}");
        }
        for other in ["sda.blktrace", "sda.blktrace.x", "sda.blktrace.9999999", "sda.1", "dump.bin", "sda.blktrace."] {
            assert_eq!(name(other), None, "{other}");
        }
    }

    #[test]
    fn missing_numbers_are_printed_as_ranges() {
        assert_eq!(ranges(&missing_numbers(&[4, 22, 24])), "0-3,5-21,23");
        assert_eq!(ranges(&missing_numbers(&[0, 1, 2])), "");
        assert_eq!(ranges(&[33]), "33");
    }
}
