//! The parameters of a request's address: decoded, each given once, and none that its
//! row of the route table does not name.

use std::fmt::Display;

use jiff::Timestamp;
use verifactu_core::{
    api::{Detail, Paging},
    ledger::{Filter, Listing, Page, Start, Submission},
    types::{Date, JobId},
};

use super::{
    Service,
    auth::Account,
    call::Call,
    error::{Fault, Success},
    operation::Parameter,
    reply::Reply,
};

/// Rows of a page, if the request does not say.
const DEFAULT_LIMIT: u32 = 20;
/// Most rows of a page.
pub(super) const MAX_LIMIT: u32 = 200;
/// Most rows that are skipped; who wants more follows the cursor.
pub(super) const MAX_OFFSET: u32 = 10_000;

/// Most parameters of an address; no route has as many.
const MAX_PARAMETERS: usize = 32;

/// Parameters that are read one by one; what is wrong with them is collected.
pub(super) struct Parameters {
    left: Vec<(String, String)>,
    /// The names of those that were given.
    given: Vec<String>,
    details: Vec<Detail>,
}

impl Parameters {
    pub(super) fn of(call: &Call) -> Self {
        let mut parameters = Self { left: Vec::new(), given: Vec::new(), details: Vec::new() };
        let pairs = call.query.split('&').filter(|pair| !pair.is_empty());
        if pairs.clone().nth(MAX_PARAMETERS).is_some() {
            parameters.problem("", &format!("the address has more than {MAX_PARAMETERS} parameters"));
            return parameters;
        }
        for pair in pairs {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (decoded(key), decoded(value)) {
                (Some(key), Some(_)) if parameters.left.iter().any(|(known, _)| *known == key) => {
                    parameters.problem(&key, "is given twice");
                }
                (Some(key), Some(value)) => parameters.left.push((key, value)),
                _ => parameters.problem(key, "is not well encoded"),
            }
        }
        parameters.given = parameters.left.iter().map(|(key, _)| key.clone()).collect();
        parameters
    }

    /// Whether a parameter is given.
    pub(super) fn given(&self, key: &str) -> bool {
        self.given.iter().any(|given| given == key)
    }

    /// Notes that a parameter is missing, if it is.
    pub(super) fn require(&mut self, key: &str) {
        if !self.given(key) {
            self.problem(key, "is required");
        }
    }

    /// Notes that one of two parameters is missing, if only the other is given.
    pub(super) fn both(&mut self, one: &str, other: &str) {
        for (given, missing) in [(one, other), (other, one)] {
            if self.given(given) && !self.given(missing) {
                self.problem(missing, &format!("is required with {given}"));
            }
        }
    }

    /// A parameter, if it is given.
    pub(super) fn read<T, E: std::fmt::Display>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, E>,
    ) -> Option<T> {
        let at = self.left.iter().position(|(known, _)| known == key)?;
        let (_, value) = self.left.swap_remove(at);
        parse(&value).map_err(|error| self.problem(key, &error.to_string())).ok()
    }

    /// One of several words, each with its meaning.
    pub(super) fn word<T: Copy>(&mut self, key: &str, words: &[(&str, T)]) -> Option<T> {
        self.read(key, |text| {
            words.iter().find(|(word, _)| *word == text).map(|(_, meaning)| *meaning).ok_or_else(|| {
                let known: Vec<_> = words.iter().map(|(word, _)| *word).collect();
                format!("must be one of {}", known.join(", "))
            })
        })
    }

    /// A whole number within its bounds.
    pub(super) fn number(&mut self, key: &str, bounds: std::ops::RangeInclusive<u32>) -> Option<u32> {
        self.read(key, |text| {
            text.parse()
                .ok()
                .filter(|number| bounds.contains(number))
                .ok_or_else(|| format!("must be a whole number from {} to {}", bounds.start(), bounds.end()))
        })
    }

    /// The beginning of a time.
    pub(super) fn since(&mut self) -> Option<Timestamp> {
        self.time("from")
    }

    /// A time; a day stands for its beginning in Madrid.
    pub(super) fn time(&mut self, key: &str) -> Option<Timestamp> {
        self.read(key, |text| instant(text, Date::start))
    }

    /// The end of a time, exclusive; a day stands for its own end, so that it belongs to it.
    pub(super) fn before(&mut self) -> Option<Timestamp> {
        self.read("to", |text| instant(text, Date::end))
    }

    /// The most rows of a page.
    fn limit(&mut self) -> u32 {
        self.number("limit", 1..=MAX_LIMIT).unwrap_or(DEFAULT_LIMIT)
    }

    /// Which page of a list is wanted, whose rows have such keys.
    pub(super) fn page<K, E>(&mut self, key: impl FnOnce(&str) -> Result<K, E>) -> Page<K> {
        let limit = self.limit();
        let cursor = self.read("cursor", |text| key(text).map_err(|_| "is no cursor of this list"));
        let offset = self.number("offset", 0..=MAX_OFFSET);
        if cursor.is_some() && offset.is_some() {
            self.problem("offset", "excludes cursor");
        }
        Page { start: cursor.map_or(Start::Skip(offset.unwrap_or(0)), Start::After), limit }
    }

    /// Notes that something is wrong.
    pub(super) fn problem(&mut self, key: &str, message: &str) {
        self.details.push(Detail { field: key.to_owned(), code: None, message: message.to_owned() });
    }

    /// All that is wrong.
    pub(super) fn finish(self) -> Result<(), Fault> {
        if self.details.is_empty() { Ok(()) } else { Err(Fault::Fields(self.details)) }
    }
}

/// That a request has no parameters but those of its route, each once and not empty.
pub(super) fn check(call: &Call, known: &[Parameter]) -> Result<(), Fault> {
    let mut parameters = Parameters::of(call);
    for (key, value) in std::mem::take(&mut parameters.left) {
        if known.iter().all(|known| known.name != key) {
            parameters.problem(&key, "is no parameter of this route");
        } else if value.is_empty() {
            parameters.problem(&key, "is empty; leave it out");
        }
    }
    parameters.finish()
}

/// One page of what the account has, by the query's filter and paging.
pub(super) async fn page(
    service: &Service,
    account: &Account,
    filter: Filter,
    mut parameters: Parameters,
) -> Result<(Vec<Submission>, Paging), Fault> {
    let page = parameters.page(JobId::parse);
    parameters.finish()?;
    let listing = service.engine.ledger().list(&account.tenant.id, &filter, page).await?;
    let listing = listing.ok_or_else(|| Fault::field("cursor", "is no cursor of this list"))?;
    let paging = paging(&listing, |last| last.job.id.0);
    Ok((listing.items, paging))
}

/// The answer with a page, and with a link to the next one.
pub(super) fn answer<C: Display>(
    call: &Call,
    body: impl serde::Serialize,
    paging: &Paging<C>,
) -> Result<Reply, Fault> {
    Ok(linked(Reply::json(Success::Ok, call.request, body)?, call, paging))
}

/// What a page says of its list, whose rows have such keys.
pub(super) fn paging<T, C>(listing: &Listing<T>, key: impl FnOnce(&T) -> C) -> Paging<C> {
    let last = listing.items.last().filter(|_| listing.more);
    Paging { total: listing.total, next_cursor: last.map(key) }
}

/// The answer with a link to the next page (RFC 8288), if there is one.
fn linked<C: Display>(reply: Reply, call: &Call, paging: &Paging<C>) -> Reply {
    let Some(cursor) = &paging.next_cursor else { return reply };
    let kept = call.query.split('&').filter(|pair| {
        let key = pair.split('=').next().unwrap_or_default();
        !pair.is_empty() && key != "cursor" && key != "offset"
    });
    let query: Vec<&str> = kept.collect();
    let query = query.join("&");
    let separator = if query.is_empty() { "" } else { "&" };
    reply.linking(&format!("<{}?{query}{separator}cursor={cursor}>; rel=\"next\"", call.path))
}

fn instant(text: &str, of_day: fn(Date) -> Option<Timestamp>) -> Result<Timestamp, &'static str> {
    const EXPECTED: &str = "must be a day such as 2026-01-31, or a time such as 2026-01-31T09:00:00Z";
    match Date::parse(text) {
        Ok(day) => of_day(day).ok_or(EXPECTED),
        Err(_) => text.parse().map_err(|_| EXPECTED),
    }
}

/// `%41` and `+` as what they stand for (`application/x-www-form-urlencoded`); `None` for bytes that
/// are no text.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut plain = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        plain.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            other => other,
        });
    }
    String::from_utf8(plain).ok()
}
