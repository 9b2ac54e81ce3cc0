//! Integration tests of `iotriage-trace`: whole captures from files to rows and findings.
//!
//! | module | what it holds |
//! |---|---|
//! | `script` | blktrace files made from a readable script |
//! | `dump` | rows and findings as text |
//! | `golden` | every input below `fixtures/ok` and `fixtures/bad` against its `.expected` |
//! | `accounting` | each line or record is an event, a comment or a finding; shared with the fuzz targets |
//! | `archive` | directories, links, special files, ids |
//! | `mutations` | damaged inputs of every format against `accounting` |
//! | `properties` | random bytes and random damage |
//! | `blkparse` | event counts against blkparse's own |
//! | `btt` | the phases of requests against btt's own |
//! | `collect` | the capture kit with stubs for tracers |
//! | `tracepoints` | ftrace and perf texts against a blktrace of the same I/Os |
//! | `public_samples` | real captures that are not part of the project, where present |

#![allow(clippy::print_stderr)]

mod accounting;
mod archive;
mod blkparse;
mod btt;
mod collect;
mod dump;
mod golden;
mod mutations;
mod properties;
mod public_samples;
mod script;
mod tracepoints;

use std::path::{Path, PathBuf};

/// The project's `fixtures/`.
fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

/// A path of the shared material beside the project, `None` with a note where it is absent.
fn shared(relative: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared").join(relative);
    if path.exists() {
        return Some(path);
    }
    eprintln!("skipped: {} is not there", path.display());
    None
}
