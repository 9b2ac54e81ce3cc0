//! What `iotriage align` prints for people.

use iotriage_trace::align::{Moments, Point};

use super::{Found, Measured};
use crate::summary::thousands;
use crate::voice::printable;

/// All about one host.
pub(super) fn describe(found: &Found) -> String {
    let name = |i: usize| found.host.captures.get(i).map(|c| printable(&c.id)).unwrap_or_default();
    let mut text = format!("{}\n", printable(&found.host.name));
    for measured in &found.groups {
        text.push_str(&captures(found, measured));
        text.push_str(&clocks(found, measured));
        text.push_str(&times(measured));
    }
    for (i, other, why) in &found.alone {
        text.push_str(&format!("\n  {} cannot be aligned with {}: {}\n", name(*i), name(*other), printable(why)));
    }
    for (capture, sampled) in found.host.captures.iter().zip(&found.sampled) {
        if let Err(error) = sampled {
            text.push_str(&format!("\n  {} cannot be read: {}\n", printable(&capture.id), printable(&error.to_string())));
        }
    }
    text.push('\n');
    text
}

fn captures(found: &Found, measured: &Measured) -> String {
    let mut rows = vec![["", "log", "format", "clock", "I/Os", "seconds"].map(str::to_owned)];
    for (n, member) in measured.group.members.iter().enumerate() {
        let (Some(capture), Some(Ok(of))) = (found.host.captures.get(member.capture), found.sampled.get(member.capture)) else { continue };
        let (from, to) = of.sketch.span.unwrap_or((0, 0));
        rows.push([
            (n + 1).to_string(),
            printable(&capture.id),
            capture.format.clone(),
            of.clock.name().to_owned(),
            thousands(of.summary.rows),
            format!("{:.3}", to.saturating_sub(from) as f64 / 1e9),
        ]);
    }
    let mut text = format!("\n  The same I/Os in {} logs, {} in all\n", measured.group.members.len(), thousands(measured.joined));
    text.push_str(&columns(&rows, 4));
    for (name, number) in &measured.group.devices {
        text.push_str(&format!("    {} is {}\n", printable(&name.to_string()), printable(&number.to_string())));
    }
    text
}

fn clocks(found: &Found, measured: &Measured) -> String {
    let mut rows = vec![
        ["pair", "offset ns", "drift ppm", "matched", "of 1st", "of 2nd", "share", "residual sd ns", "farthest ns"].map(str::to_owned),
    ];
    for pair in measured.pairs(&found.sampled) {
        let a = &pair.agreement;
        rows.push([
            format!("{}-{}", pair.first + 1, pair.second + 1),
            signed(pair.map.offset_at(pair.middle)),
            format!("{:.3}", pair.map.drift_ppm()),
            thousands(a.matched),
            thousands(a.of_first),
            thousands(a.of_second),
            format!("{:.2} %", 100.0 * a.share()),
            thousands(a.residual.standard_deviation().round() as u64),
            signed(a.residual.farthest()),
        ]);
    }
    format!("\n  Clocks\n{}", columns(&rows, 1))
}

/// The usual times: between all points of each log, between those that no log has both of (a driver's log
/// beside one of the block layer, say), and how far logs put the same point apart.
fn times(measured: &Measured) -> String {
    let members = measured.group.members.len();
    let between = |from, to| measured.times.between(from, to);
    let mut rows = vec![["from", "to", "I/Os", "mean ns", "sd ns"].map(str::to_owned)];
    let mut add = |from: (Point, usize), to: (Point, usize), m: Moments| {
        let end = |(point, source): (Point, usize)| format!("{} {}", source + 1, point.name());
        let sd = thousands(m.standard_deviation().round() as u64);
        rows.push([end(from), end(to), thousands(m.count()), signed(m.mean().round() as i64), sd]);
    };
    let pairs = || Point::ALL.into_iter().enumerate().flat_map(|(i, from)| Point::ALL.into_iter().skip(i + 1).map(move |to| (from, to)));
    for source in 0..members {
        for (from, to) in pairs() {
            if let Some(m) = between((from, source), (to, source)) {
                add((from, source), (to, source), m);
            }
        }
    }
    for (from, to) in pairs().filter(|(from, to)| (0..members).all(|s| between((*from, s), (*to, s)).is_none())) {
        // The best logs come first.
        let mut logs = (0..members).flat_map(|first| (0..members).map(move |second| (first, second)));
        let seen = |(first, second): (usize, usize)| Some((first, second, between((from, first), (to, second))?));
        if let Some((first, second, m)) = logs.find_map(seen) {
            add((from, first), (to, second), m);
        }
    }
    for point in Point::ALL {
        for first in 0..members {
            for second in first + 1..members {
                if let Some(m) = between((point, first), (point, second)) {
                    add((point, first), (point, second), m);
                }
            }
        }
    }
    format!("\n  Times between points\n{}", columns(&rows, 2))
}

/// Rows as columns: the first `left` aligned to the left, the rest to the right.
fn columns<const N: usize>(rows: &[[String; N]], left: usize) -> String {
    let width = |i: usize| rows.iter().filter_map(|r| r.get(i)).map(|c| c.chars().count()).max().unwrap_or(0);
    let mut text = String::new();
    for row in rows {
        let mut line = String::from("   ");
        for (i, cell) in row.iter().enumerate() {
            let pad = " ".repeat(width(i) - cell.chars().count());
            line.push_str(&if i < left { format!(" {cell}{pad} ") } else { format!(" {pad}{cell} ") });
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

fn signed(n: i64) -> String {
    format!("{}{}", if n < 0 { "-" } else { "" }, thousands(n.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [["a", "10"], ["bcd", "7"]].map(|r| r.map(str::to_owned));
        assert_eq!(columns(&rows, 1), "    a    10\n    bcd   7\n");
        assert_eq!(signed(-1_234_567), "-1,234,567");
    }
}
