//! What numbers of rows, amounts or sizes could be like.

use rand::RngExt;
use rand_chacha::ChaCha20Rng;

/// So many values.
pub struct Shape {
    pub name: &'static str,
    pub values: Vec<u64>,
}

const MANY: usize = 20_000;
const FEW: usize = 500;

pub fn shapes(rng: &mut ChaCha20Rng) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut add = |name, number: usize, value: &mut dyn FnMut(usize) -> u64| {
        shapes.push(Shape { name, values: (0..number).map(value).collect() });
    };
    // from above 0 up to 1
    let uniform = |rng: &mut ChaCha20Rng| 1.0 - rng.random::<f64>();
    let pareto = |rng: &mut ChaCha20Rng, exponent: f64| uniform(rng).powf(-1.0 / exponent) as u64;
    add("one each", MANY, &mut |_| 1);
    add("uniform up to 10", MANY, &mut |_| rng.random_range(1..=10));
    add("uniform up to 1,000", MANY, &mut |_| rng.random_range(1..=1000));
    add("geometric, mean 3.3", MANY, &mut |_| 1 + (uniform(rng).ln() / 0.7f64.ln()) as u64);
    add("log-normal", MANY, &mut |_| {
        let normal: f64 = (0..12).map(|_| rng.random::<f64>()).sum::<f64>() - 6.0;
        1 + (2.0 + 1.2 * normal).exp() as u64
    });
    add("Zipf, exponent 4", MANY, &mut |_| pareto(rng, 3.0));
    add("Zipf, exponent 3", MANY, &mut |_| pareto(rng, 2.0));
    add("Zipf, exponent 2.5", MANY, &mut |_| pareto(rng, 1.5));
    add("spike: 5 % have 100", MANY, &mut |n| if n % 20 == 0 { 100 } else { 1 });
    add("spike: 1 % have 1,000", MANY, &mut |n| if n % 100 == 0 { 1000 } else { 1 });
    add("spike: 20 have 1,000", MANY, &mut |n| if n < 20 { 1000 } else { 1 });
    add("few, uniform up to 10", FEW, &mut |_| rng.random_range(1..=10));
    add("few, Zipf, exponent 3", FEW, &mut |_| pareto(rng, 2.0));
    let spread = |rng: &mut ChaCha20Rng| (rng.random::<f64>() * 1256f64.ln()).exp() as u64;
    add("log-uniform up to 1,255", MANY, &mut |_| spread(rng));
    add("few, log-uniform up to 1,255", FEW, &mut |_| spread(rng));
    add("Zipf, exponent 1.5, up to 300", MANY, &mut |_| loop {
        let value = pareto(rng, 0.5);
        if value <= 300 {
            break value;
        }
    });
    shapes
}
