//! Convolutions in O(n log n): exact ones of integers, and of real numbers in floating point.
//!
//! What noise is added to is computed by the exact one alone, so that no rounding has a part in
//! any sensitivity. It works in the field of integers modulo p = 2^64 - 2^32 + 1, where sums and
//! products are the true ones up to multiples of p: a true value less than p/2 away from 0 is read
//! off exactly, whatever the intermediate values were.

use crate::work::poll;
use p3_dft::{Radix2Bowers, TwoAdicSubgroupDft};
use p3_field::integers::QuotientMap;
use p3_field::{PrimeCharacteristicRing, PrimeField64};
use p3_goldilocks::Goldilocks;
use realfft::RealFftPlanner;
use realfft::num_complex::Complex;

/// The binary digits of the numbers that a real-valued strategy is scaled by before it is rounded
/// to integers: at most 26, and fewer where noise of `rho` on integers of that size would be out
/// of the sampler's range. Below 16 that noise is refused.
///
/// What is rounded is a strategy of which what is measured, its sensitivity and its variances are
/// then exact: a coarse one costs accuracy only, and that is stated.
pub(crate) fn resolution(rho: f64) -> u32 {
    // noise for columns of length 1; those of the longest strategy, for the prefixes of 2^20 bins,
    // are below 3, and the samplers go to 10^9 > 3 * 2^28
    let sigma = (1.0 / (2.0 * rho)).sqrt();
    ((1u64 << 28) as f64 / sigma).log2().floor().clamp(16.0, 26.0) as u32
}

/// The `length` values sum_j a_j b_{i-j}, i = `skip` .. `skip + length`, of the cyclic convolution
/// over the smallest power of two >= `period`, given that each is at most 2^62 in
/// magnitude. Neither list may be longer than that power of two.
pub(crate) fn cyclic_exact(
    a: &[i64],
    b: &[i64],
    period: usize,
    skip: usize,
    length: usize,
) -> Vec<i64> {
    let size = period.next_power_of_two();
    let transform = |values: &[i64]| {
        poll();
        let mut elements: Vec<Goldilocks> =
            values.iter().map(|&value| Goldilocks::from_int(value)).collect();
        elements.resize(size, Goldilocks::ZERO);
        Radix2Bowers.dft(elements)
    };
    let mut product = transform(a);
    for (left, right) in product.iter_mut().zip(transform(b)) {
        *left *= right;
    }
    poll();
    let sums = Radix2Bowers.idft(product);
    sums[skip..skip + length].iter().map(|&element| integer(element)).collect()
}

/// The integer of the smallest magnitude in a class.
fn integer(element: Goldilocks) -> i64 {
    let value = element.as_canonical_u64();
    // beyond p/2 it stands for value - p; either fits as p/2 < 2^63
    if value <= Goldilocks::ORDER_U64 / 2 {
        value as i64
    } else {
        -((Goldilocks::ORDER_U64 - value) as i64)
    }
}

/// [`cyclic_exact`] for real numbers: the error of each value is a few units of roundoff of the
/// product of the lists' L2 norms.
pub(crate) fn cyclic(a: &[f64], b: &[f64], period: usize, skip: usize, length: usize) -> Vec<f64> {
    let size = period.next_power_of_two();
    let mut product = spectrum(a, size);
    for (left, right) in product.iter_mut().zip(spectrum(b, size)) {
        *left *= right;
    }
    let mut values = from_spectrum(product, size);
    values.truncate(skip + length);
    values.drain(..skip);
    values
}

/// The power series 1 / f to as many terms as f has, f_0 not being 0.
pub(crate) fn reciprocal(f: &[i64]) -> Vec<f64> {
    let f: Vec<f64> = f.iter().map(|&value| value as f64).collect();
    let mut g = vec![1.0 / f[0]];
    // Newton: with f g = 1 + z^m e, the terms m .. 2m of 1/f are those of -g e
    while g.len() < f.len() {
        poll();
        let known = g.len();
        let wanted = (2 * known).min(f.len());
        let error = cyclic(&f[..wanted], &g, wanted + known, known, wanted - known);
        let next = cyclic(&g, &error, 2 * known, 0, wanted - known);
        g.extend(next.iter().map(|term| -term));
    }
    g
}

/// The discrete Fourier transform of `values`, filled up with zeros to `size`, at the frequencies
/// 0 ..= size / 2.
pub(crate) fn spectrum(values: impl Into<Vec<f64>>, size: usize) -> Vec<Complex<f64>> {
    let plan = RealFftPlanner::new().plan_fft_forward(size);
    let mut padded = values.into();
    padded.resize(size, 0.0);
    let mut spectrum = plan.make_output_vec();
    plan.process(&mut padded, &mut spectrum).expect("buffers of the plan's lengths");
    spectrum
}

/// The inverse of [`spectrum`].
pub(crate) fn from_spectrum(mut spectrum: Vec<Complex<f64>>, size: usize) -> Vec<f64> {
    let plan = RealFftPlanner::new().plan_fft_inverse(size);
    // what roundoff has left of the parts that are zero for real values
    spectrum[0].im = 0.0;
    if size.is_multiple_of(2) {
        spectrum[size / 2].im = 0.0;
    }
    let mut values = plan.make_output_vec();
    plan.process(&mut spectrum, &mut values).expect("buffers of the plan's lengths");
    values.iter_mut().for_each(|value| *value /= size as f64);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(a: &[i64], b: &[i64], size: usize) -> Vec<i128> {
        let mut sums = vec![0; size];
        for (i, &left) in a.iter().enumerate() {
            for (j, &right) in b.iter().enumerate() {
                sums[(i + j) % size] += i128::from(left) * i128::from(right);
            }
        }
        sums
    }

    proptest! {
        #[test]
        fn convolutions_are_the_sums_of_products(
            a in prop::collection::vec(-(1i64 << 30)..1 << 30, 1..40),
            b in prop::collection::vec(-(1i64 << 26)..1 << 26, 1..40),
            more in 0usize..50,
        ) {
            let period = a.len().max(b.len()) + more;
            let expected = plain(&a, &b, period.next_power_of_two());
            let exact = cyclic_exact(&a, &b, period, 0, expected.len());
            prop_assert!(exact.iter().zip(&expected).all(|(&x, &y)| i128::from(x) == y));
            prop_assert_eq!(&cyclic_exact(&a, &b, period, 1, 1), &exact[1..2]);

            let real = |values: &[i64]| values.iter().map(|&x| x as f64).collect::<Vec<_>>();
            let expected = plain(&a, &b, period.next_power_of_two());
            let close = cyclic(&real(&a), &real(&b), period, 0, expected.len());
            let square = |values: &[i64]| values.iter().map(|&x| (x as f64).powi(2)).sum::<f64>();
            let norm = |values: &[i64]| square(values).sqrt();
            let tolerance = 1e-14 * norm(&a) * norm(&b);
            for (x, &y) in close.iter().zip(&expected) {
                prop_assert!((x - y as f64).abs() <= tolerance);
            }
        }
    }

    #[test]
    fn the_largest_integers_are_exact() {
        let limit = super::super::measurements::MEASURED_LIMIT as i64;
        let values = [limit, -limit, limit - 1, 0, 1, -1, 1 - limit];
        assert_eq!(cyclic_exact(&values, &[1], 8, 0, 7), values);
        // the sum is small, the products are not: only the true value counts
        assert_eq!(cyclic_exact(&[limit, limit], &[3, -3], 4, 1, 1), [0]);
    }
}
