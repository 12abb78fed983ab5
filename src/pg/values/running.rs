//! The states of aggregates while they run, and where these live.

use pgrx::callconv::{Arg, ArgAbi, BoxRet, FcInfo};
use pgrx::datum::{Datum, Internal};
use pgrx::pg_sys::{FunctionCallInfo, MemoryContext};
use pgrx::prelude::*;
use pgrx::{FromDatum, PgMemoryContexts};
use std::marker::PhantomData;

/// Of a call of an aggregate's function: where the aggregate's state lives.
///
/// No argument that SQL sees: a function that takes it gets it from PostgreSQL.
pub(crate) struct Aggregation(Option<MemoryContext>);

impl Aggregation {
    /// That of a call.
    ///
    /// # Safety
    /// The call is going on.
    pub(crate) unsafe fn of_call(fcinfo: FunctionCallInfo) -> Aggregation {
        let mut context = std::ptr::null_mut();
        // SAFETY: the caller's promise.
        let kind = unsafe { pg_sys::AggCheckCallContext(fcinfo, &mut context) };
        Aggregation((kind != 0).then_some(context))
    }

    /// How long the aggregate's state has to live; None for a call outside any aggregation.
    pub(crate) fn lifetime(&self) -> Option<Lifetime<'_>> {
        self.0.map(Lifetime::of)
    }

    /// How long a changed state has to live, also one outside any aggregation.
    pub(crate) fn lifetime_or_call(&self) -> Lifetime<'_> {
        self.lifetime().unwrap_or_else(Lifetime::of_call)
    }
}

// SAFETY: it takes nothing from the arguments.
unsafe impl<'fcx> ArgAbi<'fcx> for Aggregation {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Aggregation {
        // SAFETY: pgrx gives the call that is going on.
        unsafe { Aggregation::of_call(FunctionCallInfo::unbox_arg_unchecked(arg)) }
    }

    fn is_virtual_arg() -> bool {
        true
    }
}

/// A memory context that outlives the call in which it is used.
#[derive(Clone, Copy)]
pub(crate) struct Lifetime<'a> {
    pub(super) context: MemoryContext,
    call: PhantomData<&'a ()>,
}

impl<'a> Lifetime<'a> {
    fn of(context: MemoryContext) -> Lifetime<'a> {
        Lifetime { context, call: PhantomData }
    }

    /// Of what a function returns, whoever calls it.
    pub(crate) fn of_call() -> Lifetime<'a> {
        Lifetime::of(PgMemoryContexts::CurrentMemoryContext.value())
    }
}

/// A state of type internal: a value of Rust's.
///
/// Only a superuser can declare an aggregate of such states, and nobody can call its functions, so
/// that a function always gets what another function of the aggregate has returned. `T` is the same
/// for all of these that pass states to each other.
pub(crate) struct Running<T> {
    datum: Internal,
    state: PhantomData<T>,
}

impl<T: 'static> Running<T> {
    /// A state that is dropped when its lifetime ends.
    pub(crate) fn start(lifetime: Lifetime, state: T) -> Running<T> {
        let mut context = PgMemoryContexts::For(lifetime.context);
        let datum = pg_sys::Datum::from(context.leak_and_drop_on_delete(state));
        Running { datum: Internal::from(Some(datum)), state: PhantomData }
    }

    /// The state; None where there is none yet.
    pub(crate) fn state(&mut self) -> Option<&mut T> {
        // SAFETY: it was made by `start`, as said above, and lives as long as the aggregation.
        unsafe { self.datum.get_mut() }
    }

    /// The state behind an argument of a call.
    ///
    /// # Safety
    /// The argument is one of type internal, of the aggregate's own functions.
    pub(crate) unsafe fn of_argument(argument: pg_sys::NullableDatum) -> Running<T> {
        // SAFETY: any datum can be one of type internal.
        let datum = unsafe { Internal::from_datum(argument.value, argument.isnull) };
        Running { datum: datum.unwrap_or_default(), state: PhantomData }
    }

    pub(crate) fn into_datum(self) -> Option<pg_sys::Datum> {
        self.datum.unwrap()
    }
}

// SAFETY: what an argument of type internal holds.
unsafe impl<'fcx, T> ArgAbi<'fcx> for Running<T> {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'fcx>) -> Running<T> {
        // SAFETY: the caller's promise.
        Running { datum: unsafe { Internal::unbox_arg_unchecked(arg) }, state: PhantomData }
    }
}

// SAFETY: it is returned as a value of type internal.
unsafe impl<T> BoxRet for Running<T> {
    unsafe fn box_into<'fcx>(self, fcinfo: &mut FcInfo<'fcx>) -> Datum<'fcx> {
        // SAFETY: the caller's promise.
        unsafe { self.datum.box_into(fcinfo) }
    }
}
