//! Roles, and acting as another one for a while.

use super::settings::{reading_settings, with_settings};
use super::state::current_role;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::ffi::{CStr, c_int};

pub(crate) fn role_name(role: Oid) -> String {
    // SAFETY: the name that is returned is a string in the current memory context, or none.
    unsafe {
        let name = pg_sys::GetUserNameFromId(role, true);
        if name.is_null() {
            format!("role {}", role.to_u32())
        } else {
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    }
}

pub(crate) fn role_exists(role: Oid) -> bool {
    // SAFETY: looks into the catalog, also for numbers that are no role's.
    unsafe { !pg_sys::GetUserNameFromId(role, true).is_null() }
}

/// Whether a role is another one, a member of it, or a superuser.
pub(crate) fn has_rights_of(role: Oid, other: Oid) -> bool {
    // SAFETY: looks into the catalog, also for numbers that are no role's.
    unsafe { pg_sys::has_privs_of_role(role, other) }
}

/// Whether the current role is that role, a member of it or a superuser.
pub(crate) fn acts_for(role: Oid) -> bool {
    has_rights_of(current_role(), role)
}

/// Whether a role may use what is in the schema of a relation.
pub(crate) fn may_use_schema_of(relation: Oid, role: Oid) -> bool {
    let usage = pg_sys::ACL_USAGE as pg_sys::AclMode;
    // SAFETY: both look up the catalog, which has the relation or tells that it has not.
    unsafe {
        let schema = pg_sys::get_rel_namespace(relation);
        #[cfg(feature = "pg15")]
        let outcome = pg_sys::pg_namespace_aclcheck(schema, role, usage);
        #[cfg(not(feature = "pg15"))]
        let outcome = pg_sys::object_aclcheck(pg_sys::NamespaceRelationId, schema, role, usage);
        outcome == OK
    }
}

/// Whether the current role may read a column of that table.
pub(crate) fn may_read_some(relation: Oid) -> bool {
    // SAFETY: both look up the catalog, which has the relation or tells that it has not.
    unsafe {
        pg_sys::pg_class_aclcheck(relation, current_role(), SELECT) == OK
            || pg_sys::pg_attribute_aclcheck_all(
                relation,
                current_role(),
                SELECT,
                pg_sys::AclMaskHow::ACLMASK_ANY,
            ) == OK
    }
}

const SELECT: pg_sys::AclMode = pg_sys::ACL_SELECT as pg_sys::AclMode;
const OK: pg_sys::AclResult::Type = pg_sys::AclResult::ACLCHECK_OK;

/// Runs `action` as the role that owns the extension's catalog. For fixed statements on the tables
/// of schema `dp` alone; every SQL function that gets here pins its search_path to pg_catalog.
pub(super) fn as_catalog_owner<T>(action: impl FnOnce() -> T) -> T {
    as_reader(Oid::from(pg_sys::BOOTSTRAP_SUPERUSERID), action)
}

/// Runs `action`, which reads what the current role may not see, as the role that may, and lets
/// nothing of the reading show in the current session: see [`reading_settings`].
///
/// EXPLAIN (ANALYZE, BUFFERS) would count the pages that it reads.
pub(crate) fn as_reader<T>(role: Oid, action: impl FnOnce() -> T) -> T {
    with_settings(reading_settings(), || {
        let _usage = Usage::so_far();
        as_role(role, action)
    })
}

/// Runs `action` as another role, without SET ROLE and the like inside.
pub(crate) fn as_role<T>(role: Oid, action: impl FnOnce() -> T) -> T {
    let caller = Identity::current();
    let context = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
    Identity { role, context: caller.context | context as c_int }.assume();
    let _restore = Restore(caller); // also on unwinding
    action()
}

/// Whose rights statements have, and what they may not do.
struct Identity {
    role: Oid,
    context: c_int,
}

impl Identity {
    fn current() -> Identity {
        let mut current = Identity { role: Oid::INVALID, context: 0 };
        // SAFETY: writes the two values that it is given places for.
        unsafe { pg_sys::GetUserIdAndSecContext(&mut current.role, &mut current.context) };
        current
    }

    fn assume(&self) {
        // SAFETY: sets two variables of this process; all that reads them can deal with any.
        unsafe { pg_sys::SetUserIdAndSecContext(self.role, self.context) };
    }
}

struct Restore(Identity);

impl Drop for Restore {
    fn drop(&mut self) {
        self.0.assume();
    }
}

/// What the session has used so far; put back when the reading ends, also by an error.
struct Usage {
    buffers: pg_sys::BufferUsage,
    wal: pg_sys::WalUsage,
}

impl Usage {
    fn so_far() -> Usage {
        // SAFETY: copies plain counters, which no other thread of this process writes.
        unsafe { Usage { buffers: pg_sys::pgBufferUsage, wal: pg_sys::pgWalUsage } }
    }
}

impl Drop for Usage {
    fn drop(&mut self) {
        // SAFETY: as above; nothing is kept that refers to them.
        unsafe {
            pg_sys::pgBufferUsage = self.buffers;
            pg_sys::pgWalUsage = self.wal;
        }
    }
}
