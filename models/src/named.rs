//! [`NamedModel`]: a model whose clusters have lasting numbers and names, as it is kept from night to night.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::OnceLock;

use ndarray::ArrayView2;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;

use crate::{ClusteringParams, Matching, Model, ModelError, Recognition, decimal, storage};

/// Name of the file format.
const FORMAT: &str = "iotriage-named-model";

/// The model that comes with the crate; how it was fitted is in its notes and in `docs/models.md`.
const REFERENCE: &[u8] = include_bytes!("../reference.json");

/// A part of a cluster.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// What the part is.
    pub name: String,
    /// Percent of the cluster's rows, 0 to 100.
    #[serde(with = "decimal::scalar")]
    pub percent: f64,
}

/// What a cluster is called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClusterName {
    /// Its lasting number, from 1. It is never given to another cluster.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// The class of more than half of its rows; `None` where there is no such class.
    pub class: Option<u8>,
    /// What its rows were called, largest part first.
    pub shares: Vec<Share>,
}

impl ClusterName {
    /// Name of a cluster that nobody named.
    pub const UNNAMED: &'static str = "unnamed";
}

/// A model, the names of its clusters and notes on what it was fitted on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedModel {
    model: Model,
    /// One entry a cluster, in the model's order.
    clusters: Vec<ClusterName>,
    /// The smallest number not given out yet.
    next_number: u32,
    notes: BTreeMap<String, String>,
}

impl NamedModel {
    /// Names the clusters of `model`; `clusters` has an entry for each, in the model's order.
    ///
    /// # Errors
    /// Another number of entries than clusters; a number that is 0 or given twice.
    pub fn new(model: Model, clusters: Vec<ClusterName>, notes: BTreeMap<String, String>) -> Result<Self, ModelError> {
        let next_number = clusters.iter().map(|c| c.number).max().unwrap_or(0).saturating_add(1);
        let named = NamedModel { model, clusters, next_number, notes };
        named.validate().map_err(|what| ModelError::Parameter { name: "clusters", expected: "a name for each cluster", got: what })?;
        Ok(named)
    }

    /// Gives the clusters the numbers that those of an `older` model of the same kinds have; what the older
    /// model does not have gets a number that it never gave out.
    ///
    /// # Errors
    /// The position and both names of the first feature that differs.
    pub fn renumbered(mut self, older: &NamedModel) -> Result<Self, ModelError> {
        let matching = older.model.matching(&self.model)?;
        let numbers: Vec<u64> = older.clusters.iter().map(|c| u64::from(c.number)).collect();
        let lasting = matching.lasting_numbers(&numbers, u64::from(older.next_number));
        for (cluster, number) in self.clusters.iter_mut().zip(&lasting) {
            cluster.number = u32::try_from(*number).unwrap_or(u32::MAX);
        }
        let highest = self.clusters.iter().map(|c| c.number).max().unwrap_or(0);
        self.next_number = older.next_number.max(highest.saturating_add(1));
        Ok(self)
    }

    /// A model fitted on what two models know, with the numbers of this one where a cluster is its own and
    /// new ones elsewhere. A cluster's name and shares are those of the clusters that it is made of.
    ///
    /// # Errors
    /// Other features; as [`Model::merged`].
    pub fn merged(&self, other: &NamedModel, clustering: &ClusteringParams) -> Result<Self, ModelError> {
        let model = self.model.merged(&other.model, clustering)?;
        let [ours, theirs] = [self, other].map(|m| m.names_of(&model));
        let clusters = (0..model.clustering().count())
            .map(|cluster| {
                let named: Vec<&(ClusterName, f64)> = [&ours, &theirs].into_iter().filter_map(|of| of.get(&cluster)).collect();
                ClusterName { number: cluster as u32 + 1, ..combined(&named) }
            })
            .collect();
        let mut notes = other.notes.clone();
        notes.extend(self.notes.clone());
        notes.insert("merged".to_owned(), "true".to_owned());
        NamedModel::new(model, clusters, notes)?.renumbered(self)
    }

    /// For each cluster of a model fitted on these rows and others, what this model called the rows of it:
    /// the names of the old clusters that its share of the sample was in, with their weights.
    fn names_of(&self, newer: &Model) -> BTreeMap<usize, (ClusterName, f64)> {
        let mut named = BTreeMap::new();
        if let Ok(matching) = self.model.matching(newer) {
            for pair in matching.pairs {
                let weight = self.model.clustering().sizes().get(pair.old).copied().unwrap_or(0) as f64;
                if let Some(name) = self.clusters.get(pair.old) {
                    named.insert(pair.new, (name.clone(), weight));
                }
            }
        }
        named
    }

    /// Which clusters of a newer model are which of this one's, by position.
    ///
    /// # Errors
    /// As [`Model::matching`].
    pub fn matching(&self, newer: &NamedModel) -> Result<Matching, ModelError> {
        self.model.matching(&newer.model)
    }

    /// As [`Model::recognise`]; the clusters are positions in [`NamedModel::clusters`].
    ///
    /// # Errors
    /// As there.
    pub fn recognise(&self, x: ArrayView2<'_, f64>) -> Result<Vec<Recognition>, ModelError> {
        self.model.recognise(x)
    }

    /// The model itself.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Names of the clusters, in the model's order.
    #[must_use]
    pub fn clusters(&self) -> &[ClusterName] {
        &self.clusters
    }

    /// What is known of the rows that it was fitted on, by name.
    #[must_use]
    pub fn notes(&self) -> &BTreeMap<String, String> {
        &self.notes
    }

    /// Writes the model as JSON: same model, same bytes.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), ModelError> {
        storage::save(FORMAT, self, path)
    }

    /// Reads what [`NamedModel::save`] wrote, refusing a model of other features than these, in this order.
    ///
    /// # Errors
    /// The file cannot be read, is not a model of this version, is cut off or damaged, or contradicts itself;
    /// the position and both names of the first feature that differs.
    pub fn load_for<S: AsRef<str>>(path: &Path, feature_names: &[S]) -> Result<Self, ModelError> {
        let named = storage::load(FORMAT, path, NamedModel::complete)?;
        named.model.reduction().check_features(feature_names)?;
        Ok(named)
    }

    /// The model that comes with the program: the pathologies of two sets of thirteen lab captures each.
    ///
    /// # Errors
    /// None, unless the program was built with a damaged file.
    pub fn reference() -> Result<&'static Self, ModelError> {
        static READ: OnceLock<NamedModel> = OnceLock::new();
        if let Some(read) = READ.get() {
            return Ok(read);
        }
        let read = storage::parse(FORMAT, REFERENCE, Path::new("models/reference.json"), NamedModel::complete)?;
        Ok(READ.get_or_init(|| read))
    }

    /// Hash (XXH3-128, hexadecimal) of the reference model as it came: what depends on the one depends on the other.
    #[must_use]
    pub fn reference_digest() -> String {
        format!("{:032x}", XxHash3_128::oneshot(REFERENCE))
    }

    fn complete(&mut self) -> Result<(), String> {
        self.model.complete()?;
        self.validate()
    }

    /// Says what is wrong with the names.
    fn validate(&self) -> Result<(), String> {
        let (clusters, names) = (self.model.clustering().count(), self.clusters.len());
        if clusters != names {
            return Err(format!("{names} names for {clusters} clusters"));
        }
        let numbers: BTreeSet<u32> = self.clusters.iter().map(|c| c.number).collect();
        if numbers.len() != names || numbers.contains(&0) || numbers.last().is_some_and(|last| *last >= self.next_number) {
            return Err(format!("cluster numbers {numbers:?} of {names} clusters, the next to be {}", self.next_number));
        }
        Ok(())
    }
}

/// One name of what several names, with their weights, make together.
fn combined(named: &[&(ClusterName, f64)]) -> ClusterName {
    let total: f64 = named.iter().map(|(_, weight)| weight).sum();
    let mut percent: BTreeMap<&str, f64> = BTreeMap::new();
    for (name, weight) in named {
        for share in &name.shares {
            *percent.entry(&share.name).or_default() += share.percent * weight / total.max(f64::MIN_POSITIVE);
        }
    }
    let mut shares: Vec<Share> = percent.into_iter().map(|(name, percent)| Share { name: name.to_owned(), percent }).collect();
    shares.sort_by(|a, b| b.percent.total_cmp(&a.percent).then_with(|| a.name.cmp(&b.name)));
    let heaviest = named.iter().fold(None::<&&(ClusterName, f64)>, |best, n| if best.is_some_and(|b| b.1 >= n.1) { best } else { Some(n) });
    ClusterName {
        number: 0,
        name: heaviest.map_or_else(|| ClusterName::UNNAMED.to_owned(), |(name, _)| name.name.clone()),
        class: heaviest.and_then(|(name, _)| name.class),
        shares,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str, class: u8, shares: &[(&str, f64)]) -> ClusterName {
        let shares = shares.iter().map(|(name, percent)| Share { name: (*name).to_owned(), percent: *percent }).collect();
        ClusterName { number: 1, name: name.to_owned(), class: Some(class), shares }
    }

    #[test]
    fn names_combine_by_weight() {
        let (a, b) = ((name("slow", 3, &[("media", 80.0), ("errors", 20.0)]), 1.0), (name("burst", 7, &[("media", 20.0)]), 3.0));
        let both = combined(&[&a, &b]);
        assert_eq!((both.name.as_str(), both.class), ("burst", Some(7)));
        // (80 x 1 + 20 x 3) / 4 = 35, 20 x 1 / 4 = 5.
        assert_eq!(both.shares, name("", 0, &[("media", 35.0), ("errors", 5.0)]).shares);
        assert_eq!(combined(&[]).name, ClusterName::UNNAMED);
        assert_eq!(combined(&[&a, &(b.0.clone(), 1.0)]).name, "slow", "of equals the first");
    }
}
