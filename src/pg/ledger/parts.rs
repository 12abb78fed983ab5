//! Sums of the charges to parts of the data, as the catalog keeps them.

use super::message::{ChargeRequest, ChargedPart};
use super::sql::{SpiResult, first_row};
use crate::pg::errors::{Result, internal};
use crate::privacy::{Fullest, Limits, Rule, Scope, Scopes, Summits, place};
use pgrx::datum::DatumWithOid;
use pgrx::pg_sys::panic::{ErrorReport, ErrorReportable};
use pgrx::spi::SpiClient;

/// What a dataset's rows of `dp.scope` hold, all in one value.
pub(crate) const ALL: &str = "string_agg(int8send(id) || place || sums, '')";

/// Reads what [`ALL`] selects; of a part, what counts there.
pub(crate) fn scopes(all: &[u8], part: Option<(&Scope, &Rule)>) -> Result<Scopes> {
    match part {
        Some((scope, rule)) => Scopes::read_those_of(all, scope, rule),
        None => Scopes::read(all),
    }
    .ok_or_else(damaged)
}

/// What a charge goes by, of a locked dataset.
pub(super) enum Parts {
    /// Of all the data: what is kept of all parts.
    Kept(Summits),
    /// Of a part: that, and what counts in the part, also as [`ALL`] selects it.
    InPart { summits: Summits, bytes: Vec<u8>, scopes: Scopes },
    /// Nothing is kept: several rules tell cells apart, or too many sums would have to be.
    All(Scopes),
}

impl Parts {
    /// `kept`: the dataset's `summits`.
    pub(super) fn read(
        client: &mut SpiClient,
        request: &ChargeRequest,
        kept: Option<Vec<u8>>,
    ) -> SpiResult<Parts> {
        let summits = kept.map(|kept| read_summits(&kept).unwrap_or_report());
        let mut read =
            |which: &str, arguments: &[DatumWithOid]| read_scopes(client, which, arguments);
        let dataset = request.dataset;
        let Some(part) = &request.part else {
            return Ok(match summits {
                Some(summits) => Parts::Kept(summits),
                None => Parts::All(scopes(&read("", &[dataset.into()])?, None).unwrap_or_report()),
            });
        };
        let (scope, rule) = (part.scope(), part.rule());
        let scopes = |bytes: &[u8]| scopes(bytes, Some((&scope, &rule))).unwrap_or_report();
        let Some(summits) = summits.filter(|summits| summits.are_told_by(&rule)) else {
            return Ok(Parts::All(scopes(&read("", &[dataset.into()])?)));
        };
        let (lower, upper, within) = (part.lower, part.upper, part.within.clone());
        let arguments = [dataset.into(), lower.into(), upper.into(), within.into()];
        let bytes = read(IN_PART, &arguments)?;
        let scopes = scopes(&bytes);
        Ok(Parts::InPart { summits, bytes, scopes })
    }

    /// The fullest cell of what is charged.
    pub(super) fn fullest(&self, request: &ChargeRequest, limits: &Limits) -> Fullest {
        let part = request.part.as_ref();
        match self {
            Parts::Kept(summits) => summits.fullest(limits),
            Parts::InPart { scopes, .. } | Parts::All(scopes) => {
                let scope = part.map_or(Scope::ALL, ChargedPart::scope);
                scopes.fullest(&scope, part.map(ChargedPart::rule).as_ref(), limits)
            }
        }
    }

    /// What to keep after a charge to that part. `changed`: its row now, as [`ALL`] selects it.
    fn summits(self, part: &ChargedPart, changed: &[u8]) -> Result<Option<Vec<u8>>> {
        let Parts::InPart { summits, bytes, .. } = self else { return Ok(None) };
        let scopes = Scopes::read_changed(&bytes, changed).ok_or_else(damaged)?;
        let summits = summits.after(&part.scope(), &part.rule(), &scopes);
        Ok(summits.map(|summits| summits.bytes()))
    }
}

/// As [`ALL`] selects them, those of the dataset `$1` of which a condition holds.
pub(super) fn read_scopes(
    client: &mut SpiClient,
    which: &str,
    arguments: &[DatumWithOid],
) -> SpiResult<Vec<u8>> {
    let sql = format!("SELECT {ALL} FROM dp.scope WHERE dataset = $1 {which}");
    let bytes = first_row(client, &sql, arguments, |row| row.get::<Vec<u8>>(1))?;
    Ok(bytes.flatten().unwrap_or_default())
}

/// What counts in a part where one rule tells all apart: what shares a period with it, of the regions
/// above and below. The names of the top level are there for an index.
const IN_PART: &str = "AND period && int8range($2, $3) \
                       AND (within[1] = $4[1] OR within[1] IS NULL OR $4 = '{}') \
                       AND within[:cardinality($4)] = $4[:cardinality(within)]";

/// What a dataset keeps.
pub(crate) fn read_summits(kept: &[u8]) -> Result<Summits> {
    Summits::read(kept).ok_or_else(damaged)
}

fn damaged() -> ErrorReport {
    internal("sums of the charges to parts are damaged")
}

/// Adds a charge for so many releases to the sums of that part, and to what the dataset keeps of all
/// parts.
pub(super) fn add_to_part(
    client: &mut SpiClient,
    request: &ChargeRequest,
    part: &ChargedPart,
    parts: Parts,
    releases: usize,
) -> SpiResult<()> {
    let releases = releases as i64;
    let changed = first_row(
        client,
        "INSERT INTO dp.scope AS s (dataset, tables, regions, within, period, period_text, place, \
                                    epsilon_sum, delta_sum, rho_sum, releases) \
         VALUES ($1, $2, $3, $4, int8range($5, $6), $7, $8, $9::numeric, $10::numeric, \
                 $11::numeric, $12) \
             ON CONFLICT (dataset, place) DO UPDATE \
            SET epsilon_sum = s.epsilon_sum + EXCLUDED.epsilon_sum, \
                delta_sum = s.delta_sum + EXCLUDED.delta_sum, \
                rho_sum = s.rho_sum + EXCLUDED.rho_sum, releases = s.releases + $12 \
         RETURNING int8send(id) || place || sums",
        &[
            request.dataset.into(),
            part.tables.as_str().into(),
            part.regions.clone().into(),
            part.within.clone().into(),
            part.lower.into(),
            part.upper.into(),
            part.period.clone().into(),
            place(&part.scope(), &part.rule()).into(),
            request.epsilon.as_str().into(),
            request.delta.as_str().into(),
            request.rho_decimal().into(),
            releases.into(),
        ],
        |row| row.get::<Vec<u8>>(1),
    )?;
    let changed = changed.flatten().unwrap_or_default();
    let summits = parts.summits(part, &changed).unwrap_or_report();
    client.update(
        "UPDATE dp.dataset SET releases = releases + $3, summits = $2 WHERE id = $1",
        None,
        &[request.dataset.into(), summits.into(), releases.into()],
    )?;
    Ok(())
}
