//! Who is told how far long work has come.

/// What there is to be told; each function does nothing unless it is given.
pub trait Observer {
    /// Called when a first look has decided which levels are measured: the first of them, and how
    /// many regions all of them have.
    fn levels_chosen(&mut self, _first: usize, _regions: usize) {}
    /// Called when one more region is measured.
    fn region_measured(&mut self) {}
    /// Called when all `regions` of a level are measured.
    fn level_measured(&mut self, _level: usize, _regions: usize) {}
    /// Called now and then while a histogram by itself is measured, with how many numbers of it
    /// are.
    fn numbers_measured(&mut self, _numbers: u64) {}
    /// Called when one more parent's groups are matched with its children's.
    fn parent_matched(&mut self) {}
    /// Called when so many rounds of a simulation are done, each a release by every mechanism.
    fn simulated(&mut self, _rounds: u32) {}
}

/// Nobody.
impl Observer for () {}
