//! A body that is scanned once: the validator and the machine behave as if each had scanned it.

use std::sync::Arc;

use mcp_sansio::http::{
    Headers, HttpExchange, HttpServer, ParamHeaders, RequestSource, RequestValidator,
};
use mcp_sansio::json::ScannedFrame;
use mcp_sansio::{Frame, Instant, ServerConfig, ServerEvent};

/// A body, and its scans: an unused one, one by its own validator, and one by a validator with another depth limit.
#[derive(Debug)]
pub struct Scans<'b> {
    body: &'b [u8],
    scans: [ScannedFrame<'b>; 3],
}

/// The type of the `tools` argument of [`RequestValidator::post`].
pub type Tools<'t> = &'t dyn Fn(&str) -> Option<Arc<ParamHeaders>>;

impl<'b> Scans<'b> {
    /// Creates unused scans of this body.
    pub const fn new(body: &'b [u8]) -> Self {
        Self { body, scans: [const { ScannedFrame::new() }; 3] }
    }

    /// Validates the body of a POST request with each kind of scan.
    ///
    /// # Panics
    ///
    /// Panics if the results differ.
    pub fn check_post(
        &mut self,
        validator: &RequestValidator,
        headers: Headers<'_>,
        tools: Tools<'_>,
    ) {
        let expected = validator.post(headers, self.body, tools);
        let mut post = |validator: &RequestValidator, scan: &mut _| {
            validator.post_scanned(headers, self.body, scan, tools)
        };
        self.scans = looked_at(validator, &mut post, &expected);
    }

    /// Validates the body of a client of 2024-11-05 with each kind of scan.
    ///
    /// # Panics
    ///
    /// Panics if the results differ.
    pub fn check_message(&mut self, validator: &RequestValidator) {
        let expected = validator.message(self.body);
        let mut look =
            |validator: &RequestValidator, scan: &mut _| validator.message_scanned(self.body, scan);
        self.scans = looked_at(validator, &mut look, &expected);
    }

    /// Lets copies of a machine receive a frame of the body with each scan, and once without a scan.
    ///
    /// # Panics
    ///
    /// Panics if the events, the output or the machines differ.
    pub fn check_frame(
        &mut self,
        http: &mut HttpServer,
        exchange: HttpExchange,
        frame: Frame<'b>,
        source: RequestSource,
        now: Instant,
    ) {
        http.with(exchange.connection(), now, |server, streams| {
            let received = streams.message_context(exchange.response(), source, now);
            let (mut plain, mut out) = (server.clone(), streams.clone());
            let event = plain.receive(frame, received, &mut out).map(ServerEvent::into_owned);
            for scan in &mut self.scans {
                let (mut server, mut streams) = (server.clone(), streams.clone());
                let scanned = server.receive_scanned(frame, scan, received, &mut streams);
                assert_eq!(scanned, event);
                assert!((server, streams) == (plain.clone(), out.clone()), "{event:?}");
            }
        });
    }
}

/// Validates a body with each kind of scan, and returns the scans.
fn looked_at<'b, T: std::fmt::Debug + PartialEq>(
    validator: &RequestValidator,
    look: &mut dyn FnMut(&RequestValidator, &mut ScannedFrame<'b>) -> T,
    expected: &T,
) -> [ScannedFrame<'b>; 3] {
    let mut scans = [const { ScannedFrame::new() }; 3];
    let [_, usual, shallow] = &mut scans;
    // The second pass reuses the scan; each later one scans again, because the limit has changed.
    for validator in [validator, validator, &shallow_validator(), validator] {
        let found = look(validator, usual);
        let fresh = look(validator, &mut ScannedFrame::new());
        assert_eq!(found, fresh);
    }
    assert_eq!(look(validator, usual), *expected);
    _ = look(&shallow_validator(), shallow);
    scans
}

/// Creates a validator that permits no nesting.
fn shallow_validator() -> RequestValidator {
    let mut config = ServerConfig::new("shallow", "1");
    config.connection.limits.depth = 1;
    RequestValidator::new(Arc::default(), Arc::new(config))
}
