//! Results, cancellations, drops and the end of a client's connection, in every order.

use shuttle::thread::spawn;

use mcp_sansio::{CallOptions, Phase};

use super::explore;
use super::kit::client;
use crate::{CallFailure, PendingCall, Wire};

fn call(wire: &std::sync::Arc<Wire<mcp_sansio::Client>>) -> PendingCall {
    let params = serde_json::json!({ "name": "t" });
    wire.handle().call_method("tools/call", &params, CallOptions::new())
}

/// Asserts that no call is left, and ends the connection.
fn end(wire: &std::sync::Arc<Wire<mcp_sansio::Client>>) {
    wire.abandon();
    wire.wait().unwrap();
    let state = wire.lock();
    assert_eq!(state.machine.phase(), Phase::Closed);
    assert_eq!(state.machine.in_flight().counts().outbound, 0);
}

/// Two threads wait for their results.
#[test]
fn each_caller_gets_its_result() {
    explore(|| {
        let wire = client();
        let other = call(&wire);
        let waits = spawn(move || other.wait().unwrap());
        call(&wire).wait().unwrap();
        waits.join().unwrap();
        end(&wire);
    });
}

/// One thread waits for the result, another one cancels the call: one end, and no thread waits forever.
#[test]
fn a_result_and_a_cancellation() {
    explore(|| {
        let wire = client();
        let handle = wire.handle();
        let pending = call(&wire);
        let id = pending.id().unwrap().unwrap();
        let cancels = spawn(move || handle.cancel(id, None).is_ok());
        let result = pending.wait();
        match (cancels.join().unwrap(), result) {
            (true, Err(CallFailure::Cancelled)) | (false, Ok(_)) => {}
            other => panic!("{other:?}"),
        }
        end(&wire);
    });
}

/// A caller drops its call while the result comes.
#[test]
fn a_result_and_a_drop() {
    explore(|| {
        let wire = client();
        let (dropped, kept) = (call(&wire), call(&wire));
        let drops = spawn(move || drop(dropped));
        kept.wait().unwrap();
        drops.join().unwrap();
        end(&wire);
    });
}

/// The connection ends while a caller waits.
#[test]
fn a_result_and_the_end() {
    explore(|| {
        let wire = client();
        let pending = call(&wire);
        let ends = {
            let wire = wire.clone();
            spawn(move || wire.abandon())
        };
        match pending.wait() {
            Ok(_) | Err(CallFailure::Closed(_) | CallFailure::NotSent) => {}
            other => panic!("{other:?}"),
        }
        ends.join().unwrap();
        end(&wire);
    });
}
