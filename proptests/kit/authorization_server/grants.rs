//! What a server remembers of the grants that it has made.

/// What a user has agreed to, or a client may do for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grant {
    pub(super) client_id: String,
    pub(super) subject: String,
    pub(super) resource: String,
    pub(super) scopes: Vec<String>,
}

/// A code that was not exchanged yet, or was.
#[derive(Clone, Debug)]
pub(super) struct Code {
    pub(super) grant: Grant,
    pub(super) redirect_uri: String,
    pub(super) challenge: String,
    pub(super) expires_at: u64,
    /// The tokens that it was exchanged for.
    pub(super) family: Option<usize>,
}

/// All the tokens that come from one grant.
#[derive(Clone, Debug)]
pub(super) struct Family {
    pub(super) grant: Grant,
    /// Something was used twice, so somebody has stolen it: nothing of this is good any more.
    pub(super) is_revoked: bool,
}

/// A refresh token. It is remembered after its use, to notice that it comes again.
#[derive(Clone, Copy, Debug)]
pub(super) struct RefreshToken {
    pub(super) family: usize,
    pub(super) is_used: bool,
}

/// How long a code is good, in seconds.
pub(super) const CODE_SECONDS: u64 = 60;

/// The scopes in a parameter.
pub(super) fn scopes(text: Option<&str>) -> Vec<String> {
    let words = text.unwrap_or_default().split(' ').filter(|scope| !scope.is_empty());
    words.map(String::from).collect()
}
