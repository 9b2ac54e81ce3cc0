//! `iotriage.toml`, the environment, `--dry-run`, structured logs, the closing line, generated pages.

use std::fs;
use std::process::Command;

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;
use serde_json::Value;

use crate::program::{Ran, files, iotriage, iotriage_with, run};

/// Runs in the folder `at`.
fn iotriage_in(at: &std::path::Path, args: &[&str], environment: &[(&str, &str)]) -> Ran {
    let output =
        Command::new(env!("CARGO_BIN_EXE_iotriage")).args(args).envs(environment.iter().copied()).current_dir(at).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { code: output.status.code().unwrap_or(-1), out: text(output.stdout), err: text(output.stderr) }
}

#[test]
fn file_then_environment_then_flags() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    let job = tempfile::tempdir().unwrap();
    let file = job.path().join("iotriage.toml");
    fs::write(&file, format!("archive = {:?}\noutput = \"out\"\nwindow = \"4s\"\nexplain = true\n", archive.path())).unwrap();
    let window = |ran: &Ran| {
        assert_eq!(ran.code, 0, "{}", ran.err);
        let manifest = files(&job.path().join("out")).into_iter().find(|(name, _)| name.starts_with("manifests/features")).unwrap().1;
        serde_json::from_slice::<Value>(&manifest).unwrap()["parameters"]["window_ns"].as_str().unwrap().to_owned()
    };
    // A file of that name in the current folder is read.
    let ran = iotriage_in(job.path(), &["run"], &[]);
    assert_eq!(window(&ran), "4000000000");
    assert!(ran.err.contains("runs because"), "explain = true: {}", ran.err);
    let elsewhere = tempfile::tempdir().unwrap();
    let named = ["run", "--config", file.to_str().unwrap()];
    assert_eq!(window(&iotriage_in(elsewhere.path(), &named, &[("IOTRIAGE_WINDOW", "2s")])), "2000000000");
    let flags = iotriage_in(
        elsewhere.path(),
        &["run", "--window", "1s", "--explain=false"],
        &[("IOTRIAGE_WINDOW", "2s"), ("IOTRIAGE_CONFIG", named[2])],
    );
    assert_eq!(window(&flags), "1000000000");
    assert!(!flags.err.contains("runs because"), "{}", flags.err);
    let off = iotriage_in(job.path(), &["run"], &[("IOTRIAGE_EXPLAIN", "false")]);
    assert!(!off.err.contains("runs because"), "{}", off.err);

    fs::write(&file, "windw = \"4s\"\n").unwrap();
    let wrong = iotriage_in(job.path(), &["run", "x", "-o", "out"], &[]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.err.contains("iotriage.toml: unknown option `windw`; did you mean `window`?"), "{}", wrong.err);
    // It concerns jobs only.
    assert_eq!(iotriage_in(job.path(), &["model", "show"], &[]).code, 0);
    fs::write(&file, "model = \"no.model\"\n").unwrap();
    let both = iotriage_in(job.path(), &["run", "x", "-o", "out", "--clusters", "3"], &[]);
    assert!(both.code == 2 && both.err.contains("--clusters does not go with the model"), "{}", both.err);
    let missing = iotriage(&["run", "x", "-o", "y", "--config", "/nonexistent.toml"]);
    assert!(missing.code == 2 && missing.err.contains("/nonexistent.toml: cannot be read"), "{}", missing.err);
}

#[test]
fn a_file_of_options_in_the_archive_is_not_followed() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    fs::write(archive.path().join("iotriage.toml"), "output = \"/nonexistent/by/hostile/archive\"\n").unwrap();
    let ran = iotriage_in(archive.path(), &["run", "."], &[]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("lies in the archive"), "{}", ran.err);
}

#[test]
fn a_dry_run_says_what_would_run_and_why_and_writes_nothing() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation", "fail_slow_media"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("out");
    let (from, to) = (archive.path().to_str().unwrap(), folder.to_str().unwrap());
    let dry = |more: &[&str]| {
        let ran = iotriage(&[&["run", from, "-o", to, "--window", "1s", "--dry-run"], more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        ran.out
    };
    let first = dry(&[]);
    assert!(!folder.exists());
    assert!(first.contains("ingest: 3 would run, 0 fresh"), "{first}");
    for stage in ["features", "reduce", "cluster", "report"] {
        assert!(first.lines().any(|l| l.starts_with(stage) && l.contains("would run, unless")), "{stage}: {first}");
    }
    run(archive.path(), &folder, &[]);
    let before = files(&folder);
    let fresh = dry(&[]);
    for stage in ["ingest", "features", "reduce", "cluster", "report"] {
        assert!(fresh.contains(&format!("{stage}: 0 would run")), "{stage}: {fresh}");
    }
    let grey = dry(&["--palette", "grey"]);
    assert!(grey.contains("cluster: 0 would run") && grey.contains("report all: would run because parameter palette changed"), "{grey}");
    fs::remove_dir_all(archive.path().join("fail_slow_media")).unwrap();
    let gone = dry(&[]);
    assert!(gone.lines().any(|l| l.starts_with("ingest fail_slow_media") && l.contains("would be removed")), "{gone}");
    // The metrics too: `files` leaves them out.
    assert!(files(&folder) == before);
}

#[test]
fn structured_logs_name_the_run_and_end_with_its_status() {
    let archive = of_scenarios(&lab_a(), &["queue_saturation"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let lines = |ran: &Ran| ran.err.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()).collect::<Vec<_>>();
    let log = lines(&run(archive.path(), out.path(), &["--log-format", "json"]));
    let id = log[0]["run"].as_str().unwrap();
    assert!(log.iter().all(|l| l["run"] == id && l["time"].as_str().unwrap().ends_with('Z')), "{log:?}");
    assert_eq!((log[0]["event"].as_str(), log[log.len() - 1]["event"].as_str()), (Some("start"), Some("end")));
    assert_eq!(log[log.len() - 1]["exit_status"], 0);
    let failed = iotriage(&["run", "/nonexistent", "-o", out.path().to_str().unwrap(), "--log-format", "json"]);
    let log = lines(&failed);
    assert_ne!(log[0]["run"], id, "another run, another name");
    assert_eq!(log[log.len() - 2]["exit_status"], 2);
    assert_eq!(log[log.len() - 1]["event"], "error");
}

#[test]
fn the_last_line_says_it_all_and_a_quiet_run_speaks_only_of_trouble() {
    let archive = of_scenarios(&lab_a(), &["fail_slow_media"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let ran = run(archive.path(), out.path(), &[]);
    let last = ran.out.lines().last().unwrap();
    assert!(
        last.starts_with("iotriage: ok (exit 0): ") && last.contains(" fail-slow device") && last.ends_with("report/index.html"),
        "{last}"
    );
    let quiet = run(archive.path(), out.path(), &["-q"]);
    assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("", ""));
    let file = files(archive.path()).into_keys().find(|name| name.to_string_lossy().contains("blktrace.0")).unwrap();
    let path = archive.path().join(file);
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let lossy = run(archive.path(), out.path(), &["-q"]);
    assert_eq!((lossy.code, lossy.out.as_str()), (1, ""));
    assert!(lossy.err.starts_with("iotriage: input was lost (exit 1): ") && lossy.err.lines().count() == 1, "{}", lossy.err);
}

#[test]
fn manual_pages_and_completions_are_of_every_command() {
    let out = tempfile::tempdir().unwrap();
    assert_eq!(iotriage(&["man", out.path().to_str().unwrap()]).code, 0);
    let page = fs::read_to_string(out.path().join("iotriage-run.1")).unwrap();
    assert!(page.contains("\\-\\-fail\\-on") && !page.contains("abort"), "{page}");
    for command in ["fit", "inspect", "align", "model", "compare", "explain"] {
        assert!(out.path().join(format!("iotriage-{command}.1")).is_file(), "{command}");
    }
    for shell in ["bash", "zsh", "fish"] {
        let ran = iotriage_with(&["completions", shell], &[]);
        assert!(ran.code == 0 && ran.out.contains("fail-on") && !ran.out.contains("abort-at"), "{shell}");
    }
    let bash = out.path().join("iotriage.bash");
    fs::write(&bash, iotriage(&["completions", "bash"]).out).unwrap();
    assert!(Command::new("bash").arg("-n").arg(&bash).status().unwrap().success());
}
