//! [`Outgoing`] against a model that examines every request.

use alloc::vec::Vec;

use super::*;

const IDLE: Duration = Duration::from_secs(7);
const TOTAL: Duration = Duration::from_secs(30);
const PERSON: Duration = Duration::from_secs(50);

/// A request of the model: its timers as times of the clock that can pause, and the real time of its retry.
#[derive(Clone, Debug)]
struct Modelled {
    place: SlotKey,
    id: u64,
    idle: Option<Duration>,
    idle_at: Option<Instant>,
    total_at: Option<Instant>,
    retry_at: Option<Instant>,
    /// The maximum total pause of the clock.
    pause: Option<Duration>,
    is_bounded: bool,
    is_uncounted: bool,
    is_quiet: bool,
}

impl Modelled {
    fn due(&self) -> Option<Instant> {
        [self.idle_at, self.total_at].into_iter().flatten().min()
    }
}

/// The clock of the model: its time, and its total pause.
#[derive(Default)]
struct ModelClock {
    now: Duration,
    lag: Duration,
    is_stopped: bool,
}

impl ModelClock {
    fn shows(&self) -> Instant {
        Instant::EPOCH + (self.now - self.lag)
    }

    fn real(&self) -> Instant {
        Instant::EPOCH + self.now
    }
}

fn check(outgoing: &Outgoing<u32>, model: &[Modelled], clock: &ModelClock, step: usize) {
    let (shows, real) = (clock.shows(), clock.real());
    let first = model
        .iter()
        .filter_map(|one| Some((one.due()?, one.id, one.place)))
        .min_by_key(|(at, id, _)| (*at, *id));
    let due = first.filter(|(at, ..)| *at <= shows).map(|(.., place)| place);
    assert_eq!(outgoing.due(real), due, "step {step}");
    let seconds = model.iter().filter(|one| one.due().is_some_and(|due| due <= shows)).count();
    assert_eq!(outgoing.has_second_due(real), 1 < seconds, "step {step}");
    let pausing = model.iter().find(|one| one.pause.is_some());
    let end = pausing.filter(|_| clock.is_stopped).and_then(|one| {
        let left = one.pause?.saturating_sub(clock.lag);
        Some((real + left, one.place))
    });
    let known = outgoing.next_pause_end();
    assert_eq!(known.map(|(_, place)| place), end.map(|(_, place)| place), "step {step}");
    for one in model {
        let is_due = one.due().is_some_and(|due| due <= shows);
        assert_eq!(outgoing.is_due(one.place, real), is_due, "step {step}");
        assert_eq!(outgoing.find(one.id), Some(one.place), "step {step}");
        let timers = (true, one.idle_at.is_some(), one.pause.is_some());
        assert_eq!(outgoing.checked_timers(one.place), timers, "step {step}");
    }
    let first_retry = model.iter().filter_map(|one| one.retry_at).min();
    assert_eq!(outgoing.next_poll(), first_retry, "step {step}");
    let uncounted = model.iter().filter(|one| one.is_uncounted).count();
    assert_eq!(outgoing.counted() as usize, model.len() - uncounted, "step {step}");
    assert_eq!(outgoing.is_quiet(), model.iter().all(|one| one.is_quiet), "step {step}");
    assert!(outgoing.iter().map(|(place, _)| place).eq(model.iter().map(|one| one.place)));
}

/// Executes one of the operations that change the timers of a request.
fn change(
    outgoing: &mut Outgoing<u32>,
    one: &mut Modelled,
    kind: usize,
    (real, shows): (Instant, Instant),
) {
    let (place, now) = (one.place, Some(real));
    match kind {
        0 | 1 => {
            outgoing.wait(place, Wait::Response, now);
            one.retry_at = None;
            one.idle_at = one.idle.map(|idle| shows + idle);
        }
        2 => {
            outgoing.wait(place, Wait::Retry(Some(IDLE)), now);
            (one.idle_at, one.retry_at) = (None, Some(real + IDLE));
        }
        3 => {
            outgoing.wait(place, Wait::End, now);
            one.retry_at = None;
        }
        4 => {
            outgoing.wait(place, Wait::Forever, now);
            (one.idle, one.idle_at, one.pause) = (None, None, None);
        }
        5 => {
            outgoing.wait(place, Wait::Task, now);
            (one.idle, one.idle_at, one.pause) = (None, None, None);
            one.total_at = one.total_at.filter(|_| one.is_bounded);
        }
        6 => {
            outgoing.wait(place, Wait::Late(TOTAL), now);
            (one.idle, one.idle_at) = (Some(TOTAL), Some(shows + TOTAL));
            (one.total_at, one.pause) = (None, None);
        }
        7 => {
            outgoing.wait(place, Wait::Soon(Some(IDLE)), now);
            if one.idle.is_none() {
                (one.idle, one.idle_at) = (Some(IDLE), Some(shows + IDLE));
            }
        }
        8 => {
            one.id = outgoing.next_id();
            outgoing.renew(place);
        }
        9 => {
            outgoing.set_uncounted(place);
            outgoing.set_quiet(place);
            (one.is_uncounted, one.is_quiet) = (true, true);
        }
        _ => {}
    }
}

/// After any sequence of operations, the due requests are those that an examination of each request finds.
#[test]
fn due_requests_match_a_scan_of_all_requests() {
    let mut random = 12_345_u64;
    let mut roll = |sides: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % sides
    };
    let mut outgoing: Outgoing<u32> = Outgoing::new(ConnectionNumber::default(), 1, 4);
    let mut model: Vec<Modelled> = Vec::new();
    let mut clock = ModelClock::default();
    for step in 0..20_000 {
        let passed = Duration::from_millis(roll(2_000) as u64);
        clock.now += passed;
        if clock.is_stopped {
            clock.lag += passed;
        }
        outgoing.clock_mut().tick(clock.real());
        let (now, shows) = (Some(clock.real()), clock.shows());
        let most = if step / 1_000 % 2 == 0 { 20 } else { 2 };
        if model.len() < most && roll(3) != 0 {
            let idle = (roll(3) != 0).then_some(IDLE);
            let total = (roll(2) == 0).then_some(TOTAL);
            let is_bounded = roll(2) == 0;
            let patience = Patience { idle, total, pause: Some(PERSON), is_bounded };
            let id = outgoing.next_id();
            let place = outgoing.insert(patience, now, |_| {});
            let has_timers = idle.is_some() || total.is_some();
            model.push(Modelled {
                place,
                id,
                idle,
                idle_at: idle.map(|idle| shows + idle),
                total_at: total.map(|total| shows + total),
                retry_at: None,
                pause: has_timers.then_some(PERSON + clock.lag),
                is_bounded,
                is_uncounted: false,
                is_quiet: false,
            });
        } else if !model.is_empty() {
            let at = roll(model.len());
            let one = &mut model[at];
            let place = one.place;
            match roll(12) {
                kind @ 0..10 => change(&mut outgoing, one, kind, (clock.real(), shows)),
                10 => {
                    clock.is_stopped = !clock.is_stopped;
                    outgoing.clock_mut().set_stopped(clock.is_stopped, clock.real());
                }
                _ => {
                    match roll(2) {
                        0 => outgoing.remove(place, Ending::Answered),
                        _ => outgoing.give_up(place, GivenUp::TimedOut),
                    }
                    model.remove(at);
                    // Operations on an ended request have no effect.
                    let before = outgoing.clone();
                    outgoing.remove(place, Ending::Closed);
                    outgoing.give_up(place, GivenUp::Cancelled);
                    outgoing.wait(place, Wait::Response, now);
                    outgoing.set_quiet(place);
                    assert_eq!(outgoing, before, "step {step}");
                }
            }
        }
        check(&outgoing, &model, &clock, step);
    }
}

/// A pause of the clock before a request does not count for it, also if its time becomes known later.
#[test]
fn an_undated_request_counts_only_later_pauses() {
    let at = |seconds| Instant::EPOCH + Duration::from_secs(seconds);
    let mut outgoing: Outgoing<u32> = Outgoing::new(ConnectionNumber::default(), 1, 4);
    outgoing.clock_mut().set_stopped(true, at(0));
    outgoing.clock_mut().set_stopped(false, at(1_000));
    let patience = Patience { idle: Some(IDLE), pause: Some(PERSON), ..Patience::default() };
    let place = outgoing.insert(patience, None, |_| {});
    outgoing.date(at(1_000));
    outgoing.clock_mut().set_stopped(true, at(1_001));
    assert_eq!(outgoing.next_pause_end(), Some((at(1_001) + PERSON, place)));
}

/// The timers of a request without a known time start when the time becomes known.
#[test]
fn undated_requests_are_dated_later() {
    let at = |seconds| Instant::EPOCH + Duration::from_secs(seconds);
    let mut outgoing: Outgoing<u32> = Outgoing::new(ConnectionNumber::default(), 1, 4);
    let patience = Patience { idle: Some(IDLE), total: Some(TOTAL), ..Patience::default() };
    let place = outgoing.insert(patience, None, |_| {});
    assert!(outgoing.has_undated() && outgoing.next_due().is_none());
    outgoing.date(at(100));
    assert_eq!(outgoing.next_due(), Some(at(107)));
    outgoing.wait(place, Wait::Late(TOTAL), None);
    assert!(outgoing.has_undated() && outgoing.next_due().is_none());
    outgoing.date(at(200));
    assert_eq!((outgoing.next_due(), outgoing.has_undated()), (Some(at(230)), false));
    let without = outgoing.insert(Patience::default(), None, |_| {});
    assert!(!outgoing.has_undated() && !outgoing.is_due(without, at(1_000)));
    assert_eq!(outgoing.checked_timers(place), (true, true, false));
    assert_eq!(outgoing.checked_timers(without), (true, false, false));
    outgoing.remove(without, Ending::Answered);
    assert_eq!(outgoing.checked_timers(without), (false, false, false));
}

/// A deadline that saturates never passes: a request that is given more time would expire again at once, without end.
#[test]
fn a_deadline_at_the_last_instant_never_passes() {
    let mut outgoing: Outgoing<u32> = Outgoing::new(ConnectionNumber::default(), 1, 4);
    let before_last = Instant::from_nanos(u64::MAX - 1);
    let patience = Patience { total: Some(TOTAL), ..Patience::default() };
    let place = outgoing.insert(patience, Some(before_last - TOTAL), |_| {});
    outgoing.insert(patience, Some(before_last - TOTAL), |_| {});
    assert_eq!(
        (outgoing.next_due(), outgoing.due(Instant::NEVER)),
        (Some(before_last), Some(place))
    );
    assert!(outgoing.has_second_due(Instant::NEVER) && outgoing.is_due(place, Instant::NEVER));

    let mut outgoing: Outgoing<u32> = Outgoing::new(ConnectionNumber::default(), 1, 4);
    let place = outgoing.insert(patience, Some(before_last), |_| {});
    outgoing.insert(patience, Some(before_last), |_| {});
    assert_eq!((outgoing.next_due(), outgoing.due(Instant::NEVER)), (None, None));
    assert!(!outgoing.has_second_due(Instant::NEVER) && !outgoing.is_due(place, Instant::NEVER));
}

/// A poll that is scheduled again whenever it is due ends, also at the last instant.
#[test]
fn a_poll_at_the_last_instant_is_never_due() {
    let mut outgoing: Outgoing<u32> = Outgoing::new(ConnectionNumber::default(), 1, 4);
    let place = outgoing.insert(Patience::default(), None, |_| {});
    outgoing.poll_at(place, Instant::from_nanos(u64::MAX - 1));
    assert_eq!(outgoing.take_poll(Instant::NEVER), Some(place));
    outgoing.poll_at(place, Instant::NEVER + Duration::from_secs(1));
    assert_eq!((outgoing.next_poll(), outgoing.take_poll(Instant::NEVER)), (None, None));
}
