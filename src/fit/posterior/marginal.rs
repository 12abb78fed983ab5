//! The distribution of one value, and the window that it needs.

use super::cells::Window;
use std::array;
use std::f64::consts::E;

/// Windows leave out at most this share of a place's mass at each end.
pub(super) const NEGLIGIBLE: f64 = 1e-6;

/// A value that is less likely than this to have begun has no median.
pub(super) const LEAST_BEGUN: f64 = 0.5;

/// Cells are not made smaller than this part of the noise's scale: the sums' range would leave that
/// of floating point.
const FINEST: f64 = 1.0 / 1024.0;

/// How many cells fit into the standard deviation where they are small enough.
const CELLS_PER_DEVIATION: f64 = 3.0;

/// What is known of one value.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Marginal {
    /// The probability that the sequence has begun.
    pub begun: f64,
    /// The lowest median, where that is a value: what is not begun counts as less than any.
    pub median: Option<i64>,
    /// Of the value, if there is one.
    pub variance: f64,
}

/// The mass in each cell of a window, up to a factor.
pub(super) struct Masses<'a> {
    pub window: Window,
    pub masses: &'a [f64],
    pub sums: Sums,
}

/// Of masses; and of the masses times their cells, and times the squares of these.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Sums {
    pub total: f64,
    first: f64,
    second: f64,
}

/// So many sums grow side by side, as each has to wait for what it was before.
const LANES: usize = 4;

fn sum_of_lanes(lanes: [f64; LANES]) -> f64 {
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3])
}

pub(super) fn sum_of(masses: &[f64]) -> f64 {
    let (chunks, rest) = masses.as_chunks::<LANES>();
    let mut lanes = [0.0; LANES];
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, mass)| *lane += mass);
    }
    sum_of_lanes(lanes) + rest.iter().sum::<f64>()
}

impl Sums {
    pub(super) fn of(masses: &[f64]) -> Sums {
        let (chunks, rest) = masses.as_chunks::<LANES>();
        let mut cells: [f64; LANES] = array::from_fn(|lane| lane as f64);
        let [mut total, mut first, mut second] = [[0.0; LANES]; 3];
        let mut add = |chunk: &[f64; LANES]| {
            for lane in 0..LANES {
                let weighed = chunk[lane] * cells[lane];
                total[lane] += chunk[lane];
                first[lane] += weighed;
                second[lane] += weighed * cells[lane];
                cells[lane] += LANES as f64;
            }
        };
        chunks.iter().for_each(&mut add);
        let mut last = [0.0; LANES];
        last[..rest.len()].copy_from_slice(rest);
        add(&last);
        let [total, first, second] = [total, first, second].map(sum_of_lanes);
        Sums { total, first, second }
    }
}

impl Masses<'_> {
    /// The first integer up to which there is so much mass.
    fn reached(&self, mass: f64) -> i64 {
        let Window { size, cells, .. } = self.window;
        let mut below = 0.0;
        for (cell, &here) in self.masses.iter().enumerate() {
            if here > 0.0 && below + here >= mass {
                let part = ((mass - below) / here * size as f64).ceil() as i64 - 1;
                return self.window.begin(cell) + part.clamp(0, size - 1);
            }
            below += here;
        }
        self.window.last(cells - 1)
    }

    /// The mean, in cells from the first on, and the variance.
    fn moments(&self) -> (f64, f64) {
        let Sums { total, first, second } = self.sums;
        let (mean, square) = (first / total, second / total);
        let h = self.window.size as f64;
        (mean, (square - mean * mean).max(0.0) * h * h + (h * h - 1.0) / 12.0)
    }

    pub(super) fn marginal(&self, begun: f64) -> Marginal {
        let median = || self.reached((begun - LEAST_BEGUN) / begun * self.sums.total);
        Marginal { begun, median: (begun >= LEAST_BEGUN).then(median), variance: self.moments().1 }
    }

    /// The window that the next pass should have, and whether this one was fine enough. `ways`: the
    /// sums of all ways to each cell and from it.
    pub(super) fn next_window(&self, scale: f64, top: i64, ways: [&[f64]; 2]) -> (Window, bool) {
        let Window { size, cells, .. } = self.window;
        let mut above = 0.0;
        let after = self.masses.iter().rev().take_while(|mass| {
            above += **mass;
            above < NEGLIGIBLE * self.sums.total
        });
        let last = self.window.last(cells - after.count().min(cells - 1));
        let least = (self.reached(NEGLIGIBLE * self.sums.total) - size).max(0);
        let most = last.min(top);
        if size == 1 {
            return (Window::over(size, least, most), true);
        }
        let h = size as f64;
        let (mean, variance) = self.moments();
        let smooth = ways.iter().all(|ways| {
            let at = |cell: f64| ways[(cell.max(0.0) as usize).min(cells - 1)];
            let (before, after) = (at(mean - 1.0), at(mean + 1.0));
            before < E * after && after < E * before
        });
        let wanted = variance.sqrt().min(scale) / CELLS_PER_DEVIATION;
        if h < scale * FINEST || h <= wanted && smooth {
            return (Window::over(size, least, most), true);
        }
        let finer = if smooth { (wanted as i64).max(1).ilog2() } else { 0 };
        let finer = (1 << finer).clamp((size / 4).max(1), size / 2);
        (Window::over(finer, least, most), false)
    }
}
