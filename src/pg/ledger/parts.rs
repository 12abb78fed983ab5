//! Sums of the charges to parts of the data, as the catalog keeps them.

use super::message::{ChargeRequest, ChargedPart};
use super::sql::SpiResult;
use crate::privacy::{Period, Rule, Scope, ScopeSum, Scopes, Spent};
use pgrx::spi::SpiClient;

/// Of a dataset, those that can be met in a part of it.
#[derive(Default)]
pub(super) struct ChargedParts {
    pub(super) scopes: Scopes,
    /// The number of that part's own sum, if it was charged before.
    pub(super) own: Option<i64>,
}

/// What a row of `dp.scope` holds, in this order, after its number; sums are whole numbers or rounded
/// up. An epsilon beyond 10^14 is more than any room.
pub(crate) const COLUMNS: &str = "tables, regions, within, lower(period), upper(period), \
    least(ceil(epsilon_sum * 1e24), 1.5e38)::text, delta_sum::float8, rho_sum::float8";

/// What [`COLUMNS`] have.
#[derive(Default)]
pub(crate) struct ScopeRow {
    pub(crate) tables: Option<String>,
    pub(crate) regions: Option<String>,
    pub(crate) within: Option<Vec<String>>,
    pub(crate) lower: Option<i64>,
    pub(crate) upper: Option<i64>,
    pub(crate) epsilon: Option<String>,
    pub(crate) delta: Option<f64>,
    pub(crate) rho: Option<f64>,
}

impl ScopeRow {
    pub(crate) fn sum(self) -> ScopeSum {
        let period = Period { lower: self.lower, upper: self.upper };
        ScopeSum {
            scope: Scope { within: self.within.unwrap_or_default(), period },
            rule: Rule { tables: self.tables.unwrap_or_default(), regions: self.regions },
            spent: Spent {
                epsilon: self.epsilon.and_then(|units| units.parse().ok()).unwrap_or(i128::MAX),
                delta: self.delta.unwrap_or(f64::INFINITY),
                rho: self.rho.unwrap_or(f64::INFINITY),
            },
        }
    }
}

impl ChargedParts {
    /// The dataset is locked.
    pub(super) fn read(
        client: &mut SpiClient,
        dataset: i64,
        part: Option<&ChargedPart>,
    ) -> SpiResult<ChargedParts> {
        // of a part's own rule, what lies beside it in all periods of its own does not count there
        let sql = format!(
            "SELECT id, {COLUMNS} FROM dp.scope \
              WHERE dataset = $1 \
                AND ($2 IS NULL OR tables <> $2 \
                     OR (period && int8range($3, $4) \
                         AND (regions IS DISTINCT FROM $5 \
                              OR within[:cardinality($6)] = ($6::text[])[:cardinality(within)]))) \
              ORDER BY id"
        );
        let arguments = [
            dataset.into(),
            part.map(|part| part.tables.clone()).into(),
            part.and_then(|part| part.lower).into(),
            part.and_then(|part| part.upper).into(),
            part.and_then(|part| part.regions.clone()).into(),
            part.map(|part| part.within.clone()).unwrap_or_default().into(),
        ];
        let asked = part.map(|part| (part.scope(), part.rule()));
        let mut parts = ChargedParts::default();
        for row in client.update(&sql, None, &arguments)? {
            let id = row.get::<i64>(1)?;
            let sum = ScopeRow {
                tables: row.get(2)?,
                regions: row.get(3)?,
                within: row.get(4)?,
                lower: row.get(5)?,
                upper: row.get(6)?,
                epsilon: row.get(7)?,
                delta: row.get(8)?,
                rho: row.get(9)?,
            }
            .sum();
            if asked.as_ref().is_some_and(|(scope, rule)| (scope, rule) == (&sum.scope, &sum.rule))
            {
                parts.own = id;
            }
            parts.scopes.sums.push(sum);
        }
        Ok(parts)
    }
}

/// Adds a charge to the sum of that part, whose number is `own` if it was charged before.
pub(super) fn add_to_part(
    client: &mut SpiClient,
    request: &ChargeRequest,
    part: &ChargedPart,
    own: Option<i64>,
) -> SpiResult<()> {
    let (epsilon, delta) = (request.epsilon.as_str(), request.delta.as_str());
    let rho = request.rho_decimal();
    if let Some(own) = own {
        client.update(
            "UPDATE dp.scope SET epsilon_sum = epsilon_sum + $2::numeric, \
                    delta_sum = delta_sum + $3::numeric, rho_sum = rho_sum + $4::numeric, \
                    releases = releases + 1 WHERE id = $1",
            None,
            &[own.into(), epsilon.into(), delta.into(), rho.into()],
        )?;
        return Ok(());
    }
    client.update(
        "INSERT INTO dp.scope (dataset, tables, regions, within, period, period_text, \
                               epsilon_sum, delta_sum, rho_sum, releases) \
         VALUES ($1, $2, $3, $4, int8range($5, $6), $7, $8::numeric, $9::numeric, $10::numeric, 1)",
        None,
        &[
            request.dataset.into(),
            part.tables.as_str().into(),
            part.regions.clone().into(),
            part.within.clone().into(),
            part.lower.into(),
            part.upper.into(),
            part.period.clone().into(),
            epsilon.into(),
            delta.into(),
            rho.into(),
        ],
    )?;
    Ok(())
}
