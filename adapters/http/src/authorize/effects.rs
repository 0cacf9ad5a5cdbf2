//! The task that carries out effects.

use std::future::Future;
use std::io;
use std::sync::{Arc, Weak};
use std::time::Duration;

use mcp_sansio::auth::{Authorizer, Effect, JobId, LoginMaterial, Saved, Stage};
use mcp_sansio_driver::random_bytes;
use tokio::time::{Instant, timeout, timeout_at};

use super::authorization::{Authorization, Handle, Shared};
use super::fetch::fetch;
use super::redirect::Listener;
use super::storage::{StorageLock, TokenStorage};
use crate::Transport;

/// Carries out the effects of an authorization one after the other, as long as the program uses the [`Authorization`].
///
/// A response that contains tokens or a client id is awaited also after that, because the authorization server does not
/// send it again. It is stored, and nothing else follows from it. Its stage has a deadline.
pub(super) async fn carry_out_all<T: Transport>(
    program: Weak<Handle>,
    shared: Arc<Shared>,
    transport: T,
) {
    let _end = End(Arc::clone(&shared));
    let mut held = None;
    loop {
        let (effect, stage) = shared.next_effect();
        let is_used = program.strong_count() != 0;
        if let Some(effect) = effect {
            if is_used || stores_credentials(&effect, stage) {
                carry_out((&program, &shared), &transport, effect, &mut held).await;
            }
            continue;
        }
        if !is_used && !awaits_credentials(stage) {
            return;
        }
        match shared.deadline().map(Instant::from_std) {
            None => shared.wake.notified().await,
            Some(deadline) => {
                if timeout_at(deadline, shared.wake.notified()).await.is_err() {
                    shared.with(|authorizer, now| authorizer.handle_timeout(now));
                }
            }
        }
    }
}

/// Whether the authorization waits for a response with tokens or a client id.
const fn awaits_credentials(stage: Stage) -> bool {
    matches!(stage, Stage::Refreshing | Stage::RequestingToken | Stage::Registering)
}

/// Whether the effect requests or stores tokens or a client id, which no user is asked for.
const fn stores_credentials(effect: &Effect, stage: Stage) -> bool {
    match effect {
        Effect::Save(_) | Effect::Unclaim => true,
        Effect::Fetch(_) => awaits_credentials(stage),
        _ => false,
    }
}

/// A drop guard that reports the end of the task, whatever its cause.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.stopped();
    }
}

async fn carry_out<T: Transport>(
    (program, shared): (&Weak<Handle>, &Arc<Shared>),
    transport: &T,
    effect: Effect,
    held: &mut Option<StorageLock>,
) {
    let host = Arc::clone(&shared.host);
    match effect {
        Effect::Fetch(what) => {
            drop(tokio::spawn(fetch(Arc::downgrade(shared), transport.clone(), what)))
        }
        Effect::Save(saved) => {
            let (storage, is_held) = (Arc::clone(&shared.storage), held.is_some());
            if let Err(error) = bounded(save(storage, saved, is_held)).await {
                shared.host.storage_failed(error);
            }
        }
        Effect::Claim { job } => claim(shared, job, held).await,
        Effect::Unclaim => *held = None,
        Effect::PrepareLogin { job, registered } => {
            prepare(shared, job, registered.as_deref()).await;
        }
        Effect::OpenUrl(url) => {
            let Some(handle) = program.upgrade() else { return };
            let authorization = Authorization { handle };
            // The application may need as long as its user.
            drop(tokio::spawn(async move { host.open_url(&url, &authorization).await }));
        }
        Effect::NeedClient { job, issuer } => answer(
            shared,
            job,
            async move { host.name_client(&issuer).await },
            move |shared, client| {
                shared.with(|authorizer, now| authorizer.client_named(job, client, now));
            },
        ),
        Effect::NeedAssertion { job } => answer(
            shared,
            job,
            async move { host.assertion().await },
            move |shared, (assertion, kind)| {
                shared.with(|authorizer, now| {
                    authorizer.assertion_given(job, &assertion, &kind, now)
                });
            },
        ),
        Effect::Sign(signing) => {
            let job = signing.job;
            answer(
                shared,
                job,
                async move { host.sign(&signing).await },
                move |shared, signature: Vec<u8>| {
                    shared.with(|authorizer, now| authorizer.signed(job, &signature, now));
                },
            );
        }
        _ => {}
    }
}

/// The time to wait for a lock held by another process. That process refreshes its token, which takes at most this
/// long.
const LOCKED_FOR: Duration = Duration::from_secs(30);

/// Reads the stored state.
pub(super) async fn load(storage: &Arc<dyn TokenStorage>) -> io::Result<Option<Saved>> {
    let storage = Arc::clone(storage);
    bounded(async move { storage.load().await }).await
}

/// Stores this state, unless the stored state is newer.
async fn save(storage: Arc<dyn TokenStorage>, saved: Saved, is_held: bool) -> io::Result<()> {
    // The lock covers reading and writing.
    let _lock = match is_held {
        true => None,
        false => lock(&*storage).await,
    };
    // An unreadable state is replaced.
    let stored = storage.load().await.ok().flatten();
    if stored.is_some_and(|stored| stored.is_newer_than(&saved)) {
        return Ok(());
    }
    storage.save(&saved).await
}

/// Locks a storage for a write. A storage that cannot be locked is written anyway.
async fn lock(storage: &dyn TokenStorage) -> Option<StorageLock> {
    timeout(LOCKED_FOR, storage.lock()).await.ok()?.ok()
}

/// Discards the tokens in the storage after a logout here, even if another process has stored newer ones.
pub(super) async fn log_out(authorization: Authorization) -> io::Result<()> {
    bounded(async move {
        let shared = &authorization.handle.shared;
        let storage = Arc::clone(&shared.storage);
        let _lock = lock(&*storage).await;
        // An unreadable state is replaced.
        let stored = storage.load().await.ok().flatten();
        let saved = shared.with(|authorizer, _| {
            if let Some(stored) = stored {
                authorizer.restore(stored);
            }
            // Without other tokens, the logout here is the newer state already.
            if authorizer.granted().is_some() {
                authorizer.log_out();
            }
            authorizer.saved().clone()
        });
        storage.save(&saved).await
    })
    .await
}

/// Calls a function of the application and passes its result to the authorizer.
fn answer<V: Send + 'static>(
    shared: &Arc<Shared>,
    job: JobId,
    work: impl Future<Output = Option<V>> + Send + 'static,
    report: impl FnOnce(&Shared, V) + Send + 'static,
) {
    let shared = Arc::downgrade(shared);
    drop(tokio::spawn(async move {
        let done = tokio::spawn(work).await.ok().flatten();
        let Some(shared) = shared.upgrade() else { return };
        match done {
            Some(value) => report(&shared, value),
            None => shared.with(|authorizer, now| authorizer.job_failed(job, now)),
        }
    }));
}

/// Locks the storage and reads it. If the storage fails, the authorization continues without it.
async fn claim(shared: &Shared, job: JobId, held: &mut Option<StorageLock>) {
    let storage = Arc::clone(&shared.storage);
    let work = async move {
        let lock = storage.lock().await?;
        Ok((lock, storage.load().await?))
    };
    let within = shared.deadline().map(Instant::from_std);
    let work = guarded(work);
    let claimed: io::Result<(StorageLock, Option<Saved>)> = match within {
        Some(deadline) => match timeout_at(deadline, work).await {
            Ok(claimed) => claimed,
            // The authorizer's stage times out as well.
            Err(_) => return,
        },
        None => work.await,
    };
    let saved = match claimed {
        Ok((lock, saved)) => {
            *held = Some(lock);
            saved
        }
        Err(error) => {
            shared.host.storage_failed(error);
            None
        }
    };
    shared.with(|authorizer, now| authorizer.claimed(job, saved, now));
}

/// Prepares for the redirect of the browser, if the user may be asked to log in.
async fn prepare(shared: &Arc<Shared>, job: JobId, registered: Option<&str>) {
    if !shared.host.may_log_in() {
        return shared.with(Authorizer::abandoned);
    }
    let redirect_uri = match shared.host.redirect_uri() {
        Some(uri) => Ok(uri),
        None => Listener::bind(Arc::downgrade(shared), registered).await.map(|listener| {
            let uri = listener.uri().to_owned();
            shared.lock().listener = Some(listener);
            uri
        }),
    };
    let material = redirect_uri.and_then(|uri| Ok(LoginMaterial::new(random_bytes()?, uri)));
    shared.with(|authorizer, now| match material {
        Ok(material) => authorizer.login_prepared(job, &material, now),
        Err(_) => authorizer.job_failed(job, now),
    });
}

/// Runs a future that uses the storage. A storage that hangs must not block every request that waits for a token.
async fn bounded<V: Send + 'static>(
    work: impl Future<Output = io::Result<V>> + Send + 'static,
) -> io::Result<V> {
    let done = timeout(2 * LOCKED_FOR, guarded(work)).await;
    done.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
}

/// Runs a future of the application that may panic.
async fn guarded<V: Send + 'static>(
    work: impl Future<Output = io::Result<V>> + Send + 'static,
) -> io::Result<V> {
    AbortOnDrop(tokio::spawn(work)).await
}

/// A task that is aborted when the future that waits for it is dropped.
struct AbortOnDrop<V>(tokio::task::JoinHandle<io::Result<V>>);

impl<V> Future for AbortOnDrop<V> {
    type Output = io::Result<V>;

    fn poll(
        mut self: std::pin::Pin<&mut Self>,
        context: &mut std::task::Context<'_>,
    ) -> std::task::Poll<io::Result<V>> {
        let polled = std::pin::Pin::new(&mut self.0).poll(context);
        polled.map(|joined| joined.unwrap_or_else(|error| Err(io::Error::other(error))))
    }
}

impl<V> Drop for AbortOnDrop<V> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
