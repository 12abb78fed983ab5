//! The order of a release, which privacy rests on: what is public is checked, the ledger is
//! charged, private rows are read, measured with noise, what came of it is stored if it has a name,
//! and told. All that releases goes this way, and the types keep it: see [`charge`](crate::charge).

use super::content::Message;
use super::named::Storable;
use super::store::{Outcome, store};
use super::stored::{Found, find_release, is_charged, others_release, stored_release, turn_of};
use crate::charge::{Costs, Receipt, Uncharged};
use crate::noise::{SystemWords, words_from_system};
use crate::pg::dataset::catalog::Dataset;
use crate::pg::dataset::reading::Reading;
use crate::pg::dataset::source::Source;
use crate::pg::errors::{Failure, Result, check_new_name, error, internal};
use crate::pg::ledger::account::{ChargedPart, LedgerReceipt, Promise, SealedRows};
use crate::pg::ledger::publication;
use crate::pg::server::locks::Turn;
use crate::pg::server::progress::{Phase, Progress};
use crate::pg::server::relations::CatalogLocks;
use crate::pg::server::roles::as_reader;
use crate::pg::server::select::as_of_now;
use crate::work::apart;
use pgrx::pg_sys::Oid;
use pgrx::pg_sys::panic::{CaughtError, ErrorReport};
use pgrx::prelude::*;
use serde_json::{Map, Value};
use std::panic::AssertUnwindSafe;

type Followed<T> = std::result::Result<T, Failure>;

/// A release that is asked of a dataset.
pub(crate) struct Asked<'a> {
    pub(crate) dataset: &'a Dataset,
    /// Of the SQL function that releases.
    pub(crate) progress: &'a Progress,
    /// The name that it will be stored under.
    pub(crate) promise: Option<Promise>,
    /// To make what is stored under that name; it ends when that is done.
    turn: Option<Turn>,
    /// What the ledger's entry shows besides the mechanism.
    about: Map<String, Value>,
    /// The function that the ledger's entry shows.
    function: &'static str,
}

impl<'a> Asked<'a> {
    pub(crate) fn new(
        dataset: &'a Dataset,
        progress: &'a Progress,
        promise: Option<Promise>,
        mut about: Map<String, Value>,
    ) -> Asked<'a> {
        about.extend(dataset.source.part.about());
        let function = progress.function();
        Asked { dataset, progress, promise, turn: None, about, function }
    }

    /// The next part of what that function has charged and stored under the name, as soon as nobody
    /// else makes it.
    pub(crate) fn next_of<T>(
        self,
        function: &'static str,
        promise: Promise,
        make: impl FnOnce(Self) -> Result<T>,
    ) -> Result<T> {
        let turn = Some(turn_of(self.dataset, &promise));
        make(Asked { function, turn, promise: Some(promise), ..self })
    }

    /// The release that is stored under the name, for nothing, or else what `make` makes.
    ///
    /// Errors: something else was asked for by that name; it is new, and none to be shown in a line;
    /// those of `make`.
    pub(crate) fn once<T: Storable>(mut self, make: impl FnOnce(Self) -> Result<T>) -> Result<T> {
        let Some(promise) = &self.promise else { return make(self) };
        let (dataset, name) = (self.dataset, promise.name.clone());
        let released = match find_release(dataset, promise)? {
            Found::Stored(id) => T::read(id),
            Found::Unstored(turn) => {
                self.check_name()?;
                self.turn = Some(turn);
                make(self)
            }
        }?;
        if dataset.is_own() && !publication::is_quoting() {
            tell_whose(dataset, &name)?;
        }
        Ok(released)
    }

    /// Error: the name is new, and none to be shown in a line.
    fn check_name(&self) -> Result<()> {
        let Some(promise) = &self.promise else { return Ok(()) };
        let argument = if self.function == "dp_stream_create" { "stream" } else { "name" };
        match check_new_name(&promise.name, argument) {
            Err(unfit) if !self.is_charged()? => Err(unfit),
            _ => Ok(()),
        }
    }

    /// Whether it was charged before, and is not stored yet.
    pub(crate) fn is_charged(&self) -> Result<bool> {
        self.promise.as_ref().map_or(Ok(false), |promise| is_charged(self.dataset, promise))
    }

    /// Releases what the dataset's rows say. `prepare`, as the role that reads them: checks what is
    /// public about the source and the mechanism, and plans the reading. `tell`: measures what was
    /// read, and makes of it what the caller gets.
    ///
    /// Errors: the dataset's tables are not what was declared; those of `prepare`; the caller may
    /// release only with a name; the ledger's refusal; and those of `tell`, which depend on no
    /// private row.
    pub(crate) fn of_rows<M: Costs, R: Reading, T: Storable>(
        self,
        prepare: impl FnOnce(&Source) -> Result<(M, R)>,
        tell: impl FnOnce(R::Truth, LedgerReceipt<M>, &mut SystemWords) -> Followed<T>,
    ) -> Result<T> {
        self.of_prepared(prepare, |reader, reading: R, receipt, words| {
            let truth = as_reader(reader, || reading.read(&receipt))?;
            tell(truth, receipt, words)
        })
    }

    /// The same, of rows that are measured one by one as they are read: `tell`, as the role that
    /// reads, gets what they come from.
    pub(crate) fn of_each_row<M: Costs, R, T: Storable>(
        self,
        prepare: impl FnOnce(&Source) -> Result<(M, SealedRows<R>)>,
        tell: impl FnOnce(R, LedgerReceipt<M>, &mut SystemWords) -> Followed<T>,
    ) -> Result<T> {
        self.of_prepared(prepare, |reader, rows, receipt, words| {
            as_reader(reader, || tell(rows.open(&receipt), receipt, words))
        })
    }

    /// `follow`: after the charge, told the role that reads.
    fn of_prepared<M: Costs, R, T: Storable>(
        self,
        prepare: impl FnOnce(&Source) -> Result<(M, R)>,
        follow: impl FnOnce(Oid, R, LedgerReceipt<M>, &mut SystemWords) -> Followed<T>,
    ) -> Result<T> {
        let Asked { dataset, progress, .. } = self;
        // what is checked is what is read: what is committed now, whatever the transaction's
        // snapshot
        as_of_now(|| {
            // who holds one up now is waited for before anything is spent
            CatalogLocks::take().give_back();
            let reader = dataset.check_source()?;
            let (mechanism, reading) = as_reader(reader, || prepare(&dataset.source))?;
            let part = as_reader(reader, || dataset.charged_part())?;
            self.of_charged(mechanism, part, |receipt, words| {
                progress.phase(Phase::Reading);
                // not held before: the ledger's worker would wait for who waits for these
                let locks = CatalogLocks::take();
                let told = follow(reader, reading, receipt, words)?;
                locks.give_back();
                Ok(told)
            })
        })
    }

    /// Releases what the caller hands over as counted from the dataset's rows, or what reads none
    /// yet. `part`: that of [`Dataset::counted_part`], or of what will be read.
    ///
    /// Errors: the caller may release only with a name; the ledger's refusal; those of `tell`.
    pub(crate) fn of_given<M: Costs, T: Storable>(
        self,
        mechanism: M,
        part: Option<ChargedPart>,
        tell: impl FnOnce(LedgerReceipt<M>, &mut SystemWords) -> Followed<T>,
    ) -> Result<T> {
        self.of_charged(mechanism, part, tell)
    }

    /// `part`: what is charged, where it is not all of the data.
    fn of_charged<M: Costs, T: Storable>(
        self,
        mechanism: M,
        part: Option<ChargedPart>,
        tell: impl FnOnce(LedgerReceipt<M>, &mut SystemWords) -> Followed<T>,
    ) -> Result<T> {
        let Asked { dataset, progress, promise, turn, about, function } = self;
        let mut words = words_from_system().map_err(internal)?;
        progress.phase(Phase::Charging);
        let account = dataset.account(function, promise.clone(), part, about)?;
        let receipt = Receipt::charged(mechanism, &account)?;
        let charged = receipt.entry().notice.clone();
        let told = after_charge(receipt, |receipt| {
            let charge = receipt.entry().id;
            let told = tell(receipt, &mut words)?;
            let Some(promise) = &promise else { return Ok(told) };
            progress.phase(Phase::Storing);
            keep(dataset, promise, charge, told).map_err(Failure::Store)
        })?;
        // who waits for the name need not wait for this client
        drop(turn);
        if let Some(charged) = charged {
            pgrx::notice!("{charged}");
        }
        Ok(told)
    }
}

/// Tells the dataset's owner of a release that a role was charged for which does not act for the owner,
/// under a name that the owner need not know to be taken.
fn tell_whose(dataset: &Dataset, name: &str) -> Result<()> {
    let Some((role, when)) = others_release(dataset, name)? else { return Ok(()) };
    error(
        PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION,
        format!("release \"{name}\" of dataset \"{}\" was charged to role {role}", dataset.name),
    )
    .set_detail(format!(
        "It was charged at {when}: 'auto' means in it what it meant then, and rows may have been read then."
    ))
    .set_hint("Under another name it is released anew, and charged.")
    .report(PgLogLevel::NOTICE);
    Ok(())
}

/// Stores what was measured. Gives what is stored: it, or what another attempt at the same release
/// has stored before.
fn keep<T: Storable>(dataset: &Dataset, promise: &Promise, charge: i64, told: T) -> Result<T> {
    let mut message = Message::new(charge, told.content());
    told.add_regions(&mut message);
    if store(dataset, &promise.name, charge, &message)? == Outcome::Stored {
        return Ok(told);
    }
    match stored_release(dataset, promise)? {
        Some(id) => T::read(id),
        None => Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_OBJECT,
            format!("dataset \"{}\" was dropped while it was released from", dataset.name),
        )
        .set_hint("What was measured is for nobody; the charge stands.")),
    }
}

/// Releases what the caller hands over and answers for: no dataset, so nothing is charged.
///
/// Errors: those of `tell`.
pub(crate) fn uncharged<M, T>(
    mechanism: M,
    tell: impl FnOnce(Uncharged<M>, &mut SystemWords) -> Followed<T>,
) -> Result<T> {
    let mut words = words_from_system().map_err(internal)?;
    after_charge(Receipt::uncharged(mechanism), |receipt| tell(receipt, &mut words))
}

/// Runs what follows a charge. It fails as [`Failure`] says, or is cancelled; whatever else
/// PostgreSQL may raise is hidden behind one message, since that of PostgreSQL could quote a row.
fn after_charge<M, P, T>(
    receipt: Receipt<M, P>,
    action: impl FnOnce(Receipt<M, P>) -> Followed<T>,
) -> Result<T> {
    // what was counted of private rows is forgotten: a later call could see where its polls fall
    let action = || apart(|| action(receipt).map_err(ErrorReport::from));
    PgTryBuilder::new(AssertUnwindSafe(action))
        .catch_others(|caught| match code(&caught) {
            // class 57: cancelled, a timeout, a shutdown
            PgSqlErrorCode::ERRCODE_QUERY_CANCELED
            | PgSqlErrorCode::ERRCODE_ADMIN_SHUTDOWN
            | PgSqlErrorCode::ERRCODE_CRASH_SHUTDOWN => caught.rethrow(),
            code => Err(error(code, "the release failed after it was charged").set_hint(
                "The SQLSTATE tells of what kind the failure is, such as memory or disk space; the \
                 message is withheld, since it could quote a private row.",
            )),
        })
        .execute()
}

fn code(caught: &CaughtError) -> PgSqlErrorCode {
    match caught {
        CaughtError::PostgresError(report)
        | CaughtError::ErrorReport(report)
        | CaughtError::RustPanic { ereport: report, .. } => report.sql_error_code(),
    }
}
