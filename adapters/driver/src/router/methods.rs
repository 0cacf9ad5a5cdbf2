//! Methods of extensions, and the extensions that a router declares.

use std::fmt;
use std::future::Future;

use mcp_sansio::json::Raw;
use mcp_sansio::model::method::Method;
use mcp_sansio::{Payload, RespondError};
use serde::de::DeserializeOwned;

use super::Router;
use super::function::{Function, FunctionResult};
use super::misfit::misfit;
use super::output::Failed;
use super::visibility::EntryKind;
use crate::exchange::Exchange;
use crate::trace;

/// A method of an extension, or another method that the protocol does not define.
#[derive(Clone)]
pub(super) struct CustomMethod {
    pub(super) name: &'static str,
    pub(super) function: Function,
}

impl CustomMethod {
    /// The kind of entry, for messages.
    pub(super) const KIND: &'static str = "method";
}

impl fmt::Debug for CustomMethod {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("CustomMethod").field("name", &self.name).finish_non_exhaustive()
    }
}

/// # Extensions
impl Router {
    /// Adds a method that the protocol does not define, or replaces the one with this name. The params are read as the
    /// type `A`; the result is a [`Payload`], an application type in [`Json`](crate::Json) for example.
    ///
    /// [`config`](Self::config) declares the [extension](Method::EXTENSION) of the method. A client that has not declared it
    /// is served as well, because many extensions have no declaration of clients; to require one, hide the method
    /// ([`show_if`](Self::show_if)) unless `exchange.request().context.extensions` contains the extension
    /// ([`ServerConfig::extension`](mcp_sansio::ServerConfig::extension)). Methods of the protocol itself never reach the
    /// function.
    ///
    /// ```
    /// use mcp_sansio::ErrorCode;
    /// use mcp_sansio::model::method::Method;
    /// use mcp_sansio_driver::{Failed, Json, Router};
    /// use serde::{Deserialize, Serialize};
    ///
    /// #[derive(Deserialize, Serialize)]
    /// struct City {
    ///     name: String,
    /// }
    ///
    /// #[derive(Deserialize, Serialize)]
    /// struct Weather {
    ///     degrees: i32,
    /// }
    ///
    /// enum GetWeather {}
    ///
    /// impl Method for GetWeather {
    ///     const NAME: &'static str = "com.example/weather";
    ///     const EXTENSION: Option<&'static str> = Some("com.example/weather");
    ///     type Params<'a> = Json<City>;
    ///     type Result<'a> = Json<Weather>;
    /// }
    ///
    /// let router = Router::new();
    /// router.method::<GetWeather, _, _>(|city: City, _| match city.name.as_str() {
    ///     "Paris" => Ok(Json(Weather { degrees: 21 })),
    ///     _ => Err(Failed::refused(ErrorCode::INVALID_PARAMS, "there is no such city")),
    /// });
    /// let config = router.config("weather", "1.0");
    /// assert!(config.capabilities.extension("com.example/weather").is_some());
    /// ```
    pub fn method<M: Method, A: DeserializeOwned, O: Payload>(
        &self,
        serve: impl Fn(A, &Exchange) -> Result<O, Failed> + Send + Sync + 'static,
    ) -> &Self {
        let serve = move |exchange: &Exchange| written(serve(params_of(exchange)?, exchange)?);
        self.add_method::<M>(Function::blocking(serve))
    }

    /// As [`method`](Self::method), with a function that returns a future.
    pub fn async_method<M: Method, A: DeserializeOwned, O: Payload, F>(
        &self,
        serve: impl Fn(A, Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        F: Future<Output = Result<O, Failed>> + Send + 'static,
    {
        let serve = move |exchange: Exchange| {
            let begun = params_of(&exchange).map(|params| serve(params, exchange));
            async move { written(begun?.await?) }
        };
        self.add_method::<M>(Function::asynchronous(serve))
    }

    /// Declares an extension with its settings, an object. The methods of the router declare theirs with empty settings
    /// unless this sets others.
    pub fn extension(&self, name: &str, settings: Raw<'static>) -> &Self {
        let old = self.lock().registry.extensions.insert(name.to_owned(), settings);
        // Dropped without the lock.
        drop(old);
        self
    }

    fn add_method<M: Method>(&self, function: Function) -> &Self {
        let method = CustomMethod { name: M::NAME, function };
        let old = {
            let registry = &mut self.lock().registry;
            if let Some(extension) = M::EXTENSION {
                let settings = registry.extensions.entry(extension.to_owned());
                settings.or_insert(Raw::EMPTY_OBJECT);
            }
            let old = registry.put_method(method);
            if old.is_some() {
                registry.note_duplicate(format!("{} {}", CustomMethod::KIND, M::NAME));
            }
            old
        };
        if old.is_some() {
            trace::replaced(CustomMethod::KIND, M::NAME);
        }
        // Dropped without the lock.
        drop(old);
        self
    }

    /// Returns the function of a method, by its name on the wire.
    pub(super) fn method_of(&self, exchange: &Exchange) -> Option<(&'static str, Function)> {
        let method = &exchange.request().method;
        let (name, function) = {
            let registry = &self.lock().registry;
            let found = registry.methods.iter().find(|known| *method == *known.name)?;
            (found.name, found.function.clone())
        };
        let is_shown = self.filters(EntryKind::Method).show(exchange, name);
        (is_shown && function.is_shown(exchange)).then_some((name, function))
    }
}

/// Returns the params of a request; absent ones count as `{}`.
fn params_of<A: DeserializeOwned>(exchange: &Exchange) -> Result<A, Failed> {
    let none = Raw::EMPTY_OBJECT;
    let params = exchange.request().params.as_ref().unwrap_or(&none);
    params.parse().map_err(|error| Failed::arguments(misfit(params.as_json(), &error)))
}

fn written(result: impl Payload) -> FunctionResult {
    let written = Raw::from_payload(&result).map_err(RespondError::from);
    written.map_err(|error| Failed::new(format!("the result does not fit: {error}")))
}
