//! How long a draw of noise takes, beside floating-point samplers of the continuous or one-sided
//! namesakes, from the same stream of random words.

use pg_dp::noise::{DiscreteGaussian, DiscreteLaplace, Scale, words_from_system};
use rand_distr::{Distribution, Geometric, Normal};
use std::error::Error;
use std::hint::black_box;
use std::time::Instant;

const USAGE: &str = "\
Prints the nanoseconds that a draw takes, in lines of the law, its scale, the sampler and the time.

cargo run --profile pure --no-default-features --example samplers -- SCALE-OF-LAPLACE,... SIGMA,...";

const DRAWS: u32 = 2_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scales, sigmas] = arguments.as_slice() else { return Err(USAGE.into()) };
    let mut words = words_from_system()?;
    for scale in numbers(scales)? {
        let law = DiscreteLaplace::new(Scale::new(1, 1.0 / scale)?);
        report("laplace", scale, "pg_dp", || law.sample(&mut words));
        let geometric = Geometric::new(-(-1.0 / scale).exp_m1())?;
        report("laplace", scale, "rand_distr", || geometric.sample(&mut words));
    }
    for sigma in numbers(sigmas)? {
        let law = DiscreteGaussian::new(sigma)?;
        report("gaussian", sigma, "pg_dp", || law.sample(&mut words));
        let normal = Normal::new(0.0, sigma)?;
        report("gaussian", sigma, "rand_distr", || normal.sample(&mut words));
    }
    Ok(())
}

fn numbers(list: &str) -> Result<Vec<f64>, std::num::ParseFloatError> {
    list.split(',').map(str::parse).collect()
}

fn report<T>(law: &str, scale: f64, sampler: &str, mut draw: impl FnMut() -> T) {
    // tables are made, and caches filled
    (0..DRAWS / 20).for_each(|_| drop(black_box(draw())));
    let begin = Instant::now();
    (0..DRAWS).for_each(|_| drop(black_box(draw())));
    println!(
        "{law} {scale} {sampler} {:.3}",
        begin.elapsed().as_secs_f64() / f64::from(DRAWS) * 1e9
    );
}
