//! One histogram: how many of 10,000 households have 1, 2, 3 ... members.
//!
//! ```text
//! $ cargo run --no-default-features --example histogram
//! members  households  released
//!       0           0         0
//!       1        2000      2000
//!       2        3500      3499
//!       3        1800      1803
//!       4        1500      1498
//!       5         800       800
//!       6         300       304
//!       7         100        95
//!       8           0         0
//!       9           0         0
//!      10           0         1
//! persons that would have to move: 10
//! ```

use pg_dp::charge::Receipt;
use pg_dp::coco::{Coco, Run, emd};
use pg_dp::hierarchy::HistogramMechanism;
use pg_dp::noise::words_from_system;
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let households = [2000, 3500, 1800, 1500, 800, 300, 100];
    let exact: Coco = (1..).zip(households).map(|(size, groups)| Run { size, groups }).collect();

    // epsilon 1 hides any one person; members beyond 10 would be counted as 10
    let mechanism = HistogramMechanism::new(1.0, "auto", 10)?;
    // the data are made up: no ledger charges them
    let receipt = Receipt::uncharged(mechanism);
    let released = receipt.release(&exact, &mut words_from_system()?, &mut ());

    let released = released.histogram();
    let of_size = |histogram: &Coco, size| {
        histogram.runs().iter().find(|run| run.size == size).map_or(0, |run| run.groups)
    };
    println!("members  households  released");
    for size in 0..=10 {
        println!("{size:7}  {:10}  {:8}", of_size(&exact, size), of_size(released, size));
    }
    println!("persons that would have to move: {}", emd(&exact, released)?);
    Ok(())
}
