//! The report in Markdown.

use crate::exact::{Line, Point, Published, least_mean};
use crate::methods::{LAPLACE_TREE, Method, for_all_ranges};
use crate::numbers::thousands;
use crate::simulation::{Estimate, Simulated};
use crate::{DELTA, EPSILON, Results, SEED, regions};
use pg_dp::ranges::Workload;
use std::error::Error;
use std::fmt::Write;

/// The numbers of bins that tables show.
const SHOWN: [usize; 7] = [16, 64, 256, 1024, 4096, 16_384, 65_536];
/// Where methods are compared in the text.
const COMPARED: usize = 1024;
/// Another delta, to see what it changes.
const SMALLER_DELTA: f64 = 1e-9;

pub fn report(results: &Results) -> Result<String, Box<dyn Error>> {
    let Results { granted, all, prefix, pure, published, simulated, .. } = results;
    let mut text = introduction(results)?;
    let sections = [
        ("All ranges", "all", Workload::All, all),
        ("Prefixes", "prefix", Workload::Prefix, prefix),
    ];
    for (title, name, workload, lines) in sections {
        let estimate = |s: &Simulated| match workload {
            Workload::Prefix => s.prefix,
            _ => s.all,
        };
        let _ = write!(
            text,
            "\n## {title}, ε = {EPSILON}, δ = {DELTA:e}\n\n\
             ![Mean and worst variance](range-accuracy-{name}.svg)\n\n\
             Mean variance in rows²; in brackets, as a multiple of the lower bound for Gaussian noise:\n\n{}\n\
             Largest variance of any answer, in rows²:\n\n{}\n\
             ![Expected worst error](range-accuracy-{name}-worst.svg)\n\n\
             Largest squared error of a release, in rows²: the mean of {} releases ± its standard \
             error:\n\n{}",
            means(workload, lines, *granted),
            table(lines, &SHOWN, |line, bins| cell(line, bins, |p| thousands(p.spread.max))),
            results.releases,
            table(lines, &SHOWN[..5], |line, bins| worst(
                simulated,
                line.method.name,
                bins,
                estimate
            )),
        );
    }
    let _ = write!(text, "\n{}", against_dharangutte(all, prefix)?);
    let _ = write!(
        text,
        "\n## Pure ε = {EPSILON}, all ranges\n\n\
         ![Mean and worst variance](range-accuracy-pure.svg)\n\n\
         Mean variance in rows²; in brackets, the branching factor that the method chose:\n\n{}\n\
         Largest variance of any answer, in rows²:\n\n{}",
        table(pure, &SHOWN, with_branching),
        table(pure, &SHOWN, |line, bins| cell(line, bins, |p| thousands(p.spread.max))),
    );
    text.push_str(&regions::section()?);
    let _ = write!(text, "\n{}", against_qardaji(published));
    Ok(text)
}

fn introduction(results: &Results) -> Result<String, Box<dyn Error>> {
    let Results { granted, all, releases, .. } = results;
    let gaussian = |method: &Method| method.name != LAPLACE_TREE.name;
    let spent = all.iter().filter(|line| gaussian(&line.method)).flat_map(|line| &line.points);
    let spent: Vec<f64> = spent.map(|point| point.rho / granted).collect();
    let mean = |method: Method, delta| -> Result<f64, Box<dyn Error>> {
        Ok(method.make(COMPARED, delta)?.mechanism().mean_over_all())
    };
    let factors = for_all_ranges()
        .into_iter()
        .filter(gaussian)
        .map(|method| Ok(mean(method, SMALLER_DELTA)? / mean(method, DELTA)?))
        .collect::<Result<Vec<f64>, Box<dyn Error>>>()?;
    let of_laplace = LAPLACE_TREE.make(COMPARED, DELTA)?.rho;
    Ok(format!(
        "# Accuracy of range sums

The comparison of Dharangutte, Gao, Gong and Wang (2025), figure 2, at equal privacy: `make accuracy`
wrote this page. The variances are exact, those of the discrete noise as implemented, over every range
of the workload; nothing is sampled. Only the expected worst error is from releases ({releases} of each
method, noise from the seed {SEED}), and there too every range is looked at.

Neighbours differ by one row, in one bin. All methods with Gaussian noise keep (ε, δ) = ({EPSILON}, {DELTA:e}) by
the exact curve of Gaussian noise, which allows continuous noise a loss of ρ = {granted:.6}; what is
given up because it is discrete leaves each at least {:.3} of that. Errors do not depend on the data. A
smaller δ changes little between them: at δ = {SMALLER_DELTA:e} the mean variances over all ranges of {} bins are {:.4} to {:.4} times as large.

How to read the figures: lower is better, both axes are logarithmic. *Mean* is the expected total
squared error over the number of ranges, *worst* the largest variance of any answer (worst expected
error), *expected worst* the mean over releases of the largest squared error among all answers. The
*lower bound* is the singular-value bound (Li, Miklau 2013) on the mean for Gaussian noise.
Methods that cannot keep up leave at the top.

| method | in Dharangutte et al. |
|---|---|
| `gaussian` | Gaussian |
| `binary_tree` | Binary Tree |
| tree (Gaussian) | Hierarchical: a consistent binary tree, without its root |
| wavelet (Gaussian) | Wavelet |
| `cascade` | their own, correlated input perturbation |
| `prefix` | explicit factorisation |
| `optimal` | in the place of HDMM: the closed form of a nearly optimal strategy for the workload |
| `minimax` | not there: the least worst case that is known |
| tree (Laplace) | not there: `tree_consistent` with Laplace noise, and the best branching factor |

tree (Laplace) satisfies (ε, 0) and needs no δ. Asked for `tree_consistent` or `wavelet` at this ε and
δ, the extension takes whichever noise gives the smaller error. In a ledger that adds up zCDP Laplace
noise weighs more: at {} bins tree (Laplace) counts as ρ = {of_laplace:.4}.
",
        spent.iter().copied().fold(f64::INFINITY, f64::min),
        thousands(COMPARED as f64),
        factors.iter().copied().fold(f64::INFINITY, f64::min),
        factors.iter().copied().fold(0.0, f64::max),
        thousands(COMPARED as f64),
    ))
}

/// A row for each method, a column for each number of bins.
fn table(lines: &[Line], sizes: &[usize], cell: impl Fn(&Line, usize) -> String) -> String {
    let sizes_text: Vec<String> = sizes.iter().map(|&bins| thousands(bins as f64)).collect();
    let mut text =
        format!("| n | {} |\n|---|{}\n", sizes_text.join(" | "), "--:|".repeat(sizes.len()));
    for line in lines {
        let cells: Vec<String> = sizes.iter().map(|&bins| cell(line, bins)).collect();
        let _ = writeln!(text, "| {} | {} |", line.method.name, cells.join(" | "));
    }
    text
}

fn cell(line: &Line, bins: usize, text: impl Fn(&Point) -> String) -> String {
    line.at(bins).map_or(String::new(), text)
}

fn means(workload: Workload, lines: &[Line], granted: f64) -> String {
    table(lines, &SHOWN, |line, bins| {
        cell(line, bins, |point| {
            let mean = point.spread.mean;
            let ratio = least_mean(workload, bins, granted).map_or(f64::NAN, |least| mean / least);
            format!("{} ({ratio:.3})", thousands(mean))
        })
    })
}

fn with_branching(line: &Line, bins: usize) -> String {
    cell(line, bins, |point| match point.branching {
        Some(branching) if ["tree", "tree_consistent"].contains(&line.method.name) => {
            format!("{} ({branching})", thousands(point.spread.mean))
        }
        _ => thousands(point.spread.mean),
    })
}

fn worst(
    simulated: &[Simulated],
    method: &str,
    bins: usize,
    estimate: impl Fn(&Simulated) -> Estimate,
) -> String {
    let found = simulated.iter().find(|s| s.method == method && s.bins == bins);
    found.map(estimate).map_or(String::new(), |estimate| {
        format!("{} ± {}", thousands(estimate.mean), thousands(estimate.standard_error))
    })
}

/// What that paper reports from sampled queries, beside what is exact here.
fn against_dharangutte(all: &[Line], prefix: &[Line]) -> Result<String, Box<dyn Error>> {
    let mean = |lines: &[Line], method: &str, bins: usize| {
        let line = lines.iter().find(|line| line.method.name == method);
        line.and_then(|line| line.at(bins)).map(|point| point.spread.mean).ok_or("no such line")
    };
    let times = |lines: &[Line], method: &str, bins: usize| -> Result<String, Box<dyn Error>> {
        Ok(format!("{:.2}", mean(lines, method, bins)? / mean(lines, "cascade", bins)?))
    };
    let ratios = |lines: &[Line]| -> Result<String, Box<dyn Error>> {
        let others = lines.iter().filter(|line| line.method.name != "cascade");
        let texts = others.map(|line| {
            let name = line.method.name;
            Ok(format!("{name} {}", times(lines, name, COMPARED)?))
        });
        Ok(texts.collect::<Result<Vec<String>, Box<dyn Error>>>()?.join(", "))
    };
    let mut ahead = Vec::new();
    for &Point { bins, .. } in all.iter().take(1).flat_map(|line| &line.points) {
        let mut first_tier = f64::INFINITY;
        for method in ["tree (Gaussian)", "wavelet (Gaussian)", "cascade"] {
            first_tier = first_tier.min(mean(all, method, bins)?);
        }
        if mean(all, "prefix", bins)? < first_tier {
            ahead.push(thousands(bins as f64));
        }
    }
    let bins = thousands(COMPARED as f64);
    Ok(format!(
        "## Against the figure of Dharangutte et al.

Mean variances at {bins} bins as multiples of that of `cascade`:

- all ranges: {}
- prefixes: {}

The paper counts its own mechanism, Wavelet, HDMM and Hierarchical as the first tier, without explicit
factorisation. At equal privacy, `prefix` has a smaller mean variance over all ranges than `cascade`, tree
(Gaussian) and wavelet (Gaussian) at these n: {}.

The paper finds Gaussian as good as the first tier where n is small. Its mean variance over all ranges
is {} times that of `cascade` at 16 bins and {} times at 64.
",
        ratios(all)?,
        ratios(prefix)?,
        if ahead.is_empty() { "none".into() } else { ahead.join("; ") },
        times(all, "gaussian", 16)?,
        times(all, "gaussian", 64)?,
    ))
}

fn against_qardaji(published: &[Published]) -> String {
    let most = published.iter().map(|row| row.printed.len()).max().unwrap_or(0);
    let sizes: Vec<String> = (0..most).map(|i| thousands(16.0 * 2f64.powi(i as i32))).collect();
    let mut text = format!(
        "## Against Qardaji, Yang and Li (2013), tables 1 and 3

Mean variances over all ranges of continuous Laplace noise at ε = 1, the unit of that paper: those of our
discrete noise at a small ε, where the two agree, times ε². In brackets what is printed there, where it
differs by more than its rounding.

| | method | {} |\n|---|---|{}\n",
        sizes.join(" | "),
        "--:|".repeat(most)
    );
    for row in published {
        let cells = row.ours.iter().zip(&row.printed).map(|(ours, printed)| {
            // half a unit of the last digit, and what is left of discreteness
            let differs = (ours - printed).abs() > 0.005 + 1e-6 * printed;
            if differs { format!("{ours:.2} ({printed:.2})") } else { format!("{ours:.2}") }
        });
        let cells: Vec<String> = cells.chain(std::iter::repeat(String::new())).take(most).collect();
        let _ = writeln!(text, "| {} | `{}` | {} |", row.name, row.method, cells.join(" | "));
    }
    text
}
