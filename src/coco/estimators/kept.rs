//! Measured numbers as they are published beside an estimate, for others to infer from.

/// What a measured number is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NumberKind {
    /// At the place s: how many groups have the size s; at K, that size or more.
    Count,
    /// At the place s: how many groups have at most the size s.
    Column,
    /// At the place n: the size of the n-th largest group, or the cut, if that is more. The cut is
    /// the number of columns that were measured.
    Row,
}

impl NumberKind {
    pub fn name(self) -> &'static str {
        match self {
            NumberKind::Count => "count",
            NumberKind::Column => "column",
            NumberKind::Row => "row",
        }
    }
}

/// Numbers of one kind, at all places from the first on, each with noise of its own: any integers,
/// which are right on average.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredNumbers {
    pub kind: NumberKind,
    pub first: u64,
    pub values: Vec<i64>,
}

impl MeasuredNumbers {
    /// Those of a kind, from the first place on.
    pub(super) fn values_of(all: &[MeasuredNumbers], kind: NumberKind) -> &[i64] {
        all.iter().find(|numbers| numbers.kind == kind).map_or(&[], |numbers| &numbers.values)
    }
}

/// What the numbers of a node are, as they were measured: so many of this kind, and the rest are
/// rows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sequence {
    pub kind: NumberKind,
    pub count: usize,
}

impl Sequence {
    /// Tells numbers as they were measured apart. Rows come in ascending order, of what exceeds the
    /// cut.
    pub(super) fn apart(self, mut noisy: Vec<i64>) -> Vec<MeasuredNumbers> {
        let cut = self.count.min(noisy.len());
        let rows = noisy.split_off(cut).into_iter().rev();
        noisy.shrink_to_fit(); // many regions' are held together
        let rows = rows.map(|excess| excess.saturating_add(cut as i64)).collect();
        let of_kind = |kind, first, values| MeasuredNumbers { kind, first, values };
        let all = [of_kind(self.kind, 0, noisy), of_kind(NumberKind::Row, 1, rows)];
        all.into_iter().filter(|numbers| !numbers.values.is_empty()).collect()
    }
}
