//! What is like something known, and what is not: [`Known`].

use serde::Serialize;

use super::{Share, Text};

/// The archive beside the model that was given and the reference model that comes with the program.
#[derive(Debug, Clone, PartialEq, Serialize, Default)]
pub struct Known {
    /// File name of the model that was given; `None` where clusters are the archive's own.
    pub model: Option<Text>,
    /// Windows that the given model knows nothing like.
    pub novel_windows: u64,
    /// Kinds of novel windows, candidates for new classes, by number.
    pub candidates: Vec<Candidate>,
    /// Beside the reference model; `None` where none was used.
    pub reference: Option<Reference>,
}

/// Novel windows of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Candidate {
    /// Number, from 1.
    pub candidate: u32,
    /// Windows.
    pub windows: u64,
    /// Their root causes by the rules, largest first, `cannot tell` included.
    pub root_causes: Vec<Share>,
}

/// Windows beside the reference model; each counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Default)]
pub struct Reference {
    /// Diagnosed as the class that the nearest cluster of the reference model has.
    pub agree: u64,
    /// Diagnosed as another class.
    pub differ: u64,
    /// Not diagnosed, though the reference model knows the like.
    pub only_reference: u64,
    /// Unlike anything in the reference model.
    pub unlike: u64,
}
