//! What is released: the made-up census and the flights from New York.

use crate::population::Census;
use pg_dp::coco::{Coco, Tally};
use pg_dp::hierarchy::Tree;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::Command;

/// The exact histograms of a hierarchy.
pub struct Data {
    pub title: &'static str,
    pub note: String,
    pub levels: [&'static str; 3],
    pub tree: Tree,
    /// One histogram per region, in the tree's order.
    pub truth: Vec<Coco>,
    pub max_size: u64,
}

impl Data {
    /// `leaves`: their paths of two elements and their histograms.
    pub fn new(
        title: &'static str,
        note: &str,
        levels: [&'static str; 3],
        leaves: Vec<(Vec<String>, Coco)>,
        max_size: u64,
    ) -> Result<Data, Box<dyn Error>> {
        let (tree, leaves) = Tree::from_leaves(levels.len() - 1, leaves)?;
        let truth = tree.sums(leaves);
        Ok(Data { title, note: note.to_string(), levels, tree, truth, max_size })
    }

    pub fn groups(&self) -> u64 {
        self.truth[0].groups()
    }

    pub fn members(&self) -> u64 {
        self.truth[0].runs().iter().map(|run| run.size * run.groups).sum()
    }

    pub fn leaves(&self) -> Vec<Coco> {
        self.truth[self.tree.leaves()].to_vec()
    }
}

pub fn census() -> Result<Data, Box<dyn Error>> {
    let census = Census::default();
    let note = format!(
        "Synthetic: made by `examples/census` with seed {}, in proportions published for 2010; no \
         row is anybody's. Groups are households and group quarters.",
        census.seed
    );
    let levels = ["nation", "states", "counties"];
    Data::new("Made-up census", &note, levels, census.leaves(), census.max_size)
}

/// An aircraft at one airport for one airline is a group, its flights the members, as in
/// demo/flights.sql.
pub fn flights() -> Result<Data, Box<dyn Error>> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/data/flights.csv.gz");
    let unpacked = Command::new("gzip").args(["-dc", file]).output()?;
    if !unpacked.status.success() {
        return Err(String::from_utf8_lossy(&unpacked.stderr).into());
    }
    let text = String::from_utf8(unpacked.stdout)?;
    let mut aircraft: BTreeMap<[&str; 3], u64> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let key = [(); 3].map(|()| fields.next().unwrap_or(""));
        if !key[2].is_empty() {
            *aircraft.entry(key).or_default() += 1;
        }
    }
    let mut airlines: BTreeMap<Vec<String>, Tally> = BTreeMap::new();
    for ([airport, airline, _], flights) in aircraft {
        let path = vec![airport.to_string(), airline.to_string()];
        airlines.entry(path).or_default().add(flights, 1);
    }
    let leaves = airlines.into_iter().map(|(path, tally)| (path, tally.histogram())).collect();
    let note = "The flights of `data/`. Groups are aircraft, at one airport for one airline; their \
                size is the number of their flights.";
    Data::new("Flights", note, ["all", "airports", "airlines"], leaves, 1000)
}
