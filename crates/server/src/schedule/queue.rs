//! Requests that wait, and which of them are next.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::rate::{Rate, class};
use super::{Answer, Capacity, Work};
use crate::failure::{Failure, Reason};

/// When a request is due, and its number.
///
/// A request is due some time after its arrival, in proportion to the time that it takes to compute, rounded
/// to its class of lengths. So short requests overtake long ones. One that has waited for as long as its
/// length deserves comes first, but lets shorter ones pass for a share of the work: nobody starves. Requests
/// of similar lengths are computed in the order of their arrival. Batches have no padding, so sorting texts
/// by length would gain nothing else.
type Due = (Instant, u64);

/// For how many times the time of its class a request may be overtaken.
const PATIENCE: u32 = 10;

/// But for no longer than this.
const MOST_PATIENCE: Duration = Duration::from_secs(1);

/// A request is admitted if all but a fifth of the time to its deadline is enough: the rate varies, and
/// shorter ones that come later pass for as much.
const MARGIN: u32 = 5;

/// The part of the work in the order of dues that shorter requests get in addition, so that those who are
/// first in that order get all but a share of 1 / [`MARGIN`].
const PASSING: usize = MARGIN as usize - 1;

/// Where a request is in the queue.
#[derive(Clone, Copy)]
pub(super) struct Place {
    due: Due,
    /// The longest cost of its class.
    class: usize,
    /// Of the items that are not computed yet.
    cost: usize,
    deadline: Instant,
}

/// A request in the queue.
pub(super) struct Waiting<W: Work> {
    place: Place,
    kind: W::Kind,
    /// The items that are not computed yet, the last one first.
    items: Vec<W::Item>,
    outputs: Vec<W::Output>,
    arrived: Instant,
    started: Option<Instant>,
    computed: Duration,
    answer: oneshot::Sender<Result<Answer<W::Output>, Failure>>,
}

impl<W: Work> Waiting<W> {
    /// Where the answer goes. It is closed once nobody waits for it.
    pub(super) fn answer(&self) -> &oneshot::Sender<Result<Answer<W::Output>, Failure>> {
        &self.answer
    }
}

/// The requests that wait.
pub(super) struct Queue<W: Work> {
    waiting: BTreeMap<Due, Waiting<W>>,
    /// What is left of the requests with items in a batch.
    rest: BTreeMap<Due, Place>,
    /// What shorter requests may pass with, if it is positive; else what they owe.
    credit: i64,
    /// Of everything that was admitted and is not computed.
    cost: usize,
    next: u64,
    /// Batches that are being computed.
    computing: usize,
    /// The threads of these.
    threads: usize,
    rate: Rate,
    pub(super) is_open: bool,
}

/// Items of one kind to compute together, and whose they are.
pub(super) struct Batch<W: Work> {
    pub(super) kind: W::Kind,
    pub(super) items: Vec<W::Item>,
    pub(super) cost: usize,
    /// Each request with the number of its items.
    pub(super) shares: Vec<(Waiting<W>, usize)>,
    /// The threads that compute it.
    pub(super) threads: usize,
}

impl<W: Work> Default for Queue<W> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            rest: BTreeMap::new(),
            credit: 0,
            cost: 0,
            next: 0,
            computing: 0,
            threads: 0,
            rate: Rate::default(),
            is_open: true,
        }
    }
}

impl<W: Work> Queue<W> {
    /// What waits or is being computed.
    pub(super) fn cost(&self) -> usize {
        self.cost
    }

    /// How many requests wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Admits a request as a whole, or refuses it as a whole. An empty queue admits everything.
    pub(super) fn admit(
        &mut self,
        work: &W,
        capacity: Capacity,
        kind: W::Kind,
        mut items: Vec<W::Item>,
        deadline: Instant,
        answer: oneshot::Sender<Result<Answer<W::Output>, Failure>>,
    ) -> Result<(), Failure> {
        let arrived = Instant::now();
        let cost: usize = items.iter().map(|item| work.cost(item)).sum();
        let place = self.room(capacity, cost, arrived, deadline)?;
        self.next += 1;
        self.cost += cost;
        items.reverse();
        let (started, computed, outputs) = (None, Duration::ZERO, Vec::with_capacity(items.len()));
        let waiting = Waiting { place, kind, items, outputs, arrived, started, computed, answer };
        self.waiting.insert(place.due, waiting);
        Ok(())
    }

    /// Where a request of this cost would be, or why it is refused.
    pub(super) fn room(
        &self,
        capacity: Capacity,
        cost: usize,
        arrived: Instant,
        deadline: Instant,
    ) -> Result<Place, Failure> {
        if !self.is_open {
            return Err(Failure::new(Reason::Unavailable, "the server is shutting down"));
        }
        let class = class(cost);
        let time_of = |cost| self.rate.time_of(cost, capacity.batch);
        let patience = time_of(class).saturating_mul(PATIENCE).min(MOST_PATIENCE);
        let due = ((arrived + patience).min(deadline), self.next);
        let place = Place { due, class, cost, deadline };
        if self.cost == 0 {
            return Ok(place);
        }
        if let Some(excess) = (self.cost + cost).checked_sub(capacity.queue).filter(|excess| *excess > 0) {
            return Err(Failure::overloaded("the queue is full", time_of(excess)));
        }
        let ends = arrived + time_of(self.cost_until_end_of(place, capacity));
        let latest = arrived + deadline.saturating_duration_since(arrived) * (MARGIN - 1) / MARGIN;
        if ends > latest {
            let message = "the request would not be answered before its deadline";
            return Err(Failure::overloaded(message, ends - latest));
        }
        Ok(place)
    }

    /// The cost of what is computed until a request is, at most: in the order of dues, or as one of those
    /// that pass. What is being computed comes first in any case.
    fn cost_until_end_of(&self, own: Place, capacity: Capacity) -> usize {
        let queued = || self.waiting.values().map(|waiting| waiting.place).chain(self.rest.values().copied());
        let sum = |is_before: &dyn Fn(&Place) -> bool| -> usize {
            queued().filter(is_before).map(|place| place.cost).sum()
        };
        let computing = self.cost - sum(&|_| true);
        let by_due = sum(&|place| place.due < own.due) + own.cost;
        let passing = sum(&|place| (place.class, place.due) < (own.class, own.due)) + own.cost;
        let owed = usize::try_from(-self.credit).unwrap_or(0);
        // The others get a multiple of what passes, and the batch that earns the first of it.
        let by_passing = passing + PASSING.saturating_mul(passing + owed).saturating_add(capacity.batch);
        computing + by_due.min(by_passing)
    }

    /// Removes the requests that nobody waits for any more, and returns how many there were.
    pub(super) fn drop_abandoned(&mut self) -> usize {
        let now = Instant::now();
        let (count, cost) = (self.waiting.len() + self.rest.len(), &mut self.cost);
        let mut keep = |place: &Place, is_wanted: bool| {
            if !is_wanted {
                *cost -= place.cost;
            }
            is_wanted
        };
        self.waiting.retain(|_, Waiting { place, answer, .. }| {
            keep(place, !answer.is_closed() && place.deadline > now)
        });
        self.rest.retain(|_, place| keep(place, place.deadline > now));
        count - self.waiting.len() - self.rest.len()
    }

    /// The next batch: the items that are due first, all of one kind, at most as many as fit or a single one.
    /// Shorter requests than the first one pass if they have the credit for it. Where there are fewer
    /// requests than lanes, each has the threads of several, and a batch for all of these.
    pub(super) fn take(&mut self, work: &W, capacity: Capacity) -> Option<Batch<W>> {
        let first = self.waiting.first_key_value()?.1;
        let shortest =
            self.waiting.values().min_by_key(|waiting| (waiting.place.class, waiting.place.due))?;
        let passes = self.credit > 0 && shortest.place.class < first.place.class;
        let kind = if passes { shortest } else { first }.kind.clone();
        let threads = (capacity.lanes / (self.computing + self.waiting.len())).max(1);
        let most = capacity.batch.saturating_mul(threads);
        let mut batch = Batch { kind, items: Vec::new(), cost: 0, shares: Vec::new(), threads };
        let of_kind = self.waiting.values().filter(|waiting| waiting.kind == batch.kind);
        let mut places: Vec<Place> = of_kind.map(|waiting| waiting.place).collect();
        if passes {
            places.sort_by_key(|place| (place.class, place.due));
        }
        for Place { due, .. } in places {
            let Some(mut waiting) = self.waiting.remove(&due) else { continue };
            let before = batch.items.len();
            while let Some(item) = waiting.items.last() {
                let cost = work.cost(item);
                if batch.cost + cost > most && !batch.items.is_empty() {
                    break;
                }
                batch.cost += cost;
                waiting.place.cost -= cost;
                batch.items.extend(waiting.items.pop());
            }
            let is_whole = waiting.items.is_empty();
            match batch.items.len() - before {
                0 if !is_whole => drop(self.waiting.insert(due, waiting)),
                taken => {
                    if !is_whole {
                        self.rest.insert(due, waiting.place);
                    }
                    waiting.started.get_or_insert_with(Instant::now);
                    batch.shares.push((waiting, taken));
                }
            }
            if !is_whole {
                break;
            }
        }
        if passes {
            self.credit -= batch.cost as i64;
        } else if self.credit <= 0 {
            self.credit += (batch.cost / PASSING).max(1) as i64;
        }
        self.computing += 1;
        self.threads += threads;
        Some(batch)
    }

    /// Counts a batch that was computed on this many threads. Others were computed at the same time.
    pub(super) fn computed(&mut self, cost: usize, threads: usize, time: Duration) {
        self.cost -= cost;
        self.rate.add(cost, time.mul_f64(threads as f64 / self.threads as f64));
        self.computing -= 1;
        self.threads -= threads;
    }

    /// Takes a request with a share of the outputs: it is answered, or waits on.
    pub(super) fn give_back(
        &mut self,
        mut waiting: Waiting<W>,
        outputs: Result<Vec<W::Output>, Failure>,
        time: Duration,
    ) {
        waiting.computed += time;
        let rest = self.rest.remove(&waiting.place.due);
        let answer = match outputs {
            Err(failure) => {
                self.cost -= rest.map_or(0, |rest| rest.cost);
                Err(failure)
            }
            Ok(outputs) => {
                waiting.outputs.extend(outputs);
                if !waiting.items.is_empty() {
                    // Else the deadline passed meanwhile, and the rest is not counted any more.
                    if rest.is_some() {
                        self.waiting.insert(waiting.place.due, waiting);
                    }
                    return;
                }
                let queued = waiting.started.map_or(Duration::ZERO, |started| started - waiting.arrived);
                Ok(Answer { outputs: waiting.outputs, queued, computed: waiting.computed })
            }
        };
        // The asker may have hung up meanwhile.
        let _ = waiting.answer.send(answer);
    }
}
