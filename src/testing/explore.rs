//! Exhaustive exploration of the states of a small world.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Debug};

use super::digest::Canonical;

/// A world with a finite number of states.
///
/// It consists of the real machines, which are plain values: a state is a clone.
pub trait World: Clone {
    /// A transition to another state.
    type Action: Clone + Debug;

    /// Returns the possible actions. Empty in a final state.
    fn actions(&self) -> Vec<Self::Action>;

    /// Executes an action.
    ///
    /// # Errors
    ///
    /// The description of a violated expectation.
    fn act(&mut self, action: &Self::Action) -> Result<(), String>;

    /// Checks a final state, in which no action is possible.
    ///
    /// # Errors
    ///
    /// The description of a violated expectation.
    fn end(&self) -> Result<(), String>;

    /// Returns the identity of this state: a hash of everything that the future depends on, and of nothing else.
    fn view(&self) -> Canonical;
}

/// The size of an explored world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explored {
    /// The number of different states.
    pub states: usize,
    /// The number of transitions between states.
    pub transitions: usize,
    /// The number of final states.
    pub ends: usize,
    /// The number of actions on the shortest path to the most distant state.
    pub depth: usize,
}

/// A shortest path to a violated expectation.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Counterexample<A> {
    /// The actions, in order.
    pub actions: Vec<A>,
    /// The violated expectation.
    pub what: String,
}

impl<A: Debug> fmt::Display for Counterexample<A> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, action) in (1..).zip(&self.actions) {
            writeln!(formatter, "{number:4}. {action:?}")?;
        }
        write!(formatter, "  => {}", self.what)
    }
}

/// Executes all possible actions in every order, breadth first, and visits each state once.
///
/// Memory grows with the number of states. A world with more than `most` states is reported as a counterexample. So
/// is a world without a final state, because [`World::end`] would never be called.
///
/// # Errors
///
/// The first violated expectation, and a shortest path to it.
pub fn explore<W: World>(start: W, most: usize) -> Result<Explored, Counterexample<W::Action>> {
    let mut seen = BTreeSet::from([start.view().finish_wide()]);
    // The predecessor of each state and the action that led from there.
    let mut ways: Vec<Option<(usize, W::Action)>> = alloc::vec![None];
    let mut frontier = VecDeque::from([(0, 0, start)]);
    let mut explored = Explored { states: 1, ..Explored::default() };
    while let Some((index, depth, world)) = frontier.pop_front() {
        explored.depth = depth;
        let actions = world.actions();
        if actions.is_empty() {
            explored.ends += 1;
            world.end().map_err(|what| counterexample(&ways, index, None, what))?;
        }
        for action in actions {
            let mut next = world.clone();
            let acted = next.act(&action);
            acted.map_err(|what| counterexample(&ways, index, Some(action.clone()), what))?;
            explored.transitions += 1;
            if !seen.insert(next.view().finish_wide()) {
                continue;
            }
            if most <= explored.states {
                let what = alloc::format!("more than {most} states");
                return Err(counterexample(&ways, index, Some(action), what));
            }
            explored.states += 1;
            frontier.push_back((ways.len(), depth + 1, next));
            ways.push(Some((index, action)));
        }
    }
    if explored.ends == 0 {
        let what = String::from("there is always something that can happen");
        return Err(Counterexample { actions: Vec::new(), what });
    }
    Ok(explored)
}

fn counterexample<A: Clone>(
    ways: &[Option<(usize, A)>],
    mut index: usize,
    last: Option<A>,
    what: String,
) -> Counterexample<A> {
    let mut actions: Vec<A> = last.into_iter().collect();
    while let Some(Some((from, action))) = ways.get(index) {
        actions.push(action.clone());
        index = *from;
    }
    actions.reverse();
    Counterexample { actions, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use core::hash::Hash;

    use crate::time::Instant;

    /// A world of two counters that count to three.
    #[derive(Clone, Hash)]
    struct Counters(u8, u8, Option<(u8, u8)>);

    impl World for Counters {
        type Action = &'static str;

        fn actions(&self) -> Vec<&'static str> {
            let (first, second) = (self.0 < 3, self.1 < 3);
            [first.then_some("first"), second.then_some("second")].into_iter().flatten().collect()
        }

        fn act(&mut self, action: &&'static str) -> Result<(), String> {
            *(if *action == "first" { &mut self.0 } else { &mut self.1 }) += 1;
            if self.2 == Some((self.0, self.1)) { Err("met".to_string()) } else { Ok(()) }
        }

        fn end(&self) -> Result<(), String> {
            if self.2 == Some((9, 9)) { Err("over".to_string()) } else { Ok(()) }
        }

        fn view(&self) -> Canonical {
            let mut view = Canonical::new(Instant::EPOCH);
            self.hash(&mut view);
            view
        }
    }

    #[test]
    fn every_state_is_visited_once() {
        let explored = explore(Counters(0, 0, None), 100);
        let expected = Explored { states: 16, transitions: 24, ends: 1, depth: 6 };
        assert_eq!(explored.unwrap(), expected);
    }

    #[test]
    fn a_counterexample_is_a_shortest_way() {
        let found = explore(Counters(0, 0, Some((2, 1))), 100).unwrap_err();
        assert_eq!((found.actions.len(), &*found.what), (3, "met"));
        assert_eq!(found.to_string().lines().count(), 4);
        let found = explore(Counters(0, 0, Some((9, 9))), 100).unwrap_err();
        assert_eq!((found.actions.len(), &*found.what), (6, "over"));
        let found = explore(Counters(0, 0, None), 3).unwrap_err();
        assert_eq!(found.what, "more than 3 states");
    }
}
