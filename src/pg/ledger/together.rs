//! Publications, from the worker's side: several releases are charged together or not at all, and
//! shown together when the last one is stored.

use super::message::{Answer, ChargeRequest, PublishRequest, Refusal};
use super::promise::{promise, standing};
use super::record::charge;
use super::sql::{SpiResult, first_row};
use crate::pg::server::transaction::all_or_nothing;
use pgrx::prelude::*;
use pgrx::spi::SpiClient;

/// Charges all that is not charged already. If one is refused, or it is a trial, nothing is charged:
/// the answers then tell what would be. None if the role has another publication of that name.
pub(super) fn charge_all(request: &PublishRequest) -> SpiResult<Option<Vec<Answer>>> {
    all_or_nothing(|| {
        let answers = Spi::connect_mut(|client| charge_each(client, request))?;
        let is_charged = !request.is_trial && answers.iter().flatten().all(Result::is_ok);
        Ok((answers, is_charged))
    })
}

fn charge_each(client: &mut SpiClient, request: &PublishRequest) -> SpiResult<Option<Vec<Answer>>> {
    // All datasets before the ledger, and in one order: who charges one dataset holds that while it
    // waits for the ledger.
    let datasets: Vec<i64> = request.charges.iter().map(|charge| charge.dataset).collect();
    client.update(
        "SELECT FROM dp.dataset WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE",
        None,
        &[datasets.into()],
    )?;
    let Some(publication) = publication(client, request)? else {
        return Ok(None);
    };
    let charges = request.charges.iter().map(|one| charge_one(client, one, publication));
    charges.collect::<SpiResult<Vec<Answer>>>().map(Some)
}

fn charge_one(
    client: &mut SpiClient,
    request: &ChargeRequest,
    publication: i64,
) -> SpiResult<Answer> {
    let Some(named) = &request.promise else { return Ok(Err(Refusal::NoDataset)) };
    let answer = match standing(client, request, named)? {
        Some(answer) => answer,
        None => {
            let answer = charge(client, request)?;
            if let Ok(charge) = &answer {
                promise(client, request.dataset, charge.id, named)?;
            }
            answer
        }
    };
    if let Ok(charge) = &answer {
        // nobody is to see it before the others
        client.update(
            "UPDATE dp.release SET publication = $2, status = 'draft' \
              WHERE charge = $1 AND publication IS NULL",
            None,
            &[charge.id.into(), publication.into()],
        )?;
    }
    Ok(answer)
}

/// The number of the publication, a new one if there is none of that name. None if the name is
/// another one's.
fn publication(client: &mut SpiClient, request: &PublishRequest) -> SpiResult<Option<i64>> {
    let releases = request.releases.to_string();
    client.update(
        "INSERT INTO dp.publication (name, made_by, made_by_name, releases) \
         SELECT $1, $2, pg_get_userbyid($2::oid), $3::jsonb \
             ON CONFLICT (made_by, name) DO NOTHING",
        None,
        &[request.publication.as_str().into(), role(request.who), releases.as_str().into()],
    )?;
    first_row(
        client,
        "SELECT id FROM dp.publication \
          WHERE name = $1 AND made_by = $2 AND releases = $3::jsonb",
        &[request.publication.as_str().into(), role(request.who), releases.as_str().into()],
        |row| Ok(row.get(1)?.unwrap_or_default()),
    )
}

fn role(number: u32) -> pgrx::datum::DatumWithOid<'static> {
    pg_sys::Oid::from(number).into()
}

/// Shows a publication all of whose releases are stored. False if one is not, or there is none.
pub(super) fn show(publication: &str, who: u32) -> SpiResult<bool> {
    Spi::connect_mut(|client| {
        let shown = first_row(
            client,
            "WITH shown AS ( \
                 UPDATE dp.publication AS p \
                    SET published_at = coalesce(p.published_at, clock_timestamp()) \
                  WHERE p.name = $1 AND p.made_by = $2 \
                    AND NOT EXISTS (SELECT FROM dp.release AS r \
                                     WHERE r.publication = p.id AND r.released_at IS NULL) \
                 RETURNING p.id, p.published_at), \
             releases AS ( \
                 UPDATE dp.release AS r \
                    SET status = 'published', status_since = s.published_at \
                   FROM shown AS s WHERE r.publication = s.id AND r.status = 'draft' \
                     AND r.status_since < s.published_at \
                 RETURNING r.id) \
             SELECT s.id, (SELECT array_agg(id) FROM releases) FROM shown AS s",
            &[publication.into(), role(who)],
            |row| Ok(row.get::<Vec<i64>>(2)?.unwrap_or_default()),
        )?;
        let Some(releases) = shown else { return Ok(false) };
        client.update(
            "SELECT dp.tell_published(r.id) FROM unnest($1) AS r (id)",
            None,
            &[releases.into()],
        )?;
        Ok(true)
    })
}
