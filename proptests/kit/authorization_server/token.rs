//! The token endpoint (RFC 6749, section 3.2).

use serde_json::json;
use sha2::{Digest, Sha256};

use super::clients::Authenticated;
use super::grants::{Family, Grant, RefreshToken, scopes};
use super::misbehaviour::{GARBAGE, HUGE};
use super::refusal::Refusal;
use super::{AuthorizationServer, Claims, Form, Misbehaviour, Request, Response, base64url};

type Outcome = Result<Response, Refusal>;

const NO_CODE: Refusal = Refusal::new("invalid_grant", "the code is not valid for this");
const NO_REFRESH: Refusal = Refusal::new("invalid_grant", "the refresh token is not valid");
const NO_RESOURCE: Refusal = Refusal::new("invalid_target", "resource is missing or another one");

impl AuthorizationServer {
    pub(super) fn token(&mut self, request: &Request, now: u64) -> Response {
        if self.is_once(Misbehaviour::TokenUnavailable) {
            return Response::text(503, "Later.");
        }
        match self.options.misbehaviour {
            Some(Misbehaviour::RedirectsToken) => {
                return Response::redirect(307, self.options.endpoint("elsewhere"));
            }
            Some(Misbehaviour::GarbageToken) => return Response::text(200, GARBAGE),
            Some(Misbehaviour::HugeToken) => {
                return Response::json(200, &json!({ "padding": "x".repeat(HUGE) }));
            }
            _ => {}
        }
        self.granted_token(request, now).unwrap_or_else(Refusal::response)
    }

    fn granted_token(&mut self, request: &Request, now: u64) -> Outcome {
        const NO_FORM: Refusal = Refusal::new("invalid_request", "the body is not a form");
        const TWICE: Refusal = Refusal::new("invalid_request", "a parameter is there twice");
        const NO_GRANT: Refusal = Refusal::new("unsupported_grant_type", "there is no such grant");
        let form = Form::read(&request.body);
        let grant_type = form.find("grant_type");
        self.counts.refresh += u64::from(grant_type == Some("refresh_token"));
        if !request.is_of_type("application/x-www-form-urlencoded") {
            return Err(NO_FORM);
        }
        if form.is_ambiguous() {
            return Err(TWICE);
        }
        if self.is_once(Misbehaviour::ForgetsClients) {
            self.forget_clients();
        }
        let client = self.authenticate(request, &form)?;
        match grant_type {
            Some("authorization_code") => self.exchange_code(&client, &form, now),
            Some("refresh_token") => self.refresh(&client, &form, now),
            Some("client_credentials") => self.for_itself(&client, &form, now),
            _ => Err(NO_GRANT),
        }
    }

    fn exchange_code(&mut self, client: &Authenticated, form: &Form, now: u64) -> Outcome {
        let code = form.find("code").and_then(|code| self.codes.get_mut(code)).ok_or(NO_CODE)?;
        if let Some(family) = code.family {
            // A second use means that another party has seen the code (RFC 6749, section 4.1.2).
            self.families[family].is_revoked = true;
            return Err(NO_CODE);
        }
        let verifier = form.find("code_verifier").unwrap_or_default();
        let is_right = code.grant.client_id == client.id
            && form.find("redirect_uri") == Some(&code.redirect_uri)
            && base64url(&Sha256::digest(verifier)) == code.challenge
            && now < code.expires_at;
        if !is_right {
            return Err(NO_CODE);
        }
        if form.find("resource") != Some(&code.grant.resource) {
            return Err(NO_RESOURCE);
        }
        let family = self.families.len();
        code.family = Some(family);
        let grant = code.grant.clone();
        self.families.push(Family { grant: grant.clone(), is_revoked: false });
        Ok(self.issue(family, &grant, self.options.issues_refresh_tokens, now))
    }

    /// Handles a refresh. A refresh token is valid once. A second use means that the token was stolen, so the family
    /// is revoked.
    fn refresh(&mut self, client: &Authenticated, form: &Form, now: u64) -> Outcome {
        const NO_SCOPE: Refusal = Refusal::new("invalid_scope", "more than was granted");
        let rotates = !self.is(Misbehaviour::NoRotation);
        if self.is(Misbehaviour::DropsRefreshTokens) {
            return Err(NO_REFRESH);
        }
        let token = form.find("refresh_token").ok_or(NO_REFRESH)?;
        let known = self.refresh_tokens.get_mut(token).ok_or(NO_REFRESH)?;
        let family = &mut self.families[known.family];
        if family.grant.client_id != client.id {
            return Err(NO_REFRESH);
        }
        family.is_revoked |= known.is_used;
        if family.is_revoked {
            return Err(NO_REFRESH);
        }
        let mut grant = family.grant.clone();
        if form.find("resource").is_some_and(|resource| resource != grant.resource) {
            return Err(NO_RESOURCE);
        }
        let fewer = scopes(form.find("scope"));
        if !fewer.iter().all(|scope| grant.scopes.contains(scope)) {
            return Err(NO_SCOPE);
        }
        if !fewer.is_empty() {
            grant.scopes = fewer;
        }
        known.is_used = rotates;
        let family = known.family;
        Ok(self.issue(family, &grant, rotates, now))
    }

    /// Grants a token to a client for itself (RFC 6749, section 4.4).
    fn for_itself(&mut self, client: &Authenticated, form: &Form, now: u64) -> Outcome {
        const PUBLIC: Refusal =
            Refusal::new("unauthorized_client", "a public client cannot do that");
        if client.is_public {
            return Err(PUBLIC);
        }
        let resource = form.find("resource").ok_or(NO_RESOURCE)?.to_owned();
        let scopes = self.granted(&scopes(form.find("scope")));
        let (client_id, subject) = (client.id.clone(), client.id.clone());
        let grant = Grant { client_id, subject, resource, scopes };
        let family = self.families.len();
        self.families.push(Family { grant: grant.clone(), is_revoked: false });
        Ok(self.issue(family, &grant, false, now))
    }

    fn issue(&mut self, family: usize, grant: &Grant, is_refreshable: bool, now: u64) -> Response {
        let lifetime = self.options.access_token_seconds;
        let claims = Claims {
            iss: self.options.issuer.clone(),
            sub: grant.subject.clone(),
            aud: grant.resource.clone(),
            exp: now + lifetime,
            iat: now,
            client_id: grant.client_id.clone(),
            scope: grant.scopes.join(" "),
            jti: self.unguessable(),
        };
        let token = self.signer.token(&claims);
        let mut body = json!({
            "access_token": token,
            "token_type": "Bearer",
            "expires_in": lifetime,
            "scope": claims.scope,
        });
        self.access_tokens.retain(|_, (known, _)| now < known.exp);
        self.access_tokens.insert(token, (claims, family));
        if is_refreshable {
            let token = self.unguessable();
            body["refresh_token"] = token.as_str().into();
            self.refresh_tokens.insert(token, RefreshToken { family, is_used: false });
        }
        Response::json(200, &body)
    }
}
