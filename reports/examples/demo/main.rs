//! Renders a report of made-up data: `cargo run --release -p iotriage-reports --example demo -- OUTDIR [rgb|grey] [dark] [large]`.
//!
//! For looking at the pictures and the page while changing them; `large` is a day of fifty devices,
//! for measuring.

mod synthetic;

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use iotriage_reports::{Options, Palette, Theme, write_report};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = PathBuf::from(arguments.next().ok_or("usage: demo OUTDIR [rgb|grey] [dark] [large]")?);
    let mut options = Options::default();
    let mut view = synthetic::fleet();
    for argument in arguments {
        match argument.as_str() {
            "rgb" => options.palette = Palette::Rgb,
            "grey" => options.palette = Palette::Grey,
            "large" => view = synthetic::day_of_fifty_devices(),
            "dark" => options.theme = Theme::Dark,
            other => return Err(format!("unknown argument {other:?}").into()),
        }
    }
    fs::create_dir_all(&out)?;
    let names = write_report(&view, &options, &mut |name| -> io::Result<Box<dyn Write>> {
        Ok(Box::new(BufWriter::new(File::create(out.join(name))?)))
    })?;
    let mut stdout = io::stdout().lock();
    for name in names {
        writeln!(stdout, "{}", out.join(name).display())?;
    }
    Ok(())
}
