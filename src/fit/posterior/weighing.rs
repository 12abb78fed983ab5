//! What is known of a place's cells besides the steps to it: the weights of the values, and what was
//! observed there.

use super::cells::{Likelihood, NoiseInCells, Window, cell_of};
use std::ops::Range;

/// The first cells, so many, are weighed once for all places: most windows lie there.
const MOST_TABULATED: usize = 1 << 12;

/// For one place after the other: most have cells of one size.
pub(super) struct Weighing {
    /// Weights of values: of those below the first of a pair, and not below that of the one before.
    weights: Vec<(i64, f64)>,
    noise: NoiseInCells,
    /// Powers of the noise's decay.
    powers: Vec<f64>,
    /// The cells before which each stretch of the weights ends.
    ends: Vec<i64>,
    /// The weights of the first cells; and of others, one window's.
    first: Vec<f64>,
    others: Vec<f64>,
    /// How much was found in each stretch, and in the first cells.
    found: Vec<f64>,
    found_in_first: Vec<f64>,
}

impl Default for Weighing {
    fn default() -> Weighing {
        Weighing {
            weights: Vec::new(),
            noise: NoiseInCells::new(1.0, 1),
            powers: Vec::new(),
            ends: Vec::new(),
            first: Vec::new(),
            others: Vec::new(),
            found: Vec::new(),
            found_in_first: Vec::new(),
        }
    }
}

impl Weighing {
    /// Begins anew. `scale`: of discrete Laplace noise.
    pub(super) fn begin(&mut self, weights: &[(i64, f64)], scale: f64) {
        self.weights.clear();
        self.weights.extend_from_slice(weights);
        self.found.clear();
        self.found.resize(weights.len(), 0.0);
        self.found_in_first.clear();
        self.use_cells(scale, self.noise.size());
    }

    /// Cells of this size are next.
    fn use_size(&mut self, size: i64) {
        if self.noise.size() != size {
            self.sort_found();
            self.use_cells(self.noise.scale(), size);
        }
    }

    fn use_cells(&mut self, scale: f64, size: i64) {
        if (scale, size) != (self.noise.scale(), self.noise.size()) {
            self.noise = NoiseInCells::new(scale, size);
            self.powers.clear();
        }
        self.first.clear();
        // a cell that two stretches share belongs to that of its middle, one beyond to the last
        let ends = self.weights.iter().map(|(end, _)| cell_of(end.saturating_add(size / 2), size));
        self.ends.clear();
        self.ends.extend(ends);
        if let Some(last) = self.ends.last_mut() {
            *last = i64::MAX;
        }
    }

    /// The stretches of weights that so many cells from a first one on meet: which, and the cells.
    fn stretches(&self, first: i64, count: usize) -> impl Iterator<Item = (usize, Range<usize>)> {
        let before = self.ends.partition_point(|end| *end <= first);
        let mut from = 0;
        (before..).zip(&self.ends[before..]).map_while(move |(number, end)| {
            let cells = from..((end - first) as usize).min(count);
            from = cells.end;
            (cells.start < count).then_some((number, cells))
        })
    }

    /// Where the cells of a window end, if all are among the first.
    fn end_among_first(window: Window) -> Option<usize> {
        let end = usize::try_from(window.first).ok()?.checked_add(window.cells)?;
        (end <= MOST_TABULATED).then_some(end)
    }

    /// The weights of a window's cells. What is observed of each is its integers' mean, hence the
    /// size.
    fn weights_of(&self, first: i64, count: usize, cells: &mut Vec<f64>) {
        let begin = cells.len();
        cells.resize(begin + count, self.noise.size() as f64);
        for (number, stretch) in self.stretches(first, count) {
            let weight = self.weights[number].1;
            cells[begin..][stretch].iter_mut().for_each(|cell| *cell *= weight);
        }
    }

    /// Appends the cells of a place where this was observed; returns the logarithm of what they are
    /// multiples of.
    pub(super) fn weigh(&mut self, observed: i64, window: Window, cells: &mut Vec<f64>) -> f64 {
        self.use_size(window.size);
        let likelihood = Likelihood::new(window, observed, &self.noise);
        self.noise.extend_powers(&mut self.powers, window.cells);
        let weights = if let Some(end) = Weighing::end_among_first(window) {
            let known = self.first.len();
            if known < end {
                let mut first = std::mem::take(&mut self.first);
                self.weights_of(known as i64, end - known, &mut first);
                self.first = first;
            }
            &self.first[end - window.cells..end]
        } else {
            let mut others = std::mem::take(&mut self.others);
            others.clear();
            self.weights_of(window.first, window.cells, &mut others);
            self.others = others;
            &self.others
        };
        likelihood.cells(&self.powers, weights, cells);
        likelihood.ln_nearest
    }

    /// So much of each cell's mass was found in a window.
    pub(super) fn find(&mut self, window: Window, masses: &[f64], share: f64) {
        self.use_size(window.size);
        if let Some(end) = Weighing::end_among_first(window) {
            if self.found_in_first.len() < end {
                self.found_in_first.resize(end, 0.0);
            }
            let found = &mut self.found_in_first[end - window.cells..end];
            found.iter_mut().zip(masses).for_each(|(found, mass)| *found += share * mass);
            return;
        }
        let mut found = std::mem::take(&mut self.found);
        for (number, cells) in self.stretches(window.first, window.cells) {
            found[number] += share * masses[cells].iter().sum::<f64>();
        }
        self.found = found;
    }

    /// Leaves nothing that was found in cells alone.
    fn sort_found(&mut self) {
        let mut found = std::mem::take(&mut self.found);
        for (number, cells) in self.stretches(0, self.found_in_first.len()) {
            found[number] += self.found_in_first[cells].iter().sum::<f64>();
        }
        self.found = found;
        self.found_in_first.clear();
    }

    /// What is as long as a window.
    pub(super) fn of_windows(&self) -> [&Vec<f64>; 2] {
        [&self.powers, &self.others]
    }

    /// How much was found in each stretch of the weights.
    pub(super) fn found(&mut self) -> Vec<f64> {
        self.sort_found();
        self.found.clone()
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
            let mut weighing = Weighing::default();
            weighing.begin(&weights, 1.0);
            for size in [1, 2, 4, 8, 16] {
                weighing.use_size(size);
                for least in [0, 2, 19] {
                    let window = Window::over(size, least, top);
                    let cells: Vec<usize> = weighing
                        .stretches(window.first, window.cells)
                        .flat_map(|(_, cells)| cells)
                        .collect();
                    assert_eq!(
                        cells,
                        (0..window.cells).collect::<Vec<_>>(),
                        "{top} {size} {least}"
                    );
                }
            }
        }
    }

    /// Cells of the table and others are weighed and found alike.
    #[test]
    fn the_first_cells_are_as_all_others() {
        let far = MOST_TABULATED as i64;
        let weights = |begin: i64| [(begin + 3, 0.5), (begin + 9, 0.25), (begin + 40, 2.0)];
        for size in [1, 4] {
            let [near, beyond] = [0, far * size].map(|begin| {
                let mut weighing = Weighing::default();
                weighing.begin(&weights(begin), 3.0);
                let (mut cells, mut masses) = (Vec::new(), Vec::new());
                for observed in [-5, 2, 13, 90] {
                    let window = Window::over(size, begin, begin + 60);
                    cells.clear();
                    weighing.weigh(begin + observed, window, &mut cells);
                    weighing.find(window, &cells, 0.5);
                    masses.extend_from_slice(&cells);
                }
                (masses, weighing.found())
            });
            assert_eq!(near.0, beyond.0);
            let apart = near.1.iter().zip(&beyond.1).map(|(a, b)| (a - b).abs());
            assert!(apart.fold(0.0, f64::max) < 1e-12 && near.1.iter().all(|found| *found > 0.0));
        }
    }
}
