//! Stored releases as everyone may read them: what they hold, and by what they were made.

use super::stored::read_regions;
use crate::coco::{Coco, DpCoco};
use crate::hierarchy::{Mechanism, ReleaseRequest, Tree};
use crate::path::Path;
use crate::pg::errors::{Result, error, internal, unfit};
use crate::pg::server::catalog::read_catalog;
use crate::pg::server::select::{as_of_now, exists, read_rows};
use pgrx::prelude::*;
use pgrx::spi::quote_literal;
use serde::Deserialize;

/// A stored release.
pub(crate) struct Published {
    pub(crate) id: i64,
    levels: usize,
    rows_per_unit: u32,
    groups_per_unit: Option<u32>,
    asked: Parameters,
    /// What each level's measurement was calibrated to; None where that is not known.
    epsilons: Option<Vec<Option<f64>>>,
}

/// What it was asked for: a hierarchy, or one histogram by a method.
#[derive(Deserialize)]
struct Parameters {
    epsilon: f64,
    #[serde(default)]
    estimators: Vec<String>,
    method: Option<String>,
    consistency: Option<String>,
    max_size: i64,
    budget_shares: Option<Vec<f64>>,
    #[serde(default)]
    within: Vec<String>,
}

/// Of a release whose numbers nobody sees.
///
/// Error: it was retracted, which `dp.releases` shows the caller.
pub(crate) fn check_not_retracted(dataset: &str, release: &str) -> Result<()> {
    let is_retracted = as_of_now(|| {
        exists(&format!(
            "SELECT FROM dp.releases WHERE (dataset, name, status) = ({}, {}, 'retracted')",
            quote_literal(dataset),
            quote_literal(release)
        ))
    })?;
    if !is_retracted {
        return Ok(());
    }
    Err(error(
        PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
        format!("release \"{release}\" of dataset \"{dataset}\" was retracted"),
    )
    .set_hint(
        "Nobody sees its numbers; dp.releases shows since when. The dataset's owner can publish it \
         again with dp_set_status.",
    ))
}

impl Published {
    /// Errors: there is none, or it was retracted; the caller may not read `dp.release_rows`.
    pub(crate) fn find(dataset: &str, release: &str) -> Result<Published> {
        // with the caller's rights: who may read the rows may read what follows from them
        read_rows(
            "SELECT dataset, release, level, path, size, groups FROM dp.release_rows WHERE false",
            |_| Ok(()),
        )?;
        let which = format!("= ({}, {})", quote_literal(dataset), quote_literal(release));
        let shown = as_of_now(|| {
            exists(&format!(
                "SELECT FROM dp.releases WHERE (dataset, name) {which} AND status <> 'retracted'"
            ))
        })?;
        let sql = format!(
            "SELECT r.id, pg_catalog.cardinality(d.hierarchy) + 1, u.rows, \
                    r.parameters::text, r.level_epsilons, \
                    CASE WHEN d.groups_per_unit IS NOT NULL \
                         THEN least(d.groups_per_unit, u.rows) END \
               FROM dp.release AS r JOIN dp.dataset AS d ON d.id = r.dataset \
               JOIN dp.charge AS c ON c.id = r.charge \
              CROSS JOIN LATERAL (SELECT coalesce((c.parameters ->> 'max_rows_per_unit')::int, \
                                                  d.max_rows_per_unit)) AS u (rows) \
              WHERE (r.dataset_name, r.name) {which} AND {shown} \
                AND r.released_at IS NOT NULL AND r.status <> 'retracted' \
                AND EXISTS (SELECT FROM dp.release_region AS g WHERE g.release = r.id)"
        );
        let mut found = None;
        read_catalog(&sql, |row| {
            let parameters: String = row.get(4).unwrap_or_default();
            let mut asked: Parameters = serde_json::from_str(&parameters).map_err(internal)?;
            let is_one = asked.method.is_some();
            if is_one {
                asked.within.clear(); // of whatever part it was counted, it is its own root
            }
            let levels = row.get::<i32>(2).unwrap_or(1).unsigned_abs() as usize;
            found = Some(Published {
                id: row.get(1).unwrap_or_default(),
                levels: if is_one { 1 } else { levels - asked.within.len() },
                rows_per_unit: row.get::<i32>(3).unwrap_or(1).unsigned_abs(),
                groups_per_unit: row.get::<i32>(6).map(i32::unsigned_abs),
                asked,
                epsilons: row.get(5),
            });
            Ok(())
        })?;
        if let Some(found) = found {
            return Ok(found);
        }
        check_not_retracted(dataset, release)?;
        Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!(
                "release \"{release}\" of dataset \"{dataset}\" does not exist, or has no \
                 histograms"
            ),
        )
        .set_hint(
            "The view dp.releases lists the stored releases, dp.range_rows the error bands of \
             ranges.",
        ))
    }

    /// By which it was made, with what its levels got.
    pub(crate) fn mechanism(&self) -> Result<Mechanism> {
        let asked = &self.asked;
        let mechanism = Mechanism::new(&ReleaseRequest {
            levels: self.levels,
            epsilon: asked.epsilon,
            estimators: asked.method.iter().chain(&asked.estimators).cloned().collect(),
            consistency: asked.consistency.clone().unwrap_or_else(|| "none".to_string()),
            max_size: asked.max_size,
            shares: asked.budget_shares.clone(),
            rows_per_unit: self.rows_per_unit,
            groups_per_unit: self.groups_per_unit,
            keep_measurements: false,
        })
        .map_err(unfit)?;
        match &self.epsilons {
            Some(epsilons) => mechanism.with_levels(epsilons).map_err(unfit),
            None => Ok(mechanism),
        }
    }

    /// The regions, and one histogram for each in their order.
    pub(crate) fn regions(&self) -> Result<(Tree, Vec<DpCoco>)> {
        let stored = read_regions(self.id)?;
        let root = &self.asked.within;
        let root_path = Path::from(root.as_slice());
        let below_root = stored.iter().filter_map(|(path, _)| path.below(&root_path));
        let leaves = below_root.filter(|path| path.depth() + 1 == self.levels);
        let leaves: Vec<(Path, Coco)> = leaves.map(|path| (path, Coco::default())).collect();
        let (tree, _) = Tree::from_leaves(self.levels - 1, leaves).map_err(internal)?;
        let tree = tree.moved_below(root);
        let paths = tree.regions().iter().map(|region| &region.path);
        if !paths.eq(stored.iter().map(|(path, _)| path)) {
            return Err(internal("the regions of a stored release are not those of a tree"));
        }
        Ok((tree, stored.into_iter().map(|(_, histogram)| histogram).collect()))
    }
}
