//! The figures of earth mover's distances: a row per data set, a column per level.

use super::methods::EQUAL_SHARES;
use super::{Comparison, Place};
use crate::lines::*;
use crate::plot::{Layout, Marker, Panel, PlotLine, Style, draw as draw_panels};
use crate::statistics::Mean;
use std::error::Error;
use std::path::Path;

/// A line in a figure.
struct Shown {
    legend: &'static str,
    style: Style,
    what: What,
}

enum What {
    Method(&'static str),
    BestPublished,
    Omniscient,
}

const AUTO: Shown =
    Shown { legend: "auto", style: solid(VERMILION, DISC), what: What::Method("auto") };
const OMNISCIENT: Shown =
    Shown { legend: "omniscient", style: dashed(GREY, Marker::None), what: What::Omniscient };

const fn method(name: &'static str, legend: &'static str, style: Style) -> Shown {
    Shown { legend, style, what: What::Method(name) }
}

const THREE_LEVELS: [Shown; 8] = [
    Shown { legend: "best combination", style: solid(BLACK, DIAMOND), what: What::BestPublished },
    method("Hc×Hc×Hc, matching", "Hc×Hc×Hc", solid(BLUE, SQUARE)),
    method("Hg×Hg×Hg, matching", "Hg×Hg×Hg", solid(GREEN, UP)),
    method("Hc×Hc×Hc, none", "Hc, not consistent", dashed(SKY, SQUARE)),
    method("Hg×Hg×Hg, none", "Hg, not consistent", dashed(PURPLE, UP)),
    method("cut, bottom_up", "cut, bottom-up", solid(ORANGE, DOWN)),
    OMNISCIENT,
    AUTO,
];

const TWO_LEVELS: [Shown; 6] = [
    method("Hc×Hc, matching", "Hc×Hc", solid(BLUE, SQUARE)),
    method("Hc×Hg, matching", "Hc×Hg", solid(PURPLE, Marker::Plus)),
    method("Hg×Hc, matching", "Hg×Hc", solid(SKY, Marker::Cross)),
    method("Hg×Hg, matching", "Hg×Hg", solid(GREEN, UP)),
    OMNISCIENT,
    AUTO,
];

const AVERAGES: [Shown; 8] = [
    method("Hc×Hc, matching", "Hc×Hc, weighted", solid(BLUE, SQUARE)),
    method("Hc×Hc, matching_unweighted", "Hc×Hc, plain", dashed(BLUE, SQUARE)),
    method("Hc×Hg, matching", "Hc×Hg, weighted", solid(PURPLE, Marker::Plus)),
    method("Hc×Hg, matching_unweighted", "Hc×Hg, plain", dashed(PURPLE, Marker::Plus)),
    method("Hg×Hg, matching", "Hg×Hg, weighted", solid(GREEN, UP)),
    method("Hg×Hg, matching_unweighted", "Hg×Hg, plain", dashed(GREEN, UP)),
    method(EQUAL_SHARES, "cut, weighted", solid(VERMILION, DISC)),
    method("cut, matching_unweighted", "cut, plain", dashed(VERMILION, DISC)),
];

/// Writes all figures into a directory.
pub fn draw(comparison: &Comparison, directory: &Path) -> Result<(), Box<dyn Error>> {
    let figures: [(&str, usize, &[Shown]); 3] = [
        ("three-levels", 1, &THREE_LEVELS),
        ("two-levels", 0, &TWO_LEVELS),
        ("averages", 0, &AVERAGES),
    ];
    for (name, depth, shown) in figures {
        let mut panels = Vec::new();
        for data in 0..comparison.hierarchies.len() {
            for place in comparison.levels(data, depth, 0) {
                panels.push(panel(comparison, place, shown));
            }
        }
        let layout = Layout { columns: depth + 2, width: 330, height: 270, legend: 165 };
        draw_panels(&directory.join(format!("accuracy-{name}.svg")), layout, &panels)?;
    }
    Ok(())
}

/// Over all epsilons.
fn panel(comparison: &Comparison, place: Place, shown: &[Shown]) -> Panel {
    let lines: Vec<PlotLine> = shown
        .iter()
        .map(|shown| {
            let epsilons = comparison.epsilons.iter().enumerate();
            let values = epsilons
                .map(|(epsilon, &x)| (x, shown.what.value(comparison, Place { epsilon, ..place })));
            PlotLine::through(shown.legend, shown.style, values)
        })
        .collect();
    let data = &comparison.hierarchies[place.data].by_depth[place.depth];
    Panel {
        title: format!("{}: {}", data.title, data.level_name(place.level)),
        over: "ε per level".into(),
        ticks: comparison.epsilons.to_vec(),
        quantity: "emd per region (members)".into(),
        values: range(&lines),
        lines,
    }
}

impl What {
    fn value(&self, comparison: &Comparison, place: Place) -> Mean {
        match self {
            What::Method(name) => {
                let methods = &comparison.methods[place.depth];
                let number = methods.iter().position(|method| method.name == *name);
                comparison.mean(place, number.expect("the methods that are drawn are compared"))
            }
            What::BestPublished => comparison.mean(place, comparison.best_published(place)),
            What::Omniscient => Mean { mean: comparison.omniscient(place), error: 0.0 },
        }
    }
}
