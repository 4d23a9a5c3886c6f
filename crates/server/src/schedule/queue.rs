//! Requests that wait, and which of them are next.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;

use super::rate::Rate;
use super::{Answer, Capacity, Work};
use crate::failure::{Failure, Reason};

/// When a request is due, and its number.
///
/// A request is due some time after its arrival, in proportion to the time that it takes to compute, rounded
/// to its class of lengths. So short requests overtake long ones, but none that has waited for as long as its
/// length deserves: nobody starves. Requests of similar lengths are computed in the order of their arrival.
/// Batches have no padding, so sorting texts by length would gain nothing else.
type Due = (Instant, u64);

/// For how many times the time of its class a request may be overtaken.
const PATIENCE: u32 = 10;

/// A class reaches from a power of this to the next one.
const CLASS: usize = 4;

/// But for no longer than this.
const MOST_PATIENCE: Duration = Duration::from_secs(1);

/// A request is admitted if all but a fifth of the time to its deadline is enough: the rate varies.
const MARGIN: u32 = 5;

/// A request in the queue.
pub(super) struct Waiting<W: Work> {
    due: Due,
    kind: W::Kind,
    /// The items that are not computed yet, the last one first.
    items: Vec<W::Item>,
    /// Of these items.
    cost: usize,
    outputs: Vec<W::Output>,
    arrived: Instant,
    started: Option<Instant>,
    computed: Duration,
    deadline: Instant,
    answer: oneshot::Sender<Result<Answer<W::Output>, Failure>>,
}

/// The longest of the costs that are in a class with this one.
fn class(cost: usize) -> usize {
    let mut longest = CLASS;
    while longest < cost {
        longest = longest.saturating_mul(CLASS);
    }
    longest
}

/// The requests that wait.
pub(super) struct Queue<W: Work> {
    waiting: BTreeMap<Due, Waiting<W>>,
    /// Of everything that was admitted and is not computed.
    cost: usize,
    next: u64,
    /// Batches that are being computed.
    computing: usize,
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
    /// Whether no other request is computed or waits.
    pub(super) is_alone: bool,
}

impl<W: Work> Default for Queue<W> {
    fn default() -> Self {
        Self {
            waiting: BTreeMap::new(),
            cost: 0,
            next: 0,
            computing: 0,
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
        let due = self.room(capacity, cost, arrived, deadline)?;
        self.next += 1;
        self.cost += cost;
        items.reverse();
        let (started, computed, outputs) = (None, Duration::ZERO, Vec::with_capacity(items.len()));
        let waiting =
            Waiting { due, kind, items, cost, outputs, arrived, started, computed, deadline, answer };
        self.waiting.insert(due, waiting);
        Ok(())
    }

    /// When a request of this cost would be due, or why it is refused.
    pub(super) fn room(
        &self,
        capacity: Capacity,
        cost: usize,
        arrived: Instant,
        deadline: Instant,
    ) -> Result<Due, Failure> {
        if !self.is_open {
            return Err(Failure::new(Reason::Unavailable, "the server is shutting down"));
        }
        let patience = self.rate.time_of(class(cost)).saturating_mul(PATIENCE).min(MOST_PATIENCE);
        let due = ((arrived + patience).min(deadline), self.next);
        if self.cost == 0 {
            return Ok(due);
        }
        if let Some(excess) = (self.cost + cost).checked_sub(capacity.queue).filter(|excess| *excess > 0) {
            return Err(Failure::overloaded("the queue is full", self.rate.time_of(excess)));
        }
        let ends = arrived + self.rate.time_of(self.cost_before(due) + cost);
        let latest = arrived + deadline.saturating_duration_since(arrived) * (MARGIN - 1) / MARGIN;
        if ends > latest {
            let message = "the request would not be answered before its deadline";
            return Err(Failure::overloaded(message, ends - latest));
        }
        Ok(due)
    }

    /// The cost of what is computed before a request that is due then.
    fn cost_before(&self, due: Due) -> usize {
        self.cost - self.waiting.range(due..).map(|(_, waiting)| waiting.cost).sum::<usize>()
    }

    /// Removes the requests that nobody waits for any more, and returns how many there were.
    pub(super) fn drop_abandoned(&mut self) -> usize {
        let now = Instant::now();
        let (count, cost) = (self.waiting.len(), &mut self.cost);
        self.waiting.retain(|_, waiting| {
            let is_wanted = !waiting.answer.is_closed() && waiting.deadline > now;
            if !is_wanted {
                *cost -= waiting.cost;
            }
            is_wanted
        });
        count - self.waiting.len()
    }

    /// The next batch: the items that are due first, all of one kind, at most as many as fit or a single one.
    /// A request that has all lanes for itself gets a batch for all of them.
    pub(super) fn take(&mut self, work: &W, capacity: Capacity) -> Option<Batch<W>> {
        let kind = self.waiting.first_key_value()?.1.kind.clone();
        let is_alone = self.computing == 0 && self.waiting.len() == 1;
        let most = if is_alone { capacity.batch.saturating_mul(capacity.lanes) } else { capacity.batch };
        let mut batch = Batch { kind, items: Vec::new(), cost: 0, shares: Vec::new(), is_alone };
        let of_kind = self.waiting.values().filter(|waiting| waiting.kind == batch.kind);
        let dues: Vec<Due> = of_kind.map(|waiting| waiting.due).collect();
        for due in dues {
            let Some(mut waiting) = self.waiting.remove(&due) else { continue };
            let before = batch.items.len();
            while let Some(item) = waiting.items.last() {
                let cost = work.cost(item);
                if batch.cost + cost > most && !batch.items.is_empty() {
                    break;
                }
                batch.cost += cost;
                waiting.cost -= cost;
                batch.items.extend(waiting.items.pop());
            }
            let is_whole = waiting.items.is_empty();
            match batch.items.len() - before {
                0 if !is_whole => drop(self.waiting.insert(due, waiting)),
                taken => {
                    waiting.started.get_or_insert_with(Instant::now);
                    batch.shares.push((waiting, taken));
                }
            }
            if !is_whole {
                break;
            }
        }
        self.computing += 1;
        Some(batch)
    }

    /// Counts a computed batch. Others were computed at the same time.
    pub(super) fn computed(&mut self, cost: usize, time: Duration) {
        self.cost -= cost;
        self.rate.add(cost, time / self.computing as u32);
        self.computing -= 1;
    }

    /// Takes a request with a share of the outputs: it is answered, or waits on.
    pub(super) fn give_back(
        &mut self,
        mut waiting: Waiting<W>,
        outputs: Result<Vec<W::Output>, Failure>,
        time: Duration,
    ) {
        waiting.computed += time;
        let answer = match outputs {
            Err(failure) => {
                self.cost -= waiting.cost;
                Err(failure)
            }
            Ok(outputs) => {
                waiting.outputs.extend(outputs);
                if !waiting.items.is_empty() {
                    self.waiting.insert(waiting.due, waiting);
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
