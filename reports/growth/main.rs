//! Fits exponents to the times that benches/growth has measured, and draws them.

mod fit;
#[path = "../accuracy/numbers.rs"]
mod numbers;
#[path = "../range_accuracy/plot.rs"]
mod plot;

use fit::{Slopes, median, slopes};
use numbers::thousands;
use plot::{Layout, Marker, Panel, PlotLine, Style, draw};
use plotters::style::RGBColor;
use std::collections::BTreeMap;
use std::error::Error;
use std::io::{BufRead, stdin};
use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
Reads lines from the standard input, their parts divided by tabs:
  figure FILE OVER TITLE         what is measured over which quantity
  FILE SERIES QUANTITY SECONDS   a run
Draws DIRECTORY/FILE.svg for each figure. Prints Markdown: the medians of the runs and the slopes of
their logarithms, with links to the figures as seen from DIRECTORY. Writes to the file SLOPES a line
for each series: FILE, SERIES and the fitted slope.

cargo run --profile pure --no-default-features --example growth -- DIRECTORY SLOPES";

struct Figure {
    file: String,
    over: String,
    title: String,
    series: Vec<Series>,
}

struct Series {
    name: String,
    /// Quantities, increasing, with the medians of their seconds.
    points: Vec<(f64, f64)>,
    slopes: Slopes,
}

/// Seconds by quantity.
type Runs = BTreeMap<u64, Vec<f64>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [directory, slopes] = arguments.as_slice() else {
        eprintln!("{USAGE}");
        return ExitCode::from(2);
    };
    match report(Path::new(directory), Path::new(slopes)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("growth: {error}");
            ExitCode::FAILURE
        }
    }
}

fn report(directory: &Path, slopes_file: &Path) -> Result<(), Box<dyn Error>> {
    let mut lines = String::new();
    for figure in read(stdin().lock())? {
        let layout = Layout { columns: 1, width: 610, height: 340, legend: 190 };
        draw(&directory.join(format!("{}.svg", figure.file)), layout, &[panel(&figure)])?;
        print(&figure);
        for series in &figure.series {
            let fitted = series.slopes.fitted;
            lines += &format!("{}\t{}\t{fitted:.3}\n", figure.file, series.name);
        }
    }
    Ok(std::fs::write(slopes_file, lines)?)
}

fn read(input: impl BufRead) -> Result<Vec<Figure>, Box<dyn Error>> {
    let mut figures: Vec<Figure> = Vec::new();
    // of each figure the series in the order in which they come
    let mut runs: Vec<Vec<(String, Runs)>> = Vec::new();
    for line in input.lines() {
        let line = line?;
        let parts: Vec<&str> = line.split('\t').collect();
        match parts.as_slice() {
            ["figure", file, over, title] => {
                let [file, over, title] = [file, over, title].map(|text| text.to_string());
                figures.push(Figure { file, over, title, series: vec![] });
                runs.push(vec![]);
            }
            [file, name, quantity, seconds] => {
                let place = figures.iter().position(|figure| figure.file == *file);
                let all = &mut runs[place.ok_or_else(|| format!("no figure for: {line}"))?];
                let place = all.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                    all.push((name.to_string(), Runs::new()));
                    all.len() - 1
                });
                all[place].1.entry(quantity.parse()?).or_default().push(seconds.parse()?);
            }
            _ => return Err(format!("not a figure and not a run: {line}").into()),
        }
    }
    for (figure, series) in figures.iter_mut().zip(runs) {
        for (name, runs) in series {
            let points: Vec<(f64, f64)> =
                runs.into_iter().map(|(quantity, runs)| (quantity as f64, median(runs))).collect();
            let slopes = slopes(&points).ok_or_else(|| format!("too few points of {name}"))?;
            figure.series.push(Series { name, points, slopes });
        }
    }
    Ok(figures)
}

fn print(figure: &Figure) {
    println!("\n## {}\n\n![Time over {}]({}.svg)\n", figure.title, figure.over, figure.file);
    let quantities = figure.series.iter().flat_map(|series| &series.points);
    let mut quantities: Vec<u64> = quantities.map(|point| point.0 as u64).collect();
    quantities.sort_unstable();
    quantities.dedup();
    let heads = quantities.iter().map(|quantity| thousands(*quantity as f64));
    println!(
        "| ms, median | {} | **slope** | of points | the last two |",
        heads.collect::<Vec<_>>().join(" | ")
    );
    println!("|---|{}", "--:|".repeat(quantities.len() + 3));
    for series in &figure.series {
        let cells = quantities.iter().map(|quantity| {
            let point = series.points.iter().find(|point| point.0 == *quantity as f64);
            point.map_or(String::new(), |point| milliseconds(point.1))
        });
        let Slopes { fitted, points, last } = series.slopes;
        println!(
            "| {} | {} | **{fitted:.2}** | {points} | {last:.2} |",
            series.name,
            cells.collect::<Vec<_>>().join(" | ")
        );
    }
}

/// Three digits are enough.
fn milliseconds(seconds: f64) -> String {
    match 1000.0 * seconds {
        ms if ms < 1.0 => format!("{ms:.3}"),
        ms if ms < 10.0 => format!("{ms:.2}"),
        ms if ms < 100.0 => format!("{ms:.1}"),
        ms => thousands(ms.round()),
    }
}

/// Colours that are told apart by the colour-blind, too, after Okabe and Ito.
const STYLES: [(u8, u8, u8, Marker); 7] = [
    (0, 114, 178, Marker::Polygon(3, -90.0)),
    (213, 94, 0, Marker::Polygon(4, 45.0)),
    (0, 158, 115, Marker::Polygon(4, 0.0)),
    (200, 30, 90, Marker::Cross),
    (120, 60, 170, Marker::Plus),
    (230, 159, 0, Marker::Polygon(3, 90.0)),
    (0, 0, 0, Marker::Polygon(12, 0.0)),
];

/// The medians, and a dashed line of slope 1 below them.
fn panel(figure: &Figure) -> Panel {
    let mut lines: Vec<PlotLine> = figure
        .series
        .iter()
        .zip(STYLES.iter().cycle())
        .map(|(series, &(red, green, blue, marker))| PlotLine {
            name: format!("{} ({:.2})", series.name, series.slopes.fitted),
            style: Style { colour: RGBColor(red, green, blue), marker, dashed: false },
            points: series.points.iter().map(|(x, seconds)| (*x, 1000.0 * seconds)).collect(),
            errors: vec![],
        })
        .collect();
    let all = || lines.iter().flat_map(|line| line.points.iter().copied());
    let (first, last) = all().fold((f64::INFINITY, 0f64), |(a, b), (x, _)| (a.min(x), b.max(x)));
    let (least, most) = all().fold((f64::INFINITY, 0f64), |(a, b), (_, y)| (a.min(y), b.max(y)));
    let steepest = all().map(|(x, ms)| ms / x).fold(f64::INFINITY, f64::min);
    let from = first.max(0.8 * least / steepest);
    lines.push(PlotLine {
        name: "slope 1".into(),
        style: Style { colour: RGBColor(60, 60, 60), marker: Marker::None, dashed: true },
        points: vec![(from, 0.8 * from * steepest), (last, 0.8 * last * steepest)],
        errors: vec![],
    });
    // every second doubling, and the last
    let quadruplings = (0..32).map(|power| first * 4f64.powi(power));
    let ticks = quadruplings.filter(|x| *x < 0.6 * last).chain([last]).collect();
    Panel {
        title: figure.title.clone(),
        over: figure.over.clone(),
        ticks,
        quantity: "processor time of a release (ms)".into(),
        values: 0.6 * least..1.5 * most,
        lines,
    }
}
