//! A hierarchy: histograms of a country, its regions and their towns, which add up.
//!
//! ```text
//! $ cargo run --no-default-features --example hierarchy
//! a ledger would keep: {"consistency":"matching","levels":[{"epsilon":0.6666666666666643, ...
//! {}           600 groups, 1139 persons
//! {north}      300 groups, 498 persons
//! {south}      300 groups, 641 persons
//! {north,0}    100 groups, 152 persons
//! {north,1}    100 groups, 168 persons
//! {north,2}    100 groups, 178 persons
//! {south,3}    100 groups, 205 persons
//! {south,4}    100 groups, 212 persons
//! {south,5}    100 groups, 224 persons
//! ```

use pg_dp::charge::{Costs, Receipt};
use pg_dp::coco::{Coco, Run};
use pg_dp::hierarchy::{Mechanism, ReleaseRequest, Tree, path_text};
use pg_dp::noise::words_from_system;
use std::error::Error;
use std::num::NonZeroUsize;

/// 100 groups, more of them large ones in later towns.
fn town(number: u64) -> Coco {
    [(1, 60 - number), (2, 30), (3 + number, 10 + number)]
        .map(|(size, groups)| Run { size, groups })
        .into_iter()
        .collect()
}

fn main() -> Result<(), Box<dyn Error>> {
    let path = |number: u64| [["north", "south"][number as usize / 3].into(), format!("{number}")];
    let towns = (0..6).map(|number| (path(number).to_vec(), town(number))).collect();
    let (tree, leaves) = Tree::from_leaves(2, towns)?;

    // three levels share an epsilon of 2; what is measured is made to add up
    let mechanism =
        Mechanism::new(&ReleaseRequest::new(3, 2.0).by(&["auto"], "matching").up_to(20))?;
    println!("a ledger would keep: {}", mechanism.cost().mechanism);

    let receipt = Receipt::uncharged(mechanism);
    let words = &mut words_from_system()?;
    let released = receipt.release(&tree, leaves, words, NonZeroUsize::MIN, &mut ())?;
    for (region, released) in tree.regions().iter().zip(&released.histograms) {
        let histogram = released.histogram();
        let (groups, persons) = (histogram.groups(), histogram.entities());
        println!("{:12} {groups} groups, {persons} persons", path_text(region.path.names()));
    }
    Ok(())
}
