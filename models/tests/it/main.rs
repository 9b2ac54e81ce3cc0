//! Tests of the whole crate: against stored answers of other programs, against slow versions, and
//! against itself on other numbers of threads.

mod agreement;
mod determinism;
mod lcg;
mod linkage;
mod model;
mod preprocessing;
mod stored;
mod umap;
