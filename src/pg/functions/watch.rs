//! What long functions over hierarchies tell while they run.

use crate::hierarchy::{Consistency, Mechanism, Observer, Tree};
use crate::pg::server::progress::{Phase, Progress};
use std::time::{Duration, Instant};

/// Tells how far a long function has come.
pub(crate) struct Watch<'a> {
    progress: &'a Progress,
    levels: usize,
    /// The first level that is measured, and the number of regions on all of those.
    first: usize,
    regions: usize,
    /// How many are matched with their children once all levels are measured.
    parents: usize,
    all_measured: bool,
    /// Says nothing to the client.
    is_silent: bool,
    /// Shows the phase alone.
    hides_counts: bool,
    told: Instant,
}

impl<'a> Watch<'a> {
    /// A release that takes less than this says nothing.
    const QUIET: Duration = Duration::from_secs(2);

    /// Of a release that begins to measure. Where several plans are carried out, all measure the
    /// same regions.
    ///
    /// What a named one measures may come to nothing, and be measured anew under the same charge: so
    /// until it is stored nothing that follows from noise may be told, such as how many regions a
    /// first look leads to. It gives no notices at all, as others wait for it, and writing to a
    /// client takes as long as the client likes.
    pub(super) fn release(
        progress: &'a Progress,
        mechanism: &Mechanism,
        tree: &Tree,
        is_named: bool,
    ) -> Watch<'a> {
        let (plan, levels) = (&mechanism.plans()[0], tree.depth());
        let measured = || (0..levels).filter(|level| plan.levels()[*level].is_some());
        let watch = Watch {
            progress,
            levels,
            first: measured().next().unwrap_or(0),
            regions: measured().map(|level| tree.level(level).len()).sum(),
            parents: plan.consistency().parents_to_match(tree),
            all_measured: false,
            is_silent: is_named,
            hides_counts: is_named && mechanism.plans().iter().any(|p| p.first_look().is_some()),
            told: Instant::now(),
        };
        watch.begin();
        watch
    }

    fn begin(&self) {
        self.progress.steps(Phase::Measuring, self.shown(self.regions));
        self.progress.level(self.first, self.shown(self.levels));
    }

    /// Of so many: 0 where that is not shown.
    fn shown(&self, total: usize) -> usize {
        if self.hides_counts { 0 } else { total }
    }

    /// Of the post-processing of what was measured before.
    pub(crate) fn consistency(
        progress: &'a Progress,
        method: Consistency,
        tree: &Tree,
    ) -> Watch<'a> {
        let (levels, parents) = (tree.depth(), method.parents_to_match(tree));
        progress.steps(Phase::MakingConsistent, parents);
        Watch {
            progress,
            levels,
            first: 0,
            regions: 0,
            parents,
            all_measured: true,
            is_silent: false,
            hides_counts: false,
            told: Instant::now(),
        }
    }
}

impl Observer for Watch<'_> {
    fn levels_chosen(&mut self, first: usize, regions: usize) {
        (self.first, self.regions) = (first, regions);
        self.begin();
    }

    fn region_measured(&mut self) {
        if std::mem::take(&mut self.all_measured) {
            self.begin(); // the next plan's regions
        }
        self.progress.step();
    }

    fn level_measured(&mut self, level: usize, regions: usize) {
        if !self.is_silent && self.told.elapsed() >= Watch::QUIET {
            self.told = Instant::now();
            pgrx::notice!("measured level {level} of {}: {regions} regions", self.levels - 1);
        }
        if level + 1 == self.levels {
            self.all_measured = true;
            self.progress.steps(Phase::MakingConsistent, self.shown(self.parents));
        } else {
            self.progress.level(level + 1, self.shown(self.levels));
        }
    }

    fn parent_matched(&mut self) {
        self.progress.step();
    }
}

/// Lets simulations be cancelled, and tells how far they have come.
pub(super) struct SimulationWatch<'a> {
    progress: &'a Progress,
    simulations: u32,
    /// Of what or by what.
    what: String,
    told: Instant,
}

impl<'a> SimulationWatch<'a> {
    pub(super) fn new(
        progress: &'a Progress,
        simulations: u32,
        what: String,
    ) -> SimulationWatch<'a> {
        progress.steps(Phase::Simulating, simulations as usize);
        SimulationWatch { progress, simulations, what, told: Instant::now() }
    }
}

impl Observer for SimulationWatch<'_> {
    fn simulated(&mut self, rounds: u32) {
        self.progress.step();
        if self.told.elapsed() >= Watch::QUIET && rounds < self.simulations {
            self.told = Instant::now();
            let SimulationWatch { simulations, what, .. } = self;
            pgrx::notice!("simulated {rounds} of {simulations} releases {what}");
        }
    }
}
