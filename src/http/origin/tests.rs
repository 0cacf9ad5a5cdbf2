use alloc::vec::Vec;

use super::*;

fn has_host(policy: &HostPolicy, hosts: &[&str], authority: Option<&str>) -> bool {
    let fields: Vec<(&str, &[u8])> = hosts.iter().map(|host| ("host", host.as_bytes())).collect();
    policy.allows(Headers::from(&fields[..]), authority)
}

fn has_origin(policy: &OriginPolicy, origins: &[&str]) -> bool {
    let fields: Vec<(&str, &[u8])> =
        origins.iter().map(|origin| ("origin", origin.as_bytes())).collect();
    policy.allows(Headers::from(&fields[..]))
}

/// Proves H-HTTP-12
#[test]
fn a_local_server_is_called_by_local_names() {
    let policy = HostPolicy::default();
    assert_eq!(policy, HostPolicy::local());
    let local = [
        "localhost",
        "localhost:3000",
        "LocalHost:80",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:1",
    ];
    for host in local {
        assert!(has_host(&policy, &[host], None), "{host}");
        assert!(has_host(&policy, &[], Some(host)), "{host}");
    }
    let foreign = [
        "evil.example.com",
        "localhost.evil.example.com",
        "evil.localhost",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "0.0.0.0",
        "::1",
        "[::2]",
        "[::1",
        "::1]",
        "[::1]x",
        "[::1]:",
        "localhost:",
        "localhost:x",
        "localhost:65536",
        "localhost:+1",
        "localhost:1:2",
        "evil@localhost",
        "localhost/",
        "localhost.",
        "",
        ":80",
        "localhost, localhost",
        "]",
        "]:80",
        "é",
    ];
    for host in foreign {
        assert!(!has_host(&policy, &[host], None), "{host}");
        assert!(!has_host(&policy, &[], Some(host)), "{host}");
    }
}

#[test]
fn of_several_hosts_all_have_to_be_allowed() {
    let policy = HostPolicy::local();
    assert!(!has_host(&policy, &[], None));
    assert!(has_host(&policy, &["localhost"], Some("127.0.0.1:1")));
    assert!(!has_host(&policy, &["localhost"], Some("evil.example.com")));
    assert!(!has_host(&policy, &["evil.example.com"], Some("localhost")));
    assert!(!has_host(&policy, &["localhost", "localhost"], None));
    assert!(has_host(&HostPolicy::any(), &["?", "?"], None));
    assert!(has_host(&HostPolicy::any(), &[], None));
}

#[test]
fn hosts_can_be_allowed() -> Result<(), InvalidName> {
    let policy = HostPolicy::none().allow("mcp.example.com")?.allow("b_1.example:8080")?;
    let policy = policy.allow("[2001:DB8::1]")?.allow("[2001:db8::]:443")?;
    let allowed = [
        "MCP.Example.com:9",
        "mcp.example.com",
        "b_1.example:8080",
        "[2001:db8::1]:443",
        "[2001:db8::]:443",
    ];
    for host in allowed {
        assert!(has_host(&policy, &[host], None), "{host}");
    }
    let refused =
        ["localhost", "b_1.example", "b_1.example:80", "x.mcp.example.com", "[2001:db8::]:80"];
    for host in refused {
        assert!(!has_host(&policy, &[host], None), "{host}");
    }
    for host in ["", "a b", "https://a", "a/", "a:*", "a:", "[::g]", "*", "é"] {
        assert_eq!(HostPolicy::none().allow(host), Err(InvalidName), "{host}");
    }
    Ok(())
}

/// Proves H-HTTP-13
#[test]
fn an_origin_is_compared_whole() -> Result<(), InvalidName> {
    let policy = OriginPolicy::default().allow("https://app.example.com")?;
    let policy = policy.allow("HTTP://b.example:8080")?.allow("x-app://c")?.allow("http://d:*")?;
    let allowed = [
        "http://localhost",
        "https://localhost:8443",
        "HTTP://LOCALHOST:1",
        "http://127.0.0.1:6274",
        "https://[::1]",
        "https://app.example.com",
        "https://APP.example.COM:443",
        "http://b.example:8080",
        "x-app://c",
        "http://d",
        "http://d:9",
    ];
    for origin in allowed {
        assert!(has_origin(&policy, &[origin]), "{origin}");
    }
    let refused = [
        "null",
        "",
        "https://evil.example.com",
        "http://app.example.com",
        "https://app.example.com:444",
        "https://app.example.com.evil.com",
        "https://app.example.com/",
        "https://app.example.com/x",
        "https://x@app.example.com",
        "https://app.example.com:",
        "https://app.example.com:443x",
        "app.example.com",
        "//app.example.com",
        "https:app.example.com",
        "http://b.example",
        "https://d",
        "x-app://c:1",
        "ftp://localhost",
        "http://localhost http://localhost",
        "http://localhost, http://localhost",
        "http://",
        "://localhost",
        "1http://localhost",
        "é",
    ];
    for origin in refused {
        assert!(!has_origin(&policy, &[origin]), "{origin}");
    }
    assert!(!has_origin(&policy, &["http://localhost", "http://localhost"]));
    Ok(())
}

#[test]
fn a_request_without_an_origin_is_accepted() {
    for policy in [OriginPolicy::local(), OriginPolicy::none(), OriginPolicy::any()] {
        assert!(has_origin(&policy, &[]));
    }
    assert!(!has_origin(&OriginPolicy::none(), &["http://localhost"]));
    assert!(has_origin(&OriginPolicy::any(), &["null", "null"]));
}

#[test]
fn only_origins_can_be_allowed() {
    let others = [
        "",
        "null",
        "a",
        "https://a/",
        "https://a b",
        "https://é",
        "https://*.a",
        "https://",
        "://a",
        "1http://a",
        "ht_tp://a",
    ];
    for origin in others {
        assert_eq!(OriginPolicy::none().allow(origin), Err(InvalidName), "{origin}");
    }
}

/// A host that is written like an allowed one needs no parsing, which would give the same answer.
#[test]
fn plain_hosts_are_allowed_as_parsed_ones_are() -> Result<(), InvalidName> {
    let named = HostPolicy::none().allow("mcp.example.com")?.allow("other.example.com:80")?;
    let names = ["localhost", "[::1]", "mcp.example.com", "other.example.com", "evil.com", ""];
    let ports = ["", ":", ":1", ":80", ":0080", ":65535", ":99999", ":x", ":1:2", " "];
    let mut plain = 0;
    for policy in [HostPolicy::local(), named, HostPolicy::none()] {
        for (name, port) in names.iter().flat_map(|name| ports.map(|port| (name, port))) {
            let host = alloc::format!("{name}{port}");
            let is_allowed = policy.allows_name(host.trim());
            assert_eq!(has_host(&policy, &[&host], None), is_allowed, "{host:?}");
            let is_plain = policy.allows_plainly(host.as_bytes());
            assert!(!is_plain || is_allowed, "{host:?}");
            plain += usize::from(is_plain);
        }
    }
    assert_eq!(plain, 3 * 4, "each name without a port, and with one of three");
    Ok(())
}
