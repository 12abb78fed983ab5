//! Publications, from the worker's side: several releases are charged together or not at all, and
//! shown together when the last one is stored.

use super::message::{
    Answer, Charge, ChargeRequest, Left, PlanRequest, PublishAnswer, PublishRequest, Refusal,
};
use super::promise::{promise, standing};
use super::record::{charge, charge_plan, left_now};
use super::sql::{SpiResult, first_row};
use crate::pg::server::transaction::all_or_nothing;
use pgrx::prelude::*;
use pgrx::spi::SpiClient;

/// Charges all that is not charged already. If one is refused, or it is a trial, nothing is charged:
/// the answers then tell what would be.
pub(super) fn charge_all(request: &PublishRequest) -> SpiResult<PublishAnswer> {
    all_or_nothing(|| {
        let answer = Spi::connect_mut(|client| charge_each(client, request))?;
        let is_charged = !request.is_trial
            && matches!(&answer, PublishAnswer::Charges { answers, .. } if answers.iter().all(Result::is_ok));
        Ok((answer, is_charged))
    })
}

fn charge_each(client: &mut SpiClient, request: &PublishRequest) -> SpiResult<PublishAnswer> {
    if !lock_all(client, request)? {
        return Ok(PublishAnswer::Busy);
    }
    let Some(publication) = publication(client, request)? else {
        return Ok(PublishAnswer::OtherPublication);
    };
    let left = if request.is_trial { left_of_each(client, request)? } else { Vec::new() };
    let mut answers: Vec<Option<Answer>> = request.charges.iter().map(|_| None).collect();
    for plan in &request.plans {
        for (member, answer) in plan.members.iter().zip(charge_as_one(client, request, plan)?) {
            if let Some(place) = answers.get_mut(*member) {
                *place = Some(answer);
            }
        }
    }
    let mut charged = Vec::new();
    for (one, answer) in request.charges.iter().zip(answers) {
        let answer = match answer {
            Some(answer) => answer,
            None => charge_one(client, request, one)?,
        };
        if let Ok(charge) = &answer {
            belongs(client, one, charge.id, publication)?;
        }
        let is_refused = answer.is_err();
        charged.push(answer);
        if is_refused && !request.is_trial {
            break; // nothing will be charged
        }
    }
    if !request.is_trial {
        take_over(client, request, publication)?;
    }
    Ok(PublishAnswer::Charges { answers: charged, left })
}

/// What is left now for each charge: found once for all of a role, of the same part of the data.
fn left_of_each(client: &mut SpiClient, request: &PublishRequest) -> SpiResult<Vec<Option<Left>>> {
    let mut left: Vec<Option<Left>> = Vec::new();
    for (n, one) in request.charges.iter().enumerate() {
        let alike = |other: &ChargeRequest| {
            (other.dataset, other.grantee, &other.part) == (one.dataset, one.grantee, &one.part)
        };
        left.push(match request.charges.iter().take(n).position(alike) {
            Some(before) => left[before].clone(),
            None => left_now(client, one)?,
        });
    }
    Ok(left)
}

/// Locks all that the charges need before the first of them locks the ledger, for which everybody
/// waits. Nothing is waited for: what is locked meanwhile would keep others waiting, and a role can
/// keep a lock on its own datasets for as long as it likes. False if something is locked.
fn lock_all(client: &mut SpiClient, request: &PublishRequest) -> SpiResult<bool> {
    let charges = &request.charges;
    let datasets: Vec<i64> = charges.iter().map(|charge| charge.dataset).collect();
    let grantees: Vec<i64> =
        charges.iter().filter_map(|charge| charge.grantee.map(i64::from)).collect();
    let names: Vec<String> =
        charges.iter().flat_map(|charge| &charge.promise).map(|named| named.name.clone()).collect();
    let listed: Vec<String> = request.releases.iter().map(|(_, name)| name.clone()).collect();
    let rows = [
        ("dp.dataset WHERE id = ANY ($1)", "id"),
        ("dp.access WHERE dataset = ANY ($1) AND grantee::bigint = ANY ($2)", "dataset, grantee"),
        ("dp.release WHERE dataset = ANY ($1) AND name = ANY ($3)", "id"),
        // what is taken over from an earlier publication of the role
        (
            "dp.release WHERE status = 'draft' AND name = ANY ($4) AND publication IN ( \
                 SELECT id FROM dp.publication \
                  WHERE dp.role(made_by, made_by_name) = $5 AND published_at IS NULL)",
            "id",
        ),
    ];
    for (rows, order) in rows {
        let sql = format!(
            "SELECT (SELECT count(*) FROM {rows}) = (SELECT count(*) FROM ( \
                 SELECT FROM {rows} ORDER BY {order} FOR NO KEY UPDATE SKIP LOCKED) AS locked) \
               WHERE $1::bigint[] IS NOT NULL AND $2::bigint[] IS NOT NULL \
                 AND $3::text[] IS NOT NULL AND $4::text[] IS NOT NULL AND $5::oid IS NOT NULL"
        );
        let arguments = [
            datasets.clone().into(),
            grantees.clone().into(),
            names.clone().into(),
            listed.clone().into(),
            role(request.who),
        ];
        if first_row(client, &sql, &arguments, |row| row.get::<bool>(1))? != Some(Some(true)) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn charge_one(
    client: &mut SpiClient,
    request: &PublishRequest,
    one: &ChargeRequest,
) -> SpiResult<Answer> {
    let Some(named) = &one.promise else { return Ok(Err(Refusal::NoDataset)) };
    if let Some(answer) = standing(client, one, named)? {
        return Ok(charged_before(answer));
    }
    let answer = charge(client, one, request.is_trial)?;
    if let (Ok(charge), false) = (&answer, request.is_trial) {
        promise(client, one.dataset, charge.id, named)?;
    }
    Ok(answer)
}

/// Charges all of a plan as one, or nothing where all of it is charged already. Answers for each of
/// its releases.
fn charge_as_one(
    client: &mut SpiClient,
    request: &PublishRequest,
    plan: &PlanRequest,
) -> SpiResult<Vec<Answer>> {
    let members: Vec<&ChargeRequest> =
        plan.members.iter().filter_map(|member| request.charges.get(*member)).collect();
    let mut before = Vec::new();
    for member in &members {
        let Some(named) = &member.promise else { return Ok(vec![Err(Refusal::NoDataset)]) };
        before.push(standing(client, member, named)?.map(charged_before));
    }
    if before.iter().all(Option::is_some) {
        return Ok(before.into_iter().flatten().collect());
    }
    let refused = |refusal: Refusal| members.iter().map(|_| Err(refusal.clone())).collect();
    // what stands in the way of one comes first
    if let Some(Err(refusal)) = before.iter().flatten().find(|answer| answer.is_err()) {
        return Ok(refused(refusal.clone()));
    }
    if before.iter().any(Option::is_some) {
        return Ok(refused(Refusal::PartlyCharged));
    }
    let charges = match charge_plan(client, &plan.charge, &members, request.is_trial)? {
        Err(refusal) => return Ok(refused(refusal)),
        Ok(charges) => charges,
    };
    for (member, charge) in members.iter().zip(&charges) {
        if let (Some(named), false) = (&member.promise, request.is_trial) {
            promise(client, member.dataset, charge.id, named)?;
        }
    }
    Ok(charges.into_iter().map(Ok).collect())
}

/// What stands for a publication: also what another session has stored since it was quoted.
fn charged_before(standing: Answer) -> Answer {
    match standing {
        Err(Refusal::Stored) => Ok(Charge { id: 0, left: None }),
        answer => answer,
    }
}

/// Nobody is to see a release before the others; what another role has paid for is shown when it is
/// stored, as that role expects.
fn belongs(
    client: &mut SpiClient,
    one: &ChargeRequest,
    charge: i64,
    publication: i64,
) -> SpiResult<()> {
    client.update(
        "UPDATE dp.release AS r SET publication = $2, status = 'draft' \
           FROM dp.charge AS c \
          WHERE r.charge = $1 AND c.id = r.charge \
            AND c.charged_by = $3 AND r.publication IS NULL",
        None,
        &[charge.into(), publication.into(), one.who.as_str().into()],
    )?;
    Ok(())
}

/// What an earlier publication of the role was to show, and has not, this one shows.
fn take_over(client: &mut SpiClient, request: &PublishRequest, publication: i64) -> SpiResult<()> {
    let (datasets, names): (Vec<String>, Vec<String>) = request.releases.iter().cloned().unzip();
    client.update(
        "UPDATE dp.release AS r SET publication = $1 \
           FROM unnest($3::text[], $4::text[]) AS e (dataset, name), dp.publication AS p, \
                dp.dataset AS d \
          WHERE (r.dataset_name, r.name) = (e.dataset, e.name) AND r.status = 'draft' \
            AND d.id = r.dataset AND (d.dropped_at IS NULL OR r.released_at IS NOT NULL) \
            AND p.id = r.publication AND p.id <> $1 AND p.published_at IS NULL \
            AND dp.role(p.made_by, p.made_by_name) = $2",
        None,
        &[publication.into(), role(request.who), datasets.into(), names.into()],
    )?;
    Ok(())
}

/// The number of the publication, a new one if there is none of that name. None if the name is
/// another one's.
fn publication(client: &mut SpiClient, request: &PublishRequest) -> SpiResult<Option<i64>> {
    let (datasets, names): (Vec<String>, Vec<String>) = request.releases.iter().cloned().unzip();
    client.update(
        "INSERT INTO dp.publication (name, made_by, made_by_name, asked_for, releases) \
         SELECT $1, $2, pg_get_userbyid($2::oid), sha256(convert_to($3, 'UTF8')), \
                jsonb_agg(jsonb_build_object('dataset', e.dataset, 'name', e.name) ORDER BY e.n) \
           FROM unnest($4::text[], $5::text[]) WITH ORDINALITY AS e (dataset, name, n) \
             ON CONFLICT (made_by, name) DO NOTHING",
        None,
        &[
            request.publication.as_str().into(),
            role(request.who),
            request.asked_for.as_str().into(),
            datasets.into(),
            names.into(),
        ],
    )?;
    first_row(
        client,
        "SELECT id FROM dp.publication \
          WHERE name = $1 AND dp.role(made_by, made_by_name) = $2 \
            AND asked_for = sha256(convert_to($3, 'UTF8'))",
        &[
            request.publication.as_str().into(),
            role(request.who),
            request.asked_for.as_str().into(),
        ],
        |row| Ok(row.get(1)?.unwrap_or_default()),
    )
}

fn role(number: u32) -> pgrx::datum::DatumWithOid<'static> {
    pg_sys::Oid::from(number).into()
}

/// Shows a publication all of whose releases are stored, but for those whose status their owner has
/// set, and returns these releases. None if one is not stored, or is of a dataset that the role may not
/// use any more, or there is no publication.
pub(super) fn show(publication: &str, who: u32) -> SpiResult<Option<Vec<i64>>> {
    Spi::connect_mut(|client| {
        let shown = first_row(
            client,
            "WITH shown AS ( \
                 UPDATE dp.publication AS p \
                    SET published_at = coalesce(p.published_at, clock_timestamp()) \
                  WHERE p.name = $1 AND dp.role(p.made_by, p.made_by_name) = $2 \
                    AND NOT EXISTS (SELECT FROM dp.release AS r \
                                      JOIN dp.dataset AS d ON d.id = r.dataset \
                                     WHERE r.publication = p.id AND r.released_at IS NULL \
                                       AND d.dropped_at IS NULL) \
                    AND NOT EXISTS (SELECT FROM dp.release AS r \
                                      JOIN dp.dataset AS d ON d.id = r.dataset \
                                     WHERE r.publication = p.id AND r.status = 'draft' \
                                       AND NOT pg_has_role($2, dp.role(d.owner, d.owner_name), 'USAGE') \
                                       AND NOT EXISTS ( \
                                           SELECT FROM dp.access AS a \
                                            WHERE a.dataset = d.id AND NOT a.revoked \
                                              AND dp.role(a.grantee, a.grantee_name) = a.grantee \
                                              AND pg_has_role($2, a.grantee, 'USAGE'))) \
                 RETURNING p.id, p.published_at), \
             releases AS ( \
                 UPDATE dp.release AS r \
                    SET status = 'published', status_since = s.published_at \
                   FROM shown AS s WHERE r.publication = s.id AND r.status = 'draft' \
                     AND r.status_since = r.released_at \
                 RETURNING r.id) \
             SELECT s.id, (SELECT array_agg(id) FROM releases) FROM shown AS s",
            &[publication.into(), role(who)],
            |row| Ok(row.get::<Vec<i64>>(2)?.unwrap_or_default()),
        )?;
        let Some(releases) = shown else { return Ok(None) };
        client.update(
            "INSERT INTO dp.release_status (release, status, set_by) \
             SELECT r.id, 'published', pg_get_userbyid($2::oid) FROM unnest($1) AS r (id)",
            None,
            &[releases.clone().into(), role(who)],
        )?;
        Ok(Some(releases))
    })
}
