//! What a release is asked for, in its caller's words.

/// What a hierarchy's release is asked for; [`ReleasePlan`](super::ReleasePlan) checks it.
#[derive(Debug, Clone, PartialEq)]
pub struct ReleaseRequest {
    /// Their number with the root's, at least 1.
    pub levels: usize,
    pub epsilon: f64,
    /// One name for all levels or one per level; or a choice among candidates, such as
    /// `select:cut|Hc/Hc/Hg`, by itself.
    pub estimators: Vec<String>,
    pub consistency: String,
    /// Larger groups are counted at it.
    pub max_size: i64,
    /// Of epsilon, one per level; equal ones if None.
    pub shares: Option<Vec<f64>>,
    /// How many entities one unit of privacy owns at most in the whole hierarchy.
    pub rows_per_unit: u32,
    /// How many groups appear or vanish with one unit of privacy at most, where the number of groups
    /// is private, too; None where it is public.
    pub groups_per_unit: Option<u32>,
    /// Whether the noisy numbers are released, too.
    pub keep_measurements: bool,
}

impl ReleaseRequest {
    /// With the defaults of `dp_hierarchy_release` (in sql/), for units that own one entity, and
    /// public groups.
    pub fn new(levels: usize, epsilon: f64) -> ReleaseRequest {
        ReleaseRequest {
            levels,
            epsilon,
            estimators: vec!["auto".into()],
            consistency: "matching".into(),
            max_size: 10_000,
            shares: None,
            rows_per_unit: 1,
            groups_per_unit: None,
            keep_measurements: false,
        }
    }

    /// With these estimators, one for all levels or one per level, and this consistency method.
    pub fn by(self, estimators: &[&str], consistency: &str) -> ReleaseRequest {
        let estimators = estimators.iter().map(|name| name.to_string()).collect();
        ReleaseRequest { estimators, consistency: consistency.into(), ..self }
    }

    /// With this largest size.
    pub fn up_to(self, max_size: i64) -> ReleaseRequest {
        ReleaseRequest { max_size, ..self }
    }
}

/// How a choice is written: `select:cut|Hc|Hg`.
const PREFIX: &str = "select:";
const SEPARATOR: char = '|';

/// Between the names for the levels of one candidate, where they differ.
const LEVELS_SEPARATOR: char = '/';

/// More would leave each of them little.
pub(in crate::hierarchy) const MAX_CANDIDATES: usize = 10;

/// The candidates of a choice, if a name is one.
pub(in crate::hierarchy) fn candidates(name: &str) -> Option<Vec<String>> {
    Some(name.strip_prefix(PREFIX)?.split(SEPARATOR).map(String::from).collect())
}

/// The names for the levels of one candidate: `Hc` for all, or `Hc/Hc/Hg`. A choice is one name for
/// all.
pub(in crate::hierarchy) fn names_of_levels(candidate: &str) -> Vec<String> {
    match candidates(candidate) {
        Some(_) => vec![candidate.to_string()],
        None => candidate.split(LEVELS_SEPARATOR).map(String::from).collect(),
    }
}
