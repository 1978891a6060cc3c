//! The network that `--check-urls` asks: HEAD or GET, redirect by redirect, public addresses unless the user says any.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _};
use std::sync::Arc;
use std::time::Duration;

use ureq::tls::{Certificate, RootCerts, TlsConfig};
use url::{Host, Url};

use super::{CheckUrls, Reach, Reached};

/// How long an address may take, redirects apart.
const PATIENCE: Duration = Duration::from_secs(10);
/// More redirects than this lead nowhere.
const MOST_REDIRECTS: usize = 5;
/// How many are asked at a time.
const AT_A_TIME: usize = 4;

/// Whether each of the addresses answers.
pub(super) fn ask(
    addresses: &[String],
    which: CheckUrls,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> io::Result<Vec<Reached>> {
    let trusted = trusted();
    let agent = agent(&trusted);
    let mut reached = Vec::new();
    for some in addresses.chunks(AT_A_TIME) {
        if is_stopped() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        std::thread::scope(|scope| {
            let knows_nobody = trusted.is_empty();
            let agent = &agent;
            let ask = |url| move || probe(agent, url, which, knows_nobody);
            let asked: Vec<_> = some.iter().map(|url| (url, scope.spawn(ask(url)))).collect();
            for (url, asked) in asked {
                let (reach, because) =
                    asked.join().unwrap_or_else(|_| (Reach::Unknown, "could not be asked".into()));
                reached.push(Reached { url: url.clone(), reach, because });
            }
        });
    }
    Ok(reached)
}

/// Whom this machine trusts.
fn trusted() -> Vec<Certificate<'static>> {
    let known = rustls_native_certs::load_native_certs().certs;
    known.iter().map(|known| Certificate::from_der(known).to_owned()).collect()
}

fn agent(trusted: &[Certificate<'static>]) -> ureq::Agent {
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::new_with_certs(trusted))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build();
    ureq::Agent::config_builder()
        .tls_config(tls)
        .http_status_as_error(false)
        // Each step of a redirect is looked at before it is taken.
        .max_redirects(0)
        .max_redirects_will_error(false)
        .timeout_global(Some(PATIENCE))
        .user_agent(concat!("clawgate/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent()
}

fn probe(agent: &ureq::Agent, address: &str, which: CheckUrls, knows_nobody: bool) -> (Reach, String) {
    let Ok(mut url) = Url::parse(address) else { return (Reach::Unreachable, "is no address".into()) };
    for _ in 0..=MOST_REDIRECTS {
        if let Some(refused) = refusal(&url, which) {
            return refused;
        }
        if knows_nobody && url.scheme() == "https" {
            return (
                Reach::Unknown,
                "cannot be asked: this machine has no certificates that it trusts".into(),
            );
        }
        let answer = match agent.head(url.as_str()).call() {
            // Not every server knows HEAD.
            Ok(answer) if matches!(answer.status().as_u16(), 405 | 501) => agent.get(url.as_str()).call(),
            answer => answer,
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return failure(&error),
        };
        let status = answer.status().as_u16();
        let location = answer.headers().get("location").and_then(|value| value.to_str().ok());
        match (status, location) {
            (300..400, Some(location)) => match url.join(location) {
                Ok(next) if matches!(next.scheme(), "http" | "https") => url = next,
                _ => return (Reach::Unreachable, format!("says {status} and leads nowhere")),
            },
            (200..300, _) => return (Reach::Reachable, format!("says {status}")),
            // A limit or a failure of the server passes.
            (408 | 425 | 429 | 500.., _) => return (Reach::Unknown, format!("says {status}")),
            _ => return (Reach::Unreachable, format!("says {status}")),
        }
    }
    (Reach::Unreachable, format!("redirects more than {MOST_REDIRECTS} times"))
}

fn failure(error: &ureq::Error) -> (Reach, String) {
    let reach = match error {
        ureq::Error::HostNotFound | ureq::Error::BadUri(_) | ureq::Error::Protocol(_) => Reach::Unreachable,
        ureq::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused => Reach::Unreachable,
            _ if is_no_such_host(error) => Reach::Unreachable,
            _ => Reach::Unknown,
        },
        // The network may be down, or this machine may not trust those whom others do: not the skill's doing.
        _ => Reach::Unknown,
    };
    (reach, format!("cannot be reached: {error}"))
}

/// Names that do not exist are told from a resolver that is not there by the words alone.
fn is_no_such_host(error: &io::Error) -> bool {
    let said = error.to_string();
    said.contains("lookup") && !said.contains("Temporary failure")
}

/// Why an address is not asked.
fn refusal(url: &Url, which: CheckUrls) -> Option<(Reach, String)> {
    if which == CheckUrls::Any {
        return None;
    }
    let refused =
        |address: IpAddr| (Reach::Unknown, format!("is not public ({address}); --check-urls=any asks it"));
    match url.host()? {
        Host::Ipv4(address) => (!is_public(address.into())).then(|| refused(address.into())),
        Host::Ipv6(address) => (!is_public(address.into())).then(|| refused(address.into())),
        Host::Domain(name) => {
            let port = url.port_or_known_default().unwrap_or(80);
            match (name, port).to_socket_addrs() {
                Ok(mut found) => found.find(|found| !is_public(found.ip())).map(|found| refused(found.ip())),
                Err(error) if is_no_such_host(&error) => Some((Reach::Unreachable, "names no host".into())),
                Err(error) => Some((Reach::Unknown, format!("cannot be resolved: {error}"))),
            }
        }
    }
}

/// Whether an address is of the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4() {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_shared = a == 100 && (64..128).contains(&b);
    let is_testing = a == 198 && (b == 18 || b == 19);
    let is_assigned = a == 192 && b == 0 && c == 0;
    !(address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation()
        || a == 0
        || a >= 240
        || is_shared
        || is_testing
        || is_assigned)
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    // Only 2000::/3 is given to anybody; of it, 2001:db8::/32 and 3fff::/20 are for documentation, 2002::/16 carries
    // addresses of the old kind, and 2001::/23 is for protocols.
    let is_global = first & 0xe000 == 0x2000;
    let is_special = first == 0x2002
        || (first == 0x2001 && (second == 0xdb8 || second < 0x200))
        || (first & 0xfff0) == 0x3ff0;
    is_global && !is_special
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_public_addresses_are_public() {
        for (address, expected) in [
            ("8.8.8.8", true),
            ("2606:4700::1", true),
            ("127.0.0.1", false),
            ("10.1.2.3", false),
            ("172.16.0.1", false),
            ("192.168.0.1", false),
            ("169.254.169.254", false),
            ("100.64.0.1", false),
            ("0.0.0.0", false),
            ("255.255.255.255", false),
            ("192.0.2.1", false),
            ("198.18.0.1", false),
            ("::1", false),
            ("::", false),
            ("::ffff:127.0.0.1", false),
            ("::ffff:8.8.8.8", true),
            ("fe80::1", false),
            ("fc00::1", false),
            ("2001:db8::1", false),
            ("2002:7f00:1::", false),
            ("ff02::1", false),
        ] {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        }
    }

    #[test]
    fn what_is_not_public_is_not_asked() {
        for url in [
            "http://127.0.0.1:1/",
            "http://[::1]/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://localhost:9/",
        ] {
            let (reach, because) = refusal(&Url::parse(url).unwrap(), CheckUrls::Public).unwrap();
            assert_eq!(reach, Reach::Unknown, "{url}");
            assert!(because.contains("not public"), "{url}: {because}");
            assert_eq!(refusal(&Url::parse(url).unwrap(), CheckUrls::Any), None);
        }
        assert_eq!(refusal(&Url::parse("https://8.8.8.8/").unwrap(), CheckUrls::Public), None);
    }
}
