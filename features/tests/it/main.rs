//! Tests of `iotriage-features` through its public interface: Parquet files in, windows out.

mod capture;
mod evidence;
mod profile;
mod properties;
mod store;
mod twelve;
mod windows;
