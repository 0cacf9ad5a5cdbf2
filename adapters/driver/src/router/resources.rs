//! The resources and resource templates of a router.

use std::future::Future;
use std::sync::Arc;

use mcp_sansio::model::{Resource, ResourceTemplate};
use mcp_sansio::subscription::ChangedList;
use serde::de::DeserializeOwned;

use super::Router;
use super::arguments::{uri_of, variables_of};
use super::function::Function;
use super::output::ResourceOutput;
use super::uri_template::{InvalidUriTemplate, UriTemplate};
use crate::exchange::Exchange;

/// # Resources
impl Router {
    /// Adds a resource, or replaces the one with this URI. The function reads it.
    pub fn resource<O: ResourceOutput>(
        &self,
        uri: &str,
        name: &str,
        read: impl Fn(&Exchange) -> O + Send + Sync + 'static,
    ) -> &Self {
        self.resource_with(Resource::new(uri.to_owned(), name.to_owned()), read)
    }

    /// As [`resource`](Self::resource), with a function that returns a future.
    pub fn async_resource<F>(
        &self,
        uri: &str,
        name: &str,
        read: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        F: Future<Output: ResourceOutput> + Send + 'static,
    {
        self.async_resource_with(Resource::new(uri.to_owned(), name.to_owned()), read)
    }

    /// Adds a resource with a description, or replaces the one with this URI. A text that the function returns has
    /// the MIME type of the description.
    pub fn resource_with<O: ResourceOutput>(
        &self,
        resource: Resource<'static>,
        read: impl Fn(&Exchange) -> O + Send + Sync + 'static,
    ) -> &Self {
        let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
        let read =
            move |exchange: &Exchange| read(exchange).into_contents(&uri, mime_type.as_deref());
        self.add(ChangedList::Resources, resource, Function::blocking(read))
    }

    /// As [`resource_with`](Self::resource_with), with a function that returns a future.
    pub fn async_resource_with<F>(
        &self,
        resource: Resource<'static>,
        read: impl Fn(Exchange) -> F + Send + Sync + 'static,
    ) -> &Self
    where
        F: Future<Output: ResourceOutput> + Send + 'static,
    {
        let (uri, mime_type) = (resource.uri.clone(), resource.mime_type.clone());
        let read = move |exchange: Exchange| {
            let (uri, mime_type, read) = (uri.clone(), mime_type.clone(), read(exchange));
            async move { read.await.into_contents(&uri, mime_type.as_deref()) }
        };
        self.add(ChangedList::Resources, resource, Function::asynchronous(read))
    }

    /// Declares the capability `resources` in [`config`](Self::config), also if the router has no resource and no template
    /// then. A server needs it that adds its first resource later, or whose extension requires the capability.
    ///
    /// ```
    /// use mcp_sansio_driver::Router;
    ///
    /// let files = Router::new();
    /// files.declare_resources();
    /// assert!(files.config("files", "1.0").capabilities.resources.is_some());
    /// // So does a router that mounts this one.
    /// let router = Router::new();
    /// assert!(router.config("all", "1.0").capabilities.resources.is_none());
    /// router.mount("", &files)?;
    /// assert!(router.config("all", "1.0").capabilities.resources.is_some());
    /// # Ok::<(), mcp_sansio_driver::DuplicateNames>(())
    /// ```
    pub fn declare_resources(&self) -> &Self {
        self.lock().registry.declares_resources = true;
        self
    }

    /// Adds a resource template ([RFC 6570](https://www.rfc-editor.org/rfc/rfc6570)), or replaces the same one. The
    /// function reads every URI that matches, unless a resource has that URI or an earlier template matches. A URI of
    /// more than 8 KiB matches no template.
    ///
    /// The variables of the URI are decoded and read as a type with their names as fields. A field of another type than
    /// a string is read from the string; lists (`{?tag*}`) are read as lists. A URI whose variables do not fit is
    /// refused with `-32602`. A function that returns `None` has no such resource.
    ///
    /// A decoded variable can have any character, also a `/` that was encoded, and `..`: check it before it becomes a
    /// part of a path.
    ///
    /// ```
    /// # use mcp_sansio_driver::{Router, InvalidUriTemplate};
    /// #[derive(serde::Deserialize)]
    /// struct Page {
    ///     book: String,
    ///     number: u32,
    /// }
    ///
    /// # fn main() -> Result<(), InvalidUriTemplate> {
    /// let router = Router::new();
    /// router.template("book://{book}/pages{?number}", "page", |page: Page, _| {
    ///     (page.book == "Emma").then(|| format!("page {} of Emma", page.number))
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// [`InvalidUriTemplate`] if the text is not a URI template, or has more than 4 KiB. Nothing is added. A query
    /// expression is allowed at the end only.
    pub fn template<V: DeserializeOwned, O: ResourceOutput>(
        &self,
        uri_template: &str,
        name: &str,
        read: impl Fn(V, &Exchange) -> O + Send + Sync + 'static,
    ) -> Result<&Self, InvalidUriTemplate> {
        self.template_with(named(uri_template, name), read)
    }

    /// As [`template`](Self::template), with a function that returns a future.
    ///
    /// # Errors
    ///
    /// As for [`template`](Self::template).
    pub fn async_template<V: DeserializeOwned, F>(
        &self,
        uri_template: &str,
        name: &str,
        read: impl Fn(V, Exchange) -> F + Send + Sync + 'static,
    ) -> Result<&Self, InvalidUriTemplate>
    where
        F: Future<Output: ResourceOutput> + Send + 'static,
    {
        self.async_template_with(named(uri_template, name), read)
    }

    /// As [`template`](Self::template), with a description. A text that the function returns has the MIME type of the
    /// description.
    ///
    /// # Errors
    ///
    /// As for [`template`](Self::template).
    pub fn template_with<V: DeserializeOwned, O: ResourceOutput>(
        &self,
        template: ResourceTemplate<'static>,
        read: impl Fn(V, &Exchange) -> O + Send + Sync + 'static,
    ) -> Result<&Self, InvalidUriTemplate> {
        let mime_type = template.mime_type.clone();
        let read = move |exchange: &Exchange| {
            let output = read(variables_of(exchange)?, exchange);
            output.into_contents(&uri_of(exchange), mime_type.as_deref())
        };
        self.add_template(template, Function::blocking(read))
    }

    /// As [`template_with`](Self::template_with), with a function that returns a future.
    ///
    /// # Errors
    ///
    /// As for [`template`](Self::template).
    pub fn async_template_with<V: DeserializeOwned, F>(
        &self,
        template: ResourceTemplate<'static>,
        read: impl Fn(V, Exchange) -> F + Send + Sync + 'static,
    ) -> Result<&Self, InvalidUriTemplate>
    where
        F: Future<Output: ResourceOutput> + Send + 'static,
    {
        let mime_type = template.mime_type.clone();
        let read = move |exchange: Exchange| {
            let (uri, mime_type) = (uri_of(&exchange), mime_type.clone());
            let begun = variables_of(&exchange).map(|variables| read(variables, exchange));
            async move { begun?.await.into_contents(&uri, mime_type.as_deref()) }
        };
        self.add_template(template, Function::asynchronous(read))
    }

    fn add_template(
        &self,
        template: ResourceTemplate<'static>,
        function: Function,
    ) -> Result<&Self, InvalidUriTemplate> {
        let pattern = Arc::new(UriTemplate::parse(&template.uri_template)?);
        Ok(self.add(ChangedList::Resources, template, (pattern, function)))
    }
}

fn named(uri_template: &str, name: &str) -> ResourceTemplate<'static> {
    ResourceTemplate::new(uri_template.to_owned(), name.to_owned())
}
