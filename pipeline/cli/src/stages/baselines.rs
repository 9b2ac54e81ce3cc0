//! Fills the baselines of the diagnosis from an archive's windows and from what its captures say of
//! their devices. What a baseline is: `models/src/diagnosis/baseline.rs`.

use anyhow::Result;
use iotriage_models::diagnosis::{Baselines, DeviceClass, Service};
use iotriage_store::fingerprint::FileEntry;
use iotriage_store::layout::Layout;
use iotriage_store::windows::{WindowRecord, WindowTable};
use serde::Deserialize;

use super::is_comparable;
use crate::artifacts;

/// The part of a capture's report that is about what its devices are.
#[derive(Deserialize)]
struct Described {
    host: String,
    devices: Vec<DescribedDevice>,
}

/// One device of it; most logs and archives say no class.
#[derive(Deserialize)]
struct DescribedDevice {
    device: String,
    #[serde(default)]
    class: Option<String>,
}

/// The key of a window's device: the same for all captures of it.
pub(crate) fn key(w: &WindowRecord) -> String {
    key_of(&w.host, &w.device)
}

fn key_of(host: &str, device: &str) -> String {
    // A zero byte occurs in neither.
    format!("{host}\0{device}")
}

/// A column of a window by name.
pub(crate) fn value(columns: &[String], w: &WindowRecord, name: &str) -> Option<f64> {
    let at = columns.iter().position(|c| c == name)?;
    w.values.get(at).copied().flatten().filter(|v| v.is_finite())
}

/// All that can be told of a device's kind without a description: the major number, or the letters of
/// its name.
fn driver(device: &str) -> &str {
    match device.split_once(':') {
        Some((major, _)) => major,
        None => device.trim_start_matches('/').split(|c: char| !c.is_ascii_alphabetic()).next().unwrap_or(""),
    }
}

/// Counts the whole windows of an archive; `files` holds the reports of its captures.
pub(crate) fn of_archive(table: &WindowTable, layout: &Layout, files: &[FileEntry]) -> Result<Baselines> {
    let mut baselines = Baselines::default();
    for file in files.iter().filter(|f| f.path.starts_with("captures/")) {
        let capture: Described = artifacts::read(&layout.root().join(&file.path))?;
        for device in capture.devices {
            let class = device.class.as_deref().and_then(DeviceClass::from_name);
            baselines.describe(&key_of(&capture.host, &device.device), class, driver(&device.device));
        }
    }
    for w in table.rows.iter().filter(|w| is_comparable(w)) {
        baselines.add(&key(w), &Service::of(|name| value(&table.columns, w, name)));
    }
    Ok(baselines)
}

#[cfg(test)]
mod tests {
    use super::driver;

    #[test]
    fn devices_of_one_driver_share_major_number_or_letters() {
        assert_eq!([driver("8:0"), driver("8:16"), driver("sda"), driver("nvme0n1"), driver("")], ["8", "8", "sda", "nvme", ""]);
    }
}
