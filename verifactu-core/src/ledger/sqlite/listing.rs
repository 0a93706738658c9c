//! Lists. Each filter has an index in the order of the list, and the one that narrows down most is
//! chosen here: SQLite keeps no statistics that would tell it.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Params, ToSql, params};

use crate::{
    job::{JobKind, JobState, Standing},
    ledger::{ChainSearch, ChainState, Filter, Listing, Page, Search, Start},
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
    let total = counted(store, &query.text(), &*query.bound())?;
    let skipped = match page.start {
        Start::Skip(rows) => rows,
        Start::After(job) => {
            let Some((at, seq)) = mark(store, tenant, job)? else { return Ok(None) };
            query.narrow("(j.created_at, j.seq) < (?, ?)", [Box::new(at), Box::new(seq)]);
            0
        }
    };
    query.newest_first(store, page.limit, skipped, total).map(Some)
}

/// How many rows a query has, as far as lists are counted.
pub(super) fn counted(store: &Connection, from: &str, values: impl Params) -> Result<u32, StoreError> {
    let text = format!("SELECT count(*) FROM (SELECT 1 {from} LIMIT {})", one_above(Listing::COUNTED));
    Ok(store.prepare_cached(&text)?.query_row(values, |row| row.get(0))?)
}

/// So many rows and one more, which tells that more follow.
pub(super) fn one_above(limit: u32) -> i64 {
    i64::from(limit) + 1
}

/// Jobs of all accounts. A job that did not succeed has the index of the unusual, and so has one whose
/// failure is asked for: success leaves none.
pub(super) fn search(store: &Connection, search: &Search, page: Page) -> Result<Listing, StoreError> {
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
    let total = counted(store, &query.text(), &*query.bound())?;
    let limit = page.limit;
    let (after, skipped) = page.begin();
    if let Some(after) = after {
        query.narrow(
            "(j.created_at, j.seq) < (SELECT created_at, seq FROM job WHERE id = ?)",
            [Box::new(after.0.into_bytes())],
        );
    }
    query.newest_first(store, limit, skipped, total)
}

/// Chains of all accounts, each with the age of what waits on it.
pub(super) fn search_chains(
    store: &Connection,
    search: &ChainSearch,
    page: Page<ChainId>,
) -> Result<Listing<(ChainState, Option<Timestamp>)>, StoreError> {
    macro_rules! wanted {
        () => {
            "(?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR issuer = ?2) AND (NOT ?3 OR hold IS NOT NULL)"
        };
    }
    let ChainSearch { tenant, issuer, held } = search;
    let total =
        counted(store, concat!("FROM chain WHERE ", wanted!()), params![Col(tenant), Col(issuer), held])?;
    let limit = page.limit;
    let (after, skipped) = page.begin();
    // The blob of no bytes comes before every identifier.
    let mut chains = store.prepare_cached(concat!(
        chain_query!(""),
        wanted!(),
        " AND id > ifnull(?4, x'') ORDER BY id LIMIT ?5 OFFSET ?6"
    ))?;
    let mut oldest =
        store.prepare_cached("SELECT min(created_at) FROM job WHERE chain = ?1 AND turn IS NOT NULL")?;
    let values = params![Col(tenant), Col(issuer), held, Col(&after), one_above(limit), skipped];
    let found = chains
        .query_map(values, row::read_chain)?
        .map(|chain| {
            let chain = chain?;
            let age = match chain.state.pending {
                0 => None,
                _ => oldest.query_row([chain.seq], |row| Cells::of(row).next())?,
            };
            Ok((chain.state, age))
        })
        .collect::<Result<Vec<_>, StoreError>>()?;
    Ok(Listing::of(found, limit, total))
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
        if number.is_some() || series.is_some() {
            query.narrow("r.tenant = ?", [Box::new(Col(tenant))]);
        }
        if let Some(number) = number {
            query.narrow("r.number = ?", [Box::new(Col(number))]);
        }
        if let Some(series) = series {
            let end = format!("{}\u{10ffff}", series.as_str());
            query.narrow("r.number >= ? AND r.number < ?", [Box::new(Col(series)), Box::new(end)]);
        }
        if let Some(days) = issued {
            let record = "(SELECT date FROM record WHERE seq = j.seq)";
            let (first, last) = (Box::new(Col(days.start())), Box::new(Col(days.end())));
            query.narrow(&format!("{record} BETWEEN ? AND ?"), [first, last]);
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

    /// A page of what is asked for.
    fn newest_first(
        &self,
        store: &Connection,
        limit: u32,
        skipped: u32,
        total: u32,
    ) -> Result<Listing, StoreError> {
        let text = format!(
            "SELECT j.seq {} ORDER BY j.created_at DESC, j.seq DESC LIMIT {} OFFSET {skipped}",
            self.text(),
            one_above(limit)
        );
        let mut statement = store.prepare(&text)?;
        let seqs = statement.query_map(&*self.bound(), |row| row.get(0))?;
        let Listing { items: seqs, more, total } =
            Listing::<i64>::of(seqs.collect::<Result<_, _>>()?, limit, total);
        Ok(Listing { items: row::items(store, &seqs)?, more, total })
    }

    fn text(&self) -> String {
        format!("{}{}", self.source, self.conditions)
    }

    fn bound(&self) -> Vec<&dyn ToSql> {
        self.parameters.iter().map(|parameter| &**parameter).collect()
    }
}

fn source(filter: &Filter) -> &'static str {
    let Filter { kind, state, standing, issuer, number, series, .. } = filter;
    if number.is_some() || series.is_some() {
        "FROM record r INDEXED BY record_number CROSS JOIN job j ON j.seq = r.seq"
    } else if state.is_some_and(|state| state != JobState::Succeeded) {
        "FROM job j INDEXED BY job_by_state"
    } else if standing.is_some_and(|standing| standing != Standing::Accepted) {
        "FROM job j INDEXED BY job_by_standing"
    } else if *kind == Some(JobKind::Cancel) {
        "FROM job j INDEXED BY job_cancels"
    } else if issuer.is_some() {
        "FROM job j INDEXED BY job_by_issuer"
    } else {
        "FROM job j INDEXED BY job_listed"
    }
}
