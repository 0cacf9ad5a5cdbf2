//! Each table, with every sequence of a few operations, compared with a plain list.

use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use core::time::Duration;

use super::clock::Clock;
use super::index::LONGEST_CHAIN;
use super::*;
use crate::handle::{ConnectionNumber, SlotKey};
use crate::time::Instant;

/// Applies every sequence of `depth` operations, numbered from 0, to copies of a state. Returns the number of sequences.
fn every_sequence<S: Clone>(
    state: &S,
    depth: u32,
    operations: u32,
    apply: &impl Fn(&mut S, u32),
) -> u64 {
    if depth == 0 {
        return 1;
    }
    let after = |operation| {
        let mut next = state.clone();
        apply(&mut next, operation);
        every_sequence(&next, depth - 1, operations, apply)
    };
    (0..operations).map(after).sum()
}

/// Three hashes, of which the first two share a home among 8 and among 16, and any of which can repeat. Places are
/// dense, as those of a table. The second round starts with so many entries that the index grows.
#[test]
fn an_index_finds_what_is_in_it() {
    const HASHES: [u32; 3] = [1, 28, 2];
    let insert = |(index, model): &mut (Index, BTreeMap<u32, u32>), hash: u32| {
        let place = (0..).find(|place| !model.contains_key(place)).expect("there is a next one");
        index.insert(hash, place);
        model.insert(place, hash);
    };
    let apply = |state: &mut (Index, BTreeMap<u32, u32>), operation: u32| {
        match operation {
            0..3 => insert(state, HASHES[operation as usize]),
            3..7 => {
                let place = operation - 3;
                let hash = state.1.remove(&place).unwrap_or(HASHES[0]);
                state.0.remove(hash, place);
            }
            _ => state.0.release(),
        }
        let (index, model) = state;
        for hash in HASHES {
            for place in 0..9 {
                let expected = (model.get(&place) == Some(&hash)).then_some(place);
                assert_eq!(index.find(hash, |found| found == place), expected, "{model:?}");
            }
            let looked_up = index.look_up(hash, |_| false);
            assert!(looked_up == Lookup::Free && model.len() < LONGEST_CHAIN as usize);
        }
    };
    for before in [0, 7] {
        let mut state = (Index::new(), BTreeMap::new());
        (0..before).for_each(|number| insert(&mut state, HASHES[number % 3]));
        assert_eq!(every_sequence(&state, 5, 8, &apply), 32_768);
    }
}

/// Deadlines of four slots at two times, alone and above other deadlines, so that the heap has two levels.
#[test]
fn deadlines_come_in_order() {
    type State = (Deadlines, Vec<(Instant, u64, u32)>, u64);
    let set = |(deadlines, model, order): &mut State, place: u32, at: Instant| {
        *order += 1;
        deadlines.set(place, *order, at);
        model.retain(|one| one.2 != place);
        model.push((at, *order, place));
    };
    let apply = |state: &mut State, operation: u32| {
        let place = operation % 4;
        match operation {
            0..8 => set(state, place, Instant::from_millis(u64::from(10 + operation / 4))),
            _ => {
                state.0.clear(place);
                state.1.retain(|one| one.2 != place);
            }
        }
        let (deadlines, model, _) = state;
        model.sort_unstable();
        assert_eq!(deadlines.first(), model.first().map(|(at, _, place)| (*at, *place)));
        assert_eq!(deadlines.second(), model.get(1).map(|one| one.0));
        assert_eq!(deadlines.is_empty(), model.is_empty());
        for place in 0..12 {
            let expected = model.iter().find(|one| one.2 == place).map(|one| one.0);
            assert_eq!(deadlines.of(place), expected);
        }
    };
    for before in [0, 7] {
        let mut state = State::default();
        (0..before).for_each(|number| {
            set(&mut state, 4 + number, Instant::from_millis(u64::from(8 + number % 5)));
        });
        assert_eq!(every_sequence(&state, 4, 12, &apply), 20_736);
    }
}

/// Entries that end before their turn, at any position, are never returned; the others are, in order.
#[test]
fn a_queue_returns_what_lives() {
    type State = (SlotQueue, Vec<SlotKey>, u32);
    let apply = |(queue, living, next): &mut State, operation: u32| {
        match operation {
            0 => {
                let place = SlotKey {
                    connection: ConnectionNumber::new(0),
                    index: *next,
                    generation: *next / 3,
                };
                *next += 1;
                queue.push(place);
                living.push(place);
            }
            1 => {
                let expected = (!living.is_empty()).then(|| living.remove(0));
                let before = living.clone();
                let lives = |place| expected == Some(place) || before.contains(&place);
                assert_eq!(queue.pop(lives), expected);
            }
            _ => {
                let at = operation as usize - 2;
                if at < living.len() {
                    living.remove(at);
                    queue.note_ended(1, |place| living.contains(&place));
                }
            }
        }
        assert_eq!(queue.is_empty(), living.is_empty());
        let mut rest = queue.clone();
        let left: Vec<SlotKey> =
            core::iter::from_fn(|| rest.pop(|place| living.contains(&place))).collect();
        assert_eq!(left, *living);
    };
    assert_eq!(every_sequence(&State::default(), 7, 5, &apply), 78_125);
}

/// A handle finds its entry until the entry is removed, and no other one ever after; the ending is remembered until
/// the memory is released.
#[test]
fn a_table_keeps_handles_apart() {
    #[derive(Clone)]
    struct State {
        table: Table<u32>,
        living: Vec<(SlotKey, u32)>,
        ended: Vec<(SlotKey, Option<Ending>)>,
        next: u32,
    }
    let apply = |state: &mut State, operation: u32| {
        let State { table, living, ended, next } = state;
        match operation {
            0 => {
                *next += 1;
                let expected = table.next_place();
                let place = table.insert(|entry| *entry = *next);
                assert_eq!(place, expected);
                let is_new = |known: &SlotKey| *known != place;
                assert!(living.iter().map(|(known, _)| known).all(is_new));
                assert!(ended.iter().map(|(known, _)| known).all(is_new));
                living.push((place, *next));
            }
            1..7 => {
                let at = (operation as usize - 1) / 2;
                let ending =
                    if operation.is_multiple_of(2) { Ending::Answered } else { Ending::Cancelled };
                if at < living.len() {
                    let (place, _) = living.remove(at);
                    assert!(table.remove(place, ending));
                    ended.push((place, Some(ending)));
                }
            }
            _ => {
                table.release();
                if living.is_empty() {
                    ended.iter_mut().for_each(|(_, ending)| *ending = None);
                }
            }
        }
        let entries: Vec<_> = table.iter().map(|(place, entry)| (place, *entry)).collect();
        assert_eq!(entries, *living, "in the order of insertion");
        assert_eq!(table.first(), living.first().map(|(place, _)| *place));
        for pair in living.windows(2) {
            assert_eq!(table.next(pair[0].0), Some(pair[1].0));
        }
        for (place, entry) in living.iter() {
            assert_eq!((table.get(*place), table.ending(*place)), (Some(entry), None));
        }
        for (place, ending) in ended.iter() {
            assert_eq!((table.get(*place), table.ending(*place)), (None, *ending));
            assert!(!table.clone().remove(*place, Ending::Closed));
        }
    };
    let mut state = State {
        table: Table::new(ConnectionNumber::new(3)),
        living: vec![],
        ended: vec![],
        next: 0,
    };
    assert_eq!(every_sequence(&state, 5, 8, &apply), 32_768);
    // One slot has been used more often than the others.
    [0, 1].into_iter().for_each(|operation| apply(&mut state, operation));
    assert_eq!(every_sequence(&state, 6, 8, &apply), 262_144);
}

/// A clock advances exactly while it runs; it resumes with the first operation that knows the time.
#[test]
fn a_clock_counts_the_time_that_it_runs() {
    #[derive(Clone, Default)]
    struct State {
        clock: Clock,
        now: Instant,
        own: Duration,
        asked: u32,
        is_stopped: bool,
        /// Whether it has stood still since the last operation that knew the time.
        stands: bool,
        known: Instant,
    }
    let apply = |state: &mut State, operation: u32| {
        state.now = state.now + Duration::from_secs(1);
        let now = state.now;
        match operation {
            0 => state.clock.tick(now),
            1 => {
                state.asked += 1;
                state.clock.begin_asking(now);
            }
            2 => {
                state.asked = state.asked.saturating_sub(1);
                state.clock.end_asking();
            }
            _ => {
                state.is_stopped = operation == 3;
                state.clock.set_stopped(state.is_stopped, now);
            }
        }
        if operation != 2 {
            if !state.stands {
                state.own += now - state.known;
            }
            state.stands = state.is_stopped || 0 < state.asked;
            state.known = now;
        }
        let running = if state.stands { Duration::ZERO } else { now - state.known };
        let own = Instant::default() + state.own + running;
        assert_eq!(state.clock.at(now), own);
        assert_eq!(state.clock.lag(now), now - own);
        let later = own + Duration::from_secs(5);
        let when = (!state.stands).then(|| now + Duration::from_secs(5));
        assert_eq!(state.clock.when(later), when);
    };
    assert_eq!(every_sequence(&State::default(), 7, 5, &apply), 78_125);
}
