//! Rows split into parts by a hash of their key, on this thread or on another.

use super::block_file::{Block, empty_block};
use super::group_key::KeyHasher;
use super::group_row::{GroupRow, RowForm, Run};
use crate::work::Helper;
use std::hash::BuildHasher;
use std::mem::{replace, take};

/// The last rows of a part, which do not fill a block; no block before the first row.
#[derive(Default)]
pub(super) struct LastRows {
    pub block: Option<Box<Block>>,
    pub rows: usize,
}

impl LastRows {
    pub(super) fn iter(&self, form: RowForm) -> impl Iterator<Item = GroupRow> + '_ {
        self.block.iter().flat_map(move |block| form.rows(block, self.rows))
    }
}

/// The parts that rows are split into.
pub(super) struct Parts {
    hasher: KeyHasher,
    form: RowForm,
    parts: Vec<LastRows>,
    /// Room for rows that are made here.
    made: Vec<GroupRow>,
}

impl Parts {
    pub(super) fn new(count: usize, form: RowForm, hasher: KeyHasher) -> Parts {
        let parts = (0..count).map(|_| LastRows::default()).collect();
        Parts { hasher, form, parts, made: Vec::new() }
    }

    /// `full` gets a block that is full, with the number of its part.
    ///
    /// A part begins with a group: rows of no group make none.
    #[inline]
    fn put(&mut self, row: GroupRow, full: &mut impl FnMut(usize, Box<Block>)) {
        let hash = self.hasher.hash_one(row.key);
        // by the upper bits, evenly: hash / 2^64 * parts
        let number = ((u128::from(hash) * self.parts.len() as u128) >> 64) as usize;
        let part = &mut self.parts[number];
        let block = match &mut part.block {
            Some(block) => block,
            // its group would have come before
            None if row.region.is_none() => return,
            none => none.insert(empty_block()),
        };
        self.form.write(row, block, part.rows);
        part.rows += 1;
        if part.rows == self.form.rows_of_block() {
            part.rows = 0;
            full(number, replace(block, empty_block()));
        }
    }
}

impl Parts {
    fn put_made(&mut self, make: MakeRows, full: &mut impl FnMut(usize, Box<Block>)) {
        let mut rows = take(&mut self.made);
        make(&mut rows);
        let mut run = Run::default();
        for row in rows.drain(..) {
            if let Some(row) = run.join(row) {
                self.put(row, full);
            }
        }
        if let Some(row) = run.end() {
            self.put(row, full);
        }
        self.made = rows;
    }
}

/// Puts rows into parts.
pub(super) enum Splitter {
    Here(Parts),
    Helped(HelpedSplitter),
}

/// What a thread does at a time: so much that telling it takes no time beside.
const BATCH: usize = 8192;

/// How many of these can wait for it.
const WAITING: usize = 2;

/// Hands rows to another thread, which puts them into parts.
pub(super) struct HelpedSplitter {
    batch: Vec<GroupRow>,
    helper: Helper<Job, Done>,
    /// How many jobs it has.
    given: usize,
    /// To be filled next.
    empty: Vec<GroupRow>,
}

/// Adds rows that it makes.
pub type MakeRows = Box<dyn FnOnce(&mut Vec<GroupRow>) + Send>;

enum Job {
    Rows(Vec<GroupRow>),
    Make(MakeRows),
    /// There are no more.
    End,
}

struct Done {
    /// Empty, to be used again.
    batch: Vec<GroupRow>,
    full: Vec<(usize, Box<Block>)>,
    /// In the end.
    last: Vec<LastRows>,
}

impl Splitter {
    /// On another thread, if there may be one.
    pub(super) fn new(mut parts: Parts, helped: bool) -> Splitter {
        if !helped {
            return Splitter::Here(parts);
        }
        let (count, form, hasher) = (parts.parts.len(), parts.form, parts.hasher.clone());
        let helper = Helper::start(WAITING, move |job| parts.work_off(job));
        match helper {
            Some(helper) => {
                let batch = Vec::with_capacity(BATCH);
                Splitter::Helped(HelpedSplitter { batch, helper, given: 0, empty: vec![] })
            }
            None => Splitter::Here(Parts::new(count, form, hasher)),
        }
    }

    /// `full` gets blocks that are full, with the numbers of their parts: in the order of the rows,
    /// at once or later.
    #[inline]
    pub(super) fn put(&mut self, row: GroupRow, mut full: impl FnMut(usize, Box<Block>)) {
        match self {
            Splitter::Here(parts) => parts.put(row, &mut full),
            Splitter::Helped(helped) => {
                helped.batch.push(row);
                if helped.batch.len() == BATCH {
                    helped.pass_on(&mut full);
                }
            }
        }
    }

    /// Whether another thread does this that would soon have nothing to do.
    pub(super) fn has_time(&mut self, mut full: impl FnMut(usize, Box<Block>)) -> bool {
        match self {
            Splitter::Here(_) => false,
            Splitter::Helped(helped) => {
                helped.take_done(&mut full);
                helped.given < WAITING
            }
        }
    }

    /// Has rows made where they are put into parts, after all that were put before.
    pub(super) fn put_made(&mut self, make: MakeRows, mut full: impl FnMut(usize, Box<Block>)) {
        match self {
            Splitter::Here(parts) => parts.put_made(make, &mut full),
            Splitter::Helped(helped) => {
                if !helped.batch.is_empty() {
                    helped.pass_on(&mut full);
                }
                helped.give(Job::Make(make));
            }
        }
    }

    /// What is left of each part.
    pub(super) fn finish(self, mut full: impl FnMut(usize, Box<Block>)) -> Vec<LastRows> {
        match self {
            Splitter::Here(parts) => parts.parts,
            Splitter::Helped(mut helped) => {
                helped.pass_on(&mut full);
                helped.helper.give(Job::End);
                loop {
                    let done = helped.helper.wait();
                    done.full.into_iter().for_each(|(part, block)| full(part, block));
                    if !done.last.is_empty() {
                        return done.last;
                    }
                }
            }
        }
    }
}

impl HelpedSplitter {
    fn pass_on(&mut self, full: &mut impl FnMut(usize, Box<Block>)) {
        self.take_done(full);
        let mut empty = take(&mut self.empty);
        empty.reserve(BATCH);
        let batch = replace(&mut self.batch, empty);
        self.give(Job::Rows(batch));
    }

    fn give(&mut self, job: Job) {
        self.given += 1;
        self.helper.give(job);
    }

    fn take_done(&mut self, full: &mut impl FnMut(usize, Box<Block>)) {
        while let Some(done) = self.helper.result() {
            self.given -= 1;
            done.full.into_iter().for_each(|(part, block)| full(part, block));
            if done.batch.capacity() > 0 {
                self.empty = done.batch;
            }
        }
    }

    pub(super) fn end_as_helper(&mut self) -> ! {
        self.helper.pass_panic_on()
    }
}

impl Parts {
    fn work_off(&mut self, job: Job) -> Done {
        let mut done = Done { batch: vec![], full: vec![], last: vec![] };
        match job {
            Job::Rows(mut batch) => {
                let mut full = |part, block| done.full.push((part, block));
                batch.drain(..).for_each(|row| self.put(row, &mut full));
                done.batch = batch;
            }
            Job::Make(make) => {
                self.put_made(make, &mut |part, block| done.full.push((part, block)));
            }
            Job::End => done.last = take(&mut self.parts),
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::super::group_key::GroupKey;
    use super::*;
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    /// The rows of each part, in their order.
    fn split(rows: &[GroupRow], helped: bool) -> Vec<Vec<GroupRow>> {
        const PARTS: usize = 7;
        let form = RowForm::Wide;
        let hasher = KeyHasher::new(&mut ChaCha20Rng::seed_from_u64(1));
        let mut splitter = Splitter::new(Parts::new(PARTS, form, hasher), helped);
        let mut split = vec![vec![]; PARTS];
        let mut full = |part: usize, block: Box<Block>| {
            split[part].extend(form.rows(&block, form.rows_of_block()));
        };
        rows.iter().for_each(|&row| splitter.put(row, &mut full));
        let last = splitter.finish(&mut full);
        for (part, last) in split.iter_mut().zip(last) {
            part.extend(last.iter(form));
        }
        split
    }

    #[test]
    fn rows_of_one_group_are_in_one_part_in_their_order_on_any_thread() {
        let row = |n: u32| GroupRow {
            key: GroupKey([u64::from(n % 1000), 3]),
            region: Some(n % 5),
            entities: n,
        };
        for count in [0, 1, BATCH as u32, 50_000] {
            let rows: Vec<GroupRow> = (0..count).map(row).collect();
            let here = split(&rows, false);
            assert_eq!(here.iter().map(Vec::len).sum::<usize>(), rows.len());
            for part in &here {
                assert!(part.is_sorted_by_key(|row| row.entities));
                let others = here.iter().filter(|other| !std::ptr::eq(*other, part));
                let mut keys: Vec<_> = part.iter().map(|row| row.key.0).collect();
                keys.sort_unstable();
                keys.dedup();
                for other in others {
                    assert!(other.iter().all(|row| keys.binary_search(&row.key.0).is_err()));
                }
            }
            assert_eq!(split(&rows, true), here);
        }
    }

    /// Rows that are made elsewhere come after those that were put before, those of a group in a row
    /// as one.
    #[test]
    fn made_rows_are_put_as_others() {
        const PARTS: usize = 3;
        let form = RowForm::Wide;
        let row = |n: u64, entities| GroupRow { key: GroupKey([n, 3]), region: Some(1), entities };
        for helped in [false, true] {
            let hasher = KeyHasher::new(&mut ChaCha20Rng::seed_from_u64(1));
            let mut splitter = Splitter::new(Parts::new(PARTS, form, hasher), helped);
            let mut of_first = vec![];
            let mut full = |_, block: Box<Block>| {
                of_first
                    .extend(form.rows(&block, form.rows_of_block()).filter(|r| r.key.0[0] == 0));
            };
            for batch in 0..2_000 {
                splitter.put(row(0, 10 * batch), &mut full);
                assert!(helped || !splitter.has_time(&mut full));
                let made = (0..10).map(move |n| row(n / 2, 10 * batch + 1));
                splitter.put_made(Box::new(move |rows| rows.extend(made)), &mut full);
            }
            let last = splitter.finish(&mut full);
            of_first.extend(last.iter().flat_map(|l| l.iter(form)).filter(|r| r.key.0[0] == 0));
            let expected = (0..2_000).flat_map(|b| [row(0, 10 * b), row(0, 20 * b + 2)]);
            assert_eq!(of_first, expected.collect::<Vec<_>>());
        }
    }

    #[test]
    fn rows_of_no_group_begin_no_part() {
        let row = |region| GroupRow { key: GroupKey([1, 2]), region, entities: 1 };
        for helped in [false, true] {
            let split = split(&[row(None), row(Some(1)), row(None)], helped).concat();
            assert_eq!(split, [row(Some(1)), row(None)]);
        }
    }
}
