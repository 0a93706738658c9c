//! What an account has used, by month.

use rusqlite::{Connection, OptionalExtension, params};

use crate::{
    ledger::{Sums, Turnover, Usage, table},
    types::{Nif, TenantId},
};

use super::{
    column::{Cells, Col},
    error::StoreError,
};

/// Adds a record to its month, inside the transaction that appends it.
pub(super) fn count(
    store: &Connection,
    tenant: &TenantId,
    issuer: Nif,
    month: &str,
    sums: Sums,
) -> Result<(), StoreError> {
    store
        .prepare_cached(
            "INSERT INTO usage (tenant, month, invoices, cancellations) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET invoices = invoices + ?3, cancellations = cancellations + ?4",
        )?
        .execute(params![Col(tenant), month, Col(&sums.invoices), Col(&sums.cancellations)])?;
    let known = store
        .prepare_cached(
            "SELECT invoices, cancellations, base, tax, total FROM turnover \
             WHERE tenant = ?1 AND month = ?2 AND issuer = ?3",
        )?
        .query_row(params![Col(tenant), month, Col(&issuer)], |row| table::read_sums(&mut Cells::of(row)))
        .optional()?;
    // SQLite would turn a sum beyond 64 bits into a float.
    let sums = known.unwrap_or_default().plus(sums);
    store
        .prepare_cached(
            "INSERT OR REPLACE INTO turnover \
             (tenant, month, issuer, invoices, cancellations, base, tax, total) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            Col(tenant),
            month,
            Col(&issuer),
            Col(&sums.invoices),
            Col(&sums.cancellations),
            sums.base.0,
            sums.tax.0,
            sums.total.0
        ])?;
    Ok(())
}

pub(super) fn usage(store: &Connection, tenant: &TenantId, since: &str) -> Result<Vec<Usage>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT month, invoices, cancellations FROM usage WHERE tenant = ?1 AND month >= ?2 \
         ORDER BY month DESC",
    )?;
    let rows = query.query_map(params![Col(tenant), since], |row| {
        let mut cells = Cells::of(row);
        Ok(Usage { month: cells.next()?, invoices: cells.next()?, cancellations: cells.next()? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn turnover(
    store: &Connection,
    tenant: &TenantId,
    since: &str,
) -> Result<Vec<Turnover>, StoreError> {
    let mut query = store.prepare_cached(
        "SELECT month, issuer, invoices, cancellations, base, tax, total FROM turnover \
         WHERE tenant = ?1 AND month >= ?2 ORDER BY month DESC, issuer",
    )?;
    let rows = query.query_map(params![Col(tenant), since], |row| {
        let mut cells = Cells::of(row);
        Ok(Turnover { month: cells.next()?, issuer: cells.next()?, sums: table::read_sums(&mut cells)? })
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}
