//! The authorization endpoint (RFC 6749, section 4.1; RFC 7636; RFC 8707; RFC 9207).

use super::form::with_query;
use super::grants::{CODE_SECONDS, Code, Grant, scopes};
use super::refusal::Refusal;
use super::{AuthorizationServer, Consent, Form, Misbehaviour, Request, Response};

/// The parameters of a request that determine where its response goes.
struct Asked<'a> {
    client_id: &'a str,
    redirect_uri: &'a str,
    state: Option<&'a str>,
}

/// The only user of this server.
const USER: &str = "user";

impl AuthorizationServer {
    pub(super) fn authorize(&mut self, request: &Request, now: u64) -> Response {
        let form = Form::read(request.query().as_bytes());
        let refused = |why: &str| Response::text(400, &format!("This is no login: {why}."));
        if form.is_ambiguous() {
            return refused("a parameter is there twice");
        }
        let Some(client_id) = form.find("client_id") else { return refused("no client_id") };
        let Some(redirect_uri) = form.find("redirect_uri") else {
            return refused("no redirect_uri");
        };
        // The browser is redirected only to registered URIs.
        match self.allows_redirect(client_id, redirect_uri) {
            Ok(true) => {}
            Ok(false) => return refused("the client has not registered this redirect_uri"),
            Err(refusal) => return refused(refusal.description()),
        }
        let asked = Asked { client_id, redirect_uri, state: form.find("state") };
        match self.agreed(&asked, &form, now) {
            Ok(Some(code)) => self.back(&asked, &[("code", &code)]),
            Ok(None) => self.page(request),
            Err(refusal) => {
                let error =
                    [("error", refusal.code()), ("error_description", refusal.description())];
                self.back(&asked, &error)
            }
        }
    }

    /// Returns the code, or `None` if the user must be asked.
    fn agreed(
        &mut self,
        asked: &Asked<'_>,
        form: &Form,
        now: u64,
    ) -> Result<Option<String>, Refusal> {
        const NO_CODE: Refusal =
            Refusal::new("unsupported_response_type", "only code is supported");
        const NO_PKCE: Refusal = Refusal::new("invalid_request", "PKCE with S256 is required");
        const NO_RESOURCE: Refusal = Refusal::new("invalid_target", "resource is required");
        const DENIED: Refusal = Refusal::new("access_denied", "the user said no");
        const NO_SCOPE: Refusal =
            Refusal::new("invalid_scope", "none of the scopes can be granted");
        if form.find("response_type") != Some("code") {
            return Err(NO_CODE);
        }
        let challenge = form.find("code_challenge").filter(|challenge| challenge.len() == 43);
        let is_s256 = form.find("code_challenge_method") == Some("S256");
        let challenge = challenge.filter(|_| is_s256).ok_or(NO_PKCE)?.to_owned();
        let is_resource = |text: &&str| text.contains("://") && !text.contains('#');
        let resource = form.find("resource").filter(is_resource).ok_or(NO_RESOURCE)?.to_owned();
        match (self.options.consent, form.find("decision")) {
            (Consent::Deny, _) | (Consent::Ask, Some("deny")) => return Err(DENIED),
            (Consent::Ask, Some("allow")) | (Consent::Automatic, _) => {}
            (Consent::Ask, _) => return Ok(None),
        }
        let requested = scopes(form.find("scope"));
        let scopes = self.granted(&requested);
        if scopes.is_empty() && !requested.is_empty() {
            return Err(NO_SCOPE);
        }
        let client_id = asked.client_id.to_owned();
        let grant = Grant { client_id, subject: USER.into(), resource, scopes };
        let redirect_uri = asked.redirect_uri.to_owned();
        let expires_at = now + CODE_SECONDS;
        let text = self.unguessable();
        let code = Code { grant, redirect_uri, challenge, expires_at, family: None };
        self.codes.insert(text.clone(), code);
        Ok(Some(text))
    }

    /// Returns those of the requested scopes that can be granted.
    pub(super) fn granted(&self, requested: &[String]) -> Vec<String> {
        let grantable = self.options.grantable.as_ref();
        let can = |scope: &&String| grantable.is_none_or(|grantable| grantable.contains(scope));
        requested.iter().filter(can).cloned().collect()
    }

    /// Redirects the browser back to the client with these parameters.
    fn back(&self, asked: &Asked<'_>, parameters: &[(&str, &str)]) -> Response {
        let mut all = parameters.to_vec();
        all.extend(asked.state.map(|state| ("state", state)));
        match self.options.misbehaviour {
            Some(Misbehaviour::MissingIssuer) => {}
            Some(Misbehaviour::WrongIssuer) => all.push(("iss", "https://other.example")),
            _ => all.push(("iss", &self.options.issuer)),
        }
        Response::redirect(302, with_query(asked.redirect_uri, &all))
    }

    /// Asks the user for a decision. Each link is the request itself, with the decision added.
    fn page(&self, request: &Request) -> Response {
        let link = |decision: &str, text: &str| {
            let url = with_query(&request.target, &[("decision", decision)]);
            let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
            format!("<p><a href=\"{url}\">{text}</a></p>")
        };
        let (allow, deny) = (link("allow", "Allow"), link("deny", "Deny"));
        Response::html(format!(
            "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Test login</title>{allow}{deny}</html>\n"
        ))
    }
}
