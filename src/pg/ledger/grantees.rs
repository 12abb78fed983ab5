//! Grants after a restore, where roles may have other numbers: all are given, with what was spent by them, to
//! the roles that have the names of theirs.
//!
//! Before the first entry here, which begins an epoch of its own: later a role of the same name is one that was
//! created since. First all that do not fit get numbers of no roles, as two may have changed theirs for
//! each other's.

/// Whether that is to be done, by the server's identity.
//
// one that was promoted, or is a copy, has another timeline or data directory, and the same roles
pub(crate) const RESTORED: &str = "SELECT (split_part(identity, '/', 1), split_part(identity, '/', 3), split_part(identity, '/', 4)) \
           <> (split_part($1, '/', 1), split_part($1, '/', 3), split_part($1, '/', 4)) \
       FROM dp.epoch ORDER BY n DESC LIMIT 1";

/// Numbers of no roles begin here.
const NO_ROLES: &str = "4000000000";

/// What gives all grants that do not fit numbers of no roles.
pub(crate) fn away() -> String {
    let rows = format!(
        "SELECT a.dataset, a.grantee, \
                (least(4294967295, (SELECT min(taken.grantee::bigint) FROM dp.access AS taken \
                                     WHERE taken.grantee::bigint >= {NO_ROLES})) \
                 - row_number() OVER (ORDER BY a.dataset, a.grantee))::oid AS role \
           FROM dp.access AS a \
          WHERE a.grantee::bigint < {NO_ROLES} AND pg_get_userbyid(a.grantee) <> a.grantee_name"
    );
    format!("{} SELECT count(*) FROM given", moved(&rows))
}

/// What gives those to the roles of their names: of several, as of a role that was created anew before, the
/// newest. Answers with the names of a dataset's, its number being $1.
pub(crate) fn to_names() -> String {
    let rows = format!(
        "SELECT DISTINCT ON (a.dataset, r.oid) a.dataset, a.grantee, r.oid AS role \
           FROM dp.access AS a JOIN pg_roles AS r ON r.rolname = a.grantee_name \
          WHERE a.grantee::bigint >= {NO_ROLES} \
                AND NOT EXISTS (SELECT FROM dp.access AS own \
                                 WHERE own.dataset = a.dataset AND own.grantee = r.oid) \
          ORDER BY a.dataset, r.oid, a.granted_at DESC"
    );
    format!(
        "{} SELECT array_agg(grantee_name ORDER BY grantee_name) FROM given \
             WHERE dataset = $1 AND NOT revoked",
        moved(&rows)
    )
}

/// Gives grants, and what was spent by them, to other roles: rows of dataset, grantee, role. What follows can
/// read whose these were from `given`.
fn moved(rows: &str) -> String {
    format!(
        "WITH moved AS ({rows}), \
         of_periods AS ( \
             UPDATE dp.access_period AS p SET grantee = m.role FROM moved AS m \
              WHERE p.dataset = m.dataset AND p.grantee = m.grantee), \
         given AS ( \
             UPDATE dp.access AS a SET grantee = m.role FROM moved AS m \
              WHERE a.dataset = m.dataset AND a.grantee = m.grantee \
             RETURNING a.dataset, a.grantee_name, a.revoked)"
    )
}
