//! Opened periods: what is left of their budgets, and of what a role may spend in each.
//!
//! A row lies in one opened period at most, as they are disjoint, and what is charged to its cell is
//! bounded by the period's budget as by the dataset's, by the same two views: see
//! [`scopes`](crate::privacy::Scopes), whose proof takes any budget for a cell.

use super::message::{ChargeRequest, Refusal};
use super::parts::{Parts, read_scopes};
use super::room::{Account, before_charge, budget_exceeded, room, units};
use super::sql::{SpiResult, first_row};
use crate::privacy::{Fullest, Limits, Period, Rule, Scope, Scopes};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::panic::ErrorReportable;
use pgrx::spi::SpiClient;

/// An opened period whose budget is less than the dataset's.
pub(super) struct Opened {
    pub(super) id: i64,
    range: Period,
    text: String,
    /// With the charge that is asked for, as those of an [`Account`].
    limits: Limits,
    delta_room_before: i128,
}

impl Opened {
    fn left(&self, fullest: &Fullest) -> f64 {
        self.limits.epsilon_budget - fullest.views.smaller().unwrap_or(f64::INFINITY)
    }
}

/// An opened period after a charge.
pub(super) struct Tightest {
    pub(super) period: Opened,
    pub(super) fullest: Fullest,
    /// That is the period's fullest cell; else none of it is fuller.
    pub(super) is_exact: bool,
}

/// Whether all opened periods that the charge overlaps have room for it; if so, the one where least is
/// left, if there is one. `finds_tightest`: also where no cell at all is too full for any.
///
/// Which period a row lies in is told by the tables as they are now: by what older ones told apart
/// counts in all periods.
pub(super) fn check(
    client: &mut SpiClient,
    request: &ChargeRequest,
    account: &Account,
    parts: &Parts,
    finds_tightest: bool,
) -> SpiResult<std::result::Result<Option<Tightest>, Refusal>> {
    let opened = overlapping(client, request, account)?;
    if opened.is_empty() {
        return Ok(Ok(None));
    }
    let (scope, rule) = match &request.part {
        Some(part) => (part.scope(), part.rule()),
        None => (Scope::ALL, Rule { tables: account.tables.clone(), regions: None }),
    };
    let read;
    let scopes = match parts {
        Parts::InPart { scopes, .. } | Parts::All(scopes) => scopes,
        Parts::Kept(summits) if summits.is_empty() => &Scopes::default(),
        Parts::Kept(summits) => {
            // where no cell at all is too full for a period's budget, none in the period is
            let told = summits.are_told_by(&rule);
            let fits = |period: &Opened| !summits.fullest(&period.limits).exceeds;
            if told && !finds_tightest && opened.iter().all(fits) {
                let bounded = opened.into_iter().map(|period| {
                    let fullest = summits.fullest(&period.limits);
                    Tightest { period, fullest, is_exact: false }
                });
                return Ok(Ok(bounded.reduce(tighter)));
            }
            let dataset = request.dataset.into();
            read = match told {
                true => {
                    let lower = opened.iter().map(|period| period.range.lower).min().flatten();
                    let upper = opened.iter().map(|period| period.range.upper);
                    let upper =
                        upper.collect::<Option<Vec<_>>>().and_then(|all| all.into_iter().max());
                    let arguments = [dataset, lower.into(), upper.into()];
                    read_scopes(client, "AND period && int8range($2, $3)", &arguments)?
                }
                false => read_scopes(client, "", &[dataset])?,
            };
            &super::parts::scopes(&read, None).unwrap_or_report()
        }
    };

    let cells = scopes.cells(Some(&rule));
    let mut tightest = None;
    for period in opened {
        let Some(range) = period.range.and(scope.period) else { continue };
        let scope = Scope { within: scope.within.clone(), period: range };
        let fullest = cells.fullest(&scope, &period.limits);
        if fullest.exceeds {
            let before = before_charge(&period.limits, period.delta_room_before, request);
            let before = cells.fullest(&scope, &before);
            return budget_exceeded(client, request, &before, Some((period.id, &period.text)))
                .map(Err);
        }
        let this = Tightest { period, fullest, is_exact: true };
        tightest = Some(match tightest {
            Some(other) => tighter(other, this),
            None => this,
        });
    }
    Ok(Ok(tightest))
}

fn tighter(one: Tightest, other: Tightest) -> Tightest {
    let left = |tightest: &Tightest| tightest.period.left(&tightest.fullest);
    if left(&other) < left(&one) { other } else { one }
}

/// Those that the charge overlaps, but for those whose budget is the dataset's: that is kept anyway.
fn overlapping(
    client: &mut SpiClient,
    request: &ChargeRequest,
    account: &Account,
) -> SpiResult<Vec<Opened>> {
    let (epsilon, delta) = (
        "coalesce(p.epsilon_budget, d.epsilon_budget)",
        "coalesce(p.delta_budget, d.delta_budget)",
    );
    let sql = format!(
        "SELECT p.id, lower(p.period), upper(p.period), p.period_text, {}, {}, {}, \
                ({epsilon})::float8, ({delta})::float8 \
           FROM dp.period AS p JOIN dp.dataset AS d ON d.id = p.dataset \
          WHERE p.dataset = $1 AND p.period && int8range($4, $5) \
            AND (p.epsilon_budget < d.epsilon_budget OR p.delta_budget < d.delta_budget) \
          ORDER BY p.period",
        units(&format!("{epsilon} - d.epsilon_sum - $2::numeric"), 24),
        units(&format!("{delta} / 2 - d.delta_sum - $3::numeric"), 36),
        units(&format!("{delta} / 2 - d.delta_sum"), 36),
    );
    let (lower, upper) = ends(request);
    let arguments: [DatumWithOid; 5] = [
        request.dataset.into(),
        request.epsilon.as_str().into(),
        request.delta.as_str().into(),
        lower.into(),
        upper.into(),
    ];
    let rows = client.update(&sql, None, &arguments)?;
    rows.map(|row| {
        Ok(Opened {
            id: row.get(1)?.unwrap_or_default(),
            range: Period { lower: row.get(2)?, upper: row.get(3)? },
            text: row.get(4)?.unwrap_or_default(),
            limits: Limits {
                room: room(&row, 5)?,
                delta_room: room(&row, 6)?,
                epsilon_budget: row.get(8)?.unwrap_or(0.0),
                delta_budget: row.get(9)?.unwrap_or(0.0),
                ..account.limits
            },
            delta_room_before: room(&row, 7)?,
        })
    })
    .collect()
}

/// Of the charge's period, None where it has none.
fn ends(request: &ChargeRequest) -> (Option<i64>, Option<i64>) {
    request.part.as_ref().map_or((None, None), |part| (part.lower, part.upper))
}

/// What a role with a grant `a` has spent that counts in the opened period `p`: all but what was
/// charged to periods that end before or begin after it. So it is right for periods that are opened
/// later, and for limits that are set later. Sums that run over both in their order: others wait.
const SPENT_THERE: &str = "\
    LATERAL ( \
        SELECT e.id, a.epsilon_spent - sum(e.spent) AS spent \
          FROM (SELECT b.id, sum(b.spent) OVER (ORDER BY b.at, b.id NULLS FIRST \
                                                ROWS UNBOUNDED PRECEDING) AS spent \
                  FROM (SELECT NULL::bigint AS id, upper(s.period) AS at, s.epsilon_spent AS spent \
                          FROM dp.access_period AS s \
                         WHERE s.dataset = a.dataset AND s.grantee = a.grantee \
                           AND NOT upper_inf(s.period) \
                        UNION ALL \
                        SELECT o.id, lower(o.period), 0 FROM dp.period AS o \
                         WHERE o.dataset = a.dataset) AS b \
                UNION ALL \
                SELECT b.id, sum(b.spent) OVER (ORDER BY b.at DESC, b.id NULLS FIRST \
                                                ROWS UNBOUNDED PRECEDING) \
                  FROM (SELECT NULL::bigint AS id, lower(s.period) AS at, s.epsilon_spent AS spent \
                          FROM dp.access_period AS s \
                         WHERE s.dataset = a.dataset AND s.grantee = a.grantee \
                           AND NOT lower_inf(s.period) \
                        UNION ALL \
                        SELECT o.id, upper(o.period), 0 FROM dp.period AS o \
                         WHERE o.dataset = a.dataset) AS b) AS e \
         WHERE e.id IS NOT NULL GROUP BY e.id) AS there";

/// The opened period in which the role's limit would be exceeded, and what is left of it there.
pub(super) fn limit_exceeded(
    client: &mut SpiClient,
    request: &ChargeRequest,
    grantee: i64,
) -> SpiResult<Option<(String, String)>> {
    let (lower, upper) = ends(request);
    first_row(
        client,
        &format!(
            "SELECT p.period_text, trim_scale(greatest(a.period_limit - there.spent, 0))::text \
               FROM dp.access AS a CROSS JOIN {SPENT_THERE} \
               JOIN dp.period AS p ON p.id = there.id AND p.period && int8range($4, $5) \
              WHERE a.dataset = $1 AND a.grantee::bigint = $2 \
                AND a.epsilon_spent + $3::numeric > a.period_limit \
                AND there.spent + $3::numeric > a.period_limit \
              ORDER BY p.period LIMIT 1"
        ),
        &[
            request.dataset.into(),
            grantee.into(),
            request.epsilon.as_str().into(),
            lower.into(),
            upper.into(),
        ],
        |row| Ok((row.get(1)?.unwrap_or_default(), row.get(2)?.unwrap_or_default())),
    )
}

/// Whether all of the charge's period lies in opened ones.
pub(super) fn is_opened(client: &mut SpiClient, request: &ChargeRequest) -> SpiResult<bool> {
    let (lower, upper) = ends(request);
    let is_opened = first_row(
        client,
        "SELECT range_agg(period) @> int8range($2, $3) FROM dp.period WHERE dataset = $1",
        &[request.dataset.into(), lower.into(), upper.into()],
        |row| row.get::<bool>(1),
    )?;
    Ok(is_opened.flatten().unwrap_or(false))
}

/// Adds the charge to what the role has spent.
pub(super) fn spend(
    client: &mut SpiClient,
    request: &ChargeRequest,
    grantee: i64,
) -> SpiResult<()> {
    let ChargeRequest { dataset, epsilon, delta, .. } = request;
    client.update(
        "UPDATE dp.access SET epsilon_spent = epsilon_spent + $3::numeric, \
                delta_spent = delta_spent + $4::numeric \
          WHERE dataset = $1 AND grantee::bigint = $2",
        None,
        &[(*dataset).into(), grantee.into(), epsilon.as_str().into(), delta.as_str().into()],
    )?;
    let (lower, upper) = ends(request);
    if lower.is_some() || upper.is_some() {
        client.update(
            "INSERT INTO dp.access_period AS s (dataset, grantee, period, epsilon_spent) \
             SELECT dataset, grantee, int8range($4, $5), $3::numeric \
               FROM dp.access WHERE dataset = $1 AND grantee::bigint = $2 \
                 ON CONFLICT (dataset, grantee, period) DO UPDATE \
                SET epsilon_spent = s.epsilon_spent + EXCLUDED.epsilon_spent",
            None,
            &[
                (*dataset).into(),
                grantee.into(),
                epsilon.as_str().into(),
                lower.into(),
                upper.into(),
            ],
        )?;
    }
    Ok(())
}

/// As rows of what [`left`](super::record) goes through: what the role has left in the opened period
/// `p` where that is least.
pub(super) fn limits_left() -> String {
    format!(
        "SELECT a.period_limit - there.spent, a.period_limit, true, p.period_text, false \
           FROM dp.access AS a CROSS JOIN {SPENT_THERE} \
           JOIN dp.period AS p ON p.id = there.id AND p.period && int8range($9, $10) \
          WHERE a.dataset = $1 AND a.grantee::bigint = $2 AND a.period_limit IS NOT NULL"
    )
}
