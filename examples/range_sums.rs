//! Range sums: how many of a shop's orders came between any two days of a year, with the error to
//! expect of each answer.
//!
//! ```text
//! $ cargo run --no-default-features --example range_sums
//! expected error of a range: 9.6, at most 14.1
//! January     2105.9 +- 6.8 (exactly 2110)
//! December    2193.9 +- 6.0 (exactly 2190)
//! the year   25513.2 +- 12.1 (exactly 25520)
//! ```

use pg_dp::charge::Receipt;
use pg_dp::noise::words_from_system;
use pg_dp::ranges::{MethodChoice, RangePlan, RangeRequest, Workload};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let orders: Vec<u64> = (0..365).map(|day| 40 + day % 7 * 10).collect();

    // epsilon 1 hides any one order; the method is the best of all for ranges of any length
    let method = MethodChoice::parse("auto")?;
    let bins = orders.len() as i64;
    let request = RangeRequest { bins, epsilon: 1.0, delta: 0.0, rows_per_unit: 1, method };
    let plan = RangePlan::new(request)?;
    let spread = plan.mechanism().spread(Workload::All);
    let [mean, most] = [spread.mean, spread.max].map(f64::sqrt);
    println!("expected error of a range: {mean:.1}, at most {most:.1}");

    // the data are made up: no ledger charges them
    let release = Receipt::uncharged(plan).release(&orders, &mut words_from_system()?);

    for (what, days) in [("January", 0..31), ("December", 334..365), ("the year", 0..365)] {
        let exact: u64 = orders[days.clone()].iter().sum();
        let deviation = release.variance(days.clone()).map_or(f64::NAN, f64::sqrt);
        println!("{what:9} {:8.1} +- {deviation:.1} (exactly {exact})", release.sum(days));
    }
    Ok(())
}
