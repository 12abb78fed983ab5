//! The query that counts a dataset's leaves with SQL alone, wherever its tables lie: what the
//! readers of this room count, one row per leaf region, its columns and the exact histogram `h`.

use super::relation::Relation;
use super::source::{Source, not_null, quoted};
use crate::pg::errors::Result;
use crate::pg::server::select::extension_schema;
use pgrx::spi::quote_identifier;

/// The column of histograms.
pub(super) const HISTOGRAM: &str = "h";

impl Source {
    /// SELECT the columns of the hierarchy, then `h`.
    ///
    /// Every inner GROUP BY has the group's key, so that what is distributed by it is counted where
    /// it lies; the outer one adds histograms up.
    pub(crate) fn leaf_query(&self) -> Result<String> {
        self.check_has_sizes()?;
        let (entities, groups) = (self.open_entities()?, self.open_groups()?);
        let coco_agg = format!("{}.coco_agg", extension_schema()?);
        let rows = match &groups {
            Some(groups) => self.of_known_groups(&entities, groups, &coco_agg)?,
            None if self.has_histograms(&entities)? => {
                self.of_rows(&entities, |size| format!("{coco_agg}(e.{size})"))?
            }
            None if self.size_column.is_some() => {
                let size = |size: &str| format!("{coco_agg}(greatest(e.{size}::bigint, 0))");
                self.of_rows(&entities, size)?
            }
            None => self.of_groups_that_occur(&entities, &coco_agg)?,
        };
        let positions: Vec<String> = (1..=self.hierarchy.len()).map(|n| n.to_string()).collect();
        let grouped = match &positions[..] {
            [] => String::new(),
            positions => format!("\n GROUP BY {}", positions.join(", ")),
        };
        Ok(rows + &grouped)
    }

    /// Rows that are groups, or stand for many.
    fn of_rows(&self, entities: &Relation, histogram: impl Fn(&str) -> String) -> Result<String> {
        let regions = self.labelled(entities, "e")?;
        let size = self.size_column.as_ref().map(quote_identifier).unwrap_or_default();
        Ok(format!(
            "SELECT {regions}{} AS {HISTOGRAM}\n  FROM {} AS e{}",
            histogram(&size),
            entities.name,
            filter(1, &not_null(&of("e", &self.hierarchy)))
        ))
    }

    /// The groups are those of the rows. One that lies in several regions is one in each.
    fn of_groups_that_occur(&self, entities: &Relation, coco_agg: &str) -> Result<String> {
        let regions = self.labelled(entities, "e")?;
        let outer: String =
            quoted(&self.hierarchy).iter().map(|column| format!("g.{column}, ")).collect();
        let (key, size) = (of("e", &self.group_key), self.free_name());
        let grouped = (1..=self.hierarchy.len()).map(|n| n.to_string());
        let grouped: Vec<String> = grouped.chain(key.iter().cloned()).collect();
        let used = [of("e", &self.hierarchy), key].concat();
        Ok(format!(
            "SELECT {outer}{coco_agg}(g.{size}) AS {HISTOGRAM}\n  \
               FROM (SELECT {regions}pg_catalog.count(*) AS {size}\n          \
                       FROM {} AS e{}\n         \
                      GROUP BY {}) AS g",
            entities.name,
            filter(9, &not_null(&used)),
            grouped.join(", "),
        ))
    }

    /// The groups are those of a table, in which each occurs once; a row without a key declares a
    /// region alone.
    fn of_known_groups(
        &self,
        entities: &Relation,
        groups: &Relation,
        coco_agg: &str,
    ) -> Result<String> {
        let regions = self.labelled(groups, "g")?;
        let (key, size) = (quoted(&self.group_key), self.free_name());
        let counted = self.entities_of_group();
        let on: Vec<String> =
            key.iter().map(|k| format!("e.{k} OPERATOR(pg_catalog.=) g.{k}")).collect();
        let listed = key.join(", ");
        Ok(format!(
            "SELECT {regions}{coco_agg}(coalesce(e.{size}, 0)) FILTER (WHERE {}) AS {HISTOGRAM}\n  \
               FROM {} AS g\n  \
               LEFT JOIN (SELECT {listed}, {counted} AS {size}\n               \
                            FROM {}{}\n              \
                           GROUP BY {listed}) AS e ON {}",
            not_null(&of("g", &self.group_key)),
            groups.name,
            self.used_rows(&entities.name, &key),
            filter(14, &not_null(&key)),
            on.join(" AND "),
        ))
    }

    /// The columns of the hierarchy, each followed by a comma. Where equal values can print
    /// differently (1.0 and 1.00), what is printed tells regions apart, as in releases, or a private
    /// row could decide which one is shown.
    fn labelled(&self, relation: &Relation, alias: &str) -> Result<String> {
        let label = |column: &String| {
            let name = quote_identifier(column);
            Ok(match relation.column("hierarchy", column)?.equality_is_of_bytes() {
                true => format!("{alias}.{name}, "),
                false => format!("dp.region_name({alias}.{name}) COLLATE \"C\" AS {name}, "),
            })
        };
        self.hierarchy.iter().map(label).collect()
    }

    /// A name for the size of a group that none of the columns has.
    fn free_name(&self) -> String {
        let taken = |name: &String| self.group_key.contains(name) || self.hierarchy.contains(name);
        let names = (0..).map(|n| format!("n{}", "_".repeat(n)));
        names.into_iter().find(|name| !taken(name)).unwrap_or_default()
    }
}

fn of(alias: &str, columns: &[String]) -> Vec<String> {
    quoted(columns).iter().map(|column| format!("{alias}.{column}")).collect()
}

/// WHERE, on a line of its own that begins with so many spaces.
fn filter(indent: usize, condition: &str) -> String {
    if condition == "true" {
        String::new()
    } else {
        format!("\n{}WHERE {condition}", " ".repeat(indent))
    }
}
