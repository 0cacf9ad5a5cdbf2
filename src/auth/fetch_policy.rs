//! `FetchPolicy`: the servers that may be contacted because another server named them.

use core::net::IpAddr;

use super::web_url::WebUrl;

/// The policy for fetching URLs that a server, and not the user, has named
/// ([SSRF](https://modelcontextprotocol.io/docs/2026-07-28/tutorials/security/security_best_practices#server-side-request-forgery-ssrf)).
///
/// A hostile MCP server can name any URL as the URL of its authorization server. By default such a URL is fetched
/// only if it is `https` and does not lead to this computer or to a private network. An `https` URL on the host of
/// the MCP server is always allowed, since the user chose that host. Plain `http` is allowed only for loopback.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FetchPolicy {
    /// Whether URLs may lead to this computer, also by `http`. Default false, but true for an MCP server on this
    /// computer.
    pub loopback: bool,
    /// Whether URLs may lead to private and link-local addresses, such as `169.254.169.254`. Default false.
    pub private: bool,
}

impl FetchPolicy {
    /// Whether a client of this MCP server may fetch a URL, judged by the URL's text. An application that resolves
    /// the host name must also check [`allows_address`](Self::allows_address).
    pub fn allows(&self, url: &WebUrl, server: &WebUrl) -> bool {
        let is_own_host = url.host() == server.host();
        if url.is_loopback() {
            return self.loopback || server.is_loopback();
        }
        url.is_https()
            && (is_own_host || url.address().is_none_or(|address| self.allows_address(address)))
    }

    /// Whether a connection may be made to this address of a resolved host name.
    ///
    /// ```
    /// use mcp_sansio::auth::FetchPolicy;
    ///
    /// let policy = FetchPolicy::default();
    /// assert!(policy.allows_address("93.184.215.14".parse()?));
    /// assert!(!policy.allows_address("169.254.169.254".parse()?));
    /// assert!(!policy.allows_address("::ffff:10.0.0.1".parse()?));
    /// # Ok::<(), std::net::AddrParseError>(())
    /// ```
    pub fn allows_address(&self, address: IpAddr) -> bool {
        let address = embedded(address);
        if address.is_loopback() {
            return self.loopback;
        }
        match address {
            _ if address.is_unspecified() || address.is_multicast() => false,
            IpAddr::V4(address) => {
                let [first, second, third, _] = address.octets();
                // 100.64.0.0/10 is shared between carriers and their customers; 0.0.0.0/8 is "this network".
                let is_shared = first == 100 && second & 0xc0 == 64;
                // Protocols use these addresses within a network, and clouds use them for metadata, RFC 6890.
                let is_special = (first, second, third) == (192, 0, 0);
                let is_private =
                    address.is_private() || address.is_link_local() || is_shared || is_special;
                let is_none = first == 0 || first >= 240;
                !is_none && (self.private || !is_private)
            }
            IpAddr::V6(address) => {
                // Site-local addresses, fec0::/10, are deprecated but still routed.
                let is_site_local = address.segments()[0] & 0xffc0 == 0xfec0;
                // Addresses of a local translator, RFC 8215.
                let is_translated = address.segments().starts_with(&[0x64, 0xff9b, 1]);
                let is_private = address.is_unique_local()
                    || address.is_unicast_link_local()
                    || is_site_local
                    || is_translated;
                self.private || !is_private
            }
        }
    }
}

/// Returns the IPv4 address that packets to this address reach, if the address is mapped, compatible, translated by
/// NAT64 or SIIT, or tunnelled by 6to4. Otherwise returns the address itself.
fn embedded(address: IpAddr) -> IpAddr {
    let IpAddr::V6(six) = address else { return address };
    let four = |high, low| IpAddr::V4((u32::from(high) << 16 | u32::from(low)).into());
    match six.segments() {
        // `::` and `::1` are IPv6 addresses in their own right.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => address,
        [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0, 0, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => four(high, low),
        _ => address.to_canonical(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> WebUrl {
        WebUrl::parse(text).unwrap()
    }

    /// Proves A-SEC-01, A-SEC-05.
    #[test]
    fn a_server_cannot_name_any_url() {
        let far = url("https://mcp.example/mcp");
        let here = url("http://127.0.0.1:3000/mcp");
        // The columns: a server elsewhere, a server on this computer, and the first server with everything allowed.
        let table = [
            ("https://as.example/x", true, true, true),
            ("http://as.example", false, false, false),
            ("http://localhost:1", false, true, true),
            ("https://[::1]/", false, true, true),
            ("http://a.localhost/", false, true, true),
            ("https://10.0.0.1/", false, false, true),
            ("https://169.254.169.254/latest/meta-data", false, false, true),
            ("https://[fd00::1]/", false, false, true),
            ("https://[64:ff9b::a00:1]/", false, false, true),
            ("https://[::ffff:0:a00:1]/", false, false, true),
            ("https://192.0.0.192/", false, false, true),
            ("https://192.0.1.192/", true, true, true),
            ("https://192.1.0.192/", true, true, true),
            ("https://193.0.0.192/", true, true, true),
            ("https://100.64.0.1/", false, false, true),
            ("https://100.128.0.1/", true, true, true),
            ("https://8.64.0.1/", true, true, true),
            ("https://[::]/", false, false, false),
            ("https://0.0.0.0/", false, false, false),
            ("https://255.255.255.255/", false, false, false),
            ("https://[ff02::1]/", false, false, false),
        ];
        let strict = FetchPolicy::default();
        let lax = FetchPolicy { loopback: true, private: true };
        for (text, of_far, of_here, of_lax) in table {
            let target = url(text);
            assert_eq!(strict.allows(&target, &far), of_far, "{text}");
            assert_eq!(strict.allows(&target, &here), of_here, "{text}");
            assert_eq!(lax.allows(&target, &far), of_lax, "{text}");
        }
        let intranet = url("https://10.0.0.1/mcp");
        assert!(strict.allows(&url("https://10.0.0.1:8443/as"), &intranet));
        assert!(!strict.allows(&url("https://10.0.0.2/as"), &intranet));
    }
}
