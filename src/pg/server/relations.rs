//! Relations, as PostgreSQL's catalog describes them now, whatever the transaction's snapshot.

use pgrx::PgTupleDesc;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use std::collections::HashSet;
use std::ffi::CStr;

const SHARE: pg_sys::LOCKMODE = pg_sys::AccessShareLock as pg_sys::LOCKMODE;
const KEEP_LOCK: pg_sys::LOCKMODE = pg_sys::NoLock as pg_sys::LOCKMODE;

/// What the catalog says of one relation.
pub(crate) struct Described {
    pub(crate) kind: u8,
    pub(crate) persistence: u8,
    pub(crate) row_security: bool,
    pub(crate) owner: Oid,
    pub(crate) access_method: Oid,
    pub(crate) schema: String,
    pub(crate) name: String,
}

/// Whether there is such a relation.
pub(crate) fn relation_exists(oid: Oid) -> bool {
    // SAFETY: looks into the catalog, also for numbers that are no relation's.
    unsafe { pg_sys::get_rel_relkind(oid) != 0 }
}

/// What PostgreSQL looks into when it prints, compares, casts or fetches a value, reads a relation's
/// description anew, or plans what stores a release.
const CATALOGS: [&CStr; 29] = [
    c"pg_am",
    c"pg_amop",
    c"pg_amproc",
    c"pg_attrdef",
    c"pg_attribute",
    c"pg_authid",
    c"pg_cast",
    c"pg_class",
    c"pg_collation",
    c"pg_constraint",
    c"pg_database",
    c"pg_enum",
    c"pg_extension",
    c"pg_index",
    c"pg_language",
    c"pg_namespace",
    c"pg_opclass",
    c"pg_operator",
    c"pg_opfamily",
    c"pg_proc",
    c"pg_range",
    c"pg_rewrite",
    c"pg_statistic",
    c"pg_statistic_ext",
    c"pg_tablespace",
    c"pg_trigger",
    c"pg_ts_config",
    c"pg_ts_dict",
    c"pg_type",
];

/// Locks on the catalogs that a row's value may have PostgreSQL look into, or the storing of one. Any role
/// can hold these up, as `CREATE RULE` locks before it refuses: who has the lock does not wait for it, so
/// that no wait, nor a full table of locks, tells what is read while these are held.
pub(crate) struct CatalogLocks {
    relations: Vec<Oid>,
    owner: pg_sys::ResourceOwner,
}

impl CatalogLocks {
    /// Until they are given back, or the transaction ends.
    pub(crate) fn take() -> CatalogLocks {
        // SAFETY: no other thread of this process writes it.
        let owner = unsafe { pg_sys::CurrentResourceOwner };
        let catalogs = CATALOGS.into_iter().filter_map(in_pg_catalog);
        CatalogLocks { relations: catalogs.flat_map(lock_with_indexes).collect(), owner }
    }

    /// Before others are waited for, who may need the catalogs. (An error gives them back, too.)
    pub(crate) fn give_back(self) {
        // SAFETY: the owner that took them lives as long as the call in which that was.
        unsafe {
            let current = pg_sys::CurrentResourceOwner;
            pg_sys::CurrentResourceOwner = self.owner;
            for relation in self.relations.iter().rev() {
                pg_sys::UnlockRelationOid(*relation, SHARE);
            }
            pg_sys::CurrentResourceOwner = current;
        }
    }
}

/// A relation that is locked now, and its indexes.
fn lock_with_indexes(oid: Oid) -> Vec<Oid> {
    // SAFETY: what is opened is closed here, and the list is one of numbers.
    unsafe {
        let relation = pg_sys::try_relation_open(oid, SHARE);
        if relation.is_null() {
            return vec![];
        }
        let list = pg_sys::RelationGetIndexList(relation);
        let indexes = (0..pg_sys::list_length(list)).map(|n| pg_sys::list_nth_oid(list, n));
        let locked: Vec<Oid> = [oid].into_iter().chain(indexes).collect();
        locked[1..].iter().for_each(|index| pg_sys::LockRelationOid(*index, SHARE));
        pg_sys::list_free(list);
        pg_sys::relation_close(relation, KEEP_LOCK);
        locked
    }
}

/// Locks what describes the fields of a type's rows, until the end of the transaction: of a composite
/// type, also as an element, in a range, below a domain, or in a field of another.
pub(crate) fn lock_rows_of(type_oid: Oid) {
    let mut seen = HashSet::from([Oid::INVALID]);
    let mut open = vec![type_oid];
    while let Some(next) = open.pop() {
        pgrx::check_for_interrupts!();
        if seen.insert(next) {
            open.extend(types_within(next));
        }
    }
}

/// The types that values of a type are made of; locks what describes its fields.
fn types_within(type_oid: Oid) -> Vec<Oid> {
    // SAFETY: looks types up; what is opened is closed here, after its description was read.
    unsafe {
        let base = pg_sys::getBaseType(type_oid);
        match pg_sys::get_typtype(base) as u8 {
            pg_sys::TYPTYPE_COMPOSITE => {
                let relation = pg_sys::try_relation_open(pg_sys::get_typ_typrelid(base), SHARE);
                if relation.is_null() {
                    return vec![];
                }
                let fields = PgTupleDesc::from_pg_unchecked((*relation).rd_att);
                let types = fields.iter().map(|field| field.atttypid).collect();
                pg_sys::relation_close(relation, KEEP_LOCK);
                types
            }
            pg_sys::TYPTYPE_RANGE => vec![pg_sys::get_range_subtype(base)],
            pg_sys::TYPTYPE_MULTIRANGE => vec![pg_sys::get_multirange_range(base)],
            _ => vec![pg_sys::get_element_type(base)],
        }
    }
}

/// Locks a relation, and that of its long values, until the end of the transaction; None if there is
/// none.
pub(crate) fn describe(oid: Oid) -> Option<Described> {
    // SAFETY: what is opened is closed here, and nothing is kept that points into it. Its schema
    // exists, as the relation is locked.
    unsafe {
        let relation = pg_sys::try_relation_open(oid, SHARE);
        if relation.is_null() {
            return None;
        }
        let class = &*(*relation).rd_rel;
        let schema = CStr::from_ptr(pg_sys::get_namespace_name(class.relnamespace));
        let name = CStr::from_ptr(class.relname.data.as_ptr());
        let described = Described {
            kind: class.relkind as u8,
            persistence: class.relpersistence as u8,
            row_security: class.relrowsecurity,
            owner: class.relowner,
            access_method: class.relam,
            schema: schema.to_string_lossy().into_owned(),
            name: name.to_string_lossy().into_owned(),
        };
        let of_long_values = class.reltoastrelid;
        pg_sys::relation_close(relation, KEEP_LOCK);
        lock_with_indexes(of_long_values);
        Some(described)
    }
}

unsafe extern "C-unwind" {
    /// A table and its partitions and children at any depth, as they are now, locked
    /// (catalog/pg_inherits.h).
    fn find_all_inheritors(
        parent: Oid,
        lock: pg_sys::LOCKMODE,
        parents: *mut *mut pg_sys::List,
    ) -> *mut pg_sys::List;
}

/// A table and its partitions and children at any depth, locked until the end of the transaction.
pub(crate) fn parts(oid: Oid) -> Vec<Oid> {
    // SAFETY: a null pointer asks for no numbers of parents, and the list is one of numbers.
    unsafe {
        let list = pg_sys::ffi::pg_guard_ffi_boundary(|| {
            find_all_inheritors(oid, SHARE, std::ptr::null_mut())
        });
        (0..pg_sys::list_length(list)).map(|n| pg_sys::list_nth_oid(list, n)).collect()
    }
}

/// A relation of that name in schema pg_catalog.
pub(super) fn in_pg_catalog(name: &CStr) -> Option<Oid> {
    in_schema(pg_sys::PG_CATALOG_NAMESPACE.into(), name)
}

/// A relation of that name in schema dp.
pub(crate) fn in_schema_dp(name: &CStr) -> Option<Oid> {
    // SAFETY: the name ends with a zero, and is looked up; of no schema there is no relation.
    in_schema(unsafe { pg_sys::get_namespace_oid(c"dp".as_ptr(), true) }, name)
}

fn in_schema(schema: Oid, name: &CStr) -> Option<Oid> {
    // SAFETY: the name ends with a zero, and is looked up.
    let oid = unsafe { pg_sys::get_relname_relid(name.as_ptr(), schema) };
    (oid != Oid::INVALID).then_some(oid)
}

/// Whether some row of a table has that value in its first column, now. Reads by itself, without a
/// plan. `index`: one on that column, if there is any.
///
/// # Safety
/// The column is of a type that `equality`, a function of two arguments of that type, compares with
/// such values.
pub(super) unsafe fn has_row(
    table: Oid,
    index: Option<Oid>,
    equality: u32,
    value: pg_sys::Datum,
) -> bool {
    let (indexed, index) = (index.is_some(), index.unwrap_or(Oid::INVALID));
    let latest = std::ptr::null_mut();
    let equal = pg_sys::BTEqualStrategyNumber as pg_sys::StrategyNumber;
    let mut key = pg_sys::ScanKeyData::default();
    // SAFETY: what is opened is closed; the key lives for as long as the scan; the caller answers
    // for the types.
    unsafe {
        let relation = pg_sys::relation_open(table, SHARE);
        pg_sys::ScanKeyInit(&mut key, 1, equal, equality.into(), value);
        let scan = pg_sys::systable_beginscan(relation, index, indexed, latest, 1, &mut key);
        let found = !pg_sys::systable_getnext(scan).is_null();
        pg_sys::systable_endscan(scan);
        pg_sys::relation_close(relation, SHARE);
        found
    }
}
