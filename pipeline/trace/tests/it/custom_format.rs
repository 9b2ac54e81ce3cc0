//! Custom formats of blkparse: what is printed by one is read back, and nothing makes one panic.

use std::fs;

use iotriage_trace::capture::{DiscoverOptions, discover_with};
use iotriage_trace::container::ByteCounter;
use iotriage_trace::event::{Action, BlockEvent, EventBatch};
use iotriage_trace::finding::ImportLedger;
use iotriage_trace::formats::Hints;
use iotriage_trace::formats::blkparse::CustomFormat;
use iotriage_trace::formats::rwbs::parse_rwbs;
use iotriage_trace::record::DeviceId;
use proptest::prelude::*;

/// What blkparse knows of an event.
#[derive(Debug, Clone)]
struct Printed {
    time: u64,
    action: Action,
    rwbs: &'static str,
    sector: u64,
    sectors: u32,
    device: DeviceId,
    cpu: u32,
    pid: u32,
    error: u16,
    comm: String,
}

/// Prints an event as blkparse(1) describes its specifiers; `printf` pads, and `%D` as it likes.
fn print(format: &str, event: &Printed) -> String {
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        let left = chars.next_if_eq(&'-').is_some();
        let mut width = String::new();
        while let Some(digit) = chars.next_if(char::is_ascii_digit) {
            width.push(digit);
        }
        let width: usize = width.parse().unwrap_or(0);
        let (second, nanosecond) = (event.time / 1_000_000_000, event.time % 1_000_000_000);
        let text = match chars.next().expect("a specifier") {
            'a' => event.action.letters().to_owned(),
            'c' => event.cpu.to_string(),
            'C' => event.comm.clone(),
            'd' => event.rwbs.to_owned(),
            'D' => {
                out.push_str(&format!("{:3},{:<3}", event.device.major, event.device.minor));
                continue;
            }
            'e' => event.error.to_string(),
            'g' => "1f,1".to_owned(),
            'M' => event.device.major.to_string(),
            'm' => event.device.minor.to_string(),
            'n' => event.sectors.to_string(),
            'N' => (u64::from(event.sectors) * 512).to_string(),
            'p' => event.pid.to_string(),
            'P' => "12 00 ..".to_owned(),
            's' => "7".to_owned(),
            'S' => event.sector.to_string(),
            't' => {
                let width = if width == 0 { 9 } else { width };
                out.push_str(&format!("{nanosecond:0width$}"));
                continue;
            }
            'T' => second.to_string(),
            'u' => "58".to_owned(),
            'U' => "3".to_owned(),
            other => panic!("not printed here: {other}"),
        };
        out.push_str(&if left { format!("{text:<width$}") } else { format!("{text:>width$}") });
    }
    out
}

const FORMATS: [&str; 8] = [
    "%D %2c %8s %5T.%9t %5p %2a %3d %S + %n [%C]",
    "%5T.%9t %2a %3d %S+%N e=%e [%C]",
    "%T.%t,%D,%a,%d,%S,%n,%p,%C",
    "%T%t %a %d %12S %-8n|%C| on %M:%m",
    "%-6a%-4d%T.%t s=%S n=%n (%P) <%C> %p",
    "%g %u %U %-3T.%t %a %d %-20S %N %e %-16C!",
    "%C: %a %d %S %n at %T.%t cpu%c",
    "%16C %a %d %S %n at %T.%t",
];

fn any_printed() -> impl Strategy<Value = Printed> {
    let actions = vec![Action::Queue, Action::Issue, Action::Complete, Action::Insert, Action::TimerUnplug, Action::Requeue];
    let rwbs = vec!["R", "RA", "WS", "FWFSM", "DS", "WZS", "FN", "ZAS"];
    let device = (0_u32..4096, 0_u32..1 << 20).prop_map(|(major, minor)| DeviceId { major, minor });
    // Brackets, commas and spaces inside, as threads have them, but nothing that a format has behind it.
    let comm = "[a-z][a-z0-9/:,\\[\\] ]{0,13}[a-z0-9\\]]";
    let numbers = (0..4_000_000_000_000_000_000_u64, any::<u64>(), 0_u32..8_000_000, 0_u32..4096, any::<u32>(), any::<u16>());
    (prop::sample::select(actions), prop::sample::select(rwbs), device, comm, numbers).prop_map(
        |(action, rwbs, device, comm, (time, sector, sectors, cpu, pid, error))| Printed {
            time,
            action,
            rwbs,
            sector,
            sectors,
            device,
            cpu,
            pid,
            error,
            comm,
        },
    )
}

/// The events of a text printed with a format, and how many of its lines could not be read.
fn read(format: &str, text: &str) -> (Vec<BlockEvent>, u64) {
    let place = tempfile::tempdir().expect("temporary directory");
    let path = place.path().join("custom.txt");
    fs::write(&path, text).expect("text is written");
    let hints = Hints { blkparse: Some(CustomFormat::parse(&[format.to_owned()]).unwrap_or_else(|e| panic!("{e}"))) };
    let Ok(found) = discover_with(&path, &DiscoverOptions { hints, ..DiscoverOptions::default() }) else {
        return (Vec::new(), text.lines().count() as u64);
    };
    let mut ledger = ImportLedger::new();
    let mut source = found.captures[0].open(&ByteCounter::new(), &mut ledger).expect("opens");
    let mut batch = EventBatch::default();
    while source.next_batch(&mut batch, &mut ledger) {}
    (batch.events, ledger.count("bad_field") + ledger.count("foreign_line"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_a_format_prints_is_read_back(format in prop::sample::select(FORMATS.to_vec()), printed in any_printed()) {
        let line = print(format, &printed);
        let (events, unread) = read(format, &line);
        prop_assert_eq!((events.len(), unread), (1, 0), "{}", line);
        let event = events[0];
        prop_assert_eq!((event.time as u64, event.action), (printed.time, printed.action), "{}", line);
        prop_assert_eq!(Some((event.op, event.flags)), parse_rwbs(printed.rwbs.as_bytes()));
        prop_assert_eq!((event.sector, event.bytes), (printed.sector, u64::from(printed.sectors) * 512), "{}", line);
        let has = |specifier| format.contains(specifier);
        if has("%D") || has("%M") {
            prop_assert_eq!(event.device, printed.device, "{}", line);
        }
        if has("p") {
            prop_assert_eq!(event.pid, if has("%5p") || has("%p") { printed.pid } else { 0 });
        }
        let error = if has("%e") && printed.action == Action::Complete { i32::from(printed.error as i16) } else { 0 };
        prop_assert_eq!(event.error, error);
    }

    #[test]
    fn a_damaged_line_is_read_or_reported(
        format in prop::sample::select(FORMATS.to_vec()),
        printed in prop::collection::vec(any_printed(), 1..6),
        damage in prop::collection::vec((any::<prop::sample::Index>(), "[ -~]"), 1..8),
    ) {
        let text: String = printed.iter().map(|p| print(format, p) + "\n").collect();
        let mut bytes = text.into_bytes();
        for (at, with) in damage {
            let at = at.index(bytes.len());
            if bytes[at] != b'\n' {
                bytes[at] = with.as_bytes()[0];
            }
        }
        let text = String::from_utf8(bytes).expect("is ASCII");
        let (events, unread) = read(format, &text);
        prop_assert_eq!(events.len() as u64 + unread, printed.len() as u64, "{}", text);
    }

    #[test]
    fn random_formats_and_lines_never_panic(format in "(%-?[0-9]{0,2}[a-zA-Z%]|\\\\[ntrbx]|[ ,:\\[\\]a-z0-9ä]){0,16}", line in "[ -~]{0,60}") {
        let parsed = CustomFormat::parse(&[format]);
        if let Ok(custom) = parsed {
            let hints = Hints { blkparse: Some(custom) };
            hints.sniff(line.as_bytes());
        }
    }
}
