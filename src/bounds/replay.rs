//! Searches of neighbours, recorded and replayed: what a unit of privacy moves all counts by together.

use super::*;
use crate::charge::Receipt;
use crate::noise::words_from_system;
use crate::privacy::replay::Replayed;

const EPSILON: f64 = 1.0;

fn check(bounded: Bounded, rows: u32, pairs: &[(Vec<u64>, Vec<u64>)]) {
    let name = format!("found {}, unit of {rows}", bounded.word());
    let mut replayed = Replayed::of_epsilon(&name, EPSILON);
    for (one, other) in pairs {
        replayed.pair(one, other, |values| {
            let search = BoundSearch::new(bounded, EPSILON, None, rows).unwrap();
            let mut tally = search.tally();
            values.iter().for_each(|value| match bounded {
                Bounded::Sizes => tally.add_groups(*value, 1),
                Bounded::Rows | Bounded::Amounts => tally.add(*value),
            });
            Receipt::uncharged(search).measure(&tally, &mut words_from_system().unwrap());
        });
    }
    replayed.check(1e-9);
}

/// All tables of up to so many values, each up to `most`, in ascending order.
fn tables(values: usize, most: u64) -> Vec<Vec<u64>> {
    let mut tables = vec![vec![]];
    let mut longer = tables.clone();
    for _ in 0..values {
        longer = longer
            .iter()
            .flat_map(|table: &Vec<u64>| {
                let least = table.last().copied().unwrap_or(0);
                (least..=most).map(|value| [&table[..], &[value]].concat())
            })
            .collect();
        tables.extend(longer.clone());
    }
    tables
}

/// A unit more, with all of its rows, however many.
#[test]
fn no_numbers_of_rows_are_farther_apart_than_is_charged() {
    let rows = [1, 2, 3, 5, 9, 1000, 1_000_000, 2_000_000];
    let more = |table: &Vec<u64>| rows.map(|rows| (table.clone(), [&table[..], &[rows]].concat()));
    let pairs: Vec<_> = tables(3, 7).iter().flat_map(more).collect();
    check(Bounded::Rows, 1, &pairs);
    // what the dataset declares is no part of it
    check(Bounded::Rows, 50, &pairs);
}

/// As many rows as a unit has, of any amounts.
#[test]
fn no_amounts_are_farther_apart_than_is_charged() {
    for rows in 1..=3 {
        let tables = tables(2, 5);
        let units = tables_of(rows, &[0, 1, 2, 7, 100, u64::MAX]);
        let pairs: Vec<_> = tables
            .iter()
            .flat_map(|table| units.iter().map(|unit| (table.clone(), [&table[..], unit].concat())))
            .collect();
        check(Bounded::Amounts, rows as u32, &pairs);
    }
}

/// As many entities as a unit has, each in any group, also in one that appears with it.
#[test]
fn no_sizes_are_farther_apart_than_is_charged() {
    for entities in 1..=3u32 {
        let mut pairs = Vec::new();
        for table in tables(3, 7) {
            let table = [&table[..], &[0, 5_000_000]].concat();
            let groups: Vec<u64> = (0..table.len() as u64).collect();
            for owned in tables_of(entities as usize, &groups) {
                let mut other = table.clone();
                owned.iter().for_each(|group| other[*group as usize] += 1);
                pairs.push((table.clone(), other));
            }
        }
        check(Bounded::Sizes, entities, &pairs);
    }
}

/// All lists of so many of these, or fewer.
fn tables_of(values: usize, among: &[u64]) -> Vec<Vec<u64>> {
    tables(values, among.len() as u64 - 1)
        .into_iter()
        .map(|table| table.into_iter().map(|n| among[n as usize]).collect())
        .collect()
}
