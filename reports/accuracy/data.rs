//! What is released.

use crate::numbers::thousands;
use crate::population::Census;
use crate::synthetic::{
    FEW_MAX_SIZE, GAP_MAX_SIZE, Geography, RACE_MAX_SIZE, ROOMS_MAX_SIZE, SCHOOLS_MAX_SIZE,
    SPARSE_MAX_SIZE, TAXI_MAX_SIZE, few, gap, race, rooms, schools, sparse, taxi,
};
use pg_dp::coco::{Coco, Tally};
use pg_dp::hierarchy::Tree;
use std::collections::BTreeMap;
use std::error::Error;
use std::process::Command;

/// The exact histograms of a hierarchy.
pub struct Data {
    pub title: &'static str,
    pub note: String,
    pub levels: Vec<&'static str>,
    pub tree: Tree,
    /// One histogram per region, in the tree's order.
    pub truth: Vec<Coco>,
    pub max_size: u64,
}

const SEED: u64 = 2018;
const SPARSE: &str = "Sparse";

impl Data {
    /// `leaves`: their paths and their histograms. `levels`: the names of all levels.
    pub fn new(
        title: &'static str,
        note: &str,
        levels: &[&'static str],
        leaves: Vec<(Vec<String>, Coco)>,
        max_size: u64,
    ) -> Result<Data, Box<dyn Error>> {
        let (tree, leaves) = Tree::from_leaves(levels.len() - 1, leaves)?;
        let truth = tree.sums(leaves);
        Ok(Data { title, note: note.to_string(), levels: levels.to_vec(), tree, truth, max_size })
    }

    /// The same regions without those of the lowest level.
    pub fn without_leaves(&self) -> Result<Data, Box<dyn Error>> {
        let levels = &self.levels[..self.levels.len() - 1];
        let leaves = self
            .tree
            .level(levels.len() - 1)
            .map(|region| (self.tree.regions()[region].path.to_vec(), self.truth[region].clone()));
        Data::new(self.title, &self.note, levels, leaves.collect(), self.max_size)
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

    /// The names of the levels, with their numbers of regions where there are several.
    pub fn level_name(&self, level: usize) -> String {
        match self.tree.level(level).len() {
            1 => self.levels[level].to_string(),
            regions => format!("{} {}", thousands(regions as f64), self.levels[level]),
        }
    }

    /// Few large groups among very many small ones.
    pub fn is_sparse(&self) -> bool {
        self.title == SPARSE
    }
}

/// In the manner of the "partially synthetic housing" of Kuo et al.
pub fn housing(geography: Geography) -> Result<Data, Box<dyn Error>> {
    let note = "Households, and one group in a hundred of a heavy tail, in the manner of the \
                housing data of Kuo et al. (2018). Made by `reports/accuracy/synthetic.rs`.";
    let levels = ["nation", "states", "counties"];
    Data::new(SPARSE, note, &levels, sparse(SEED, geography), SPARSE_MAX_SIZE)
}

/// In the manner of the "white" of Kuo et al.
pub fn dense(geography: Geography) -> Result<Data, Box<dyn Error>> {
    let note = "Groups are blocks, their members the inhabitants of one race, in the manner of the \
                race data (\"white\") of Kuo et al. Made by `reports/accuracy/synthetic.rs`.";
    let levels = ["nation", "states", "counties"];
    Data::new("Dense", note, &levels, race(SEED, geography), RACE_MAX_SIZE)
}

/// In the manner of the "taxi" of Kuo et al.
pub fn taxis() -> Result<Data, Box<dyn Error>> {
    let note = "A taxi in one neighbourhood is a group, its members the pick-ups there in a year, in \
                the manner of the taxi data of Kuo et al. Made by `reports/accuracy/synthetic.rs`.";
    let levels = ["Manhattan", "halves", "neighbourhoods"];
    Data::new("Taxi", note, &levels, taxi(SEED), TAXI_MAX_SIZE)
}

/// Four kinds of data that estimators or consistency once failed on.
pub fn hard() -> Result<[Data; 4], Box<dyn Error>> {
    let levels = ["nation", "states", "counties"];
    let data = |title, note: &str, leaves, max_size| {
        let note = format!("{note} Made by `reports/accuracy/synthetic.rs`.");
        Data::new(title, &note, &levels, leaves, max_size)
    };
    Ok([
        data("Gap", "No group has less than six members.", gap(SEED), GAP_MAX_SIZE)?,
        data(
            "Rooms",
            "No group has more than seven members, and `max_size` is far beyond that.",
            rooms(SEED),
            ROOMS_MAX_SIZE,
        )?,
        data("Few regions", "Three regions of two each.", few(SEED), FEW_MAX_SIZE)?,
        data(
            "Schools",
            "Counties of fifteen schools, one or two of them empty, all others with 8 to 47 pupils.",
            schools(),
            SCHOOLS_MAX_SIZE,
        )?,
    ])
}

pub fn census() -> Result<Data, Box<dyn Error>> {
    let census = Census::default();
    let note = format!(
        "Synthetic: made by `reports/census` with seed {}, in proportions published for 2010; no \
         row is anybody's. Groups are households and group quarters.",
        census.seed
    );
    let levels = ["nation", "states", "counties"];
    Data::new("Made-up census", &note, &levels, census.leaves(), census.max_size)
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
    Data::new("Flights", note, &["all", "airports", "airlines"], leaves, 1000)
}
