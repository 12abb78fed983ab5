//! Named releases, from the ledger's side. A name is a promise: it is charged once, and whoever
//! then asks for the same gets the same release, whatever became of the session that paid for it.
//!
//! The charge's own transaction makes the row of `dp.release`. The release is stored there by
//! another one, which commits before anybody sees a number of it. Where that did not come to pass
//! (a crash, a cancel), the next attempt *resumes*: it measures what the rows say then, with noise
//! of its own, under the charge that stands.
//!
//! Why one charge is enough for several attempts: only what the last one measures is ever shown. An
//! attempt that is not stored leaves nothing behind that follows from a private row or from noise,
//! but that it ended, and when: until a release is stored neither rows, nor notices, nor the counts
//! of `dp.progress` tell of it, errors depend on public things alone, and what a failing worker
//! would quote is not logged. So all that anybody sees is one run of the mechanism that was charged,
//! and how long some others took. Time is outside of the guarantee, and is to stay a small channel:
//! so an attempt is counted, durably, before it reads, and there are not more than [`ATTEMPTS`].
//!
//! What is stored is stored once, as the row says that it is: of two attempts that come to an end
//! one is shown, to both.
//!
//! A server that was restored, promoted or copied may lack what its predecessor stored and showed. There a
//! charge of before is not resumed.
//!
//! # Streams
//!
//! A stream is a name, too: it is charged once, for all its ticks, and stored when it is begun, before
//! any of them. The charge then *stands* for the ticks that are not stored: for each call that makes
//! some of them the ledger answers with it, and the session has a receipt of the whole mechanism
//! again. One charge is enough for all these receipts, for the reasons above, tick by tick:
//!
//! - the mechanism is that of the charge, as its cost and its whole description are compared here;
//! - what is told of a tick was stored before, and is stored once, each tick right after the one
//!   before it: so all that anybody sees is one run of the mechanism, whose ticks together cost what
//!   was charged;
//! - of a tick that was measured and not stored nothing is told. Attempts are counted before they
//!   read, from the last ticks on that were stored, and a role with a grant has no more than
//!   [`ATTEMPTS`]. What it stores is all ticks that have ended, of which each takes a minute at
//!   least: so it cannot have many readings at once to time. The dataset's owner, who may read the
//!   rows anyway, is not limited, so that no cancelled call of others stops a stream;
//! - on a server that was restored, promoted or copied since, ticks may be missing that were told. There it
//!   does not go on, unless the dataset's owner has said that none is missing.

use super::message::{Answer, Charge, ChargeRequest, Promise, Refusal, Unresumable};
use super::sql::{SpiResult, first_row};
use crate::pg::server::state::own_identity;
use pgrx::spi::SpiClient;

/// How often the release of a charge may be begun, the first time included; of a stream, since
/// ticks of it were stored.
pub(super) const ATTEMPTS: i32 = 5;

/// The answer where the name is charged already: the same charge again, if it may be resumed. None
/// if the name is new. Locks the dataset, so that a name is not charged twice at once. Which plan it is of,
/// and for whom a search was charged, is nothing of what was asked for; but none is made for another.
pub(super) fn standing(
    client: &mut SpiClient,
    request: &ChargeRequest,
    promise: &Promise,
) -> SpiResult<Option<Answer>> {
    let exists = "SELECT FROM dp.dataset WHERE id = $1 AND dropped_at IS NULL FOR NO KEY UPDATE";
    if first_row(client, exists, &[request.dataset.into()], |_| Ok(()))?.is_none() {
        return Ok(Some(Err(Refusal::NoDataset)));
    }
    if let Some(grantee) = request.grantee {
        // a grant can be revoked while its role waits for the name
        let granted = "SELECT FROM dp.access WHERE dataset = $1 AND grantee::bigint = $2 \
                          AND NOT revoked FOR NO KEY UPDATE";
        let arguments = [request.dataset.into(), i64::from(grantee).into()];
        if first_row(client, granted, &arguments, |_| Ok(()))?.is_none() {
            return Ok(Some(Err(Refusal::NoGrant)));
        }
    }
    first_row(
        client,
        "SELECT c.id, r.released_at IS NOT NULL, \
                r.parameters = $3::jsonb AND c.function = $4 AND c.epsilon = $5::numeric \
                AND c.delta = $6::numeric AND c.rho = $7::numeric \
                AND c.parameters - '{plan,kept}'::text[] = $8::jsonb - 'kept', \
                coalesce((SELECT s.identity FROM dp.stream AS s WHERE s.release = r.id), \
                         e.identity) = $11, \
                r.attempts, \
                CASE c.parameters ->> 'kept' WHEN 'true' THEN $9 \
                                             WHEN 'false' THEN NOT $9 AND c.charged_by = $10 \
                                             ELSE $9 OR c.charged_by = $10 END \
           FROM dp.release AS r \
           JOIN dp.charge AS c ON c.id = r.charge \
           JOIN dp.epoch AS e ON e.n = c.epoch \
          WHERE r.dataset = $1 AND r.name = $2 FOR NO KEY UPDATE OF r",
        &[
            request.dataset.into(),
            promise.name.as_str().into(),
            promise.parameters.to_string().into(),
            request.function.as_str().into(),
            request.epsilon.as_str().into(),
            request.delta.as_str().into(),
            request.rho_decimal().into(),
            request.parameters.to_string().into(),
            request.grantee.is_none().into(),
            request.who.as_str().into(),
            own_identity().into(),
        ],
        |row| {
            let charge = row.get::<i64>(1)?.unwrap_or_default();
            let is = |column| Ok::<_, pgrx::spi::Error>(row.get::<bool>(column)?.unwrap_or(false));
            let goes_on = promise.goes_on;
            let is_limited = !goes_on || request.grantee.is_some();
            Ok(match (is(2)?, is(3)?, is(4)?, row.get::<i32>(5)?.unwrap_or(i32::MAX)) {
                (true, true, ..) if !goes_on => Err(Refusal::Stored),
                (stored, same, ..) if !same || stored != goes_on => {
                    Err(Refusal::Unresumable(Unresumable::Changed))
                }
                // attempts are few: who did not pay must not use them up
                _ if !is(6)? => Err(Refusal::Unresumable(Unresumable::OthersCharge)),
                (_, _, false, _) => Err(Refusal::Unresumable(Unresumable::Elsewhere)),
                (.., attempts) if is_limited && attempts >= ATTEMPTS => {
                    Err(Refusal::Unresumable(Unresumable::Attempts))
                }
                _ => Ok(Charge { id: charge, left: None }),
            })
        },
    )
}

/// Notes that the release of a charge is begun now.
pub(super) fn begin_attempt(client: &mut SpiClient, charge: i64) -> SpiResult<()> {
    client.update(
        "UPDATE dp.release SET attempts = attempts + 1 WHERE charge = $1",
        None,
        &[charge.into()],
    )?;
    Ok(())
}

/// Notes that a charge is for the release of that name.
pub(super) fn promise(
    client: &mut SpiClient,
    dataset: i64,
    charge: i64,
    promise: &Promise,
) -> SpiResult<()> {
    client.update(
        "INSERT INTO dp.release (dataset, dataset_name, name, charge, parameters) \
         SELECT id, name, $2, $3, $4::jsonb FROM dp.dataset WHERE id = $1",
        None,
        &[
            dataset.into(),
            promise.name.as_str().into(),
            charge.into(),
            promise.parameters.to_string().into(),
        ],
    )?;
    Ok(())
}
