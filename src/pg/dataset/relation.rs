//! The tables of a dataset, as PostgreSQL's catalog describes them.

use super::layout::Layout;
use crate::pg::errors::{Result, error, invalid};
use crate::pg::server::locality::refuse_elsewhere;
use crate::pg::server::relations::{Described, describe, lock_rows_of, parts};
use crate::pg::server::roles::{has_rights_of, may_use_schema_of, role_name};
use crate::pg::server::select::exists;
use pgrx::pg_sys::Oid;
use pgrx::prelude::*;
use pgrx::spi::{quote_literal, quote_qualified_identifier};
use std::ffi::CString;

/// A relation that was opened, found fit, and locked against changes until the end of the
/// transaction.
pub(crate) struct Relation {
    pub(crate) oid: Oid,
    pub(crate) owner: Oid,
    /// Schema-qualified and quoted.
    pub(crate) name: String,
    /// Itself and its partitions and children at any depth, all of them found fit and locked.
    pub(crate) parts: Vec<TablePart>,
    /// A table, with no partition or child: all of its rows are its own.
    pub(crate) is_plain: bool,
    /// A materialized view.
    pub(crate) is_materialized: bool,
}

pub(crate) struct TablePart {
    pub(crate) oid: Oid,
    owner: Oid,
    name: String,
}

/// A column that is used.
pub(crate) struct UsedColumn {
    /// Which no other column of the relation ever has.
    pub(super) number: i16,
    type_oid: Oid,
    collation: Oid,
}

/// Where the tables of a source may lie.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Place {
    /// On this server, in PostgreSQL's own storage: releases read them.
    Here,
    /// Wherever SQL reaches: their owner counts them, and releases read what was counted.
    Anywhere,
}

impl Place {
    /// Opens a relation of a dataset, and refuses one that could read differently for different
    /// readers; where releases read it, one whose errors could show rows, too; and one with such a
    /// part. Looks at the catalog as it is now, as the planner does, whatever the transaction's
    /// snapshot.
    pub(crate) fn open(self, oid: Oid, argument: &str) -> Result<Relation> {
        let (described, parts) = found(oid, argument)?;
        let of_part = |(_, part): &(Oid, Described)| self.unfit_part(part);
        if let Some(reason) = self.unfit(&described).or_else(|| parts.iter().find_map(of_part)) {
            return Err(error(
                PgSqlErrorCode::ERRCODE_WRONG_OBJECT_TYPE,
                format!("{argument}: {} {reason}", described.name),
            )
            .set_hint(self.what_is_fit(argument, &described, &parts)));
        }
        if self == Place::Here {
            parts.iter().try_for_each(|(oid, part)| refuse_elsewhere(*oid, part, argument))?;
        }
        Ok(Relation::of(oid, described, parts))
    }

    /// Why a relation cannot be a table of a dataset.
    fn unfit(self, relation: &Described) -> Option<&'static str> {
        match (relation.kind, self) {
            (
                pg_sys::RELKIND_RELATION
                | pg_sys::RELKIND_PARTITIONED_TABLE
                | pg_sys::RELKIND_MATVIEW,
                _,
            )
            | (pg_sys::RELKIND_FOREIGN_TABLE | pg_sys::RELKIND_VIEW, Place::Anywhere) => {
                if relation.persistence == pg_sys::RELPERSISTENCE_TEMP {
                    Some("is temporary, so that other sessions cannot read it")
                } else if relation.row_security {
                    Some("has row-level security, so that it reads differently for each role")
                } else {
                    None
                }
            }
            (pg_sys::RELKIND_FOREIGN_TABLE, Place::Here) => {
                Some("is a foreign table, whose errors could show rows")
            }
            _ => Some("is no table"),
        }
    }

    /// Why a relation cannot be a part of one. (Row-level security of a part does not count where
    /// the whole is read.)
    fn unfit_part(self, part: &Described) -> Option<&'static str> {
        match part.kind {
            pg_sys::RELKIND_FOREIGN_TABLE if self == Place::Here => {
                Some("has a foreign table among its parts, whose errors could show rows")
            }
            _ if part.persistence == pg_sys::RELPERSISTENCE_TEMP => {
                Some("has a temporary table among its parts, which other sessions cannot read")
            }
            _ => None,
        }
    }

    fn what_is_fit(
        self,
        argument: &str,
        relation: &Described,
        parts: &[(Oid, Described)],
    ) -> &'static str {
        let elsewhere = [pg_sys::RELKIND_VIEW, pg_sys::RELKIND_FOREIGN_TABLE];
        let kinds = parts.iter().map(|(_, part)| part.kind).chain([relation.kind]);
        match self {
            Place::Here
                if !["leaves", "regions"].contains(&argument)
                    && kinds.into_iter().any(|kind| elsewhere.contains(&kind)) =>
            {
                "Its owner counts it, into a table that releases read: \
                 dp_create_dataset(..., leaves => ...) and dp_count_leaves."
            }
            Place::Here => {
                "Use a plain or partitioned table or a materialized view, without row-level \
                 security."
            }
            Place::Anywhere => "Use a table, foreign table or view without row-level security.",
        }
    }
}

/// A relation with its parts, itself among them.
fn found(oid: Oid, argument: &str) -> Result<(Described, Vec<(Oid, Described)>)> {
    let Some(described) = describe(oid) else {
        return Err(error(
            PgSqlErrorCode::ERRCODE_UNDEFINED_TABLE,
            format!("the {argument} table of the dataset does not exist any more"),
        )
        .set_hint(
            "If a table of that name was restored or created anew, the dataset's owner \
             confirms it with dp_confirm_dataset; else dp_drop_dataset drops the dataset.",
        ));
    };
    // one that is dropped meanwhile is none
    let parts = parts(oid).into_iter().filter_map(|part| Some((part, describe(part)?)));
    Ok((described, parts.collect()))
}

impl Relation {
    fn of(oid: Oid, described: Described, parts: Vec<(Oid, Described)>) -> Relation {
        let parts = parts.into_iter().map(|(oid, part)| TablePart {
            oid,
            owner: part.owner,
            name: part.name,
        });
        let parts: Vec<TablePart> = parts.collect();
        let is_plain = described.kind == pg_sys::RELKIND_RELATION && parts.len() == 1;
        let is_materialized = described.kind == pg_sys::RELKIND_MATVIEW;
        let name = quote_qualified_identifier(described.schema, described.name);
        Relation { oid, owner: described.owner, name, parts, is_plain, is_materialized }
    }

    /// Error: a role without the right to read the whole table. `whose`: which role that is.
    pub(crate) fn check_readable_by(&self, role: Oid, whose: &str) -> Result<()> {
        let mode = pg_sys::ACL_SELECT as pg_sys::AclMode;
        // SAFETY: looks into the catalog.
        let outcome = unsafe { pg_sys::pg_class_aclcheck(self.oid, role, mode) };
        if outcome == pg_sys::AclResult::ACLCHECK_OK {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for table {}", self.name),
        )
        .set_hint(format!(
            "Role {}, {whose}, needs the SELECT privilege on the table.",
            role_name(role)
        )))
    }

    /// Error: the role that reads may not use the table's schema.
    pub(crate) fn check_reached_by(&self, reader: Oid) -> Result<()> {
        if may_use_schema_of(self.oid, reader) {
            return Ok(());
        }
        Err(error(
            PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
            format!("permission denied for the schema of table {}", self.name),
        )
        .set_hint(format!(
            "Role {}, the owner of entities, by whose rights all tables are read, needs USAGE on it.",
            role_name(reader)
        )))
    }

    /// Refuses a part that a role without the reader's rights owns: its constraints and indexes
    /// could call code of that role's, which would run with the reader's.
    pub(crate) fn check_trusted_by(&self, reader: Oid, argument: &str) -> Result<()> {
        let trusted = |part: &&TablePart| has_rights_of(part.owner, reader);
        match self.parts.iter().find(|part| !trusted(part)) {
            None => Ok(()),
            Some(part) => Err(error(
                PgSqlErrorCode::ERRCODE_INSUFFICIENT_PRIVILEGE,
                format!("{argument}: {}, a part of {}, has another owner", part.name, self.name),
            )
            .set_hint("All parts are read with the rights of one role, the owner of entities.")),
        }
    }

    /// Errors: there is no such column; it is computed when it is read, by an expression that
    /// could raise an error.
    pub(crate) fn column(&self, argument: &str, column: &str) -> Result<UsedColumn> {
        let unknown = || {
            error(
                PgSqlErrorCode::ERRCODE_UNDEFINED_COLUMN,
                format!("{argument}: column \"{column}\" of {} does not exist", self.name),
            )
            .set_hint(match argument {
                "hierarchy" => {
                    "They are columns of the table that regions or groups names, where there is one, else of \
                     entities. Column names are taken as they are, upper and lower case included."
                }
                "group_key" => {
                    "A table of groups has a column of the same name: rename one, or add a stored generated one. \
                     Column names are taken as they are, upper and lower case included."
                }
                _ => "Column names are taken as they are, upper and lower case included.",
            })
        };
        let name = CString::new(column).map_err(|_| unknown())?;
        // SAFETY: looks a name that ends with a zero up.
        let number = unsafe { pg_sys::get_attnum(self.oid, name.as_ptr()) };
        if number <= 0 {
            return Err(unknown());
        }
        // SAFETY: looks a column up.
        let generated = unsafe { pg_sys::get_attgenerated(self.oid, number) };
        if generated as u8 == b'v' {
            return Err(invalid(
                format!("{argument}: column \"{column}\" of {} is a virtual one", self.name),
                "Its expression could fail on a row: store the column.",
            ));
        }
        let (mut type_oid, mut modifier, mut collation) = (Oid::INVALID, 0, Oid::INVALID);
        // SAFETY: writes the three values that it is given places for.
        unsafe {
            pg_sys::get_atttypetypmodcoll(
                self.oid,
                number,
                &mut type_oid,
                &mut modifier,
                &mut collation,
            );
        }
        lock_rows_of(type_oid);
        Ok(UsedColumn { number, type_oid, collation })
    }

    /// Whether a unique index makes sure that no two rows share the key, by the equality that the
    /// reading query uses.
    pub(crate) fn has_unique_key(&self, key: &[String]) -> Result<bool> {
        let key: Vec<String> = key.iter().map(quote_literal).collect();
        exists(&format!(
            "SELECT 1 FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid \
              WHERE i.indrelid = {0} AND i.indisunique AND i.indisvalid AND i.indimmediate \
                AND i.indpred IS NULL AND i.indexprs IS NULL \
                AND (c.relkind = 'p' \
                     OR NOT EXISTS (SELECT FROM pg_inherits WHERE inhparent = {0})) \
                AND NOT EXISTS ( \
                    SELECT 1 FROM generate_series(0, i.indnkeyatts - 1) AS n \
                      JOIN pg_attribute AS a ON a.attrelid = {0} AND a.attnum = i.indkey[n] \
                      JOIN pg_opclass AS o ON o.oid = i.indclass[n] \
                     WHERE NOT (a.attname::text = ANY (ARRAY[{1}]::text[]) AND o.opcdefault \
                                AND i.indcollation[n] = a.attcollation)) LIMIT 1",
            self.oid.to_u32(),
            key.join(", ")
        ))
    }
}

impl UsedColumn {
    /// The type that stands for all whose values compare as one.
    pub(crate) fn family(&self) -> Oid {
        match self.type_oid {
            pg_sys::INT2OID | pg_sys::INT4OID => pg_sys::INT8OID,
            pg_sys::VARCHAROID => pg_sys::TEXTOID,
            other => other,
        }
    }

    /// The same of values that are read as they are: of a domain, what it is over. Its constraints are
    /// checked where rows are written, and never where they are read.
    pub(crate) fn value_family(&self) -> Oid {
        // SAFETY: looks a type up.
        let type_oid = unsafe { pg_sys::getBaseType(self.type_oid) };
        UsedColumn { type_oid, ..*self }.family()
    }

    pub(crate) fn layout(&self) -> Layout {
        Layout::of(self.type_oid)
    }

    /// Whether values are equal if and only if their bytes are: what the type's B-tree operator
    /// class promises where indexes may merge equal entries.
    pub(crate) fn equality_is_of_bytes(&self) -> bool {
        const BTEQUALIMAGE_PROC: i16 = 4;
        let flags = pg_sys::TYPECACHE_BTREE_OPFAMILY as i32;
        // SAFETY: the type's entry lives as long as the process.
        unsafe {
            let of_type = pg_sys::lookup_type_cache(self.type_oid, flags);
            let (family, operand) = ((*of_type).btree_opf, (*of_type).btree_opintype);
            if family == Oid::INVALID || operand == pg_sys::BPCHAROID {
                return false; // char(3) and char(5) are padded differently
            }
            let promise = pg_sys::get_opfamily_proc(family, operand, operand, BTEQUALIMAGE_PROC);
            match promise.to_u32() {
                pg_sys::F_BTEQUALIMAGE => true,
                pg_sys::F_BTVARSTREQUALIMAGE => {
                    pg_sys::get_collation_isdeterministic(self.collation)
                }
                _ => false,
            }
        }
    }

    /// Whether two columns' values match by one equality, grouped or joined: then an entity's key
    /// matches one group at most.
    pub(crate) fn matches(&self, other: &UsedColumn) -> bool {
        self.family() == other.family() && self.collation == other.collation
    }

    /// Whether `=` under a search_path of pg_catalog is the equality that GROUP BY uses. It is not
    /// for types such as citext, which bring an operator of their own.
    pub(crate) fn has_one_equality(&self) -> Result<bool> {
        let flags = pg_sys::TYPECACHE_EQ_OPR as i32;
        // SAFETY: the type's entry lives as long as the process.
        let operator = unsafe { (*pg_sys::lookup_type_cache(self.type_oid, flags)).eq_opr };
        exists(&format!(
            "SELECT 1 FROM pg_operator \
              WHERE oid = {} AND oprnamespace = 'pg_catalog'::regnamespace",
            operator.to_u32()
        ))
    }
}
