//! The responses of the servers, most of them correct.

use std::time::Duration;

use mcp_sansio::auth::{Fetch, FetchPurpose};
use serde_json::{Value, json};

use super::World;

pub(super) const SERVER: &str = "https://mcp.example/mcp";
const EVIL: &str = "https://evil.example";
const ISSUERS: [&str; 2] = ["https://as.example", "https://two.example"];

impl World<'_> {
    /// Returns the response to a request. One in six is wrong.
    pub(super) fn response(&mut self, fetch: &Fetch) -> (u16, String) {
        if self.choices.one_in(6) {
            return self.nonsense(fetch.purpose);
        }
        let is_refused = match fetch.purpose {
            FetchPurpose::Refresh => self.choices.one_in(2),
            FetchPurpose::Token => self.choices.one_in(6),
            _ => false,
        };
        if is_refused {
            let code = self.choices.pick(&["invalid_grant", "invalid_client"]).unwrap();
            return (400, json!({ "error": code }).to_string());
        }
        let body = match fetch.purpose {
            FetchPurpose::ResourceMetadata => self.resource(),
            FetchPurpose::ServerMetadata => self.server(&fetch.url),
            FetchPurpose::Registration => {
                let number = self.number();
                let secret = format!("SECRET-of-registration-{number}");
                json!({ "client_id": format!("c{number}"), "client_secret": secret })
            }
            FetchPurpose::Assertion => json!({
                "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
                "access_token": "SECRET-id-jag",
                "token_type": "N_A",
            }),
            _ => self.tokens(fetch),
        };
        (200, body.to_string())
    }

    fn resource(&mut self) -> Value {
        let issuer = if self.choices.one_in(5) { ISSUERS[1] } else { ISSUERS[0] };
        let scopes = if self.choices.one_in(2) { json!(["a"]) } else { json!(["a", "d"]) };
        json!({ "resource": SERVER, "authorization_servers": [issuer], "scopes_supported": scopes })
    }

    /// Returns the metadata of the issuer of this URL. Only some servers offer registration.
    fn server(&mut self, url: &str) -> Value {
        let origin = url.split("/.well-known").next().unwrap_or_default();
        let mut server = json!({
            "issuer": origin,
            "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"),
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported":
                ["none", "client_secret_post", "client_secret_basic", "private_key_jwt"],
        });
        if self.choices.one_in(2) {
            server["registration_endpoint"] = json!(format!("{origin}/register"));
        }
        server
    }

    fn tokens(&mut self, fetch: &Fetch) -> Value {
        let number = self.number();
        let access = format!("SECRET-access-{number}");
        let mut tokens = json!({ "access_token": access, "token_type": "Bearer" });
        let mut expires_at = None;
        if !self.choices.one_in(4) {
            tokens["expires_in"] = json!(3600);
            expires_at = Some(self.now + Duration::from_secs(3600));
        }
        self.secrets.access(&access, expires_at);
        if !self.choices.one_in(4) {
            let refresh = format!("SECRET-refresh-{number}");
            self.secrets.refresh(&refresh, &fetch.url);
            self.logins.issued(&refresh, fetch);
            tokens["refresh_token"] = json!(refresh);
        }
        tokens
    }

    /// Returns an invalid or malicious response.
    fn nonsense(&mut self, purpose: FetchPurpose) -> (u16, String) {
        let evil = [
            json!({ "resource": EVIL, "authorization_servers": [EVIL] }),
            json!({ "resource": SERVER, "authorization_servers": ["http://10.0.0.1"] }),
            json!({ "issuer": EVIL, "token_endpoint": format!("{EVIL}/token") }),
            json!({
                "issuer": ISSUERS[0],
                "authorization_endpoint": "javascript:1",
                "token_endpoint": "https://as.example/token",
                "code_challenge_methods_supported": ["S256"],
            }),
            json!({
                "issuer": ISSUERS[0],
                "authorization_endpoint": "https://as.example/authorize",
                "token_endpoint": "http://169.254.169.254/",
                "code_challenge_methods_supported": ["S256"],
            }),
            json!({ "client_id": "" }),
            json!({ "access_token": "SECRET a", "token_type": "Bearer" }),
            json!({ "access_token": "SECRET", "token_type": "mac" }),
            json!([]),
        ];
        let codes = ["invalid_grant", "invalid_client", "access_denied", "made_up"];
        match self.choices.below(8) {
            0 => (404, String::new()),
            1 => (503, "<html>".into()),
            2 => (302, String::new()),
            3 => (200, "x".repeat(70_000)),
            4..=6
                if !matches!(
                    purpose,
                    FetchPurpose::ResourceMetadata | FetchPurpose::ServerMetadata
                ) =>
            {
                let code = self.choices.pick(&codes).unwrap();
                (400, json!({ "error": code }).to_string())
            }
            _ => {
                let index = usize::try_from(self.choices.below(evil.len() as u64)).unwrap();
                (200, evil[index].to_string())
            }
        }
    }
}
