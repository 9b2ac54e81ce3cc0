//! The rows of a run: the clustered windows of its `windows.csv`.

use ndarray::Array2;

/// The twelve features, as `windows.csv` names them.
const NAMES: [&str; 12] = [
    "latency_level",
    "latency_kurtosis",
    "latency_tail",
    "throughput_level",
    "throughput_entropy",
    "queue_level",
    "queue_jump_rate",
    "scheduler_wait_share",
    "arrival_burstiness",
    "reaccess_share",
    "sequentiality",
    "control_share",
];

/// The cells of a line; a comma between quotes parts none.
fn cells(line: &str) -> Vec<&str> {
    let mut quoted = false;
    let parts = |c: char| {
        quoted ^= c == '"';
        c == ',' && !quoted
    };
    line.split(parts).collect()
}

/// The windows with a cluster on the wall clock (those a model is fitted on) in `text`, a
/// `windows.csv`, and the number of each one's host.
#[allow(dead_code, reason = "each example uses some of it")]
pub(crate) fn clustered_windows(text: &str) -> Result<(Array2<f64>, Vec<usize>), Box<dyn std::error::Error>> {
    let mut lines = text.lines();
    let header: Vec<&str> = cells(lines.next().unwrap_or(""));
    let place = |name: &str| header.iter().position(|h| *h == name).ok_or_else(|| format!("no column {name}"));
    let features = NAMES.iter().map(|name| place(name)).collect::<Result<Vec<_>, _>>()?;
    let (host, cluster, clock) = (place("host")?, place("cluster")?, place("clock")?);
    let (mut values, mut hosts, mut row_hosts) = (Vec::new(), Vec::<String>::new(), Vec::new());
    for line in lines {
        let cells = cells(line);
        if cells.get(cluster).is_none_or(|c| c.is_empty()) || cells.get(clock) != Some(&"unix") {
            continue;
        }
        for &feature in &features {
            values.push(cells.get(feature).ok_or("a line is too short")?.parse::<f64>()?);
        }
        let known = hosts.iter().position(|h| h == cells[host]);
        row_hosts.push(known.unwrap_or(hosts.len()));
        if known.is_none() {
            hosts.push(cells[host].to_owned());
        }
    }
    if row_hosts.is_empty() {
        return Err("no window of the file has a cluster and the wall clock".into());
    }
    Ok((Array2::from_shape_vec((row_hosts.len(), features.len()), values)?, row_hosts))
}
