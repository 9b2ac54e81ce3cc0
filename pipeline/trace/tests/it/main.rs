//! Integration tests of `iotriage-trace`: whole captures from files to rows and findings.
//!
//! | module | what it holds |
//! |---|---|
//! | `align` | clocks of captures of the same I/Os |
//! | `joined_logs` | such captures joined: recordings, tables, logs of a driver |
//! | `script` | blktrace files made from a readable script |
//! | `dump` | rows and findings as text |
//! | `driver` | commands of a driver and the requests that they are part of |
//! | `golden` | every input below `fixtures/ok` and `fixtures/bad` against its `.expected` |
//! | `accounting` | each line or record is an event, a comment or a finding; shared with the fuzz targets |
//! | `archive` | directories, links, special files, ids |
//! | `one_request` | one I/O as five tools log it |
//! | `traps` | the list of traps against the inputs and tests that it names |
//! | `custom_format` | custom formats of blkparse, printed and read back |
//! | `described` | `archive.toml`, hosts, strict reading |
//! | `pieces` | rotated logs |
//! | `twins` | captures that are there twice |
//! | `containers` | packed files and tars: what is read, where it is cut, what is refused |
//! | `in_tars` | pieces, copies and descriptions in tars |
//! | `hostile_containers` | random bytes and random damage of containers |
//! | `packing` | packs bytes and makes tars for them |
//! | `properties` | random bytes and random damage of logs |
//! | `mutations` | damaged inputs of every format against `accounting` |
//! | `blkparse` | event counts against blkparse's own |
//! | `btt` | the phases of requests against btt's own |
//! | `collect` | the capture kit with stubs for tracers |
//! | `tracepoints` | ftrace and perf texts against a blktrace of the same I/Os |
//! | `sample_table` | every public sample of the blktrace family: read, and every line accounted for |
//! | `public_samples` | real captures that are not part of the project, where present |

#![allow(clippy::print_stderr)]

mod accounting;
mod align;
mod archive;
mod blkparse;
mod btt;
mod collect;
mod containers;
mod custom_format;
mod described;
mod driver;
mod dump;
mod golden;
mod hostile_containers;
mod in_tars;
mod joined_logs;
mod mutations;
mod one_request;
mod packing;
mod pieces;
mod properties;
mod public_samples;
mod sample_table;
mod script;
mod tracepoints;
mod traps;
mod twins;

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
