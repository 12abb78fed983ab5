//! By how much replicates are off, size by size.

use crate::coco::Coco;
use crate::work::done;

/// How many sizes on either side, of those that were released, are as far off as one itself.
const NEIGHBOURS: usize = 4;

/// A spread of which the replicates say nothing: a tenth of a group.
const LEAST_SPREAD: f64 = 0.1;

/// The half width of a bar of whole numbers: what is off by at most w of these is off by less than
/// w + 1/2 of real ones.
pub(super) fn whole(half: f64) -> f64 {
    (half - 0.5).ceil().max(0.0)
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
#[derive(Debug)]
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

    pub(super) fn add(&mut self, released: &Coco, replicate: &Coco) {
        let sizes = || released.runs().iter().map(|run| run.size);
        let [numbers, again] =
            [released, replicate].map(|histogram| self.counted.numbers(histogram, sizes()));
        let off = numbers.zip(again).map(|(number, again)| (again as f64 - number as f64) as f32);
        self.replicates.push(off.collect());
        done(released.runs().len() as u64);
    }

    /// The root of the mean square deviation around each size, of all replicates, or of all but one.
    fn spreads(&self, without: Option<usize>) -> Vec<f64> {
        let places = self.replicates.first().map_or(0, Vec::len);
        let kept = || (0..).zip(&self.replicates).filter(|(number, _)| Some(*number) != without);
        let replicates = kept().count();
        let square = |off: f32| f64::from(off).powi(2);
        let at = |place: usize| kept().map(|(_, off)| square(off[place])).sum::<f64>();
        let squares: Vec<f64> = (0..places).map(at).collect();
        done(places as u64);
        let spread = |place: usize| {
            let around = place.saturating_sub(NEIGHBOURS)..(place + NEIGHBOURS + 1).min(places);
            let count = (around.len() * replicates) as f64;
            (squares[around].iter().sum::<f64>() / count).sqrt()
        };
        (0..places).map(spread).collect()
    }

    /// How many groups the numbers can be off by on either side, at so many spreads.
    pub(super) fn half_widths(&self, spreads: f64) -> Vec<u64> {
        let width = |spread: f64| whole(spreads * spread) as u64;
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
