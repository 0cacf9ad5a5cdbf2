//! Wall-clock time of every case, for every contender.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use mcp_sansio_benches::{Case, Contender, Rounds, messages, output, rounds};

/// Returns the number of bytes that one round receives.
fn received(case: Case) -> usize {
    let mut line = Vec::new();
    match case {
        Case::ScanPing | Case::Ping => messages::PING.len(),
        Case::ScanCall | Case::Call | Case::TypedCall => messages::call(messages::TEXT).len(),
        Case::StatelessCall | Case::TypedStatelessCall => {
            messages::stateless_call(messages::TEXT).len()
        }
        Case::ListTools | Case::ListPreparedTools => messages::LIST.len(),
        Case::ScanLargeCall | Case::LargeCall => messages::call(&messages::large_text()).len(),
        Case::ClientCall => {
            messages::answer(1, &mut line);
            line.len()
        }
        Case::ClientProgress => {
            messages::report(1, 1, &mut line);
            line.len()
        }
        // The remaining cases receive only bytes of their own other side.
        _ => 0,
    }
}

/// Returns the time of `iterations` rounds, scaled from the next multiple of the case's batch size.
fn time(work: &mut Rounds, iterations: u64, case: Case) -> Duration {
    let rounds = iterations.next_multiple_of(case.batch() as u64);
    let start = Instant::now();
    work(rounds.try_into().expect("rounds that can be counted"));
    start.elapsed().mul_f64(iterations as f64 / rounds as f64)
}

fn every_case(criterion: &mut Criterion) {
    for case in Case::of_machines() {
        let mut group = criterion.benchmark_group(case.name());
        group.warm_up_time(Duration::from_secs(1)).measurement_time(Duration::from_secs(2));
        group.sample_size(50);
        let sent = output(case, Contender::Core).map_or(0, |sent| sent.len() / case.batch());
        // The throughput of all contenders is based on the same bytes, although the official SDK sends a few more.
        group.throughput(Throughput::Bytes((received(case) + sent) as u64));
        for &contender in Contender::ALL {
            let Some(mut work) = rounds(case, contender) else { continue };
            group.bench_function(BenchmarkId::from_parameter(contender), |bencher| {
                bencher.iter_custom(|iterations| time(&mut work, iterations, case));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, every_case);
criterion_main!(benches);
