//! The figure of L1 distances, a panel per data set.

use super::methods::METHODS;
use super::{Comparison, EPSILONS};
use crate::lines::*;
use crate::plot::{Layout, Marker, Panel, PlotLine, Style, draw as draw_panels};
use std::error::Error;
use std::path::Path;

fn style(name: &str) -> Style {
    match name {
        "M_H^r" => dashed(GREY, Marker::Plus),
        "M_H^dp" => solid(GREEN, UP),
        "M_c" => solid(PURPLE, DIAMOND),
        "M_c^dp" => solid(BLUE, SQUARE),
        "M_c^ch" => solid(ORANGE, DOWN),
        "M_c^ch as published" => dashed(ORANGE, DOWN),
        "TopDown" => solid(SKY, Marker::Cross),
        "auto" => solid(VERMILION, DISC),
        // Kuo et al.
        _ => solid(BLACK, Marker::Plus),
    }
}

/// Writes the figure into a directory.
pub fn draw(comparison: &Comparison, directory: &Path) -> Result<(), Box<dyn Error>> {
    let panels: Vec<Panel> =
        (0..comparison.data.len()).map(|data| panel(comparison, data)).collect();
    let layout = Layout { columns: 1, width: 560, height: 340, legend: 165 };
    draw_panels(&directory.join("accuracy-numbers.svg"), layout, &panels)
}

fn panel(comparison: &Comparison, data: usize) -> Panel {
    let samples = comparison.of_data(data);
    let lines: Vec<PlotLine> = METHODS
        .iter()
        .enumerate()
        .map(|(number, method)| {
            let own = samples.iter().filter(|sample| sample.method == number);
            let values = own.map(|sample| (sample.epsilon, sample.total()));
            PlotLine::through(method.name, style(method.name), values)
        })
        .collect();
    Panel {
        title: comparison.data[data].title.to_string(),
        over: "ε of the release".into(),
        ticks: EPSILONS.to_vec(),
        quantity: "L1 distance, all levels (groups)".into(),
        values: range(&lines),
        lines,
    }
}
