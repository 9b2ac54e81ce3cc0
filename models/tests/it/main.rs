//! Tests of the whole crate: against stored answers of other programs, against slow versions, and
//! against itself on other numbers of threads.

mod agreement;
mod determinism;
mod lab_like;
mod lcg;
mod linkage;
mod linkage_at_scale;
mod model;
mod novelty;
mod preprocessing;
mod stored;
mod streaming;
mod umap;
