//! Rows of a table, counted by group as they come, with the help of another thread.
//!
//! Of pages that the other thread gets it makes the rows to be counted of those rows whose region was
//! printed before; the others come back. What they are called PostgreSQL says to this thread alone.

use super::pages::{PageHelper, Pages};
use super::row_keys::Keys;
use super::row_regions::{News, PrintedRegions, RowRegions};
use super::stream::RowVisitor;
use super::streamed_row::StreamedRow;
use crate::counting::{GroupRow, GroupSizes, RegionTallies};
use crate::pg::server::temporary_file::BufferedFile;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// For how many entities a row stands.
#[derive(Clone, Copy)]
pub(super) enum Entities {
    /// It is a group.
    None,
    One,
    /// As many as the column after the key says.
    OfRow,
}

/// Makes rows to be counted of those of a table, on any thread.
#[derive(Clone)]
pub(super) struct RowMaker {
    pub(super) keys: Keys,
    /// The columns of the group's key.
    pub(super) key: Range<usize>,
    /// Whether the number of the region is part of the key.
    pub(super) with_region: bool,
    pub(super) entities: Entities,
}

impl RowMaker {
    fn is_of_entities(&self) -> bool {
        !matches!(self.entities, Entities::None)
    }

    #[inline]
    fn has_key(&self, row: &StreamedRow) -> bool {
        row.has_all(self.key.clone())
    }

    /// Of one that has a key. `region`: its number, if the row says it.
    #[inline(always)]
    fn make(&mut self, row: &StreamedRow, region: Option<u32>) -> GroupRow {
        let key = self.keys.of(row, self.key.clone(), region.filter(|_| self.with_region));
        let entities = match self.entities {
            Entities::None => 0,
            Entities::One => 1,
            Entities::OfRow => entities(row, self.key.end),
        };
        GroupRow { key, region, entities }
    }
}

/// A number of entities; NULL and negative ones count as 0.
pub(super) fn entities(row: &StreamedRow, column: usize) -> u32 {
    let number = row.integer(column).unwrap_or(0).max(0);
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The number of a row's region, told whether the row has a key; None: it does not count.
pub(super) type NumberOf<E> =
    fn(&mut RowRegions, &mut RegionTallies, &StreamedRow, bool) -> Result<Option<u32>, E>;

/// Counts rows.
pub(super) struct RowCounter<'a, E> {
    sizes: &'a mut GroupSizes<BufferedFile>,
    maker: RowMaker,
    regions: &'a mut RowRegions,
    tallies: &'a mut RegionTallies,
    /// None if rows do not say it.
    number: Option<NumberOf<E>>,
    elsewhere: Option<Elsewhere>,
}

/// What another thread has of this.
struct Elsewhere {
    maker: Arc<Mutex<Option<OtherMaker>>>,
    /// How pages come back; None while it has none.
    channel: Option<Channel>,
    /// How many times it was given some that did not come back yet.
    given: usize,
}

struct Channel {
    /// None when it is to end with the last pages.
    give_back: Option<Sender<Pages>>,
    back: Receiver<Pages>,
}

impl Channel {
    fn new() -> Channel {
        let (give_back, back) = channel();
        Channel { give_back: Some(give_back), back }
    }
}

struct OtherMaker {
    maker: RowMaker,
    regions: Option<PrintedRegions>,
}

impl<'a, E> RowCounter<'a, E> {
    pub(super) fn new(
        sizes: &'a mut GroupSizes<BufferedFile>,
        maker: RowMaker,
        regions: &'a mut RowRegions,
        tallies: &'a mut RegionTallies,
        number: Option<NumberOf<E>>,
    ) -> RowCounter<'a, E> {
        RowCounter { sizes, maker, regions, tallies, number, elsewhere: None }
    }
}

impl<E> RowVisitor for RowCounter<'_, E> {
    type Error = E;

    #[inline]
    fn row(&mut self, row: &StreamedRow) -> Result<(), E> {
        let has_key = self.maker.has_key(row);
        let mut region = None;
        if let Some(number) = self.number {
            region = number(self.regions, self.tallies, row, has_key)?;
            if region.is_none() {
                return Ok(());
            }
        }
        if has_key {
            self.sizes.add(self.maker.make(row, region));
        }
        Ok(())
    }

    fn helper(&mut self) -> Option<&mut dyn PageHelper> {
        Some(self)
    }
}

impl<E> PageHelper for RowCounter<'_, E> {
    fn is_free(&mut self) -> bool {
        self.sizes.helper_has_time()
    }

    fn give(&mut self, pages: Pages) {
        let RowCounter { sizes, maker, regions, number, elsewhere, .. } = self;
        let elsewhere = elsewhere.get_or_insert_with(|| {
            let regions = number.is_some().then(|| regions.printed());
            let maker = OtherMaker { maker: maker.clone(), regions };
            Elsewhere { maker: Arc::new(Mutex::new(Some(maker))), channel: None, given: 0 }
        });
        elsewhere.given += 1;
        let (maker, news) = (elsewhere.maker.clone(), regions.news());
        let channel = elsewhere.channel.get_or_insert_with(Channel::new);
        let give_back = channel.give_back.clone();
        sizes.add_made(Box::new(move |rows| {
            let mut shared = maker.lock().unwrap_or_else(PoisonError::into_inner);
            // on this thread's stack meanwhile, for it changes with each row
            let Some(mut maker) = shared.take() else { return };
            maker.learn(news);
            let mut pages = pages;
            pages.give_rows(|row| maker.take(row, rows));
            *shared = Some(maker);
            if let Some(give_back) = give_back {
                _ = give_back.send(pages); // nobody waits for it any more if this fails
            }
        }));
    }

    fn done(&mut self, wait: bool) -> Option<Pages> {
        let elsewhere = self.elsewhere.as_mut()?;
        let channel = elsewhere.channel.as_mut()?;
        let pages = if wait {
            channel.give_back = None;
            channel.back.recv().ok()
        } else {
            channel.back.try_recv().ok()
        };
        if pages.is_some() {
            elsewhere.given -= 1;
        } else if wait {
            elsewhere.channel = None;
            if elsewhere.given > 0 {
                self.sizes.end_as_helper();
            }
        }
        pages
    }
}

impl OtherMaker {
    fn learn(&mut self, news: Vec<News>) {
        if let Some(regions) = &mut self.regions {
            news.into_iter().for_each(|region| regions.learn(region));
        }
    }

    /// Returns whether nothing is left to do with the row: else the thread that reads has to see it.
    #[inline(always)]
    fn take(&mut self, row: &StreamedRow, rows: &mut Vec<GroupRow>) -> bool {
        let region = match &mut self.regions {
            Some(regions) => match regions.find(row) {
                Ok(Some(region)) => Some(region),
                // a group is an error then
                Ok(None) => return self.maker.is_of_entities(),
                Err(_) => return false,
            },
            None => None,
        };
        if !self.maker.has_key(row) {
            return true;
        }
        rows.push(self.maker.make(row, region));
        true
    }
}
