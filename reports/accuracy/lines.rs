//! How lines look: colours that are told apart by the colour-blind, too, after Okabe and Ito, and
//! markers; and what they lead through.

use crate::plot::{Marker, PlotLine, Style};
use crate::statistics::Mean;
use plotters::style::RGBColor;
use std::ops::Range;

pub const BLACK: RGBColor = RGBColor(0, 0, 0);
pub const BLUE: RGBColor = RGBColor(0, 114, 178);
pub const ORANGE: RGBColor = RGBColor(230, 159, 0);
pub const GREEN: RGBColor = RGBColor(0, 158, 115);
pub const VERMILION: RGBColor = RGBColor(213, 94, 0);
pub const PURPLE: RGBColor = RGBColor(120, 60, 170);
pub const SKY: RGBColor = RGBColor(86, 180, 233);
pub const GREY: RGBColor = RGBColor(110, 110, 110);

pub const DISC: Marker = Marker::Polygon(12, 0.0);
pub const SQUARE: Marker = Marker::Polygon(4, 45.0);
pub const DIAMOND: Marker = Marker::Polygon(4, 0.0);
pub const UP: Marker = Marker::Polygon(3, -90.0);
pub const DOWN: Marker = Marker::Polygon(3, 90.0);

pub const fn solid(colour: RGBColor, marker: Marker) -> Style {
    Style { colour, marker, dashed: false }
}

pub const fn dashed(colour: RGBColor, marker: Marker) -> Style {
    Style { colour, marker, dashed: true }
}

impl PlotLine {
    /// Through means at increasing positions, with bars of one standard error.
    pub fn through(
        name: &'static str,
        style: Style,
        means: impl Iterator<Item = (f64, Mean)>,
    ) -> PlotLine {
        // a logarithmic axis has no place for 0
        let means = means.filter(|(_, value)| value.mean > 0.0);
        let (points, errors) = means.map(|(x, value)| ((x, value.mean), value.error)).unzip();
        PlotLine { name: name.into(), style, points, errors }
    }
}

/// From the least value of the lines to the largest.
pub fn range(lines: &[PlotLine]) -> Range<f64> {
    let values = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    0.8 * values.clone().fold(f64::INFINITY, f64::min)..1.25 * values.fold(0.0, f64::max)
}
