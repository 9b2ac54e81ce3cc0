//! Writes the rows of the other examples for other programs: 64-bit floats, little-endian, row by
//! row. `cargo run --release -p iotriage-models --example rows -- 20000 lab|blobs|uniform FILE`

#![allow(clippy::print_stdout)]

#[path = "../tests/it/lcg.rs"]
#[allow(dead_code, reason = "each example uses some of it")]
mod lcg;
mod measure;

use std::io::{BufWriter, Write};

use measure::lab_like::lab_like;
use measure::{blobs, first_argument};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let n = first_argument(20_000)?;
    let kind = std::env::args().nth(2).ok_or("which rows: lab, blobs or uniform?")?;
    let file = std::env::args().nth(3).ok_or("which file?")?;
    let x = match kind.as_str() {
        "lab" => lab_like(1, n).0,
        "blobs" => blobs(n),
        "uniform" => lcg::Lcg::new(1).rows(n, 5),
        other => return Err(format!("no rows {other}").into()),
    };
    let mut out = BufWriter::new(std::fs::File::create(file)?);
    for value in &x {
        out.write_all(&value.to_le_bytes())?;
    }
    Ok(out.flush()?)
}
