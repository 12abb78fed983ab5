//! What is drawn, and how each method looks.

use crate::exact::{Line, least_mean};
use crate::methods::LAPLACE_TREE;
use crate::plot::{Layout, Marker, Panel, PlotLine, Style, draw as draw_panels};
use crate::simulation::{Estimate, Simulated};
use crate::{DELTA, EPSILON, Results};
use pg_dp::ranges::{Spread, Workload};
use plotters::style::RGBColor;
use std::error::Error;
use std::ops::Range;
use std::path::Path;

const BOUND: &str = "lower bound";
const LAYOUT: Layout = Layout { columns: 1, width: 650, height: 340, legend: 150 };

/// Colours that are told apart by the colour-blind, too, after Okabe and Ito. A method with the
/// same strategy keeps its look under both kinds of noise.
fn style(name: &str) -> Style {
    let (red, green, blue, marker) = match name {
        "gaussian" | "flat" => (0, 0, 0, Marker::Polygon(12, 0.0)),
        "binary_tree" | "tree" => (213, 94, 0, Marker::Polygon(4, 45.0)),
        "tree (Gaussian)" | "tree_consistent:2" => (0, 114, 178, Marker::Polygon(3, -90.0)),
        "tree (Laplace)" | "tree_consistent" => (120, 60, 170, Marker::Plus),
        "wavelet (Gaussian)" | "wavelet" => (0, 158, 115, Marker::Polygon(4, 0.0)),
        "cascade" => (200, 30, 90, Marker::Cross),
        "minimax" | "minimax:prefix" => (0, 90, 60, Marker::Plus),
        "prefix" => (230, 159, 0, Marker::Polygon(3, 90.0)),
        "quad" => (200, 30, 90, Marker::Cross),
        BOUND => (60, 60, 60, Marker::None),
        // optimal, whatever for
        _ => (86, 180, 233, Marker::Polygon(6, 0.0)),
    };
    Style { colour: RGBColor(red, green, blue), marker, dashed: name == BOUND }
}

fn plot_line(name: &'static str, points: impl Iterator<Item = (usize, f64)>) -> PlotLine {
    let points = points.map(|(bins, value)| (bins as f64, value)).collect();
    PlotLine { name: name.into(), style: style(name), points, errors: vec![] }
}

/// From the least value to the largest of the methods that keep up: those with noise in every bin
/// leave at the top.
fn values(lines: &[PlotLine]) -> Range<f64> {
    let of = |line: &PlotLine| line.points.iter().map(|point| point.1).collect::<Vec<f64>>();
    let least = lines.iter().flat_map(of).fold(f64::INFINITY, f64::min);
    let kept_up = lines.iter().filter(|line| !["gaussian", "flat"].contains(&line.name.as_str()));
    0.85 * least..1.2 * kept_up.flat_map(of).fold(0.0, f64::max)
}

fn panel(title: String, quantity: &str, lines: Vec<PlotLine>) -> Panel {
    let (over, ticks) = (BINS.into(), ticks(&lines));
    Panel { title, over, ticks, quantity: quantity.into(), values: values(&lines), lines }
}

const BINS: &str = "number of bins n";

/// Powers of four, and the largest number of bins.
fn ticks(lines: &[PlotLine]) -> Vec<f64> {
    let bins: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|point| point.0).collect();
    let bins =
        bins.iter().copied().fold(f64::INFINITY, f64::min)..bins.into_iter().fold(0.0, f64::max);
    let powers = (0..32).map(|power| 4f64.powi(power)).filter(|n| bins.contains(n));
    powers.chain([bins.end]).collect()
}

fn of_spread(lines: &[Line], value: impl Fn(Spread) -> f64) -> Vec<PlotLine> {
    let points = |line: &Line| -> Vec<(usize, f64)> {
        line.points.iter().map(|point| (point.bins, value(point.spread))).collect()
    };
    lines.iter().map(|line| plot_line(line.method.name, points(line).into_iter())).collect()
}

fn gaussian(workload: Workload, lines: &[Line], granted: f64, of: &str) -> Vec<Panel> {
    let bound = |bins: f64| least_mean(workload, bins as usize, granted).unwrap_or(f64::NAN);
    let mut means = of_spread(lines, |spread| spread.mean);
    let bins: Vec<f64> = means.iter().take(1).flat_map(|line| &line.points).map(|p| p.0).collect();
    means.push(PlotLine {
        name: BOUND.into(),
        style: style(BOUND),
        points: bins.iter().map(|&bins| (bins, bound(bins))).collect(),
        errors: vec![],
    });
    let mut ratios = of_spread(lines, |spread| spread.mean);
    // the bound is not one for Laplace noise
    ratios.retain(|line| line.name != LAPLACE_TREE.name);
    for (bins, variance) in ratios.iter_mut().flat_map(|line| &mut line.points) {
        *variance /= bound(*bins);
    }
    let points = bins.iter().map(|&bins| (bins, 1.0)).collect();
    let name = BOUND.into();
    ratios.push(PlotLine { name, style: style(BOUND), points, errors: vec![] });
    let budget = format!("ε = {EPSILON}, δ = {DELTA:e}");
    vec![
        panel(format!("Mean over {of}, {budget}"), "mean variance of an answer (rows²)", means),
        Panel {
            title: "The same as a multiple of the lower bound for Gaussian noise".into(),
            over: BINS.into(),
            ticks: ticks(&ratios),
            quantity: "mean variance over the bound".into(),
            values: 0.97..3.0,
            lines: ratios,
        },
        panel(
            format!("Worst of {of}, {budget}"),
            "largest variance of an answer (rows²)",
            of_spread(lines, |spread| spread.max),
        ),
    ]
}

fn expected_worst(
    simulated: &[Simulated],
    lines: &[Line],
    of: &str,
    estimate: impl Fn(&Simulated) -> Estimate,
) -> Panel {
    let line = |line: &Line| {
        let own = simulated.iter().filter(|simulated| simulated.method == line.method.name);
        plot_line(line.method.name, own.map(|simulated| (simulated.bins, estimate(simulated).mean)))
    };
    panel(
        format!("Expected worst of {of}, ε = {EPSILON}, δ = {DELTA:e}"),
        "mean of the largest squared error (rows²)",
        lines.iter().map(line).collect(),
    )
}

fn pure(lines: &[Line]) -> Vec<Panel> {
    vec![
        panel(
            format!("Mean over all ranges, ε = {EPSILON}"),
            "mean variance of an answer (rows²)",
            of_spread(lines, |spread| spread.mean),
        ),
        panel(
            format!("Worst of all ranges, ε = {EPSILON}"),
            "largest variance of an answer (rows²)",
            of_spread(lines, |spread| spread.max),
        ),
    ]
}

/// Writes all figures into a directory.
pub fn draw(results: &Results, directory: &Path) -> Result<(), Box<dyn Error>> {
    let Results { granted, all, prefix, simulated, .. } = results;
    let figures = [
        ("all", gaussian(Workload::All, all, *granted, "all ranges")),
        ("prefix", gaussian(Workload::Prefix, prefix, *granted, "all prefixes")),
        ("all-worst", vec![expected_worst(simulated, all, "all ranges", |s| s.all)]),
        ("prefix-worst", vec![expected_worst(simulated, prefix, "all prefixes", |s| s.prefix)]),
        ("pure", pure(&results.pure)),
    ];
    for (name, panels) in figures {
        draw_panels(&directory.join(format!("range-accuracy-{name}.svg")), LAYOUT, &panels)?;
    }
    Ok(())
}
