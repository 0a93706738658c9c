//! Who shows wrong keys, and how often.
//!
//! Guesses are counted by where they come from, in this process alone. The key of an account is long and
//! random: whoever proves one is let in also from an address that has used up its guesses, so that one
//! program behind a shared address does not lock the others out. The operator's key may be a word, so it is
//! not even compared then.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use http::{HeaderMap, HeaderName, header::FORWARDED};
use ipnet::IpNet;
use jiff::Timestamp;
use verifactu_core::queue::{Buckets, Rate};

use crate::config::Rates;

use super::rates::Standing;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
/// Most origins that are remembered.
const MOST_ORIGINS: usize = 50_000;
/// How many refusals of callers without the operator's key the audit log takes: some twenty, and then one
/// a minute. They can be had for nothing, and the log is kept for good.
const NOTED: Rate = Rate::per_minute(1).with_burst(20);

/// Counts wrong keys.
pub(crate) struct Strangers {
    rate: Option<Rate>,
    proxies: Vec<IpNet>,
    wrong: Buckets<Origin>,
    noted: Buckets<()>,
    unnoted: AtomicU64,
}

/// Where guesses come from: an IPv4 address, or the network of 64 bits that an IPv6 caller has to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin(IpAddr);

impl Strangers {
    pub(crate) fn new(rates: &Rates, proxies: Vec<IpNet>) -> Self {
        Self {
            rate: rates.enforced.then_some(rates.wrong_keys),
            proxies,
            wrong: Buckets::holding(MOST_ORIGINS),
            noted: Buckets::holding(1),
            unnoted: AtomicU64::new(0),
        }
    }

    /// Where a request comes from: its peer, or, as far as that is a proxy of ours, the last address before
    /// our proxies. What stands before that one is the caller's own word.
    pub(crate) fn origin(&self, peer: IpAddr, headers: &HeaderMap) -> Origin {
        let ours = |address: IpAddr| self.proxies.iter().any(|proxy| proxy.contains(&address));
        let mut last = peer.to_canonical();
        for hop in hops(headers).into_iter().rev() {
            let Some(hop) = hop.filter(|_| ours(last)) else { break };
            last = hop.to_canonical();
        }
        Origin::of(last)
    }

    /// Counts a wrong key; how long to wait, if there were too many.
    pub(crate) fn wrong(&self, origin: Origin, now: Timestamp) -> Option<Duration> {
        let charge = self.wrong.charge(origin, self.rate?, now);
        (!charge.admitted).then_some(charge.next_in)
    }

    /// How long an origin has to wait until its next guess.
    pub(crate) fn locked(&self, origin: Origin, now: Timestamp) -> Option<Duration> {
        self.standing(origin, now)?.refused()
    }

    /// How many guesses an origin has left.
    pub(crate) fn standing(&self, origin: Origin, now: Timestamp) -> Option<Standing> {
        let rate = self.rate?;
        Some(Standing { policy: "wrong-keys", rate, charge: self.wrong.look(&origin, rate, now) })
    }

    /// Whether the audit log takes one more refusal, and then how many it did not take before.
    pub(crate) fn noted(&self, now: Timestamp) -> Option<u64> {
        if self.noted.charge((), NOTED, now).admitted {
            return Some(self.unnoted.swap(0, Ordering::Relaxed));
        }
        self.unnoted.fetch_add(1, Ordering::Relaxed);
        None
    }
}

impl Origin {
    fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => address.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & (u128::MAX << 64)).into(),
        })
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IpAddr::V4(address) => address.fmt(f),
            IpAddr::V6(network) => write!(f, "{network}/64"),
        }
    }
}

/// The addresses that proxies have named, the nearest last; nothing for one that cannot be read. Proxies
/// mostly write `X-Forwarded-For`; only where that is absent is `Forwarded` read (RFC 7239).
fn hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let listed = |name: &HeaderName| {
        let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
        values.flat_map(|value| value.split(',')).map(str::trim).map(str::to_owned).collect::<Vec<_>>()
    };
    if headers.contains_key(X_FORWARDED_FOR) {
        return listed(&X_FORWARDED_FOR).iter().map(|hop| address(hop)).collect();
    }
    let named = |hop: &String| {
        let pairs = hop.split(';').filter_map(|pair| pair.split_once('='));
        let mut wanted = pairs.filter(|(name, _)| name.trim().eq_ignore_ascii_case("for"));
        address(wanted.next()?.1.trim().trim_matches('"'))
    };
    listed(&FORWARDED).iter().map(named).collect()
}

/// `192.0.2.1`, `2001:db8::1`, and both with a port: `192.0.2.1:80`, `[2001:db8::1]:80`.
fn address(text: &str) -> Option<IpAddr> {
    if let Some(rest) = text.strip_prefix('[') {
        return rest.split(']').next()?.parse::<Ipv6Addr>().ok().map(IpAddr::V6);
    }
    text.parse().ok().or_else(|| text.rsplit_once(':')?.0.parse::<std::net::Ipv4Addr>().ok().map(IpAddr::V4))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Headers = &'static [(&'static str, &'static str)];

    /// Peer, headers, and where the request comes from, behind proxies of ours at 10.0.0.0/8 and fd00::/8.
    const CASES: &[(&str, Headers, &str)] = &[
        ("203.0.113.7", &[], "203.0.113.7"),
        ("2001:db8:1:2:3:4:5:6", &[], "2001:db8:1:2::/64"),
        ("::ffff:203.0.113.7", &[], "203.0.113.7"),
        // Nobody else's word counts.
        ("203.0.113.7", &[("x-forwarded-for", "198.51.100.1")], "203.0.113.7"),
        ("203.0.113.7", &[("forwarded", "for=198.51.100.1")], "203.0.113.7"),
        ("10.1.1.1", &[("x-forwarded-for", "198.51.100.1")], "198.51.100.1"),
        ("10.1.1.1", &[], "10.1.1.1"),
        // What the caller says of itself stands left of what the proxy saw.
        ("10.1.1.1", &[("x-forwarded-for", "192.0.2.9, 198.51.100.1")], "198.51.100.1"),
        ("10.1.1.1", &[("x-forwarded-for", "10.9.9.9, 198.51.100.1")], "198.51.100.1"),
        ("10.1.1.1", &[("x-forwarded-for", "192.0.2.9, 198.51.100.1, 10.2.2.2")], "198.51.100.1"),
        (
            "10.1.1.1",
            &[("x-forwarded-for", "192.0.2.9"), ("x-forwarded-for", "198.51.100.1")],
            "198.51.100.1",
        ),
        ("10.1.1.1", &[("x-forwarded-for", "10.3.3.3, 10.2.2.2")], "10.3.3.3"),
        // One that cannot be read ends the chain at the proxy that passed it on.
        ("10.1.1.1", &[("x-forwarded-for", "198.51.100.1, unknown, 10.2.2.2")], "10.2.2.2"),
        ("10.1.1.1", &[("x-forwarded-for", "")], "10.1.1.1"),
        ("10.1.1.1", &[("x-forwarded-for", "198.51.100.1:4711")], "198.51.100.1"),
        ("10.1.1.1", &[("x-forwarded-for", "[2001:db8::1]:4711")], "2001:db8::/64"),
        ("fd00::1", &[("x-forwarded-for", "2001:db8:7::1")], "2001:db8:7::/64"),
        ("10.1.1.1", &[("forwarded", "for=192.0.2.9;proto=https, For=\"198.51.100.1:80\"")], "198.51.100.1"),
        ("10.1.1.1", &[("forwarded", "proto=https;for=\"[2001:db8:cafe::17]:4711\"")], "2001:db8:cafe::/64"),
        ("10.1.1.1", &[("forwarded", "for=_hidden")], "10.1.1.1"),
        ("10.1.1.1", &[("forwarded", "for=192.0.2.9"), ("x-forwarded-for", "198.51.100.1")], "198.51.100.1"),
    ];

    #[test]
    fn a_request_comes_from_the_last_address_before_our_proxies() {
        let proxies = ["10.0.0.0/8", "fd00::/8"].map(|text| text.parse().unwrap()).to_vec();
        let strangers = Strangers::new(&Rates::default(), proxies);
        for (peer, headers, expected) in CASES {
            let mut map = HeaderMap::new();
            for (name, value) in *headers {
                map.append(*name, value.parse().unwrap());
            }
            let origin = strangers.origin(peer.parse().unwrap(), &map);
            assert_eq!(origin.to_string(), *expected, "{peer} {headers:?}");
        }
    }

    #[test]
    fn a_flood_from_everywhere_does_not_take_the_memory() {
        let strangers = Strangers::new(&Rates::default(), Vec::new());
        let now = Timestamp::UNIX_EPOCH;
        for number in 0..3 * MOST_ORIGINS {
            let address = Ipv6Addr::from_bits((number as u128) << 64);
            assert_eq!(strangers.wrong(Origin::of(address.into()), now), None);
        }
        assert!(strangers.wrong.len() <= MOST_ORIGINS);
    }
}
