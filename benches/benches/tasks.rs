//! Benchmarks of tasks: the cost of one task operation beside one, a thousand and a million stored tasks.

use std::hint::black_box;
use std::time::Duration;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use mcp_sansio::model::{CallToolResult, ListChanged};
use mcp_sansio::task::{NewTask, TaskKey, Tasks, TasksConfig};
use mcp_sansio::{
    ClientRequest, Framing, Instant, Limits, Outbox, Principal, Received, Server, ServerConfig,
    ServerEvent,
};

/// A server and its store of tasks. The tasks are spread over a thousand owners.
struct Bench {
    server: Server,
    out: Outbox,
    tasks: Tasks,
    next: u64,
}

const META: &str = concat!(
    r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","#,
    r#""io.modelcontextprotocol/clientCapabilities":"#,
    r#"{"extensions":{"io.modelcontextprotocol/tasks":{}}}}"#
);

impl Bench {
    fn of(count: u64) -> Self {
        let mut config = ServerConfig::new("bench", "1");
        config.capabilities.tools = Some(ListChanged::default());
        config.capabilities = config.capabilities.with_tasks();
        let mut tasks = TasksConfig::default();
        (tasks.tasks, tasks.tasks_of_owner) = (u32::MAX, u32::MAX);
        let limits = Limits::default();
        let mut bench = Self {
            server: Server::new(config.into()),
            out: Outbox::new(Framing::Messages, &limits),
            tasks: Tasks::new(tasks),
            next: 0,
        };
        for _ in 0..count {
            bench.begin();
        }
        bench
    }

    /// The current time: one millisecond per task begun. Every task lives for an hour.
    fn now(&self) -> Instant {
        Instant::from_millis(self.next)
    }

    fn begin(&mut self) -> TaskKey {
        self.next += 1;
        let received = Received::from(self.now()).principal(Principal::new(self.next % 1_000));
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"t",{META}}}}}"#,
            self.next
        );
        let event = self.server.receive(call.as_str(), received, &mut self.out);
        let Some(ServerEvent::Request(request)) = event else { panic!("a request") };
        let task =
            NewTask::new(format!("{:032x}", self.next)).ttl(Some(Duration::from_secs(3_600)));
        let (now, tasks, out) = (self.now(), &mut self.tasks, &mut self.out);
        let key = self.server.tasks(tasks).begin(request.id, task, now, out).expect("a task");
        self.out.sent(self.out.unsent().len());
        while self.out.messages().next().is_some() {}
        key
    }

    /// Serves a `tasks/get` of the task's owner.
    fn show(&mut self, number: u64) {
        let received = Received::from(self.now()).principal(Principal::new(number % 1_000));
        let get = format!(
            concat!(
                r#"{{"jsonrpc":"2.0","id":"g","method":"tasks/get","#,
                r#""params":{{"taskId":"{:032x}",{}}}}}"#
            ),
            number, META
        );
        let event = self.server.receive(get.as_str(), received, &mut self.out);
        let Some(ServerEvent::Request(request)) = event else { panic!("a request") };
        let ClientRequest::Task(call) = &request.kind else { panic!("about a task") };
        let (now, tasks, out) = (received.now, &mut self.tasks, &mut self.out);
        self.server.tasks(tasks).serve(request.id, call, now, out).expect("served");
        while self.out.messages().next().is_some() {}
    }
}

fn by_number(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tasks");
    group.sample_size(20);
    for count in [1_u64, 1_000, 1_000_000] {
        let mut bench = Bench::of(count);
        let result = CallToolResult::text("done");
        group.bench_function(BenchmarkId::new("begin, complete, forget", count), |bencher| {
            bencher.iter(|| {
                let key = bench.begin();
                let now = bench.now();
                bench.tasks.complete(key, &result, now).expect("completed");
                assert!(bench.tasks.remove(key));
            });
        });
        let mut number = 0;
        group.bench_function(BenchmarkId::new("show", count), |bencher| {
            bencher.iter(|| {
                // Scatter the accesses, so that the processor cache does not help.
                number = (number + 7_919) % count;
                bench.show(number + 1);
            });
        });
        group.bench_function(BenchmarkId::new("begin, expire", count), |bencher| {
            bencher.iter(|| {
                let key = bench.begin();
                let now = bench.now();
                bench.tasks.set_ttl(key, Some(Duration::ZERO)).expect("a task");
                _ = black_box(bench.tasks.handle_timeout(now)).expect("expired");
            });
        });
    }
    group.finish();
}

criterion_group!(benches, by_number);
criterion_main!(benches);
