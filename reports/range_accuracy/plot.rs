//! Panels of lines, both axes logarithmic.

use crate::numbers::thousands;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::prelude::*;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

pub struct Panel {
    pub title: String,
    /// What it is plotted over, and where that axis has ticks.
    pub over: String,
    pub ticks: Vec<f64>,
    /// What is plotted, with its unit.
    pub quantity: String,
    /// A line that leaves these values ends at the edge.
    pub values: Range<f64>,
    pub lines: Vec<PlotLine>,
}

pub struct PlotLine {
    pub name: String,
    pub style: Style,
    /// Positions, increasing, and values, all positive.
    pub points: Vec<(f64, f64)>,
    /// How far the error bar of each point reaches to both sides; empty if there are none.
    pub errors: Vec<f64>,
}

#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub colour: RGBColor,
    pub marker: Marker,
    pub dashed: bool,
}

#[derive(Debug, Clone, Copy)]
pub enum Marker {
    None,
    /// A polygon of so many corners, the first at this angle, in degrees clockwise from the right.
    Polygon(u32, f64),
    Plus,
    Cross,
}

impl Marker {
    /// The outline around a point, in pixels.
    fn outline(self) -> Vec<(i32, i32)> {
        let pixels = |x: f64, y: f64| (x.round() as i32, y.round() as i32);
        match self {
            Marker::None => vec![],
            Marker::Polygon(corners, first) => {
                let radius = if corners == 3 { 7.0 } else { 5.5 };
                let corner = |i: u32| {
                    let angle = (first + 360.0 * f64::from(i) / f64::from(corners)).to_radians();
                    pixels(radius * angle.cos(), radius * angle.sin())
                };
                (0..corners).map(corner).collect()
            }
            Marker::Plus => [1, 5, 5, 1, 1, -1, -1, -5, -5, -1, -1, 1]
                .into_iter()
                .zip([5, 1, -1, -1, -5, -5, -1, -1, 1, 1, 5, 5])
                .collect(),
            Marker::Cross => {
                let turned = |(x, y)| {
                    let (x, y) = (f64::from(x), f64::from(y));
                    pixels((x - y) * 0.8, (x + y) * 0.8)
                };
                Marker::Plus.outline().into_iter().map(turned).collect()
            }
        }
    }
}

/// A logarithmic axis with ticks where they are wanted.
struct LogAxis {
    values: Range<f64>,
    ticks: Vec<f64>,
}

impl Ranged for LogAxis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (low, high): (i32, i32)) -> i32 {
        let part = (value / self.values.start).ln() / (self.values.end / self.values.start).ln();
        low + (part * f64::from(high - low)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.ticks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.values.clone()
    }
}

impl ValueFormatter<f64> for LogAxis {
    fn format(value: &f64) -> String {
        match *value {
            small if small < 1.0 => small.to_string(),
            large if large >= 1e6 => format!("{} M", thousands(large / 1e6)),
            other => thousands(other),
        }
    }
}

/// How panels are laid out, row by row; sizes in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    pub columns: usize,
    pub width: u32,
    pub height: u32,
    /// The width of the legend beside the panels.
    pub legend: u32,
}

const FONT: &str = "sans-serif";

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// Writes an SVG of the panels with a legend of the first one's lines.
pub fn draw(file: &Path, layout: Layout, panels: &[Panel]) -> Result<(), Box<dyn Error>> {
    let Layout { columns, width, height, legend } = layout;
    let rows = panels.len().div_ceil(columns);
    let plots = (width * columns as u32, height * rows as u32);
    let root = SVGBackend::new(file, (plots.0 + legend, plots.1)).into_drawing_area();
    root.fill(&WHITE)?;
    let (left, right) = root.split_horizontally(plots.0);
    for (panel, area) in panels.iter().zip(left.split_evenly((rows, columns))) {
        draw_panel(panel, &area)?;
    }
    if let Some(panel) = panels.first() {
        draw_legend(panel, &right)?;
    }
    Ok(root.present()?)
}

fn draw_panel(panel: &Panel, area: &Area) -> Result<(), Box<dyn Error>> {
    let positions = panel.lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
    let (first, last) =
        (positions.clone().fold(f64::INFINITY, f64::min), positions.fold(0.0, f64::max));
    // the outermost markers are whole
    let x = LogAxis { values: 0.85 * first..last / 0.85, ticks: panel.ticks.clone() };
    let y = LogAxis { values: panel.values.clone(), ticks: ticks(&panel.values) };
    let mut chart = ChartBuilder::on(area)
        .margin(10)
        .x_label_area_size(44)
        .y_label_area_size(72)
        .caption(&panel.title, (FONT, 17))
        .build_cartesian_2d(x, y)?;
    chart
        .configure_mesh()
        .bold_line_style(BLACK.mix(0.15))
        .x_desc(&panel.over)
        .y_desc(&panel.quantity)
        .axis_desc_style((FONT, 14))
        .label_style((FONT, 13))
        .draw()?;
    for line in &panel.lines {
        let points = within(&line.points, panel.values.end);
        let stroke = line.style.colour.stroke_width(2);
        if line.style.dashed {
            chart.draw_series(DashedLineSeries::new(points, 6, 4, stroke))?;
        } else {
            chart.draw_series(LineSeries::new(points, stroke))?;
        }
        let inside = |point: &&(f64, f64)| point.1 <= panel.values.end;
        let bars = line.points.iter().zip(&line.errors).filter(|(point, _)| inside(point));
        chart.draw_series(bars.map(|(&(x, y), error)| {
            let low = (y - error).max(panel.values.start);
            PathElement::new([(x, low), (x, (y + error).min(panel.values.end))], stroke)
        }))?;
        chart.draw_series(line.points.iter().filter(inside).map(|point| {
            EmptyElement::at(*point)
                + Polygon::new(line.style.marker.outline(), line.style.colour.filled())
        }))?;
    }
    Ok(())
}

fn draw_legend(panel: &Panel, area: &Area) -> Result<(), Box<dyn Error>> {
    for (line, y) in panel.lines.iter().zip((48..).step_by(24)) {
        let stroke = line.style.colour.stroke_width(2);
        let strokes: &[(i32, i32)] =
            if line.style.dashed { &[(0, 6), (10, 16), (20, 26)] } else { &[(0, 26)] };
        for &(from, to) in strokes {
            area.draw(&PathElement::new([(from, y), (to, y)], stroke))?;
        }
        let outline: Vec<(i32, i32)> =
            line.style.marker.outline().into_iter().map(|(dx, dy)| (13 + dx, y + dy)).collect();
        area.draw(&Polygon::new(outline, line.style.colour.filled()))?;
        area.draw(&Text::new(line.name.as_str(), (34, y - 7), (FONT, 14)))?;
    }
    Ok(())
}

/// Round numbers within the values: the finer, the fewer powers of ten these span.
fn ticks(values: &Range<f64>) -> Vec<f64> {
    let digits: &[f64] = match values.end / values.start {
        ratio if ratio < 10.0 => &[1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0],
        ratio if ratio < 1e4 => &[1.0, 2.0, 5.0],
        _ => &[1.0],
    };
    let powers = (-3..12).map(|power| 10f64.powi(power));
    let all = powers.flat_map(|power| digits.iter().map(move |digit| digit * power));
    all.filter(|tick| (values.start..=values.end).contains(tick)).collect()
}

/// The points of a line up to where it first rises above the limit, in logarithms.
fn within(points: &[(f64, f64)], limit: f64) -> Vec<(f64, f64)> {
    let mut kept: Vec<(f64, f64)> = points.to_vec();
    if let Some(first) = points.iter().position(|point| point.1 > limit) {
        kept.truncate(first);
        if let Some(&(x, y)) = kept.last() {
            let (next_x, next_y) = points[first];
            let part = (limit / y).ln() / (next_y / y).ln();
            kept.push((x * (next_x / x).powf(part), limit));
        }
    }
    kept
}
