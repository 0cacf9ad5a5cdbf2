//! [`Records`]: the spans and the events of this process.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

/// The attributes of a span.
pub(crate) type Span = BTreeMap<String, String>;

/// The records, which all tests of a process share: `tracing` has one subscriber for all threads.
#[derive(Clone, Default)]
pub(crate) struct Records {
    text: Arc<Mutex<Vec<u8>>>,
    closed: Arc<Mutex<Vec<Span>>>,
}

impl Records {
    pub(crate) fn of_this_process() -> &'static Self {
        static RECORDS: OnceLock<Records> = OnceLock::new();
        RECORDS.get_or_init(|| {
            let records = Self::default();
            let writer = records.clone();
            let lines = tracing_subscriber::fmt::layer().with_ansi(false);
            let lines = lines.with_writer(move || writer.clone());
            let subscriber = tracing_subscriber::registry()
                .with(lines.with_filter(LevelFilter::from_level(Level::TRACE)))
                .with(records.clone());
            tracing::subscriber::set_global_default(subscriber).unwrap();
            records
        })
    }

    /// The text of all events.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.text.lock().unwrap().clone()).unwrap()
    }

    /// Waits for an event with this text.
    pub(crate) fn wait_for(&self, event: &str) {
        let patience = Instant::now() + Duration::from_secs(60);
        while !self.text().contains(event) {
            assert!(Instant::now() < patience, "{event}: {}", self.text());
            sleep(Duration::from_millis(5));
        }
    }

    /// Waits for the end of a span with this value of an attribute, on one side. Returns its other attributes.
    pub(crate) fn span(&self, kind: &str, attribute: &str, value: &str) -> Span {
        let patience = Instant::now() + Duration::from_secs(60);
        let wanted = |span: &Span| {
            span.get("otel.kind").is_some_and(|it| it == kind)
                && span.get(attribute).is_some_and(|it| it == value)
        };
        loop {
            let mut closed = self.closed.lock().unwrap();
            if let Some(at) = closed.iter().position(wanted) {
                return closed.remove(at);
            }
            assert!(Instant::now() < patience, "no span {kind} {value}: {closed:?}");
            drop(closed);
            sleep(Duration::from_millis(5));
        }
    }
}

impl Write for Records {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Values<'s>(&'s mut Span);

impl Visit for Values<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name().into(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().into(), value.into());
    }
}

impl<S: Subscriber + for<'s> LookupSpan<'s>> Layer<S> for Records {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut span = Span::new();
        attributes.record(&mut Values(&mut span));
        context.span(id).unwrap().extensions_mut().insert(span);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let mut extensions = span.extensions_mut();
        values.record(&mut Values(extensions.get_mut::<Span>().unwrap()));
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap().extensions_mut().remove::<Span>().unwrap();
        self.closed.lock().unwrap().push(span);
    }
}
