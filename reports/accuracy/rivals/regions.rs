//! What is released: regions of the hierarchies, and two histograms of real data.

use crate::data::{Data, hard};
use pg_dp::coco::{Coco, Run};
use std::error::Error;

pub struct Region {
    pub title: String,
    pub truth: Coco,
    pub max_size: u64,
}

/// Two regions of each hierarchy, and the real ones.
pub fn all<'a>(data: impl Iterator<Item = &'a Data>) -> Result<Vec<Region>, Box<dyn Error>> {
    let mut regions: Vec<Region> = data.flat_map(ends).collect();
    // for mechanisms that are made for few sizes
    let [_, rooms, ..] = hard()?;
    let [root, _] = ends(&rooms);
    let short = Region { title: "Rooms up to 7: nation".into(), max_size: 7, ..root };
    regions.extend([short, names()?, routes()?]);
    Ok(regions)
}

/// The root, and the leaf with the median number of groups.
pub fn ends(data: &Data) -> [Region; 2] {
    let mut leaves: Vec<usize> = data.tree.leaves().collect();
    leaves.sort_by_key(|leaf| data.truth[*leaf].groups());
    [0, leaves[leaves.len() / 2]].map(|region| {
        let path = &data.tree.regions()[region].path;
        let name = if region == 0 { data.levels[0].to_string() } else { path.to_vec().join(", ") };
        Region {
            title: format!("{}: {name}", data.title),
            truth: data.truth[region].clone(),
            max_size: data.max_size,
        }
    })
}

fn names() -> Result<Region, Box<dyn Error>> {
    of_counts("Names", include_str!("../../../data/names.csv"), 30_000)
}

fn routes() -> Result<Region, Box<dyn Error>> {
    of_counts("Routes", include_str!("../../../data/routes.csv"), 20_000)
}

/// Of a header and lines of a size and the number of groups.
fn of_counts(title: &str, text: &str, max_size: u64) -> Result<Region, Box<dyn Error>> {
    let runs = text.lines().skip(1).map(|line| -> Result<Run, Box<dyn Error>> {
        let (size, groups) = line.split_once(',').ok_or("a line without a comma")?;
        Ok(Run { size: size.parse()?, groups: groups.parse()? })
    });
    let truth = runs.collect::<Result<Coco, _>>()?;
    Ok(Region { title: title.into(), truth, max_size })
}
