//! By how much replicates are off, size by size.

use crate::coco::Coco;
use crate::work::done;
use std::ops::Range;

/// How many sizes on either side, of those that were released, are as far off as one itself.
const NEIGHBOURS: usize = 4;

/// A spread of which the replicates say nothing: a tenth of a group.
const LEAST_SPREAD: f64 = 0.1;

/// Deviations of nine replicates at nine sizes tell what nine in ten are off by at most. Beyond that
/// they are taken to fall off as the noise does, at least.
const TOLD: f64 = 0.9;

/// The work for a size's bar, in units of [`done`].
const UNITS_PER_SIZE: u64 = 50;

/// The half width of a bar of whole numbers: what is off by at most w of these is off by less than
/// w + 1/2 of real ones.
pub(super) fn whole(half: f64) -> f64 {
    (half - 0.5).ceil().max(0.0)
}

/// What these whole deviations are at most, but for so many of them, as a real number q: a whole one
/// stands for what is less than 1/2 from it. So bars of the largest whole number up to q leave out
/// so many if half of those count that are off by just as much: as often too few as too many.
///
/// `beyond`: positive, and at most as many as there are.
fn reached(deviations: &mut [f32], beyond: f64) -> f64 {
    let further = (beyond.ceil() as usize).clamp(1, deviations.len()) - 1;
    let (_, &mut at, _) = deviations.select_nth_unstable_by(further, |a, b| b.total_cmp(a));
    let [above, alike] = [|off: f32, at: f32| off > at, |off: f32, at: f32| off == at]
        .map(|is| deviations.iter().filter(|off| is(**off, at)).count() as f64);
    let part = (beyond - above) / alike;
    // no deviation is negative
    if at == 0.0 { 0.5 * (1.0 - part) } else { f64::from(at) + 0.5 - part }
}

/// What is counted at each size of a released histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Counted {
    OfSize,
    UpToSize,
}

impl Counted {
    pub(super) const BOTH: [Counted; 2] = [Counted::OfSize, Counted::UpToSize];

    /// Those of a histogram at these sizes, which ascend.
    fn numbers<'a>(
        self,
        histogram: &'a Coco,
        sizes: impl Iterator<Item = u64> + 'a,
    ) -> impl Iterator<Item = u64> + 'a {
        let mut runs = histogram.runs().iter().peekable();
        let mut up_to = 0;
        sizes.map(move |size| {
            let mut of_size = 0;
            while let Some(run) = runs.next_if(|run| run.size <= size) {
                up_to += run.groups;
                of_size = if run.size == size { run.groups } else { 0 };
            }
            match self {
                Counted::OfSize => of_size,
                Counted::UpToSize => up_to,
            }
        })
    }
}

/// By how much each replicate of a region is off at the sizes that were released.
#[derive(Debug, Clone)]
pub(super) struct Deviations {
    counted: Counted,
    /// One for each replicate, of one number for each size. A census has millions: single precision
    /// is enough for a spread.
    replicates: Vec<Vec<f32>>,
}

impl Deviations {
    pub(super) fn new(counted: Counted) -> Deviations {
        Deviations { counted, replicates: vec![] }
    }

    /// `replicate`: a release of what was drawn.
    pub(super) fn add(&mut self, released: &Coco, drawn: &Coco, replicate: &Coco) {
        let sizes = || released.runs().iter().map(|run| run.size);
        let [numbers, again] =
            [drawn, replicate].map(|histogram| self.counted.numbers(histogram, sizes()));
        let off = numbers.zip(again).map(|(number, again)| (again as f64 - number as f64) as f32);
        self.replicates.push(off.collect());
        done(released.runs().len() as u64);
    }

    pub(super) fn replicates(&self) -> usize {
        self.replicates.len()
    }

    fn places(&self) -> usize {
        self.replicates.first().map_or(0, Vec::len)
    }

    /// The sizes that a size is as far off as.
    fn around(&self, place: usize) -> Range<usize> {
        place.saturating_sub(NEIGHBOURS)..(place + NEIGHBOURS + 1).min(self.places())
    }

    /// How many groups each number is off by at most on either side, with this probability.
    pub(super) fn half_widths(&self, level: f64) -> Vec<u64> {
        let told = level.min(TOLD);
        let wider = (1.0 - level).ln() / (1.0 - told).ln();
        let mut pool = Vec::with_capacity((2 * NEIGHBOURS + 1) * self.replicates.len());
        let width = |place: usize| {
            done(UNITS_PER_SIZE);
            pool.clear();
            for off in &self.replicates {
                pool.extend(off[self.around(place)].iter().map(|off| off.abs()));
            }
            if pool.iter().all(|off| *off == 0.0) {
                return 0;
            }
            let mut all_but = |share: f64| {
                let beyond = share * pool.len() as f64;
                reached(&mut pool, beyond)
            };
            let width = wider * all_but(1.0 - told);
            (if level > told { width.max(all_but(1.0 - level)) } else { width }) as u64
        };
        (0..self.places()).map(width).collect()
    }

    /// The root of the mean square deviation around each size, of all replicates, or of all but one.
    fn spreads(&self, without: Option<usize>) -> Vec<f64> {
        let places = self.places();
        let kept = || (0..).zip(&self.replicates).filter(|(number, _)| Some(*number) != without);
        let replicates = kept().count();
        let square = |off: f32| f64::from(off).powi(2);
        let at = |place: usize| kept().map(|(_, off)| square(off[place])).sum::<f64>();
        let squares: Vec<f64> = (0..places).map(at).collect();
        done(places as u64);
        let spread = |place: usize| {
            let around = self.around(place);
            let count = (around.len() * replicates) as f64;
            (squares[around].iter().sum::<f64>() / count).sqrt()
        };
        (0..places).map(spread).collect()
    }

    /// So many spreads, in groups: the most whole groups that lie within by the measure of
    /// [`Deviations::widest`], so that bars as wide as a replicate was off hold it.
    pub(super) fn half_widths_of(&self, spreads: f64) -> Vec<u64> {
        let width = |spread: f64| (spreads * spread.max(LEAST_SPREAD) + 0.5).floor() as u64;
        self.spreads(None).into_iter().map(width).collect()
    }

    /// For each replicate, at how many spreads of the others all its numbers lie within.
    pub(super) fn widest(&self) -> impl Iterator<Item = f64> + '_ {
        self.replicates.iter().enumerate().map(|(number, off)| {
            let spreads = self.spreads(Some(number)).into_iter();
            let beyond = |(off, spread): (&f32, f64)| {
                (f64::from(off.abs()) - 0.5) / spread.max(LEAST_SPREAD)
            };
            off.iter().zip(spreads).map(beyond).fold(0.0, f64::max)
        })
    }
}
