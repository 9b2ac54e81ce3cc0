//! Z-scores and principal components against scikit-learn's stored answers.

use iotriage_models::pca::{Covariance, Pca};
use iotriage_models::scale::StandardScaler;
use ndarray::{Array2, s};

use crate::lcg::Lcg;
use crate::stored::{assert_close, numbers, read};

/// Twelve columns of very different scale, some correlated, the last constant.
fn columns(seed: u64, n: usize) -> Array2<f64> {
    let mut rng = Lcg::new(seed);
    let mut x = Array2::zeros((n, 12));
    for mut row in x.rows_mut() {
        let u: [f64; 11] = std::array::from_fn(|_| rng.uniform());
        let values = [
            u[0],
            1000.0 * u[1],
            0.001 * u[2] + 5.0,
            u[0] + 0.25 * u[3],
            1000.0 * u[1] + 50.0 * u[4],
            u[5] * u[5],
            u[6] + u[7],
            u[6] - u[7],
            u[8] + 1e6,
            u[9] * u[0],
            3.0 * u[10] + u[0],
            0.1,
        ];
        for (cell, value) in row.iter_mut().zip(values) {
            *cell = value;
        }
    }
    x
}

#[test]
fn z_scores_equal_those_of_scikit_learn() {
    let stored = read("sklearn/preprocessing.json");
    let x = columns(21, 150);
    let scaler = StandardScaler::from_covariance(&Covariance::from_rows(x.view()).unwrap());
    assert_close(scaler.mean(), &numbers(&stored["scaler"]["mean"]), 1e-12);
    // The column near 1e6 with deviation 0.3 costs both sides seven digits.
    assert_close(scaler.scale(), &numbers(&stored["scaler"]["scale"]), 1e-9);
    assert_eq!(scaler.scale()[11], 1.0);
    let z = scaler.transform(x.slice(s![..3, ..])).unwrap();
    assert_close(&z.iter().copied().collect::<Vec<_>>(), &numbers(&stored["scaler"]["first_rows"]), 1e-8);
}

#[test]
fn principal_components_equal_those_of_scikit_learn_whole_and_in_merged_parts() {
    let stored = &read("sklearn/preprocessing.json")["pca"];
    let x = columns(21, 150);
    let scaler = StandardScaler::from_covariance(&Covariance::from_rows(x.view()).unwrap());
    let z = scaler.transform(x.view()).unwrap();
    let whole = Covariance::from_rows(z.view()).unwrap();
    let mut merged = Covariance::new(12);
    for from in [0, 20, 90] {
        let to = [(0, 20), (20, 90), (90, 150)].iter().find(|p| p.0 == from).unwrap().1;
        merged.merge(&Covariance::from_rows(z.slice(s![from..to, ..])).unwrap()).unwrap();
    }
    for covariance in [whole, merged] {
        let pca = Pca::fit(&covariance, 0.987).unwrap();
        assert_eq!(pca.kept() as u64, stored["kept"].as_u64().unwrap());
        assert_close(pca.explained_variance(), &numbers(&stored["explained_variance"]), 1e-8);
        assert_close(pca.explained_variance_ratio(), &numbers(&stored["explained_variance_ratio"]), 1e-8);
        let flat: Vec<f64> = pca.components().iter().copied().collect();
        assert_close(&flat, &numbers(&stored["components"]), 1e-6);
        let first = pca.transform(z.slice(s![..5, ..])).unwrap();
        let flat: Vec<f64> = first.iter().copied().collect();
        assert_close(&flat, &numbers(&stored["first_rows"]), 1e-6);
    }
}
