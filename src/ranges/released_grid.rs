//! A release of a grid together with the bins that it is about, and how it is written.

use super::bins::bounds::BinBounds;
use super::json::read_json;
use super::parameters::{Parameters, PlaneParameters};
use super::plane::bounds::GridBounds;
use super::plane::corner_sums::CornerSums;
use super::plane::grid::{CellGrid, Rectangle};
use super::plane::mechanism::PlaneMechanism;
use super::plane::release::PlaneRelease;
use crate::work::Paced;
use serde::Deserialize;
use std::cell::OnceCell;
use std::fmt::{self, Write};

/// The first byte of every stored value; a new layout takes the next number.
const VERSION: u8 = 1;

/// Counts of the cells of a grid that satisfy differential privacy, safe to publish: every
/// rectangle's sum can be read off them, with its exact variance. Only a mechanism makes one.
pub struct DpGrid {
    bounds: GridBounds,
    parameters: PlaneParameters,
    sums: CornerSums,
    /// of a stored release only once it is asked for: it can take work to set up
    mechanism: OnceCell<Box<dyn PlaneMechanism>>,
}

/// Why a text or a byte string is no release. Messages never repeat the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DpGridFormatError {
    Text,
    Bounds,
    Version(u8),
    Corrupt,
}

impl fmt::Display for DpGridFormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DpGridFormatError::Text => write!(f, "it is not the JSON of a release"),
            DpGridFormatError::Bounds => write!(f, "the release does not fit its bounds"),
            DpGridFormatError::Version(version) => {
                write!(f, "format version {version} is not known, expected {VERSION}")
            }
            DpGridFormatError::Corrupt => write!(f, "the binary form is damaged"),
        }
    }
}

impl std::error::Error for DpGridFormatError {}

/// The text form.
#[derive(Deserialize)]
struct Text {
    row_lo: i64,
    row_hi: i64,
    column_lo: i64,
    column_hi: i64,
    parameters: PlaneParameters,
    values: Vec<f64>,
}

impl DpGrid {
    pub(super) fn of(
        bounds: GridBounds,
        parameters: PlaneParameters,
        release: PlaneRelease,
    ) -> DpGrid {
        let (sums, mechanism) = release.into_parts();
        DpGrid { bounds, parameters, sums, mechanism: mechanism.into() }
    }

    /// None if the parameters are nobody's, or not those of so many values.
    fn of_stored(
        [row_lo, column_lo]: [i64; 2],
        parameters: PlaneParameters,
        values: Vec<f64>,
    ) -> Option<DpGrid> {
        // before the mechanism is built, lest a few bytes cost the work of millions of cells
        if !parameters.fit_together() || !values.iter().all(|value| value.abs() < 1e300) {
            return None;
        }
        let grid = parameters.grid();
        let axis = |lo: i64, bins: usize| {
            let hi = lo.checked_add(i64::try_from(bins).ok()?)?;
            BinBounds::new(lo, hi).ok()
        };
        let (rows, columns) = (axis(row_lo, grid.rows())?, axis(column_lo, grid.columns())?);
        let bounds = GridBounds::new(rows, columns).ok()?;
        let sums = CornerSums::of_values(grid, values)?;
        Some(DpGrid { bounds, parameters, sums, mechanism: OnceCell::new() })
    }

    pub fn bounds(&self) -> GridBounds {
        self.bounds
    }

    fn grid(&self) -> CellGrid {
        self.parameters.grid()
    }

    /// The unbiased estimate of the sum over the part of the rectangle, by the places of its rows
    /// and columns, that lies within the bounds; 0 if there is none.
    pub fn sum(&self, rectangle: &Rectangle) -> f64 {
        self.sums.sum(&self.grid().inside(rectangle))
    }

    /// What tells the variances of [`DpGrid::sum`]; None if the release is a forged one, with noise
    /// that cannot be sampled. The first call sets it up.
    fn mechanism(&self) -> Option<&dyn PlaneMechanism> {
        if self.mechanism.get().is_none() {
            let mechanism = self.parameters.mechanism().ok()?;
            self.mechanism.get_or_init(|| mechanism);
        }
        self.mechanism.get().map(|mechanism| mechanism.as_ref())
    }

    /// The variance of [`DpGrid::sum`]; None if the release is a forged one, with noise that cannot
    /// be sampled.
    pub fn variance(&self, rectangle: &Rectangle) -> Option<f64> {
        Some(self.mechanism()?.variance(&self.grid().inside(rectangle)))
    }

    /// Reads what [`DpGrid::to_text`] gives.
    pub fn parse(text: &str) -> Result<DpGrid, DpGridFormatError> {
        let Text { row_lo, row_hi, column_lo, column_hi, parameters, values } =
            read_json(text).ok_or(DpGridFormatError::Text)?;
        let read = DpGrid::of_stored([row_lo, column_lo], parameters, values);
        let his = |read: &DpGrid| [read.bounds.rows().hi(), read.bounds.columns().hi()];
        read.filter(|read| his(read) == [row_hi, column_hi]).ok_or(DpGridFormatError::Bounds)
    }

    /// A version byte, then parameters, the lower bounds and values as postcard writes them.
    pub fn to_bytes(&self) -> Vec<u8> {
        let los = (self.bounds.rows().lo(), self.bounds.columns().lo());
        // writing numbers into a growing vector cannot fail
        postcard::to_extend(&(&self.parameters, los, self.sums.values()), vec![VERSION])
            .unwrap_or_default()
    }

    /// Reads what [`DpGrid::to_bytes`] gives.
    pub fn from_bytes(bytes: &[u8]) -> Result<DpGrid, DpGridFormatError> {
        let (version, body) = bytes.split_first().ok_or(DpGridFormatError::Corrupt)?;
        if *version != VERSION {
            return Err(DpGridFormatError::Version(*version));
        }
        type Stored = (PlaneParameters, (i64, i64), Vec<f64>);
        let Ok(((parameters, (row_lo, column_lo), values), [])) =
            postcard::take_from_bytes::<Stored>(body)
        else {
            return Err(DpGridFormatError::Corrupt);
        };
        DpGrid::of_stored([row_lo, column_lo], parameters, values).ok_or(DpGridFormatError::Bounds)
    }

    /// `{"column_hi":24,"column_lo":0,"row_hi":100,"row_lo":0,"parameters":{"method": ...},
    /// "values":[...]}`
    pub fn to_text(&self) -> String {
        let parameters = serde_json::json!(self.parameters);
        let (rows, columns) = (self.bounds.rows(), self.bounds.columns());
        let mut text = format!(
            "{{\"column_hi\":{},\"column_lo\":{},\"row_hi\":{},\"row_lo\":{},\
             \"parameters\":{parameters},\"values\":[",
            columns.hi(),
            columns.lo(),
            rows.hi(),
            rows.lo(),
        );
        for (i, &value) in self.sums.values().iter().paced().enumerate() {
            text.push_str(if i == 0 { "" } else { "," });
            let _ = write!(text, "{}", serde_json::json!(value)); // into a string: cannot fail
        }
        text + "]}"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charge::Receipt;
    use crate::noise::words_from_system;
    use crate::ranges::asked::rectangles;
    use crate::ranges::{Calibration, CellCounts, PlanePlan, RangeMethod};
    use crate::work::watched;
    use proptest::prelude::*;

    const METHODS: [(&str, f64); 8] = [
        ("flat", 0.0),
        ("tree_consistent:2", 0.0),
        ("tree_consistent:3", 1e-6),
        ("gaussian", 1e-6),
        ("cascade", 1e-6),
        ("cascade:3", 1e-6),
        ("optimal", 1e-6),
        ("auto", 1e-6),
    ];

    fn bounds(rows: i64, columns: i64) -> GridBounds {
        let axis = |lo, bins| BinBounds::new(lo, lo + bins).unwrap();
        GridBounds::new(axis(-3, rows), axis(7, columns)).unwrap()
    }

    fn released(truth: &CellCounts, (method, delta): (&str, f64)) -> DpGrid {
        let [rows, columns] =
            [truth.bounds().rows(), truth.bounds().columns()].map(|axis| axis.bins() as i64);
        let plan = PlanePlan::new(rectangles([rows, columns], 1.0, delta, method).unwrap());
        let mut words = words_from_system().unwrap();
        Receipt::uncharged(plan.unwrap()).release_cells(truth, &mut words)
    }

    fn all(bounds: GridBounds) -> impl Iterator<Item = Rectangle> {
        let (height, width) = (bounds.rows().bins(), bounds.columns().bins());
        let ranges =
            |bins: usize| (0..bins).flat_map(move |lo| (lo + 1..=bins).map(move |hi| lo..hi));
        ranges(height).flat_map(move |rows| {
            ranges(width).map(move |columns| Rectangle { rows: rows.clone(), columns })
        })
    }

    fn answers(value: &DpGrid) -> Vec<(f64, f64)> {
        let answer = |rectangle| (value.sum(&rectangle), value.variance(&rectangle).unwrap_or(0.0));
        all(value.bounds()).map(answer).collect()
    }

    #[test]
    fn all_forms_read_back() {
        for (rows, columns) in [(1, 1), (1, 9), (6, 1), (5, 7)] {
            for method in METHODS {
                let value = released(&CellCounts::empty(bounds(rows, columns)), method);
                let binary = DpGrid::from_bytes(&value.to_bytes()).unwrap();
                let text = DpGrid::parse(&value.to_text()).unwrap();
                for read in [binary, text] {
                    assert_eq!(read.bounds(), value.bounds());
                    assert_eq!(answers(&read), answers(&value), "{method:?}");
                }
            }
        }
    }

    /// 3,000 releases of each method, read back before they answer: no mean of the errors of a
    /// rectangle is 8 of its standard deviations off, and no mean of their squares, over the stated
    /// variance, by 0.18 with Gaussian and 0.35 with Laplace noise. Below 1e-9 each, as
    /// `plane::properties` says, with 12 rectangles and 8 methods.
    #[test]
    fn stored_releases_err_as_stated() {
        let mut truth = CellCounts::empty(bounds(6, 5));
        for i in 0..40 {
            truth.add_record(i * i % 7 - 3, i % 4 + 8);
        }
        let exact = |rectangle: &Rectangle| -> f64 {
            let of_row = |row: usize| rectangle.columns.clone().map(move |column| row * 5 + column);
            rectangle.rows.clone().flat_map(of_row).map(|cell| truth.counts()[cell] as f64).sum()
        };
        let asked: Vec<Rectangle> = all(truth.bounds()).step_by(27).collect();
        assert_eq!(asked.len(), 12);
        let releases = 3_000;
        for method in METHODS {
            let limit = match method {
                ("auto", _) | (_, 0.0) => 0.35, // auto takes Laplace noise for so few cells
                _ => 0.18,
            };
            let mut moments = vec![(0.0, 0.0); asked.len()];
            for _ in 0..releases {
                let value = DpGrid::from_bytes(&released(&truth, method).to_bytes()).unwrap();
                for (rectangle, (sum, squares)) in asked.iter().zip(&mut moments) {
                    let variance = value.variance(rectangle).unwrap();
                    let error = (value.sum(rectangle) - exact(rectangle)) / variance.sqrt();
                    *sum += error;
                    *squares += error * error;
                }
            }
            let releases = f64::from(releases);
            for (rectangle, (sum, squares)) in asked.iter().zip(moments) {
                assert!(sum.abs() < 8.0 * releases.sqrt(), "{method:?} {rectangle:?}: {sum}");
                let off = squares / releases - 1.0;
                assert!(off.abs() < limit, "{method:?} {rectangle:?}: {off}");
            }
        }
    }

    #[test]
    fn what_is_no_release_is_refused() {
        let refused = |text: &str| DpGrid::parse(text).err().unwrap();
        let value = released(&CellCounts::empty(bounds(4, 5)), ("flat", 0.0));
        let json: serde_json::Value = serde_json::from_str(&value.to_text()).unwrap();
        for (place, other) in [
            ("/row_hi", 9.into()),
            ("/column_hi", (-9).into()),
            ("/row_lo", i64::MAX.into()),
            ("/column_lo", i64::MIN.into()),
            ("/values", [1].into()),
            ("/parameters/grid/rows", 5.into()),
            ("/parameters/grid/columns", 0.into()),
            ("/parameters/grid/rows", u64::MAX.into()),
            ("/parameters/branching", 1.into()),
            ("/parameters/branching", 2.into()), // of a tree with more levels than there is noise
            ("/parameters/method", "Optimal".into()),
            ("/parameters/method", "Cascade".into()),
            ("/parameters/method", "Wavelet".into()),
        ] {
            let mut json = json.clone();
            *json.pointer_mut(place).unwrap() = other;
            assert_eq!(refused(&json.to_string()), DpGridFormatError::Bounds, "{place}");
        }
        for text in ["", "{}", "[0,5)x[0,5){}", "{\"row_lo\": 0}"] {
            assert_eq!(refused(text), DpGridFormatError::Text);
        }
        let refused = |bytes: &[u8]| DpGrid::from_bytes(bytes).err().unwrap();
        let bytes = value.to_bytes();
        for bytes in [vec![], vec![1; 8], [bytes.clone(), vec![0]].concat()] {
            assert_eq!(refused(&bytes), DpGridFormatError::Corrupt);
        }
        let other = [vec![77], bytes[1..].to_vec()].concat();
        assert_eq!(refused(&other), DpGridFormatError::Version(77));
        let infinite = [bytes[..bytes.len() - 8].to_vec(), f64::INFINITY.to_le_bytes().into()];
        assert_eq!(refused(&infinite.concat()), DpGridFormatError::Bounds);
    }

    /// A few bytes that ask for the strategy of a million cells.
    #[test]
    fn values_are_counted_before_anything_is_computed() {
        let plan = PlanePlan::new(rectangles([1024, 1024], 1.0, 0.0, "flat").unwrap()).unwrap();
        for method in [RangeMethod::Optimal, RangeMethod::Cascade] {
            let calibration = Calibration::together(0.1);
            let parameters =
                PlaneParameters { method, calibration, branching: 2, ..plan.parameters().clone() };
            let ask = &mut || panic!("work on {method:?}");
            assert!(watched(ask, || DpGrid::of_stored([0, 0], parameters, vec![0.0; 3])).is_none());
        }
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_an_error_or_answer(
            at in any::<prop::sample::Index>(),
            byte in any::<u8>(),
            cut in 0usize..3,
            method in prop::sample::select(METHODS.to_vec()),
        ) {
            let mut stored = released(&CellCounts::empty(bounds(4, 3)), method).to_bytes();
            let at = at.index(stored.len());
            stored[at] = byte;
            stored.truncate(stored.len() - cut);
            if let Ok(value) = DpGrid::from_bytes(&stored) {
                prop_assert!(answers(&value).iter().all(|(_, variance)| *variance >= 0.0));
            }
        }
    }
}
