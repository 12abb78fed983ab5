//! Masses in cells: how those of one place are carried to the next, and weighed by what was
//! observed there.
//!
//! A cell is a stretch of h integers from a multiple of h on, h a power of two. What is in it
//! counts as spread evenly, so that with h = 1 everything is exact.

use std::iter::successors;

/// The cell of an integer, as a multiple of h.
#[inline]
pub(super) fn cell_of(value: i64, size: i64) -> i64 {
    value >> size.trailing_zeros()
}

/// The cells of a place that are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// h
    pub size: i64,
    /// The first cell begins at this multiple of h.
    pub first: i64,
    pub cells: usize,
}

impl Window {
    /// The cells in which these integers lie.
    pub(super) fn over(size: i64, least: i64, most: i64) -> Window {
        let first = cell_of(least, size);
        let cells = (cell_of(most, size) - first).max(0) as usize + 1;
        Window { size, first, cells }
    }

    /// The least integer of a cell.
    pub(super) fn begin(&self, cell: usize) -> i64 {
        (self.first + cell as i64) * self.size
    }

    /// The greatest.
    pub(super) fn last(&self, cell: usize) -> i64 {
        self.begin(cell) + self.size - 1
    }
}

/// Masses in cells of any size as those of another: the number of the first cell, and all.
pub(super) fn resized<'a>(
    window: Window,
    masses: &'a [f64],
    size: i64,
    room: &'a mut Vec<f64>,
) -> (i64, &'a [f64]) {
    if window.size == size {
        return (window.first, masses);
    }
    room.clear();
    if window.size > size {
        let parts = cell_of(window.size, size);
        for mass in masses {
            room.extend((0..parts).map(|_| mass / parts as f64));
        }
        return (window.first * parts, room);
    }
    let parts = cell_of(size, window.size);
    let mut missing = window.first & (parts - 1);
    let mut rest = masses;
    while !rest.is_empty() {
        let (cell, others) = rest.split_at(((parts - missing) as usize).min(rest.len()));
        room.push(cell.iter().sum());
        (missing, rest) = (0, others);
    }
    (cell_of(window.first, parts), room)
}

/// Steps of s = 0, 1, 2, ... with weights proportional to q^s, between cells of one size. Weights
/// are means over a cell's integers.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepKernel {
    /// From a cell to itself and to the next one.
    own: f64,
    next: f64,
    /// What it is multiplied by from each cell to the next: q^h.
    further: f64,
    /// From a cell's first integer to all of it.
    from_first: f64,
    ln_ratio: f64,
    size: i64,
}

impl StepKernel {
    /// Steps with this positive mean have q = mean / (1 + mean); if it is infinite, all steps have
    /// the same weight.
    pub(super) fn new(mean: f64, size: i64) -> StepKernel {
        let h = size as f64;
        if mean == f64::INFINITY {
            let own = (h + 1.0) / (2.0 * h);
            return StepKernel {
                own,
                next: 1.0,
                further: 1.0,
                from_first: 1.0,
                ln_ratio: 0.0,
                size,
            };
        }
        let ln_ratio = -mean.recip().ln_1p();
        let rest = (1.0 + mean).recip(); // 1 - q
        let ratio = 1.0 - rest;
        // the sums of q^s and of (h - s) q^s for 0 <= s < h
        let (sum, pairs) = if size == 1 {
            (1.0, 1.0)
        } else if rest * h > 1e-3 {
            let sum = -(ln_ratio * h).exp_m1() / rest;
            (sum, (h - ratio * sum) / rest)
        } else {
            let sum = h * (1.0 - rest * (h - 1.0) / 2.0);
            (sum, h * (h + 1.0) / 2.0 * (1.0 - rest * (h - 1.0) / 3.0))
        };
        StepKernel {
            own: pairs / (h * h),
            next: ratio * sum * sum / (h * h),
            further: (ln_ratio * h).exp(),
            from_first: sum / h,
            ln_ratio,
            size,
        }
    }

    /// Whether all steps have the same weight.
    pub(super) fn is_flat(&self) -> bool {
        self.ln_ratio == 0.0
    }

    /// What comes from masses to each cell of a window, per integer, in order; as multiples of a
    /// weight whose logarithm is returned. `entering`: a mass at 0.
    #[inline]
    pub(super) fn upwards(
        &self,
        masses: (i64, &[f64]),
        entering: f64,
        window: Window,
        visit: impl FnMut(usize, f64),
    ) -> f64 {
        // flat steps are most of all; with literals no cell waits for a product of the one before
        if self.is_flat() {
            let flat = StepKernel { next: 1.0, further: 1.0, from_first: 1.0, ..*self };
            flat.rise(masses, entering, window, visit)
        } else {
            self.rise(masses, entering, window, visit)
        }
    }

    #[inline(always)]
    fn rise(
        self,
        (first, masses): (i64, &[f64]),
        entering: f64,
        window: Window,
        mut visit: impl FnMut(usize, f64),
    ) -> f64 {
        let ahead = window.first - first;
        let (outside, inside) = masses.split_at(ahead.clamp(0, masses.len() as i64) as usize);
        let ln_way = self.ln_way(ahead - masses.len() as i64);
        let ln_entry = self.ln_way(window.first);
        // the larger of those that there are
        let ln_unit = match (masses.is_empty(), entering > 0.0) {
            (true, _) => ln_entry,
            (false, true) => ln_way.max(ln_entry),
            (false, false) => ln_way,
        };
        // one of the two is the unit
        let in_units = |ln: f64| if ln < ln_unit { (ln - ln_unit).exp() } else { 1.0 };
        let mut below = self.passed(outside.iter()) * in_units(ln_way);
        let mut edge = entering * self.from_first;
        if entering > 0.0 {
            edge *= in_units(ln_entry);
        }
        let none = (-ahead).clamp(0, window.cells as i64) as usize;
        for cell in 0..none {
            visit(cell, edge);
            edge *= self.further;
        }
        let mut cell = none;
        for mass in &inside[..inside.len().min(window.cells - none)] {
            visit(cell, below + self.own * mass + edge);
            below = below * self.further + self.next * mass;
            edge *= self.further;
            cell += 1;
        }
        for cell in cell..window.cells {
            visit(cell, below + edge);
            below *= self.further;
            edge *= self.further;
        }
        ln_unit
    }

    /// The other way: what cells above give to each cell of a window, per integer, the last first.
    #[inline]
    pub(super) fn downwards(
        &self,
        masses: (i64, &[f64]),
        window: Window,
        visit: impl FnMut(usize, f64),
    ) -> f64 {
        if self.is_flat() {
            StepKernel { next: 1.0, further: 1.0, ..*self }.sink(masses, window, visit)
        } else {
            self.sink(masses, window, visit)
        }
    }

    #[inline(always)]
    fn sink(
        self,
        (first, masses): (i64, &[f64]),
        window: Window,
        mut visit: impl FnMut(usize, f64),
    ) -> f64 {
        let ahead = first + masses.len() as i64 - (window.first + window.cells as i64);
        let inside = masses.len() - ahead.clamp(0, masses.len() as i64) as usize;
        let (inside, outside) = masses.split_at(inside);
        let mut above = self.passed(outside.iter().rev());
        let reached = window.cells - (-ahead).clamp(0, window.cells as i64) as usize;
        for cell in (reached..window.cells).rev() {
            visit(cell, 0.0);
        }
        let mut cell = reached;
        for mass in inside[inside.len().saturating_sub(reached)..].iter().rev() {
            cell -= 1;
            visit(cell, above + self.own * mass);
            above = above * self.further + self.next * mass;
        }
        for cell in (0..cell).rev() {
            visit(cell, above);
            above *= self.further;
        }
        self.ln_way(ahead - masses.len() as i64)
    }

    /// What cells, of which the last is next to some cell, bring into that.
    fn passed<'a>(&self, masses: impl Iterator<Item = &'a f64>) -> f64 {
        masses.fold(0.0, |sum, mass| sum * self.further + self.next * mass)
    }

    /// The logarithm of the weight of so many cells, if there are any.
    fn ln_way(&self, cells: i64) -> f64 {
        self.ln_ratio * cells.max(0) as f64 * self.size as f64
    }

    /// The weights of steps from 0 to all cells, times masses per integer there: the sum's
    /// logarithm. `all`: the sum of the masses.
    pub(super) fn ln_back_to_zero(&self, window: Window, masses: &[f64], all: f64) -> f64 {
        if self.is_flat() {
            return all.ln();
        }
        let (mut sum, mut weight) = (0.0, self.from_first);
        for mass in masses {
            sum += mass * weight;
            weight *= self.further;
        }
        f64::ln(sum) + self.ln_way(window.first)
    }
}

/// Discrete Laplace noise of scale t in cells of one size: what is the same wherever they lie.
#[derive(Debug, Clone)]
pub(super) struct NoiseInCells {
    scale: f64,
    /// h
    size: i64,
    /// e^(-1/t) - 1
    less: f64,
    /// The mean of e^(-s/t) for s < h.
    mean: f64,
    /// e^(-h/t)
    decay: f64,
    /// e^(-s/t) - 1 for 0 <= s <= h, where these are few.
    of_steps: Vec<f64>,
}

/// Up to this size of cells the noise of all steps within one is computed once.
const MOST_STEPS: i64 = 64;

impl NoiseInCells {
    pub(super) fn new(scale: f64, size: i64) -> NoiseInCells {
        let h = size as f64;
        let decay = (-h / scale).exp();
        let less = (-1.0 / scale).exp_m1();
        let mut noise = NoiseInCells { scale, size, less, mean: 1.0, decay, of_steps: Vec::new() };
        if size > 1 {
            noise.mean = noise.step(size) / less / h;
            let steps = if size <= MOST_STEPS { 0..size + 1 } else { 0..0 };
            noise.of_steps = steps.map(|step| noise.step(step)).collect();
        }
        noise
    }

    /// e^(-s/t) - 1 for 0 <= s <= h.
    fn step(&self, step: i64) -> f64 {
        let known = self.of_steps.get(step as usize);
        known.copied().unwrap_or_else(|| (-step as f64 / self.scale).exp_m1())
    }

    pub(super) fn scale(&self) -> f64 {
        self.scale
    }

    pub(super) fn size(&self) -> i64 {
        self.size
    }

    /// Makes the first powers of the decay at least so many.
    pub(super) fn extend_powers(&self, powers: &mut Vec<f64>, count: usize) {
        let known = powers.len();
        if known < count {
            let last = powers.last().copied();
            let next = |power: &f64| Some(power * self.decay);
            let more = successors(last.map_or(Some(1.0), |last| next(&last)), next);
            powers.reserve(count - known);
            powers.extend(more.take(count - known));
        }
    }
}

/// The likelihoods of cells where a value was observed with discrete Laplace noise, as means over
/// their integers and as multiples of that of the integer of the window which is nearest to it.
pub(super) struct Likelihood {
    pub ln_nearest: f64,
    /// The cell of the observed value, as counted from the window's first; or one beside the
    /// window.
    peak: i64,
    at_peak: f64,
    /// Of the cells next to the peak; from each to the next it decays.
    below: f64,
    above: f64,
}

impl Likelihood {
    pub(super) fn new(window: Window, observed: i64, noise: &NoiseInCells) -> Likelihood {
        let &NoiseInCells { scale, mean, decay, .. } = noise;
        let peak = cell_of(observed, window.size) - window.first;
        let cells = window.cells as i64;
        if (0..cells).contains(&peak) {
            if window.size == 1 {
                let (below, above) = (decay, decay);
                return Likelihood { ln_nearest: 0.0, peak, at_peak: 1.0, below, above };
            }
            let h = window.size as f64;
            let offset = observed & (window.size - 1);
            // to the next cells
            let [below, above] = [offset + 1, window.size - offset].map(|step| noise.step(step));
            return Likelihood {
                ln_nearest: 0.0,
                peak,
                at_peak: ((below + above) / noise.less - 1.0) / h,
                below: (below + 1.0) * mean,
                above: (above + 1.0) * mean,
            };
        }
        let last = window.last(window.cells - 1);
        let nearest = if peak < 0 { window.begin(0) } else { last };
        Likelihood {
            ln_nearest: -(nearest as f64 - observed as f64).abs() / scale,
            peak: peak.clamp(-1, cells),
            at_peak: 0.0,
            below: mean,
            above: mean,
        }
    }

    /// Appends all of them, times the weights of as many cells. `powers`: of the decay, at least as
    /// many.
    pub(super) fn cells(&self, powers: &[f64], weights: &[f64], cells: &mut Vec<f64>) {
        let begin = cells.len();
        cells.resize(begin + weights.len(), 0.0);
        let (below, from_peak) = cells[begin..].split_at_mut(self.peak.max(0) as usize);
        let (weights_below, from_peak_weights) = weights.split_at(below.len());
        let powers_below = powers[..below.len()].iter().rev();
        for ((cell, weight), power) in below.iter_mut().zip(weights_below).zip(powers_below) {
            *cell = self.below * power * weight;
        }
        let at_peak = usize::from(self.peak >= 0 && !from_peak.is_empty());
        let (peak, above) = from_peak.split_at_mut(at_peak);
        let (peak_weight, weights_above) = from_peak_weights.split_at(at_peak);
        peak.iter_mut().zip(peak_weight).for_each(|(cell, weight)| *cell = self.at_peak * weight);
        for ((cell, weight), power) in above.iter_mut().zip(weights_above).zip(powers) {
            *cell = self.above * power * weight;
        }
    }
}
