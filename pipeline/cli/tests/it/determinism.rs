//! Same input and parameters, same bytes.

use iotriage_fixtures::archive::of_scenarios;
use iotriage_fixtures::lab_a;

use crate::program::{assert_same_files, iotriage_with};

#[test]
fn one_thread_and_two_threads_in_two_folders_give_the_same_bytes() {
    let archive = of_scenarios(&lab_a(), &["fail_slow_media", "flush_stall", "healthy_mixed", "metadata_storm"]).unwrap();
    let out = tempfile::tempdir().unwrap();
    let [one, two] = ["one", "two"].map(|n| out.path().join(n));
    for (folder, threads) in [(&one, "1"), (&two, "2")] {
        let args = ["run", archive.path().to_str().unwrap(), "-o", folder.to_str().unwrap(), "--window", "1s", "--threads", threads];
        let ran = iotriage_with(&args, &[("POLARS_MAX_THREADS", threads)]);
        assert_eq!(ran.code, 0, "{}", ran.err);
    }
    assert_same_files(&one, &two);
}
