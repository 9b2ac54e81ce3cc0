//! Killed in every stage, at every step of publishing and at any time: the same command again gives the
//! same bytes as a run that nobody disturbed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use iotriage_fixtures::archive::{TempArchive, of_scenarios};
use iotriage_fixtures::lab_a;
use tempfile::TempDir;

use crate::program::{copy, differences, files, iotriage, run};

const STAGES: [&str; 5] = ["ingest", "features", "reduce", "cluster", "report"];
const STEPS: [&str; 7] = ["begun", "staged", "listed", "withdrawn", "first-renamed", "renamed", "published"];

/// An archive, what an undisturbed run makes of it, and what is killed on the way there.
struct Bench {
    archive: TempArchive,
    folder: TempDir,
    took: Duration,
    /// Kills by what was under way.
    kills: BTreeMap<String, u32>,
    mismatches: Vec<String>,
}

impl Bench {
    fn new() -> Self {
        let archive = of_scenarios(&lab_a(), &["queue_saturation", "fail_slow_media"]).unwrap();
        let folder = tempfile::tempdir().unwrap();
        // An older night: another window, one capture that has left since and one that has come since. So
        // there are old manifests, outputs that are no longer made, and things to prune.
        let older = of_scenarios(&lab_a(), &["queue_saturation", "burst_stall"]).unwrap();
        let (from, to) = (older.path().to_str().unwrap().to_owned(), folder.path().join("older").to_str().unwrap().to_owned());
        let ran = iotriage(&["run", &from, "-o", &to, "--window", "2s", "--palette", "grey"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let begun = Instant::now();
        run(archive.path(), &folder.path().join("whole"), &[]);
        Self { archive, took: begun.elapsed(), folder, kills: BTreeMap::new(), mismatches: Vec::new() }
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    /// The output folder as a run finds it: empty or of an older night.
    fn reset(&self, older: bool) {
        let _ = fs::remove_dir_all(self.out());
        if older {
            copy(&self.folder.path().join("older"), &self.out());
        }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_iotriage"));
        command.arg("run").arg(self.archive.path()).arg("-o").arg(self.out()).args(["--window", "1s", "--log-format", "json"]);
        command.stdout(Stdio::null());
        command
    }

    /// Runs until it dies at `point`.
    fn abort_at(&mut self, point: &str) {
        let status = self.command().args(["--abort-at", point]).stderr(Stdio::null()).status().unwrap();
        assert_eq!(status.code(), None, "{point} was not reached");
        *self.kills.entry(point.rsplit_once(':').map_or(point, |(p, _)| p).to_owned()).or_default() += 1;
    }

    /// Runs for `time` and kills what then still runs; says whether it did.
    fn kill_after(&mut self, time: Duration) -> bool {
        let log = self.folder.path().join("log");
        let mut child = self.command().stderr(File::create(&log).unwrap()).spawn().unwrap();
        std::thread::sleep(time);
        child.kill().unwrap();
        let killed = child.wait().unwrap().code().is_none();
        if killed {
            let log = fs::read_to_string(&log).unwrap();
            let under_way = log
                .lines()
                .rev()
                .find_map(|line| serde_json::from_str::<serde_json::Value>(line).ok()?["stage"].as_str().map(str::to_owned));
            *self.kills.entry(format!("{} at random", under_way.as_deref().unwrap_or("before ingest"))).or_default() += 1;
        }
        killed
    }

    /// The same command again, undisturbed.
    fn finish(&mut self, what: &str) {
        run(self.archive.path(), &self.out(), &["-q"]);
        let differences = differences(&self.folder.path().join("whole"), &self.out());
        if !differences.is_empty() {
            self.mismatches.push(format!("{what}: {differences:?}"));
        }
    }

    /// Kills `n` runs at random times; every few kills the run is let through and looked at.
    fn at_random(&mut self, n: u32, seed: u64) {
        let mut state = seed;
        let mut random = move |below: u64| {
            // Knuth's MMIX generator; the high bits are the random ones.
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let (mut killed, mut times) = (0, Vec::new());
        while killed < n {
            if times.is_empty() {
                self.reset(random(2) == 1);
            }
            let time = Duration::from_micros(random(self.took.as_micros() as u64));
            killed += u32::from(self.kill_after(time));
            times.push(time);
            if killed == n || times.len() as u64 > random(4) {
                self.finish(&format!("killed after {times:?}"));
                times.clear();
            }
        }
    }

    fn report(&self) {
        let total: u32 = self.kills.values().sum();
        for (point, kills) in &self.kills {
            eprintln!("{kills:>5}  {point}");
        }
        eprintln!("kills: {total}, mismatches: {}", self.mismatches.len());
        assert!(self.mismatches.is_empty(), "{:#?}", self.mismatches);
    }
}

#[test]
fn killed_at_any_step_the_same_command_gives_the_same_bytes() {
    let mut bench = Bench::new();
    // Two captures: the second in the older folder is new, the first is there in another form.
    for stage in STAGES {
        for step in STEPS {
            bench.reset(true);
            let point = format!("{stage}:{step}:1");
            bench.abort_at(&point);
            bench.finish(&point);
        }
    }
    bench.at_random(6, 1);
    bench.report();
}

/// At least 200 kills: `cargo test --release -p iotriage --test it -- --ignored --nocapture hundreds`.
/// `KILLS` and `SEED` in the environment change the number of those at random times.
#[test]
#[ignore = "takes minutes"]
fn hundreds_of_kills_leave_no_mismatch() {
    let number = |name: &str, usual| std::env::var(name).ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let mut bench = Bench::new();
    for older in [false, true] {
        for stage in STAGES {
            let times = if ["ingest", "features"].contains(&stage) { 2 } else { 1 };
            for (step, time) in STEPS.iter().flat_map(|step| (1..=times).map(move |time| (step, time))) {
                bench.reset(older);
                let point = format!("{stage}:{step}:{time}");
                bench.abort_at(&point);
                bench.finish(&format!("{point}, older results: {older}"));
            }
        }
    }
    bench.at_random(number("KILLS", 200) as u32, number("SEED", 7));
    bench.report();
}

#[test]
fn what_a_killed_run_put_there_leaves_with_its_capture() {
    for step in ["listed", "first-renamed", "renamed", "published"] {
        let archive = of_scenarios(&lab_a(), &["queue_saturation", "fail_slow_media"]).unwrap();
        let out = tempfile::tempdir().unwrap();
        let (killed, clean) = (out.path().join("killed"), out.path().join("clean"));
        // Partitions are archive:, fail_slow_media and queue_saturation, on one thread in this order.
        let args = ["run", archive.path().to_str().unwrap(), "-o", killed.to_str().unwrap(), "--window", "1s", "--threads", "1"];
        let ran = iotriage(&[&args[..], &["--abort-at", &format!("ingest:{step}:2")]].concat());
        assert_eq!(ran.code, -1, "{step} was not reached: {}", ran.err);
        fs::remove_dir_all(archive.path().join("fail_slow_media")).unwrap();
        run(archive.path(), &killed, &[]);
        run(archive.path(), &clean, &[]);
        assert_eq!(differences(&killed, &clean), Vec::<PathBuf>::new(), "killed when {step}");
    }
}

#[test]
fn a_killed_runs_lock_is_taken_over_and_a_living_ones_names_it() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let args = ["run", archive.path().to_str().unwrap(), "-o", out.path().to_str().unwrap(), "--window", "1s"];
    let ran = iotriage(&[&args[..], &["--abort-at", "features:renamed"]].concat());
    assert_eq!(ran.code, -1, "{}", ran.err);
    let record: serde_json::Value = serde_json::from_slice(&fs::read(out.path().join(".lock")).unwrap()).unwrap();
    let dead = format!("process {} on {}", record["pid"], record["host"].as_str().unwrap());

    // The same folder, held by a process that lives: this one.
    let holder = r#"{"host":"db-07","pid":4711,"since":"2026-11-30T03:00:00Z"}"#;
    let lock = File::options().read(true).write(true).open(out.path().join(".lock")).unwrap();
    lock.lock().unwrap();
    let dead_record = fs::read(out.path().join(".lock")).unwrap();
    fs::write(out.path().join(".lock"), holder).unwrap();
    let before = files(out.path());
    let busy = iotriage(&args);
    assert_eq!(busy.code, 2);
    assert!(busy.err.contains("another run is writing to this folder: process 4711 on db-07 since 2026-11-30T03:00:00Z"), "{}", busy.err);
    assert!(files(out.path()) == before, "a refused run changes nothing");
    fs::write(out.path().join(".lock"), dead_record).unwrap();
    drop(lock);

    let over = iotriage(&args);
    assert_eq!(over.code, 0, "{}", over.err);
    assert!(over.err.contains(&dead) && over.err.contains("ended without giving the folder back"), "{}", over.err);
    assert_eq!(fs::read(out.path().join(".lock")).unwrap(), b"", "given back");
    assert!(!iotriage(&args).err.contains("ended without"), "said once");
}
