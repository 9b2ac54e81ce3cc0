//! blktrace files made from a script, one record a line, so that binary fixtures can be read.
//!
//! ```text
//! file sda.blktrace.0                 # starts a file; `big` behind it: big-endian, `v8`: version 8
//! timestamp 1000 1700000000 500       # time, wall clock seconds and nanoseconds
//! process 2000 428 fio                # time, pid, name
//! message 2100 hello                  # time, text
//! 2500 Q RM 8:0 16968+8 pid 428 cpu 0 # time, action, RWBS, device, sector+sectors; then options
//! raw 00 ff                           # these bytes
//! cut 10                              # drops the last bytes of the file
//! version 8                           # overwrites the version in the file's first record
//! ```
//! Actions: blkparse's letters, `abort`, `drv`, those of version 8 `ZA`, `ZP`, `ZU`, `ZM`, or a number.
//! Options: `pid N`, `cpu N`, `seq N` (else counted per CPU from 1), `error N`, `pdu HEX...` (to the
//! line's end), `len N` (a payload length that is not true), `split N`, `pc` (passthrough), `bytes N`,
//! `cgroup` (a cgroup id before the payload; behind `split` and `pdu`). `message` takes `cgroup` first.
//!
//! Records of version 8 have all categories that the kernel sets; those of version 7 only what tells.

use std::collections::BTreeMap;

use iotriage_trace::formats::blktrace::record::{Header, Version};

/// The files of a script: names and contents.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

const NOTIFY: u64 = 0x400 << 16;
const CGROUP: u64 = 0x100;

fn number<T: std::str::FromStr>(text: Option<&str>, line: &str) -> T {
    text.and_then(|t| t.parse().ok()).unwrap_or_else(|| panic!("number missing in script line: {line}"))
}

fn hex<'a>(words: impl Iterator<Item = &'a str>) -> Vec<u8> {
    words.map(|w| u8::from_str_radix(w, 16).unwrap_or_else(|_| panic!("not hexadecimal: {w}"))).collect()
}

/// Category bits of an RWBS column, shifted as in the action field.
fn categories(rwbs: &str) -> u64 {
    const OPERATIONS: [(&str, u64); 11] = [
        ("ZRA", 0x2 | 1 << 18),
        ("ZA", 0x2 | 1 << 16),
        ("ZR", 0x2 | 1 << 17),
        ("ZF", 0x2 | 1 << 19),
        ("ZO", 0x2 | 1 << 20),
        ("ZC", 0x2 | 1 << 21),
        ("WZ", 0x2 | 1 << 22),
        ("R", 0x1),
        ("W", 0x2),
        ("D", 0x2002),
        ("N", 0),
    ];
    let (flush, rest) = rwbs.strip_prefix('F').map_or((0, rwbs), |rest| (0x4, rest));
    let (operation, modifiers) = OPERATIONS
        .iter()
        .find_map(|(letters, bits)| rest.strip_prefix(letters).map(|after| (*bits, after)))
        .unwrap_or_else(|| panic!("no operation in RWBS {rwbs}"));
    let modifier = |letter| match letter {
        'F' => 0x8000,
        'A' => 0x800,
        'S' => 0x8,
        'M' => 0x1000,
        other => panic!("unknown RWBS letter {other}"),
    };
    (flush | operation | modifiers.chars().map(modifier).fold(0, |a, b| a | b)) << 16
}

/// What the kernel adds in version 8: the direction that RWBS does not show, and the kind of event.
fn kernel_categories(letters: &str, bits: u64) -> u64 {
    let read = if bits & 0x2 << 16 == 0 { 0x1 } else { 0 };
    let kind = match letters {
        "D" => 0x40,
        "C" => 0x80,
        "R" => 0x20,
        "X" | "B" | "ZA" | "ZM" => 0,
        "drv" => 0x4000,
        _ => 0x10,
    };
    bits | (read | kind) << 16
}

fn event_number(letters: &str) -> u64 {
    if letters == "ZA" {
        return 8; // a completion by its number
    }
    ["Q", "M", "F", "G", "S", "R", "D", "C", "P", "U", "UT", "I", "X", "B", "A", "abort", "drv", "ZP", "ZU", "ZM"]
        .iter()
        .position(|l| *l == letters)
        .map_or_else(|| letters.parse().unwrap_or_else(|_| panic!("unknown action {letters}")), |i| i as u64 + 1)
}

/// Builds the files of a script.
pub(crate) fn build(script: &str) -> Files {
    build_with(script, false)
}

/// The same with every file in the other byte order.
pub(crate) fn build_with(script: &str, swap: bool) -> Files {
    let mut files = Files::new();
    let mut name = String::new();
    let mut big = swap;
    let mut version = Version::V7;
    let mut sequences: BTreeMap<(String, u32), u32> = BTreeMap::new();
    for line in script.lines() {
        let text = line.split('#').next().unwrap_or_default().trim();
        let mut words = text.split_whitespace();
        let Some(first) = words.next() else { continue };
        match first {
            "file" => {
                name = words.next().expect("a file name").to_owned();
                let options: Vec<&str> = words.collect();
                big = options.contains(&"big") != swap;
                version = if options.contains(&"v8") { Version::V8 } else { Version::V7 };
                files.entry(name.clone()).or_default();
                continue;
            }
            "raw" => {
                files.entry(name.clone()).or_default().extend(hex(words));
                continue;
            }
            "cut" => {
                let bytes = files.entry(name.clone()).or_default();
                let cut: usize = number(words.next(), line);
                bytes.truncate(bytes.len().saturating_sub(cut));
                continue;
            }
            "version" => {
                let version = number(words.next(), line);
                files.entry(name.clone()).or_default()[if big { 3 } else { 0 }] = version;
                continue;
            }
            _ => {}
        }
        let mut header =
            Header { version, sequence: 0, time: 0, sector: 0, bytes: 0, action: 0, pid: 0, device: 8 << 20, cpu: 0, error: 0, pdu_len: 0 };
        let mut pdu = Vec::new();
        let mut length = None;
        match first {
            "timestamp" => {
                header.time = number(words.next(), line);
                header.action = NOTIFY | 1;
                for _ in 0..2 {
                    let word: u32 = number(words.next(), line);
                    pdu.extend(if big { word.to_be_bytes() } else { word.to_le_bytes() });
                }
            }
            "process" => {
                header.time = number(words.next(), line);
                header.pid = number(words.next(), line);
                header.action = NOTIFY;
                pdu = words.collect::<Vec<_>>().join(" ").into_bytes();
                pdu.resize(16, 0);
            }
            "message" => {
                header.time = number(words.next(), line);
                header.action = NOTIFY | 2;
                let mut text: Vec<&str> = words.collect();
                if text.first() == Some(&"cgroup") {
                    text.remove(0);
                    header.action |= CGROUP;
                    pdu.extend(77_u64.to_le_bytes());
                }
                pdu.extend(text.join(" ").into_bytes());
            }
            _ => {
                header.time = first.parse().unwrap_or_else(|_| panic!("unknown script line: {line}"));
                let letters = words.next().expect("an action");
                header.action = event_number(letters) | categories(words.next().expect("RWBS"));
                if version == Version::V8 {
                    header.action = kernel_categories(letters, header.action);
                }
                let device = words.next().expect("a device").split_once(':').expect("major:minor");
                header.device = number::<u32>(Some(device.0), line) << 20 | number::<u32>(Some(device.1), line);
                let extent = words.next().expect("an extent").split_once('+').expect("sector+sectors");
                header.sector = number(Some(extent.0), line);
                header.bytes = number::<u32>(Some(extent.1), line) * 512;
                let mut sequence = None;
                while let Some(option) = words.next() {
                    match option {
                        "pid" => header.pid = number(words.next(), line),
                        "cpu" => header.cpu = number(words.next(), line),
                        "seq" => sequence = Some(number(words.next(), line)),
                        "error" => header.error = number::<i32>(words.next(), line) as u16,
                        "len" => length = Some(number(words.next(), line)),
                        "bytes" => header.bytes = number(words.next(), line),
                        "cgroup" => {
                            header.action |= CGROUP;
                            pdu.splice(..0, 77_u64.to_le_bytes());
                        }
                        "pc" => header.action |= 0x200 << 16,
                        "split" => pdu = number::<u64>(words.next(), line).to_be_bytes().to_vec(),
                        "pdu" => pdu = hex(words.by_ref()),
                        other => panic!("unknown option {other} in: {line}"),
                    }
                }
                let counted = sequences.entry((name.clone(), header.cpu)).or_insert(0);
                *counted = sequence.unwrap_or_else(|| counted.wrapping_add(1));
                header.sequence = *counted;
            }
        }
        header.pdu_len = length.unwrap_or(pdu.len() as u16);
        let mut encoded = header.encode(big);
        if version == Version::V8 {
            // The kernel leaves the padding as it was.
            encoded[52..].fill(0xee);
        }
        let bytes = files.entry(name.clone()).or_default();
        bytes.extend(encoded);
        bytes.extend(pdu);
    }
    files
}
