//! The exact histograms of a dataset's leaf regions: what is read, and when.
//!
//! Before the charge every query is planned and all public rows are read, those of the table of
//! groups, so that whatever is wrong with them costs nothing. After it the private rows are read:
//! until then the queries that read them are sealed.
//!
//! The queries' text is made of quoted identifiers alone; no expression of a user's gets into it,
//! and what it names besides is PostgreSQL's own or lies in schema dp. What a row can hold never
//! raises an error: NULL keys and regions belong to no group, NULL and negative sizes count as 0,
//! sums saturate.

use super::hidden_groups::HiddenLeaves;
use super::known_groups::KnownGroups;
use super::layout::Layout;
use super::leaf_histograms::{leaf_histograms, read_leaf_histograms};
use super::leaves::Leaves;
use super::query::Query;
use super::reading::Reading;
use super::relation::Relation;
use super::source::{Source, label, quoted};
use super::tables::DatasetTables;
use crate::coco::Coco;
use crate::hierarchy::Tree;
use crate::path::Path;
use crate::pg::errors::{Failure, Result, internal, too_many_regions};
use crate::pg::ledger::account::{LedgerReceipt, SealedRows};
use pgrx::spi::quote_identifier;

/// All that a release knows of its dataset's leaf regions before it is charged.
pub(crate) struct LeafReading {
    /// The region that is the root.
    within: Vec<String>,
    /// How many levels there are below it.
    depth: usize,
    /// The tree of the public table of groups, and the number that `leaves` gave to each leaf
    /// region.
    known: Option<(Tree, Vec<u32>)>,
    leaves: Leaves,
    rows: Rows,
}

/// The private rows, and what they are.
enum Rows {
    /// Groups with their sizes, counted by an aggregate.
    Groups(SealedRows<Query>),
    /// Histograms of many groups each.
    Histograms(SealedRows<Query>),
    /// Entities with the region and key of their group.
    Entities(SealedRows<Query>, KnownGroups),
    /// Entities, or numbers of them, with the key of a known group.
    OfKnownGroups { rows: SealedRows<Query>, groups: KnownGroups, weighted: bool },
    /// Regions' names and groups' sizes, as PostgreSQL's own GROUP BY makes them.
    Sizes(SealedRows<Query>),
}

impl Source {
    /// Plans the reading of all leaf regions' histograms, and reads the public table of groups. To
    /// be called after [`Source::check`], under the snapshot under which the private rows will be
    /// read: the sensitivity rests on every group being in one region. `workers`: the most that may
    /// count rows that are groups; without any, entities are counted without help, too.
    ///
    /// Errors: the rows tell of no sizes; too many regions in the table of groups, or too long names;
    /// keys that cannot be compared.
    pub(crate) fn prepare_leaves(&self, max_size: u64, workers: i32) -> Result<LeafReading> {
        self.check_has_sizes()?;
        if self.hidden.is_some() {
            let HiddenLeaves { tree, numbers, leaves, rows } =
                self.prepare_hidden_leaves(max_size)?;
            let (depth, known) = (self.hierarchy.len(), Some((tree, numbers)));
            let rows = Rows::Sizes(rows);
            return Ok(LeafReading { within: vec![], depth, known, leaves, rows });
        }
        let tables = DatasetTables::open(self)?;
        let (mut leaves, rows) = match self.key_layout(&tables)? {
            Some(key) => self.by_scans(&tables, max_size, &key, workers)?,
            None => self.by_grouping(&tables, max_size)?,
        };
        let within = self.part.within.clone();
        if self.hierarchy.is_empty() {
            leaves.add_root().map_err(too_many_regions)?;
        }
        let mut known = None;
        let depth = self.hierarchy.len() - within.len();
        if let Some(groups) = &tables.groups {
            let regions = leaves.regions();
            if regions.is_empty() && !within.is_empty() {
                self.no_such_region(groups)?;
            }
            let tree = Tree::from_leaves(depth, below(&within, regions)).map_err(internal)?;
            known = Some((tree.0.moved_below(&within), tree.1));
        }
        Ok(LeafReading { within, depth, known, leaves, rows })
    }

    /// By scans of the tables.
    fn by_scans(
        &self,
        tables: &DatasetTables,
        max_size: u64,
        key_layout: &[Layout],
        workers: i32,
    ) -> Result<(Leaves, Rows)> {
        let (key, regions) = (quoted(&self.group_key), quoted(&self.hierarchy));
        let size = self.size_column.as_ref().map(quote_identifier);
        let entities = &tables.entities;
        let leaves = Leaves::new(max_size, &self.hierarchy_layout(tables)?)?;
        let mut leaves = leaves.helped(workers);
        let select = |columns: &[&[String]], rows: &str| {
            format!("SELECT {} FROM {rows}", columns.concat().join(", "))
        };
        let rows = match (&tables.groups, size) {
            (Some(groups), size) => {
                let groups = self.read_groups(tables, groups, &mut leaves, key_layout)?;
                let rows = self.used_rows(&entities.name, &key);
                let rows = tables.seal(&select(&[&key, size.as_slice()], &rows), 0)?;
                Rows::OfKnownGroups { rows, groups, weighted: size.is_some() }
            }
            (None, Some(size)) => {
                // a row stands for many groups, or is one
                if self.has_histograms(entities)? {
                    let columns = [&regions[..], &[size]];
                    Rows::Histograms(tables.seal(&select(&columns, &entities.name), 0)?)
                } else {
                    let counted = leaf_histograms(max_size, &regions, &size);
                    // the number of rows is public
                    let rows = select(&[&[counted]], &entities.name);
                    Rows::Groups(tables.seal(&rows, workers)?)
                }
            }
            (None, None) => {
                let groups = leaves.no_groups(key_layout, true)?;
                let rows = self.used_rows(&entities.name, &[]);
                let rows = select(&[&regions, &key], &rows);
                Rows::Entities(tables.seal(&rows, 0)?, groups)
            }
        };
        Ok((leaves, rows))
    }

    /// Reads the public table of groups.
    pub(super) fn read_groups(
        &self,
        tables: &DatasetTables,
        groups: &Relation,
        leaves: &mut Leaves,
        key_layout: &[Layout],
    ) -> Result<KnownGroups> {
        let columns = [quoted(&self.hierarchy), quoted(&self.group_key)].concat().join(", ");
        let groups =
            tables.plan(&format!("SELECT {columns} FROM {}", self.groups_within(groups)), 0)?;
        leaves.read_groups(groups, key_layout)
    }

    /// By PostgreSQL's grouping and joining, for keys of any type.
    fn by_grouping(&self, tables: &DatasetTables, max_size: u64) -> Result<(Leaves, Rows)> {
        let labels: Vec<String> = self.hierarchy.iter().map(|column| label(column)).collect();
        let mut leaves = Leaves::new(max_size, &vec![Layout::Varying; labels.len()])?;
        if let Some(groups) = &tables.groups
            && !labels.is_empty()
        {
            let sql = format!("SELECT {} FROM {}", labels.join(", "), self.groups_within(groups));
            leaves.read_regions(tables.plan(&sql, 0)?)?;
        }
        let rows =
            tables.seal(&self.sizes_query(&tables.entities, tables.groups.as_ref(), &labels), 0)?;
        Ok((leaves, Rows::Sizes(rows)))
    }
}

impl LeafReading {
    /// How many regions each level has, the root's first; None where only private rows tell.
    pub(crate) fn regions_per_level(&self) -> Option<Vec<usize>> {
        let (tree, _) = self.known.as_ref()?;
        Some((0..tree.depth()).map(|level| tree.level(level).len()).collect())
    }
}

impl Reading for LeafReading {
    type Truth = (Tree, Vec<Coco>);

    /// The exact histogram of every leaf region.
    fn read<M>(self, receipt: &LedgerReceipt<M>) -> std::result::Result<Self::Truth, Failure> {
        let LeafReading { within, depth, known, mut leaves, rows } = self;
        let mut counted = None;
        match rows {
            Rows::Groups(rows) => counted = Some(read_leaf_histograms(rows.open(receipt))?),
            Rows::Histograms(rows) => leaves.read_histograms(rows.open(receipt))?,
            Rows::Entities(rows, groups) => leaves.read_entities(rows.open(receipt), groups)?,
            Rows::OfKnownGroups { rows, groups, weighted } => {
                leaves.read_entities_of(groups, rows.open(receipt), weighted);
            }
            Rows::Sizes(rows) => leaves.read_sizes(rows.open(receipt))?,
        }
        if let Some((tree, numbers)) = known {
            let mut histograms = leaves.by_number();
            let mut of = |number: u32| histograms.get_mut(number as usize).map(std::mem::take);
            let histograms = numbers.into_iter().map(|number| of(number).unwrap_or_default());
            return Ok((tree, histograms.collect()));
        }
        let mut histograms = below(&within, counted.unwrap_or_else(|| leaves.histograms()));
        if depth == 0 && histograms.is_empty() {
            // the root is a leaf, also without rows
            histograms.push((Path::default(), Coco::default()));
        }
        let (tree, histograms) = Tree::from_leaves(depth, histograms).map_err(Failure::broken)?;
        Ok((tree.moved_below(&within), histograms))
    }
}

/// What belongs to the regions of a subtree, by their paths in it.
pub(super) fn below<T>(root: &[String], regions: Vec<(Path, T)>) -> Vec<(Path, T)> {
    if root.is_empty() {
        return regions;
    }
    let root = Path::from(root);
    regions.into_iter().filter_map(|(path, of)| Some((path.below(&root)?, of))).collect()
}
