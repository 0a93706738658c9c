//! Where webhooks may go. The address of a webhook comes from outside, and the service stands inside a
//! network; so nothing is sent to an address that is not public, and the address that was checked is the
//! one that is connected to: the check is the resolver of the connection itself.

use std::{
    error::Error,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use reqwest::{
    Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

/// The longest address of a webhook.
const MAX_LENGTH: usize = 2048;

/// Which addresses are let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Targets {
    /// Public ones, over HTTPS.
    Public,
    /// Also this computer, there over HTTP too: for development.
    PublicAndLoopback,
}

/// Why an address is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("must be an address such as https://example.com/hook, of at most 2048 characters")]
    Address,
    #[error("must begin with https://")]
    Scheme,
    #[error("must carry no user and no password")]
    Credentials,
    #[error("must lead to a public address")]
    NotPublic,
}

impl Targets {
    /// Reads the address of a webhook. A host that is a number is judged here, because no resolver is
    /// asked for it; a name is judged when it is resolved.
    pub(crate) fn read(self, text: &str) -> Result<Url, Refused> {
        if text.len() > MAX_LENGTH || text.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err(Refused::Address);
        }
        let url = Url::parse(text).map_err(|_| Refused::Address)?;
        let host = url.host_str().filter(|host| !host.is_empty()).ok_or(Refused::Address)?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        let name = host.trim_start_matches('[').trim_end_matches([']', '.']);
        let number = name.parse::<IpAddr>().ok();
        let local = number.map_or(name == "localhost" || name.ends_with(".localhost"), is_loopback);
        match url.scheme() {
            "https" => {}
            "http" if local && self == Self::PublicAndLoopback => {}
            _ => return Err(Refused::Scheme),
        }
        let fits = if local { self == Self::PublicAndLoopback } else { number.is_none_or(is_public) };
        if fits { Ok(url) } else { Err(Refused::NotPublic) }
    }

    fn admits(self, address: IpAddr) -> bool {
        is_public(address) || (self == Self::PublicAndLoopback && is_loopback(address))
    }

    /// The addresses of a name, if every one of them may be connected to: a name that leads inside as
    /// well as outside is an attempt to get inside.
    fn check(self, addresses: Vec<SocketAddr>) -> Result<Vec<SocketAddr>, Refused> {
        let all = addresses.iter().all(|address| self.admits(address.ip()));
        if all && !addresses.is_empty() { Ok(addresses) } else { Err(Refused::NotPublic) }
    }
}

impl Resolve for Targets {
    fn resolve(&self, name: Name) -> Resolving {
        let targets = *self;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let checked = targets.check(found.collect());
            checked
                .map(|addresses| Box::new(addresses.into_iter()) as Addrs)
                .map_err(|refused| Box::new(refused) as Box<dyn Error + Send + Sync>)
        })
    }
}

fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_loopback(),
        IpAddr::V6(address) => address == Ipv6Addr::LOCALHOST,
    }
}

/// Whether an address is reachable from everywhere, by the registries of special addresses (RFC 6890).
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let special = match address.octets() {
        [0 | 10 | 127, ..] | [169, 254, ..] | [192, 168, ..] => true,
        // Carrier-grade NAT; private; benchmarks.
        [100, b, ..] => b & 0xc0 == 64,
        [172, b, ..] => b & 0xf0 == 16,
        [198, b, ..] if b & 0xfe == 18 => true,
        // Protocol assignments, documentation, relays to 6to4.
        [192, 0, 0 | 2, _] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => true,
        // Multicast, reserved, broadcast.
        [first, ..] => first >= 224,
    };
    !special
}

/// Only global unicast is public. Addresses that carry an IPv4 address inside (mapped, NAT64, 6to4,
/// Teredo) are refused whatever they carry: where they lead is decided by somebody else.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Protocol assignments with Teredo; documentation; 6to4.
        [0x2001, b, ..] => b >= 0x200 && b != 0xdb8,
        [0x2002, ..] => false,
        // Documentation; the end of the 6bone.
        [0x3fff, b, ..] => b & 0xf000 != 0,
        [0x3ffe, ..] => false,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(addresses: &[&str]) -> Vec<SocketAddr> {
        addresses.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 0)).collect()
    }

    #[test]
    fn a_name_must_lead_outside_with_every_address() {
        let public = ["93.184.215.14", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"];
        let check = |addresses: &[&str]| Targets::Public.check(answer(addresses));
        assert_eq!(check(&public), Ok(answer(&public)));
        assert_eq!(check(&[]), Err(Refused::NotPublic));
        let inside = [
            "0.0.0.0",
            "0.1.2.3",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.254",
            "127.0.0.1",
            "127.255.255.255",
            "169.254.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.7",
            "203.0.113.9",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::7f00:1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::ffff:93.184.215.14",
            "::ffff:0:1.2.3.4",
            "64:ff9b::7f00:1",
            "64:ff9b::5db8:d70e",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:2::1",
            "2001:10::1",
            "2001:20::1",
            "2001:1ff::1",
            "2001:db8::1",
            "2002:7f00:1::1",
            "2002:5db8:d70e::1",
            "3ffe::1",
            "3fff::1",
            "3fff:fff::1",
            "5f00::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "ff0e::1",
            "4000::1",
            "1fff::1",
        ];
        for address in inside {
            assert_eq!(check(&[address]), Err(Refused::NotPublic), "{address}");
            assert_eq!(check(&[public[0], address]), Err(Refused::NotPublic), "{address} beside another");
        }
        let outside = [
            "1.1.1.1",
            "100.63.255.255",
            "100.128.0.0",
            "172.15.0.1",
            "172.32.0.1",
            "192.0.1.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "2001:200::1",
            "2001:4860:4860::8888",
            "2a00::1",
        ];
        for address in outside {
            assert!(check(&[address]).is_ok(), "{address}");
        }
    }

    #[test]
    fn this_computer_is_for_development() {
        let targets = Targets::PublicAndLoopback;
        assert!(targets.check(answer(&["127.0.0.1", "::1"])).is_ok());
        assert!(targets.check(answer(&["127.0.0.1", "10.0.0.1"])).is_err());
        assert!(targets.read("http://localhost:1/hook").is_ok());
        assert_eq!(targets.read("http://example.com/hook"), Err(Refused::Scheme));
        assert_eq!(Targets::Public.read("https://localhost/hook"), Err(Refused::NotPublic));
    }
}
