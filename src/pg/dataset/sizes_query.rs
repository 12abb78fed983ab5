//! The query that has PostgreSQL group and join: for keys of any type, and where the groups are
//! private.

use super::relation::Relation;
use super::source::{Source, comparable, distinct, label, not_null, quoted};

/// What the size of a group is called in queries: as no column of a table is.
const SIZE: &str = "\"size (pg_dp)\"";

impl Source {
    /// What the columns of the hierarchy print, by these names.
    pub(super) fn named_regions(&self, names: &[String]) -> String {
        let labels = self.hierarchy.iter().zip(names);
        labels
            .map(|(column, name)| format!("{} AS {name}", label(column)))
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// SELECT the names of a region, then the size of a group, one row per group.
    ///
    /// A region is what its columns print; values that are equal but print differently (1.0 and
    /// 1.00) are two, or a private row could decide which one is shown. Printing calls the types'
    /// output functions, no cast that someone may have defined.
    pub(super) fn sizes_query(
        &self,
        entities: &Relation,
        groups: Option<&Relation>,
        labels: &[String],
    ) -> String {
        let key = quoted(&self.group_key);
        let of_rows = match groups {
            Some(_) => key.clone(),
            None => distinct(&self.group_key, &self.hierarchy),
        };
        let entities = self.used_rows(&entities.name, &of_rows);
        let names = region_names(labels.len());
        let labelled: String =
            labels.iter().zip(&names).map(|(label, name)| format!("{label} AS {name}, ")).collect();
        let listed: String = names.iter().map(|name| format!("{name}, ")).collect();
        let Some(groups) = groups else {
            return format!(
                "SELECT {labelled}count(*) FROM {entities} WHERE {} AND {} GROUP BY {}",
                not_null(&of_rows),
                comparable(&key),
                [&key[..], &names].concat().join(", ")
            );
        };
        let counted = self.entities_of_group();
        let on: Vec<String> = key.iter().map(|k| format!("e.{k} = g.{k}")).collect();
        let short_key = comparable(&key);
        let (key, has_key) = (key.join(", "), not_null(&key));
        // of a public table it may be told that a key is too long
        let counts = match self.hidden {
            Some(_) => format!("{has_key} AND {short_key}"),
            None => has_key.clone(),
        };
        format!(
            "SELECT {listed}coalesce(e.{SIZE}, 0) \
               FROM (SELECT {labelled}{key} FROM {} WHERE {counts}) AS g \
               LEFT JOIN (SELECT {key}, {counted} AS {SIZE} FROM {entities} \
                           WHERE {has_key} AND {} GROUP BY {key}) AS e ON {}",
            self.groups_within(groups),
            short_key,
            on.join(" AND "),
        )
    }
}

/// What the columns of a region's names are called there.
pub(super) fn region_names(depth: usize) -> Vec<String> {
    (1..=depth).map(|n| format!("\"region {n} (pg_dp)\"")).collect()
}
