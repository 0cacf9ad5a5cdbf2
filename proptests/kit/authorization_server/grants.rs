//! The grants of the server and their codes and tokens.

/// The permissions that a user has granted, or that a client has for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) client_id: String,
    pub(super) subject: String,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// An authorization code, before or after its exchange.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) grant: Grant,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
    pub(super) expires_at: u64,
    /// The family of tokens that the code was exchanged for.
    pub(super) family: Option<usize>,
}

/// All tokens of one grant.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) grant: Grant,
    /// Whether a code or refresh token was used twice. That indicates theft and invalidates the whole family.
    pub(super) is_revoked: bool,
}

/// A refresh token. It is kept after its use, to detect a second use.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefreshToken {
    pub(super) family: usize,
    pub(super) is_used: bool,
}

/// The lifetime of a code in seconds.
pub(super) const CODE_SECONDS: u64 = 60;

/// Splits a parameter into scopes.
pub(super) fn scopes(text: Option<&str>) -> Vec<String> {
    let words = text.unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
    words.map(String::from).collect()
}
