//! [`CaptureFacts`]: what no log says of itself and `archive.toml` does (see `description`).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::record::DeviceId;

/// What a device is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceClass {
    /// A solid-state disk behind NVMe.
    Nvme,
    /// A solid-state disk behind SATA or SAS.
    Ssd,
    /// A disk that turns.
    Hdd,
    /// A disk of a hypervisor, a provider's volume or a device of the kernel itself (dm, md, loop).
    Virtual,
}

impl DeviceClass {
    /// The name used in `archive.toml`, JSON and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nvme => "nvme",
            Self::Ssd => "ssd",
            Self::Hdd => "hdd",
            Self::Virtual => "virtual",
        }
    }
}

/// What is known of a device beside its log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceFacts {
    /// Its name, such as `nvme0n1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its maker's name for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it is made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<DeviceClass>,
}

impl DeviceFacts {
    /// Takes from `other` what is not known yet.
    pub(super) fn fill_from(&mut self, other: &Self) {
        fill(&mut self.name, &other.name);
        fill(&mut self.model, &other.model);
        fill(&mut self.class, &other.class);
    }
}

/// What `archive.toml` says of a capture. Hostile text, like everything from an archive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaptureFacts {
    /// The kernel's release, such as `6.8.0-45-generic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// What to add to the log's times to have UNIX times, ns. Not used where the log has a wall clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ns: Option<i64>,
    /// Events that the tracer said it had lost.
    #[serde(default)]
    pub dropped_events: u64,
    /// Devices, by the number (`8:0`) or name that the description gives them.
    #[serde(default)]
    pub devices: BTreeMap<String, DeviceFacts>,
    /// The descriptions used, nearest first, as findings name files.
    #[serde(default)]
    pub described_in: Vec<String>,
}

impl CaptureFacts {
    /// Whether nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// What is said of captures that are joined: of each thing what the first says that says anything.
    /// `names` are the numbers of devices that one of them knows by name: what is said of the name holds
    /// for the number.
    pub fn joined<'a>(all: impl Iterator<Item = &'a Self>, names: &BTreeMap<DeviceId, DeviceId>) -> Self {
        let mut joined = Self::default();
        for one in all {
            fill(&mut joined.kernel, &one.kernel);
            fill(&mut joined.clock_offset_ns, &one.clock_offset_ns);
            joined.dropped_events = joined.dropped_events.saturating_add(one.dropped_events);
            for (key, device) in &one.devices {
                joined.devices.entry(key.clone()).or_default().fill_from(device);
            }
            for file in &one.described_in {
                if !joined.described_in.contains(file) {
                    joined.described_in.push(file.clone());
                }
            }
        }
        for (name, number) in names {
            if let Some(named) = joined.device(*name).cloned() {
                let numbered = joined.devices.entry(number.to_string()).or_default();
                numbered.fill_from(&named);
                numbered.name.get_or_insert_with(|| name.to_string());
            }
        }
        joined
    }

    /// What is said of a device, by its number or name as the log has it, or by the name that the
    /// description gives it.
    pub fn device(&self, id: DeviceId) -> Option<&DeviceFacts> {
        let logged = id.to_string();
        self.devices.get(&logged).or_else(|| self.devices.values().find(|d| d.name.as_deref() == Some(logged.as_str())))
    }
}

/// Takes what is there if nothing is yet.
pub(super) fn fill<T: Clone>(slot: &mut Option<T>, from: &Option<T>) {
    if slot.is_none() {
        slot.clone_from(from);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_found_by_its_number_or_by_the_name_it_is_given() {
        let sda = DeviceFacts { name: Some("sda".into()), class: Some(DeviceClass::Hdd), ..DeviceFacts::default() };
        let facts = CaptureFacts { devices: BTreeMap::from([("8:0".to_owned(), sda.clone())]), ..CaptureFacts::default() };
        assert_eq!(facts.device(DeviceId { major: 8, minor: 0 }), Some(&sda));
        assert_eq!(facts.device(DeviceId::from_name(b"sda").expect("a name")), Some(&sda));
        assert_eq!(facts.device(DeviceId { major: 8, minor: 16 }), None);
    }

    #[test]
    fn what_is_said_of_a_name_holds_for_the_number_that_another_log_knows_it_by() {
        let (number, name) = (DeviceId { major: 8, minor: 0 }, DeviceId::from_name(b"sda").expect("a name"));
        let first = CaptureFacts {
            kernel: Some("6.1".into()),
            dropped_events: 2,
            devices: BTreeMap::from([("8:0".to_owned(), DeviceFacts { class: Some(DeviceClass::Ssd), ..DeviceFacts::default() })]),
            described_in: vec!["archive.toml".into()],
            ..CaptureFacts::default()
        };
        let second = CaptureFacts {
            kernel: Some("6.2".into()),
            dropped_events: 3,
            devices: BTreeMap::from([("sda".to_owned(), DeviceFacts { model: Some("X1".into()), ..DeviceFacts::default() })]),
            described_in: vec!["b/archive.toml".into(), "archive.toml".into()],
            ..CaptureFacts::default()
        };
        let joined = CaptureFacts::joined([&first, &second].into_iter(), &BTreeMap::from([(name, number)]));
        let disk = DeviceFacts { name: Some("sda".into()), model: Some("X1".into()), class: Some(DeviceClass::Ssd) };
        assert_eq!(joined.device(number), Some(&disk));
        assert_eq!((joined.kernel.as_deref(), joined.dropped_events), (Some("6.1"), 5));
        assert_eq!(joined.described_in, ["archive.toml", "b/archive.toml"]);
    }
}
