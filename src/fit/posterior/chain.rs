//! The passes forwards and backwards.
//!
//! Sums of ways are kept as multiples of e^a, with an a for each place, such that a place's are
//! about [`LARGE`] together: its largest and its least that matter are then both in the range of
//! floating point.

use super::cells::{Likelihood, NoiseInCells, StepKernel, Window, resized};
use super::marginal::{Marginal, Masses, Sums};
use crate::fit::isotonic_l1;
use crate::work::done;
use std::ops::Range;

/// The sum of a place's ways, in its unit.
const LARGE: f64 = 1e270;

/// Of two sums, before they are multiplied.
const SHRINK: f64 = 1e-135;

/// Of all places together: 32 MiB. If smaller cells would be more, they stay as they are.
const MOST_CELLS: usize = 1 << 22;

/// How many cells take the time of a unit of work, forwards and backwards.
const CELLS_PER_UNIT: usize = 4;

/// Unknown integers 0 <= x_0 <= x_1 <= ... <= top that were observed with noise.
pub(crate) struct MonotoneSequence<'a> {
    pub observed: &'a [i64],
    /// t
    pub scale: f64,
    /// At most 2^62.
    pub top: i64,
    /// The expected steps to all places, positive; without them all steps are equally likely.
    pub steps: Option<&'a [f64]>,
    /// The logarithms of the weights with which the sequence begins at each place; and never.
    pub begins: &'a [f64],
    /// Weights of values: of those below the first of a pair, and not below that of the one before.
    pub weights: &'a [(i64, f64)],
}

/// Where the values of a chain are looked for.
#[derive(Debug, Clone)]
pub(crate) struct Windows(Vec<Window>);

/// The sums of all ways to each value.
pub(crate) struct Forward {
    windows: Windows,
    /// Those of all places, one after the other, and where each begins.
    ways: Vec<f64>,
    starts: Vec<usize>,
    /// The logarithms of all observations' likelihood if nothing begins, and of the whole sum.
    ln_nothing: f64,
    ln_all: f64,
}

/// What all observations say.
pub(crate) struct Posterior {
    /// Their medians ascend.
    pub values: Vec<Marginal>,
    /// The logarithms of how likely all observations are if the sequence begins at each place; and
    /// if it never does.
    pub ln_begins: Vec<f64>,
    /// How many values are expected in each stretch of the weights.
    pub expected: Vec<f64>,
    /// For the next pass, and whether these were fine enough.
    pub windows: Windows,
    pub settled: bool,
}

impl Windows {
    /// The same with single integers.
    #[cfg(test)]
    pub(super) fn of_integers(&self, top: i64) -> Windows {
        let window = |window: &Window| {
            Window::over(1, window.begin(0), (window.begin(window.cells) - 1).min(top))
        };
        Windows(self.0.iter().map(window).collect())
    }

    pub(super) fn cells(&self) -> usize {
        self.0.iter().map(|window| window.cells).sum()
    }
}

/// ln(e^a + e^b)
fn ln_sum(a: f64, b: f64) -> f64 {
    let (least, most) = if a < b { (a, b) } else { (b, a) };
    if least == f64::NEG_INFINITY { most } else { most + (least - most).exp().ln_1p() }
}

impl Forward {
    fn ways(&self, place: usize) -> &[f64] {
        &self.ways[self.starts[place]..][..self.windows.0[place].cells]
    }

    /// The logarithms of how likely the values from `least` on are for the last place, by all
    /// observations up to it; up to a constant. Without places the sequence stays at 0.
    pub(crate) fn ln_last(&self, least: i64, count: usize) -> Vec<f64> {
        let last = self.windows.0.last().map(|window| (window, self.ways(self.starts.len() - 1)));
        let at = |value: i64| match last {
            Some((window, ways)) => {
                let cell = value.div_euclid(window.size) - window.first;
                usize::try_from(cell).ok().and_then(|cell| ways.get(cell)).map_or(0.0, |way| *way)
            }
            None => f64::from(u8::from(value == 0)),
        };
        (0..count as i64).map(|i| at(least + i).ln()).collect()
    }
}

/// The weights of a place's cells, for one place after the other: most have cells of one size.
struct Weighing<'a> {
    chain: &'a MonotoneSequence<'a>,
    /// The size that the rest is for.
    size: i64,
    noise: NoiseInCells,
    /// The cells before which each stretch of the weights ends.
    ends: Vec<i64>,
}

impl<'a> Weighing<'a> {
    fn new(chain: &'a MonotoneSequence) -> Weighing<'a> {
        let mut weighing =
            Weighing { chain, size: 0, noise: NoiseInCells::new(chain.scale, 1), ends: vec![] };
        weighing.reach(1);
        weighing
    }

    /// Cells of this size are next.
    fn reach(&mut self, size: i64) {
        if self.size == size {
            return;
        }
        self.size = size;
        self.noise = NoiseInCells::new(self.chain.scale, size);
        // a cell that two stretches share belongs to that of its middle, one beyond to the last
        let ends = self.chain.weights.iter().map(|(end, _)| end.saturating_add(size / 2) / size);
        self.ends.clear();
        self.ends.extend(ends);
        if let Some(last) = self.ends.last_mut() {
            *last = i64::MAX;
        }
    }

    /// The stretches of weights that a window meets: which, the weight, and the cells.
    fn stretches(&self, window: Window) -> impl Iterator<Item = (usize, f64, Range<usize>)> + '_ {
        let before = self.ends.partition_point(|end| *end <= window.first);
        let mut from = 0;
        let stretches = self.ends[before..].iter().zip(&self.chain.weights[before..]);
        (before..).zip(stretches).map_while(move |(number, (end, &(_, weight)))| {
            let cells = from..((end - window.first) as usize).min(window.cells);
            from = cells.end;
            (cells.start < window.cells).then_some((number, weight, cells))
        })
    }

    /// The logarithm of what the cells of a place's weights are multiples of.
    fn weigh(&mut self, place: usize, window: Window, weights: &mut Vec<f64>) -> f64 {
        self.reach(window.size);
        let likelihood = Likelihood::new(window, self.chain.observed(place), &self.noise);
        likelihood.cells(window, window.size as f64, weights);
        for (_, weight, cells) in self.stretches(window) {
            weights[cells].iter_mut().for_each(|cell| *cell *= weight);
        }
        likelihood.ln_nearest
    }
}

impl MonotoneSequence<'_> {
    /// An observation beyond the limits says as much as one at them.
    fn observed(&self, place: usize) -> i64 {
        self.observed[place].clamp(0, self.top)
    }

    fn kernel(&self, place: usize, size: i64) -> StepKernel {
        StepKernel::new(self.steps.map_or(f64::INFINITY, |steps| steps[place]), size)
    }

    /// Windows to begin with.
    pub(crate) fn windows(&self) -> Windows {
        let places = self.observed.len();
        let observed: Vec<i64> = (0..places).map(|place| self.observed(place)).collect();
        let far = ((12.0 + (places.max(1) as f64).ln()) * self.scale).ceil() + 1.0;
        let far = far.min((i64::MAX / 4) as f64) as i64;
        let mut size = 1 << (self.scale.clamp(1.0, 1e12) as i64).ilog2();
        while (2 * far / size) as usize > MOST_CELLS / places.max(1) {
            size *= 2;
        }
        let window = |&fit: &i64| {
            Window::over(size, (fit - far).max(0), fit.saturating_add(far).min(self.top))
        };
        Windows(isotonic_l1(&observed).values.iter().map(window).collect())
    }

    /// `None` where no sequence lies within the windows.
    pub(crate) fn forward(&self, windows: Windows) -> Option<Forward> {
        let start = |sum: &mut usize, window: &Window| {
            *sum += window.cells;
            Some(*sum - window.cells)
        };
        let starts: Vec<usize> = windows.0.iter().scan(0, start).collect();
        let mut ways = vec![0.0; windows.cells()];
        let mut rest = ways.as_mut_slice();
        // of the place before: its ways, and the logarithms of their unit and of their sum
        let mut before: Option<(Window, &[f64], f64, f64)> = None;
        let mut ln_waiting = 0.0;
        let mut weighing = Weighing::new(self);
        let (mut weights, mut room) = (Vec::new(), Vec::new());
        for (place, &window) in windows.0.iter().enumerate() {
            done((window.cells / CELLS_PER_UNIT) as u64 + 1);
            let (here, others) = rest.split_at_mut(window.cells);
            rest = others;
            let ln_begin = self.begins[place] + ln_waiting;
            let ln_before = before.map_or(f64::NEG_INFINITY, |(.., ln_before)| ln_before);
            let ln_both = ln_sum(ln_before, ln_begin);
            ln_waiting -= self.observed(place) as f64 / self.scale;
            if ln_both == f64::NEG_INFINITY {
                continue; // nothing begins here or before
            }
            let ln_unit = ln_both - LARGE.ln();
            let of_nearest = weighing.weigh(place, window, &mut weights);
            let (masses, factor) = match before {
                Some((cells, ways, unit, _)) => {
                    (resized(cells, ways, window.size, &mut room), (unit - ln_unit).exp())
                }
                None => ((window.first, Default::default()), 0.0),
            };
            // as multiples of the unit before, unless that is far too small
            let (masses, factor, entering) = if factor > 0.0 && factor.is_finite() {
                (masses, factor, (ln_begin - ln_unit).exp() / factor)
            } else {
                ((window.first, Default::default()), 1.0, (ln_begin - ln_unit).exp())
            };
            let mut sum = 0.0;
            let kernel = self.kernel(place, window.size);
            let of_steps = kernel.upwards(masses, entering, window, |cell, mass| {
                let mass = mass * factor * weights[cell];
                here[cell] = mass;
                sum += mass;
            });
            if !(sum > 0.0 && sum.is_finite()) {
                return None;
            }
            let ln_unit = ln_unit + of_nearest + of_steps;
            before = Some((window, here, ln_unit, ln_unit + sum.ln()));
        }
        let ln_never = self.begins[windows.0.len()] + ln_waiting;
        let ln_all =
            ln_sum(before.map_or(f64::NEG_INFINITY, |(.., ln_before)| ln_before), ln_never);
        Some(Forward { windows, ways, starts, ln_nothing: ln_waiting, ln_all })
    }

    /// `end`: the logarithms of further weights of the last value, for those from the first on; all
    /// others have none.
    pub(crate) fn posterior(
        &self,
        forward: &Forward,
        end: Option<(i64, &[f64])>,
    ) -> Option<Posterior> {
        let places = forward.windows.0.len();
        let mut values = vec![Marginal::default(); places];
        let mut windows = forward.windows.clone();
        let mut settled = true;
        let mut expected = vec![0.0; self.weights.len()];
        let mut ln_begins = vec![f64::NEG_INFINITY; places + 1];
        ln_begins[places] = forward.ln_nothing;
        let mut begun = 1.0 - (forward.ln_nothing + self.begins[places] - forward.ln_all).exp();
        let mut ln_waiting = forward.ln_nothing;
        let mut ln_unit = 0.0;
        let mut weighing = Weighing::new(self);
        let (mut weights, mut room) = (Vec::new(), Vec::new());
        let (mut ways, mut later, mut joint) = (Vec::new(), Vec::new(), Vec::new());
        for place in (0..places).rev() {
            let window = forward.windows.0[place];
            done((window.cells / CELLS_PER_UNIT) as u64 + 1);
            ln_unit += weighing.weigh(place, window, &mut weights);
            ways.clear();
            ways.resize(window.cells, 1.0);
            if let Some(above) = forward.windows.0.get(place + 1) {
                let masses = resized(*above, &later, window.size, &mut room);
                let kernel = self.kernel(place + 1, window.size);
                ln_unit += kernel.downwards(masses, window, |cell, mass| ways[cell] = mass);
            } else if let Some((least, ln_end)) = end {
                weigh_end(window, least, ln_end, &mut ways);
            }
            let ways_to = forward.ways(place);
            joint.resize(window.cells, 0.0);
            later.resize(window.cells, 0.0);
            let (mut sums, mut sum, mut cell) = (Sums::default(), 0.0, 0.0);
            let ways_of_cells = ways_to.iter().zip(&ways).zip(&weights);
            for (((to, from), weight), (joint, later)) in
                ways_of_cells.zip(joint.iter_mut().zip(&mut later))
            {
                *joint = (to * SHRINK) * (from * SHRINK);
                sums.add(cell, *joint);
                *later = from * weight;
                sum += *later;
                cell += 1.0;
            }
            if !(sum > 0.0 && sum.is_finite()) {
                return None;
            }
            if sums.total > 0.0 {
                let masses = Masses { window, masses: &joint, sums };
                values[place] = masses.marginal(begun.clamp(0.0, 1.0));
                let (next, fine) = masses.next_window(self.scale, self.top, [ways_to, &ways]);
                windows.0[place] = next;
                settled &= fine;
                for (number, _, cells) in weighing.stretches(window) {
                    expected[number] += begun * joint[cells].iter().sum::<f64>() / sums.total;
                }
            } else if begun > 0.5 {
                return None;
            }
            ln_waiting += self.observed(place) as f64 / self.scale;
            if self.begins[place] > f64::NEG_INFINITY {
                let kernel = self.kernel(place, window.size);
                let ln_ways = kernel.ln_back_to_zero(window, &later, sum);
                ln_begins[place] = ln_ways + ln_unit + ln_waiting;
                begun -= (ln_begins[place] + self.begins[place] - forward.ln_all).exp();
            }
            let factor = LARGE / sum;
            later.iter_mut().for_each(|mass| *mass *= factor);
            ln_unit -= factor.ln();
        }
        // by rounding in cells of several integers, and nothing else
        let mut least = 0;
        for median in values.iter_mut().filter_map(|value| value.median.as_mut()) {
            least = (*median).clamp(least, self.top);
            *median = least;
        }
        if windows.cells() > MOST_CELLS {
            (windows, settled) = (forward.windows.clone(), true);
        }
        Some(Posterior { values, ln_begins, expected, windows, settled })
    }
}

fn weigh_end(window: Window, least: i64, ln_end: &[f64], cells: &mut [f64]) {
    let most = ln_end.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    for (cell, weight) in cells.iter_mut().enumerate() {
        let begin = window.begin(cell).saturating_sub(least);
        let values = (begin.max(0)..begin.saturating_add(window.size).max(0))
            .map_while(|value| ln_end.get(value as usize));
        *weight = values.map(|ln| (ln - most).exp()).sum::<f64>() / window.size as f64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Also the one of the largest integer, whose middle lies beyond it.
    #[test]
    fn every_cell_is_in_one_stretch() {
        for top in 20..60 {
            let weights = [(3, 0.5), (17, 0.2), (top, 0.1), (top + 1, 0.3)];
            let (observed, begins) = ([5], [0.0, f64::NEG_INFINITY]);
            let chain = MonotoneSequence {
                observed: &observed,
                scale: 1.0,
                top,
                steps: None,
                begins: &begins,
                weights: &weights,
            };
            let mut weighing = Weighing::new(&chain);
            for size in [1, 2, 4, 8, 16] {
                weighing.reach(size);
                for least in [0, 2, 19] {
                    let window = Window::over(size, least, top);
                    let cells: Vec<usize> =
                        weighing.stretches(window).flat_map(|(.., cells)| cells).collect();
                    assert_eq!(
                        cells,
                        (0..window.cells).collect::<Vec<_>>(),
                        "{top} {size} {least}"
                    );
                }
            }
        }
    }
}
