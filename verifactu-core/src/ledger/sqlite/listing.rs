//! Lists. Each filter has an index in the order of the list, and the one that narrows down most is
//! chosen here: SQLite keeps no statistics that would tell it.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, ToSql, params};

use crate::{
    job::{JobKind, JobState, Standing},
    ledger::{ChainSearch, ChainState, Filter, Listing, Page, Search, Start, Submission},
    types::{ChainId, JobId, TenantId},
};

use super::{
    column::{Cells, Col},
    error::StoreError,
    row::{self, chain_query},
};

/// A `SELECT` in the making, with its parameters in order.
struct Query<'a> {
    source: &'static str,
    conditions: String,
    parameters: Vec<Box<dyn ToSql + 'a>>,
}

pub(super) fn list(
    store: &Connection,
    tenant: &TenantId,
    filter: &Filter,
    page: Page,
) -> Result<Option<Listing>, StoreError> {
    let mut query = Query::of(tenant, filter);
    let total: u32 = {
        let counted = format!(
            "SELECT count(*) FROM (SELECT 1 {} LIMIT {})",
            query.text(),
            u64::from(Listing::COUNTED) + 1
        );
        store.prepare_cached(&counted)?.query_row(&*query.bound(), |row| row.get(0))?
    };
    let skipped = match page.start {
        Start::Skip(rows) => rows,
        Start::After(job) => {
            let Some((at, seq)) = mark(store, tenant, job)? else { return Ok(None) };
            query.narrow("(j.created_at, j.seq) < (?, ?)", [Box::new(at), Box::new(seq)]);
            0
        }
    };
    let text = format!(
        "SELECT j.seq {} ORDER BY j.created_at DESC, j.seq DESC LIMIT {} OFFSET {skipped}",
        query.text(),
        u64::from(page.limit) + 1
    );
    let mut statement = store.prepare(&text)?;
    let mut seqs: Vec<i64> =
        statement.query_map(&*query.bound(), |row| row.get(0))?.collect::<Result<_, _>>()?;
    let more = seqs.len() > page.limit as usize;
    seqs.truncate(page.limit as usize);
    Ok(Some(Listing {
        items: row::items(store, &seqs)?,
        more,
        total: Some(total).filter(|total| *total <= Listing::COUNTED),
    }))
}

/// Jobs of all accounts. A job that did not succeed has the index of the unusual, and so has one whose
/// failure is asked for: success leaves none.
pub(super) fn search(
    store: &Connection,
    search: &Search,
    after: Option<JobId>,
    limit: u32,
) -> Result<Vec<Submission>, StoreError> {
    let Search { tenant, request, state, class, code, until } = search;
    let unusual =
        class.is_some() || code.is_some() || state.is_some_and(|state| state != JobState::Succeeded);
    let source = match (request, tenant) {
        (Some(_), _) => "FROM job j INDEXED BY job_request",
        _ if unusual => "FROM job j INDEXED BY job_unsettled",
        (_, Some(_)) => "FROM job j INDEXED BY job_listed",
        _ => "FROM job j INDEXED BY job_age",
    };
    let mut query = Query { source, conditions: String::new(), parameters: Vec::new() };
    query.narrow("j.created_at IS NOT NULL", []);
    if unusual {
        query.narrow("j.state <> 'succeeded'", []);
    }
    if let Some(request) = request {
        query.narrow("j.request = ?", [Box::new(Col(request))]);
    }
    if let Some(tenant) = tenant {
        query.narrow("j.tenant = ?", [Box::new(Col(tenant))]);
    }
    if let Some(state) = state {
        query.narrow("j.state = ?", [Box::new(Col(state))]);
    }
    if let Some(class) = class {
        query.narrow(
            "json_extract(j.failure, '$.class') = json_extract(?, '$')",
            [Box::new(
                serde_json::to_string(class)
                    .map_err(|_| StoreError::Contradiction("a class without a name"))?,
            )],
        );
    }
    if let Some(code) = code {
        query.narrow("json_extract(j.failure, '$.code') = ?", [Box::new(*code)]);
    }
    if let Some(until) = until {
        query.narrow("j.created_at < ?", [Box::new(Col(until))]);
    }
    if let Some(after) = after {
        query.narrow(
            "(j.created_at, j.seq) < (SELECT created_at, seq FROM job WHERE id = ?)",
            [Box::new(after.0.into_bytes())],
        );
    }
    let text = format!("SELECT j.seq {} ORDER BY j.created_at DESC, j.seq DESC LIMIT {limit}", query.text());
    let mut statement = store.prepare(&text)?;
    let seqs: Vec<i64> = statement.query_map(&*query.bound(), |row| row.get(0))?.collect::<Result<_, _>>()?;
    row::items(store, &seqs)
}

/// Chains of all accounts, each with the age of what waits on it.
pub(super) fn search_chains(
    store: &Connection,
    search: &ChainSearch,
    after: Option<ChainId>,
    limit: u32,
) -> Result<Vec<(ChainState, Option<Timestamp>)>, StoreError> {
    let ChainSearch { tenant, issuer, held } = search;
    // The blob of no bytes comes before every identifier.
    let mut chains = store.prepare_cached(chain_query!(
        "id > ifnull(?1, x'') AND (?2 IS NULL OR tenant = ?2) AND (?3 IS NULL OR issuer = ?3) \
         AND (NOT ?4 OR hold IS NOT NULL) ORDER BY id LIMIT ?5"
    ))?;
    let mut oldest =
        store.prepare_cached("SELECT min(created_at) FROM job WHERE chain = ?1 AND turn IS NOT NULL")?;
    let found =
        chains.query_map(params![Col(&after), Col(tenant), Col(issuer), held, limit], row::read_chain)?;
    found
        .map(|chain| {
            let chain = chain?;
            let age = match chain.state.pending {
                0 => None,
                _ => oldest.query_row([chain.seq], |row| Cells::of(row).next())?,
            };
            Ok((chain.state, age))
        })
        .collect()
}

/// Where a job stands in the lists of its account.
fn mark(store: &Connection, tenant: &TenantId, job: JobId) -> Result<Option<(i64, i64)>, StoreError> {
    let mut query = store.prepare_cached("SELECT created_at, seq FROM job WHERE id = ?1 AND tenant = ?2")?;
    let found = query.query_row(params![Col(&job), Col(tenant)], |row| {
        let mut cells = Cells::of(row);
        Ok((cells.next()?, cells.next()?))
    });
    Ok(found.optional()?)
}

impl<'a> Query<'a> {
    fn of(tenant: &'a TenantId, filter: &'a Filter) -> Self {
        let Filter { kind, state, standing, issuer, number, series, issued, from, until } = filter;
        let mut query = Self { source: source(filter), conditions: String::new(), parameters: Vec::new() };
        query.narrow("j.tenant = ?", [Box::new(Col(tenant))]);
        if let Some(number) = number {
            query.narrow("r.tenant = ? AND r.number = ?", [Box::new(Col(tenant)), Box::new(Col(number))]);
        }
        if let Some(series) = series {
            let end = format!("{}\u{10ffff}", series.as_str());
            query.narrow("j.number >= ? AND j.number < ?", [Box::new(Col(series)), Box::new(end)]);
        }
        if let Some(days) = issued {
            let (first, last) = (Box::new(Col(days.start())), Box::new(Col(days.end())));
            query.narrow("j.date BETWEEN ? AND ?", [first, last]);
        }
        // An index of the unusual is only used where the query says that it asks for it.
        if let Some(state) = state {
            query.narrow("j.state = ?", [Box::new(Col(state))]);
            if *state != JobState::Succeeded {
                query.narrow("j.state <> 'succeeded'", []);
            }
        }
        if let Some(standing) = standing {
            query.narrow("j.standing = ?", [Box::new(Col(standing))]);
            if *standing != Standing::Accepted {
                query.narrow("j.standing <> 'accepted'", []);
            }
        }
        match kind {
            Some(JobKind::Cancel) => query.narrow("j.kind = 'cancel'", []),
            Some(JobKind::Send) => query.narrow("j.kind = 'send'", []),
            None => {}
        }
        if let Some(issuer) = issuer {
            query.narrow("j.issuer = ?", [Box::new(Col(issuer))]);
        }
        if let Some(from) = from {
            query.narrow("j.created_at >= ?", [Box::new(Col(from))]);
        }
        if let Some(until) = until {
            query.narrow("j.created_at < ?", [Box::new(Col(until))]);
        }
        query
    }

    fn narrow<const N: usize>(&mut self, condition: &str, parameters: [Box<dyn ToSql + 'a>; N]) {
        self.conditions.push_str(if self.conditions.is_empty() { " WHERE " } else { " AND " });
        self.conditions.push_str(condition);
        self.parameters.extend(parameters);
    }

    fn text(&self) -> String {
        format!("{}{}", self.source, self.conditions)
    }

    fn bound(&self) -> Vec<&dyn ToSql> {
        self.parameters.iter().map(|parameter| &**parameter).collect()
    }
}

fn source(filter: &Filter) -> &'static str {
    let Filter { kind, state, standing, issuer, number, series, issued, .. } = filter;
    if number.is_some() {
        "FROM record r INDEXED BY record_number CROSS JOIN job j ON j.seq = r.seq"
    } else if state.is_some_and(|state| state != JobState::Succeeded) {
        "FROM job j INDEXED BY job_by_state"
    } else if standing.is_some_and(|standing| standing != Standing::Accepted) {
        "FROM job j INDEXED BY job_by_standing"
    } else if *kind == Some(JobKind::Cancel) {
        "FROM job j INDEXED BY job_cancels"
    } else if issuer.is_some() && series.is_none() && issued.is_none() {
        "FROM job j INDEXED BY job_by_issuer"
    } else {
        "FROM job j INDEXED BY job_listed"
    }
}
