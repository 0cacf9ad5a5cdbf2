//! A run from its beginning to its end, and the shortest one that fails like it.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

use mcp_sansio::testing::{Broken, Choices, Digest, Promise};

use super::{Setup, Step, World};

/// A run that kept every promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trial {
    /// How many events there were.
    pub events: u64,
    /// What happened.
    pub digest: Digest,
}

/// A run that broke one, made as short as it gets.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Failure {
    /// How both sides were configured.
    pub setup: Setup,
    /// What happened.
    pub steps: Vec<Step>,
    /// What is wrong.
    pub broken: Broken,
    /// What went over the wire.
    pub diagram: String,
}

/// What a seed stands for: a setup, and so many steps.
pub fn schedule(choices: &mut Choices, steps: usize) -> (Setup, Vec<Step>) {
    let setup = Setup::choose(choices);
    let mut schedule = vec![Step::Connect];
    while schedule.len() < steps.max(1) && !choices.is_exhausted() {
        schedule.push(Step::choose(choices));
    }
    (setup, schedule)
}

impl Trial {
    /// Has all of it happen.
    ///
    /// # Errors
    ///
    /// A promise was broken; the schedule has been made shorter, as long as the same promise is broken.
    pub fn run(setup: &Setup, steps: &[Step]) -> Result<Self, Box<Failure>> {
        Self::once(setup, steps).map_err(|broken| shrink(setup, steps, broken))
    }

    /// The same without looking for a shorter schedule.
    ///
    /// # Errors
    ///
    /// A promise was broken.
    pub fn once(setup: &Setup, steps: &[Step]) -> Result<Self, Broken> {
        let mut world = World::new(setup.clone());
        happen(&mut world, steps)?;
        Ok(Self { events: world.events(), digest: world.digest() })
    }
}

/// What goes over the wire in a run, and the promise that it breaks if it does.
pub fn draw(setup: &Setup, steps: &[Step]) -> (String, Option<Broken>) {
    let mut world = World::new(setup.clone());
    world.draw();
    let broken = happen(&mut world, steps).err();
    (world.diagram().map(ToString::to_string).unwrap_or_default(), broken)
}

/// A panic is a broken promise as well.
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

/// Leaves out steps, many at a time and then fewer, for as long as the same promise is broken.
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
