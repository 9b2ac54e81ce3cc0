//! Adjusted Rand index against scikit-learn's stored answers.

use iotriage_models::agreement::adjusted_rand_index;

use crate::lcg::Lcg;
use crate::stored::{items, numbers, read};

fn labels(seed: u64, n: usize, kinds: usize) -> Vec<usize> {
    let mut rng = Lcg::new(seed);
    (0..n).map(|_| ((rng.uniform() + 0.5) * kinds as f64) as usize).collect()
}

#[test]
fn adjusted_rand_indices_equal_those_of_scikit_learn() {
    let stored = read("sklearn/preprocessing.json");
    let cases = items(&stored["adjusted_rand"]);
    assert!(cases.len() >= 4);
    for case in cases {
        let (seeds, kinds) = (numbers(&case["seeds"]), numbers(&case["kinds"]));
        let n = case["n"].as_u64().unwrap() as usize;
        let first = labels(seeds[0] as u64, n, kinds[0] as usize);
        let second = labels(seeds[1] as u64, n, kinds[1] as usize);
        let index = adjusted_rand_index(&first, &second).unwrap();
        assert!((index - case["index"].as_f64().unwrap()).abs() < 1e-12, "{index} {case}");
    }
}
