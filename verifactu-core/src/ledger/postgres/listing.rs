//! Lists. Each filter has an index in the order of the list. What a number or a series narrows down is
//! found first, behind a fence that the planner does not look through: it would rather walk the whole list
//! in its order, in the hope of meeting one soon.

use tokio_postgres::types::{ToSql, Type};

use crate::{
    job::{JobKind, JobState, Standing},
    ledger::{
        Filter, Listing, Page, Search, Start, Submission,
        table::{self, item_columns},
    },
    types::TenantId,
};

use super::{
    column::{Cells, Col, Json},
    error::StoreError,
    pool::{Pool, Session},
    row,
};

/// A `SELECT` in the making, with its parameters in order.
struct Query<'a> {
    source: String,
    conditions: String,
    parameters: Vec<(Box<dyn ToSql + Send + Sync + 'a>, Type)>,
}

pub(super) async fn list(
    pool: &Pool,
    tenant: &TenantId,
    filter: &Filter,
    page: Page,
) -> Result<Option<Listing>, StoreError> {
    const MARK: &str = "SELECT created_at, seq FROM job WHERE id = $1 AND tenant = $2";
    let mut session = pool.session().await?;
    let mut query = Query::of(tenant, filter);
    let total = query.counted(&session).await?;
    let skipped = match page.start {
        Start::Skip(rows) => rows,
        Start::After(job) => {
            let [mark] = session.prepare([MARK]).await?;
            let mark = session.trip(session.query(&mark, &[&Col(&job), &Col(tenant)])).await?;
            let mark = row::first(&mark, |cells| Ok((cells.next::<i64>()?, cells.next::<i64>()?)))?;
            let Some((at, seq)) = mark else {
                session.release();
                return Ok(None);
            };
            query.narrow(
                "(j.created_at, j.seq) < ({}, {})",
                [(Box::new(at), Type::INT8), (Box::new(seq), Type::INT8)],
            );
            0
        }
    };
    let items = query.items(&session, one_above(page.limit), skipped).await?;
    session.release();
    Ok(Some(Listing::of(items, page.limit, total)))
}

/// Counts rows as far as lists are counted, which is the first parameter.
macro_rules! counted {
    ($($from:tt)+) => {
        concat!("SELECT count(*) FROM (SELECT 1 ", $($from)+, " LIMIT $1) counted")
    };
}
pub(super) use counted;

/// One above what a list is counted to.
pub(super) const MOST_COUNTED: i64 = Listing::COUNTED as i64 + 1;

/// So many rows and one more, which tells that more follow.
pub(super) fn one_above(limit: u32) -> u64 {
    u64::from(limit) + 1
}

/// Jobs of all accounts. A job that did not succeed has the index of the unusual, and so has one whose
/// failure is asked for: success leaves none.
pub(super) async fn search(pool: &Pool, search: &Search, page: Page) -> Result<Listing, StoreError> {
    let Search { tenant, request, state, class, code, until } = search;
    let class = class.map(Json);
    let limit = page.limit;
    let (after, skipped) = page.begin();
    let mut query =
        Query { source: "FROM job j".to_owned(), conditions: String::new(), parameters: Vec::new() };
    query.narrow("j.created_at IS NOT NULL", []);
    if class.is_some() || code.is_some() || state.is_some_and(|state| state != JobState::Succeeded) {
        query.narrow("j.state <> 'succeeded'", []);
    }
    if let Some(request) = request {
        query.narrow("j.request = {}", [(Box::new(Col(request)), Type::UUID)]);
    }
    if let Some(tenant) = tenant {
        query.narrow("j.tenant = {}", [text(tenant)]);
    }
    if let Some(state) = state {
        query.narrow("j.state = {}", [text(state)]);
    }
    if let Some(class) = &class {
        query.narrow("j.failure_class = {}", [text(class)]);
    }
    if let Some(code) = code {
        query.narrow("j.failure_code = {}", [(Box::new(*code), Type::INT8)]);
    }
    if let Some(until) = until {
        query.narrow("j.created_at < {}", [(Box::new(Col(until)), Type::INT8)]);
    }
    let session = pool.session().await?;
    let total = query.counted(&session).await?;
    if let Some(after) = &after {
        query.narrow(
            "(j.created_at, j.seq) < (SELECT created_at, seq FROM job WHERE id = {})",
            [(Box::new(Col(after)), Type::UUID)],
        );
    }
    let items = query.items(&session, one_above(limit), skipped).await?;
    session.release();
    Ok(Listing::of(items, limit, total))
}

fn text<'a, T: crate::ledger::column::Column + Sync>(
    value: &'a T,
) -> (Box<dyn ToSql + Send + Sync + 'a>, Type) {
    (Box::new(Col(value)), Type::TEXT)
}

impl<'a> Query<'a> {
    fn of(tenant: &'a TenantId, filter: &'a Filter) -> Self {
        let Filter { kind, state, standing, issuer, number, series, issued, from, until } = filter;
        let mut query = Self { source: String::new(), conditions: String::new(), parameters: Vec::new() };
        if number.is_some() || series.is_some() {
            query.narrow("r.tenant = {}", [text(tenant)]);
            if let Some(number) = number {
                query.narrow("r.number = {}", [text(number)]);
            }
            if let Some(series) = series {
                let end = format!("{}\u{10ffff}", series.as_str());
                query.narrow("r.number >= {} AND r.number < {}", [text(series), (Box::new(end), Type::TEXT)]);
            }
            let conditions = std::mem::take(&mut query.conditions);
            query.source = format!(
                "FROM (SELECT r.seq FROM record r {conditions} OFFSET 0) n JOIN job j ON j.seq = n.seq"
            );
        } else {
            query.source = "FROM job j".to_owned();
        }
        query.narrow("j.tenant = {}", [text(tenant)]);
        // An index of the unusual is only used where the query says that it asks for it.
        if let Some(state) = state {
            query.narrow("j.state = {}", [text(state)]);
            if *state != JobState::Succeeded {
                query.narrow("j.state <> 'succeeded'", []);
            }
        }
        if let Some(standing) = standing {
            query.narrow("j.standing = {}", [text(standing)]);
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
            query.narrow("j.issuer = {}", [text(issuer)]);
        }
        if let Some(days) = issued {
            query.narrow(
                "(SELECT date FROM record WHERE seq = j.seq) BETWEEN {} AND {}",
                [text(days.start()), text(days.end())],
            );
        }
        if let Some(from) = from {
            query.narrow("j.created_at >= {}", [(Box::new(Col(from)), Type::INT8)]);
        }
        if let Some(until) = until {
            query.narrow("j.created_at < {}", [(Box::new(Col(until)), Type::INT8)]);
        }
        query
    }

    /// One condition more, with `{}` where its parameters stand.
    fn narrow<const N: usize>(
        &mut self,
        condition: &str,
        parameters: [(Box<dyn ToSql + Send + Sync + 'a>, Type); N],
    ) {
        self.conditions.push_str(if self.conditions.is_empty() { " WHERE " } else { " AND " });
        let mut parts = condition.split("{}");
        self.conditions.extend(parts.next());
        for (part, parameter) in parts.zip(parameters) {
            self.parameters.push(parameter);
            self.conditions.push_str(&format!("${}{part}", self.parameters.len()));
        }
    }

    fn text(&self) -> String {
        format!("{}{}", self.source, self.conditions)
    }

    async fn counted(&self, session: &Session) -> Result<u32, StoreError> {
        let text = format!("SELECT count(*) FROM (SELECT 1 {} LIMIT {MOST_COUNTED}) counted", self.text());
        Ok(row::first(&self.run(session, &text).await?, Cells::next::<u32>)?.unwrap_or_default())
    }

    /// The rows are chosen first, so that only what is shown is read whole.
    async fn items(
        &self,
        session: &Session,
        limit: u64,
        skipped: u32,
    ) -> Result<Vec<Submission>, StoreError> {
        let text = format!(
            concat!(
                "WITH page AS MATERIALIZED (SELECT j.seq, j.created_at {} \
                 ORDER BY j.created_at DESC, j.seq DESC LIMIT {} OFFSET {}) SELECT ",
                item_columns!(),
                " FROM page p JOIN record r ON r.seq = p.seq JOIN job j ON j.seq = p.seq \
                 JOIN chain c ON c.seq = r.chain LEFT JOIN sent s ON s.record = r.seq \
                 ORDER BY p.created_at DESC, p.seq DESC"
            ),
            self.text(),
            limit,
            skipped
        );
        row::all(&self.run(session, &text).await?, table::read_item)
    }

    /// Planned anew each time, for the values that are asked for.
    async fn run(&self, session: &Session, text: &str) -> Result<Vec<tokio_postgres::Row>, StoreError> {
        let parameters: Vec<(&(dyn ToSql + Sync), Type)> =
            self.parameters.iter().map(|(value, kind)| (&**value as _, kind.clone())).collect();
        session.trip(session.client().query_typed(text, &parameters)).await
    }
}
