//! Same view, same bytes.

use iotriage_reports::Options;

use crate::synthetic;
use crate::written::written;

#[test]
fn a_report_is_the_same_bytes_twice() {
    let options = Options { device_pictures: 4, ..Options::default() };
    let (first, second) = (written(&synthetic::fleet(), &options).unwrap(), written(&synthetic::fleet(), &options).unwrap());
    assert_eq!(first.keys().collect::<Vec<_>>(), second.keys().collect::<Vec<_>>());
    for (name, bytes) in &first {
        assert!(bytes == &second[name], "{name} differs");
    }
}
