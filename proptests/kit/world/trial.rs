//! A complete run, and the minimization of a failing one.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_sansio::testing::{Broken, Choices, Digest, Promise};

use super::{Setup, Step, World};

/// A run that kept every promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trial {
    /// The number of events.
    pub events: u64,
    /// The digest of the run.
    pub digest: Digest,
}

/// A minimized run that broke a promise.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// The configuration of both sides.
    pub setup: Setup,
    /// The steps of the run.
    pub steps: Vec<Step>,
    /// The broken promise.
    pub broken: Broken,
    /// A diagram of the traffic on the wire.
    pub diagram: String,
}

/// Generates a setup and a schedule of at most `steps` steps.
pub fn schedule(choices: &mut Choices, steps: usize) -> (Setup, Vec<Step>) {
    let setup = Setup::choose(choices);
    let mut schedule = vec![Step::Connect];
    while schedule.len() < steps.max(1) && !choices.is_exhausted() {
        let step = Step::choose(choices);
        if setup.faults || !step.is_fault() {
            schedule.push(step);
        }
    }
    (setup, schedule)
}

impl Trial {
    /// Runs the whole schedule.
    ///
    /// # Errors
    ///
    /// Returns the broken promise, with a schedule that is minimized as long as the same promise is broken.
    pub fn run(setup: &Setup, steps: &[Step]) -> Result<Self, Box<Failure>> {
        Self::once(setup, steps).map_err(|broken| shrink(setup, steps, broken))
    }

    /// Runs the whole schedule without minimization.
    ///
    /// # Errors
    ///
    /// Returns the broken promise.
    pub fn once(setup: &Setup, steps: &[Step]) -> Result<Self, Broken> {
        let mut world = World::new(setup.clone());
        happen(&mut world, steps)?;
        Ok(Self { events: world.events(), digest: world.digest() })
    }
}

/// Returns a diagram of the traffic of a run, and the promise that it breaks, if any.
pub fn draw(setup: &Setup, steps: &[Step]) -> (String, Option<Broken>) {
    let mut world = World::new(setup.clone());
    world.draw();
    let broken = happen(&mut world, steps).err();
    (world.diagram().map(ToString::to_string).unwrap_or_default(), broken)
}

/// Runs all steps and the end. A panic counts as a broken promise.
fn happen(world: &mut World, steps: &[Step]) -> Result<(), Broken> {
    let all = AssertUnwindSafe(|| {
        steps.iter().try_for_each(|step| world.step(step))?;
        world.finish()
    });
    catch_unwind(all).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        Err(Broken::new(Promise::Total, format!("panic: {text}")))
    })
}

/// Removes steps, in ever smaller groups, as long as the same promise is broken.
fn shrink(setup: &Setup, steps: &[Step], broken: Broken) -> Box<Failure> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (mut steps, mut broken) = (steps.to_vec(), broken);
    let mut length = steps.len();
    while 0 < length {
        let mut at = 0;
        while at < steps.len() {
            let mut fewer = steps.clone();
            fewer.drain(at..steps.len().min(at + length));
            match Trial::once(setup, &fewer) {
                Err(same) if same.promise == broken.promise => (steps, broken) = (fewer, same),
                _ => at += length,
            }
        }
        length /= 2;
    }
    std::panic::set_hook(hook);
    let (diagram, _) = draw(setup, &steps);
    Box::new(Failure { setup: setup.clone(), steps, broken, diagram })
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { setup, steps, broken, diagram } = self;
        writeln!(formatter, "{broken}\n")?;
        let (client, server) = (&setup.client.revisions, &setup.server.revisions);
        writeln!(
            formatter,
            "client of {client:?}, server of {server:?}, stream: {:?}",
            setup.stream
        )?;
        writeln!(formatter, "client: {:?}", setup.client.connection)?;
        writeln!(formatter, "server: {:?}", setup.server.connection)?;
        for (number, step) in (1..).zip(steps) {
            writeln!(formatter, "{number:4}. {step:?}")?;
        }
        write!(formatter, "\n{diagram}")
    }
}
