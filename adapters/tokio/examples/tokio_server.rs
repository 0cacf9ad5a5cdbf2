//! A server with three tools on tokio: on standard input and output, or for many clients on a socket.
//!
//! Shows [`Router`]: tools as typed functions. One of them waits, reports progress and can be cancelled; another
//! one fails.
//!
//! Usage: `cargo run -p mcp-sansio-tokio --example tokio_server [ADDRESS]`, for example `localhost:4000`.

use std::time::Duration;

use mcp_sansio::progress::Progress;
use mcp_sansio_tokio::{Exchange, Failed, Router, Typed, serve, serve_stdio};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

#[derive(Deserialize, JsonSchema)]
struct Sum {
    /// The numbers to add.
    numbers: Vec<f64>,
}

#[derive(Deserialize, JsonSchema)]
struct Countdown {
    /// How many steps of 50 ms to wait, at most 100.
    steps: u32,
}

#[derive(Deserialize, JsonSchema)]
struct Division {
    dividend: i64,
    divisor: i64,
}

#[derive(JsonSchema, Serialize)]
struct Quotient {
    quotient: i64,
    remainder: i64,
}

fn router() -> Router {
    let router = Router::new();
    router.async_tool("sum", "Adds numbers up", |sum: Sum, _| async move {
        sum.numbers.iter().sum::<f64>().to_string()
    });
    router.async_tool("divide", "Divides whole numbers", |numbers: Division, _| async move {
        let Division { dividend, divisor } = numbers;
        let quotient = dividend.checked_div(divisor).ok_or_else(|| Failed::new("by zero?"))?;
        Ok::<_, Failed>(Typed(Quotient { quotient, remainder: dividend % divisor }))
    });
    router.async_tool("count_down", "Takes its time", count_down);
    router
}

async fn count_down(countdown: Countdown, exchange: Exchange) -> Result<&'static str, Failed> {
    for step in 1..=countdown.steps.min(100) {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(50)) => {}
            // The response is no longer wanted.
            () = exchange.cancelled() => return Err(Failed::new("cancelled")),
        }
        // Sent only if the client requested progress.
        exchange.progress(Progress::new(step).total(countdown.steps))?;
    }
    Ok("lift-off")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> std::io::Result<()> {
    let router = router();
    let config = router.config("tokio_server", env!("CARGO_PKG_VERSION"));
    let Some(address) = std::env::args().nth(1) else {
        return serve_stdio(config, router).await;
    };
    let listener = TcpListener::bind(&address).await?;
    eprintln!("listening on {}", listener.local_addr()?);
    loop {
        let Ok((socket, client)) = listener.accept().await else {
            // Most likely the process has too many open files.
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let (reader, writer) = socket.into_split();
        let serving = serve(config.clone(), reader, writer, router.clone());
        tokio::spawn(async move {
            if let Err(error) = serving.await {
                eprintln!("{client}: {error}");
            }
        });
    }
}
