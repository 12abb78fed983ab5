//! The passes forwards and backwards.
//!
//! Sums of ways are kept as multiples of e^a, with an a for each place, such that a place's are
//! about 2^[`LARGE`] together: its largest and its least that matter are then both in the range of
//! floating point. From one place to the next they are multiplied by powers of two, whose logarithms
//! cost nothing.

use super::cells::{StepKernel, Window, cell_of, resized};
use super::marginal::{LEAST_BEGUN, Marginal, Masses, Sums, sum_of};
use super::weighing::Weighing;
use crate::fit::isotonic_l1;
use crate::work::done;
use std::cell::Cell;
use std::f64::consts::LN_2;
use std::mem::take;

/// The sum of a place's ways in its unit, as a power of two.
const LARGE: i32 = 896;

/// Next to this a sum of ways is nothing.
const MUCH_LARGER: f64 = power_of_two(LARGE + 104);

/// Of two sums, before they are multiplied.
const SHRINK: f64 = power_of_two(-LARGE / 2);

/// Of all places together: with their weights 64 MiB. If smaller cells would be more, they stay as
/// they are.
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

/// What a pass backwards is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The windows of another pass, too.
    NextPass,
    /// Values, and where the sequence begins.
    ValuesAndBegins,
    /// Those values alone that have a median.
    Values,
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
    /// What each value weighs by itself, likewise; and the logarithms of what those of a place are
    /// multiples of.
    weights: Vec<f64>,
    ln_units: Vec<f64>,
    /// The logarithms of all observations' likelihood if nothing begins, and of the whole sum.
    ln_nothing: f64,
    ln_all: f64,
}

/// What all observations say.
pub(crate) struct Posterior {
    /// Their medians ascend.
    pub values: Vec<Marginal>,
    /// The logarithms of how likely all observations are if the sequence begins at each place; and
    /// if it never does. Where values alone were wanted, minus infinity for those without a median.
    pub ln_begins: Vec<f64>,
    /// Where this was wanted.
    pub next: Option<NextPass>,
}

/// With what another pass would begin.
pub(crate) struct NextPass {
    /// How many values are expected in each stretch of the weights.
    pub expected: Vec<f64>,
    pub windows: Windows,
    /// Whether those of this pass were fine enough.
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

/// 2^n, for a normal number.
const fn power_of_two(n: i32) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// The n for which 2^n is nearest below a positive sum, as far as a power that brings it to
/// 2^[`LARGE`] is in the range of floating point.
fn power_below(sum: f64) -> i32 {
    ((sum.to_bits() >> 52) as i32 - 1023).max(LARGE - 1023)
}

/// Where passes compute: to be used for many, one after the other.
#[derive(Default)]
pub(crate) struct Room {
    weighing: Weighing,
    resized: Vec<f64>,
    /// Of a place on the way back: the ways to each cell, with its weights, and with what leads to it.
    ways: Vec<f64>,
    later: Vec<f64>,
    joint: Vec<f64>,
    /// Those of a [`Forward`] that is needed no more.
    spare: [Vec<f64>; 2],
}

/// What is kept for the next sequence, in cells: more is seldom needed, and would be held for good.
const MOST_KEPT: usize = 1 << 12;

thread_local! {
    static KEPT: Cell<Room> = Cell::default();
}

impl Room {
    /// The room of this thread; an empty one if that is in use.
    pub(crate) fn with<T>(work: impl FnOnce(&mut Room) -> T) -> T {
        let mut room = KEPT.take();
        let result = work(&mut room);
        let Room { weighing, resized, ways, later, joint, spare: [spare, other_spare] } = &room;
        let [powers, others] = weighing.of_windows();
        let all = [powers, others, resized, ways, later, joint, spare, other_spare];
        if all.iter().all(|cells| cells.capacity() <= MOST_KEPT) {
            KEPT.set(room);
        }
        result
    }

    /// Takes the memory of what is needed no more.
    pub(crate) fn reuse(&mut self, forward: Forward) {
        self.spare = [forward.ways, forward.weights];
    }
}

/// ln(e^a + e^b)
fn ln_sum(a: f64, b: f64) -> f64 {
    let (least, most) = if a < b { (a, b) } else { (b, a) };
    if least == f64::NEG_INFINITY { most } else { most + (least - most).exp().ln_1p() }
}

impl Forward {
    /// Whether all cells are single integers: another pass has none that are finer.
    pub(crate) fn is_finest(&self) -> bool {
        self.windows.0.iter().all(|window| window.size == 1)
    }

    fn ways(&self, place: usize) -> &[f64] {
        self.of_place(&self.ways, place)
    }

    fn of_place<'a>(&self, cells: &'a [f64], place: usize) -> &'a [f64] {
        &cells[self.starts[place]..][..self.windows.0[place].cells]
    }

    /// The logarithms of how likely the values from `least` on are for the last place, by all
    /// observations up to it; up to a constant. Without places the sequence stays at 0.
    pub(crate) fn ln_last(&self, least: i64, count: usize) -> Vec<f64> {
        let last = self.windows.0.last().map(|window| (window, self.ways(self.starts.len() - 1)));
        let at = |value: i64| match last {
            Some((window, ways)) => {
                let cell = cell_of(value, window.size) - window.first;
                usize::try_from(cell).ok().and_then(|cell| ways.get(cell)).map_or(0.0, |way| *way)
            }
            None => f64::from(u8::from(value == 0)),
        };
        (0..count as i64).map(|i| at(least + i).ln()).collect()
    }
}

/// The kernels of steps to places: most are that of the one before.
struct Kernels<'a> {
    steps: Option<&'a [f64]>,
    last: (f64, i64, StepKernel),
}

impl<'a> Kernels<'a> {
    fn new(chain: &MonotoneSequence<'a>) -> Kernels<'a> {
        Kernels { steps: chain.steps, last: (f64::INFINITY, 1, StepKernel::new(f64::INFINITY, 1)) }
    }

    fn of(&mut self, place: usize, size: i64) -> StepKernel {
        let mean = self.steps.map_or(f64::INFINITY, |steps| steps[place]);
        if (mean, size) != (self.last.0, self.last.1) {
            self.last = (mean, size, StepKernel::new(mean, size));
        }
        self.last.2
    }
}

impl MonotoneSequence<'_> {
    /// An observation beyond the limits says as much as one at them.
    fn observed(&self, place: usize) -> i64 {
        self.observed[place].clamp(0, self.top)
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
    pub(crate) fn forward(&self, windows: Windows, room: &mut Room) -> Option<Forward> {
        let mut cells = 0;
        let start = |window: &Window| {
            cells += window.cells;
            cells - window.cells
        };
        let starts: Vec<usize> = windows.0.iter().map(start).collect();
        let [mut ways, mut weights] = take(&mut room.spare);
        ways.clear();
        ways.resize(windows.cells(), 0.0);
        weights.clear();
        weights.reserve(ways.len());
        let mut rest = ways.as_mut_slice();
        // of the place before: its ways, their sum, and the logarithm of their unit
        let mut before: Option<(Window, &[f64], f64, f64)> = None;
        let mut ln_waiting = 0.0;
        let mut kernels = Kernels::new(self);
        let Room { weighing, resized: room, .. } = room;
        weighing.begin(self.weights, self.scale);
        let mut ln_units = Vec::with_capacity(starts.len());
        for (place, &window) in windows.0.iter().enumerate() {
            done((window.cells / CELLS_PER_UNIT) as u64 + 1);
            let (here, others) = rest.split_at_mut(window.cells);
            rest = others;
            let begin = weights.len();
            let of_nearest = weighing.weigh(self.observed(place), window, &mut weights);
            let own = &weights[begin..];
            ln_units.push(of_nearest);
            let ln_begin = self.begins[place] + ln_waiting;
            ln_waiting -= self.observed(place) as f64 / self.scale;
            // what begins here, in the unit of the place before, unless that is far too small
            let begun = before.and_then(|(cells, ways, sum, ln_unit)| {
                let entering = (ln_begin - ln_unit).exp();
                (entering < MUCH_LARGER).then_some((cells, ways, sum, ln_unit, entering))
            });
            let (masses, entering, sum, ln_unit) = match begun {
                Some((cells, ways, sum, ln_unit, entering)) => {
                    let masses = resized(cells, ways, window.size, room);
                    (masses, entering, sum + entering, ln_unit)
                }
                None if ln_begin > f64::NEG_INFINITY => {
                    ((window.first, Default::default()), 1.0, 1.0, ln_begin)
                }
                None => continue, // nothing begins here or before
            };
            let power = power_below(sum);
            let factor = power_of_two(LARGE - power);
            let of_steps =
                kernels.of(place, window.size).upwards(masses, entering, window, |cell, mass| {
                    here[cell] = mass * factor * own[cell];
                });
            // not above, where it would be in memory, and each mass wait for the one before
            let sum = sum_of(here);
            if !(sum > 0.0 && sum.is_finite()) {
                return None;
            }
            let ln_unit = ln_unit + f64::from(power - LARGE) * LN_2 + of_nearest + of_steps;
            before = Some((window, here, sum, ln_unit));
        }
        let ln_never = self.begins[windows.0.len()] + ln_waiting;
        let ln_all = ln_sum(
            before.map_or(f64::NEG_INFINITY, |(.., sum, ln_unit)| ln_unit + sum.ln()),
            ln_never,
        );
        Some(Forward { windows, ways, starts, weights, ln_units, ln_nothing: ln_waiting, ln_all })
    }

    /// `end`: the logarithms of further weights of the last value, for those from the first on; all
    /// others have none.
    pub(crate) fn posterior(
        &self,
        forward: &Forward,
        end: Option<(i64, &[f64])>,
        wanted: Wanted,
        room: &mut Room,
    ) -> Option<Posterior> {
        let places = forward.windows.0.len();
        let mut values = vec![Marginal::default(); places];
        let mut next = (wanted == Wanted::NextPass).then(|| (forward.windows.clone(), true));
        let mut ln_begins = vec![f64::NEG_INFINITY; places + 1];
        ln_begins[places] = forward.ln_nothing;
        let mut begun = 1.0 - (forward.ln_nothing + self.begins[places] - forward.ln_all).exp();
        let mut ln_waiting = forward.ln_nothing;
        let mut ln_unit = 0.0;
        let mut kernels = Kernels::new(self);
        let Room { weighing, resized: room, ways, later, joint, .. } = room;
        if next.is_some() {
            weighing.begin(self.weights, self.scale);
        }
        later.clear();
        for place in (0..places).rev() {
            let window = forward.windows.0[place];
            if wanted == Wanted::Values && begun < LEAST_BEGUN {
                break; // and so it is with all places before
            }
            done((window.cells / CELLS_PER_UNIT) as u64 + 1);
            ln_unit += forward.ln_units[place];
            let weights = forward.of_place(&forward.weights, place);
            ways.clear();
            ways.resize(window.cells, 1.0);
            if let Some(above) = forward.windows.0.get(place + 1) {
                let masses = resized(*above, later, window.size, room);
                let kernel = kernels.of(place + 1, window.size);
                ln_unit += kernel.downwards(masses, window, |cell, mass| ways[cell] = mass);
            } else if let Some((least, ln_end)) = end {
                weigh_end(window, least, ln_end, ways);
            }
            let ways_to = forward.ways(place);
            joint.resize(window.cells, 0.0);
            later.resize(window.cells, 0.0);
            let (to, from) = (&ways_to[..window.cells], &ways[..window.cells]);
            let (weights, joint) = (&weights[..window.cells], &mut joint[..window.cells]);
            let of_later = &mut later[..window.cells];
            for cell in 0..window.cells {
                joint[cell] = (to[cell] * SHRINK) * (from[cell] * SHRINK);
                of_later[cell] = from[cell] * weights[cell];
            }
            let (sums, sum) = (Sums::of(joint), sum_of(of_later));
            if !(sum > 0.0 && sum.is_finite()) {
                return None;
            }
            if sums.total > 0.0 {
                let masses = Masses { window, masses: joint, sums };
                values[place] = masses.marginal(begun.clamp(0.0, 1.0));
                if let Some((windows, settled)) = &mut next {
                    let (next, fine) = masses.next_window(self.scale, self.top, [ways_to, ways]);
                    windows.0[place] = next;
                    *settled &= fine;
                    weighing.find(window, joint, begun / sums.total);
                }
            } else if begun > 0.5 {
                return None;
            }
            ln_waiting += self.observed(place) as f64 / self.scale;
            if self.begins[place] > f64::NEG_INFINITY {
                let kernel = kernels.of(place, window.size);
                let ln_ways = kernel.ln_back_to_zero(window, later, sum);
                ln_begins[place] = ln_ways + ln_unit + ln_waiting;
                begun -= (ln_begins[place] + self.begins[place] - forward.ln_all).exp();
            }
            let power = power_below(sum);
            let factor = power_of_two(LARGE - power);
            later.iter_mut().for_each(|mass| *mass *= factor);
            ln_unit += f64::from(power - LARGE) * LN_2;
        }
        // by rounding in cells of several integers, and nothing else
        let mut least = 0;
        for median in values.iter_mut().filter_map(|value| value.median.as_mut()) {
            least = (*median).clamp(least, self.top);
            *median = least;
        }
        let next = next.map(|(windows, settled)| {
            let expected = weighing.found();
            match windows.cells() > MOST_CELLS {
                true => NextPass { expected, windows: forward.windows.clone(), settled: true },
                false => NextPass { expected, windows, settled },
            }
        });
        Some(Posterior { values, ln_begins, next })
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
