//! Requests become batches: threads compute what waits in a bounded queue.
//!
//! A request is admitted whole or refused whole. Each thread is a lane: it takes a batch, computes it, and
//! takes the next. A batch is what is due first, up to a budget, or for a share of the work what is shorter;
//! no lane waits for more, or for another lane. Fewer requests than lanes share the threads of all lanes. A
//! request that nobody waits for (its client hung up, its deadline passed) is not computed.

mod queue;
mod rate;
#[cfg(test)]
mod tests;

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use toller_ir::locked;
use toller_pipeline::rerank::Stop;

use self::queue::{Batch, Queue};
use crate::deadline::before;
use crate::failure::{Failure, Reason};
use crate::metrics::QueueMetrics;

/// After a batch of several requests, a lane that gathers waits for as many as it answered, because clients
/// often ask again at once. It waits for this share of the batch's time at most. A client alone never waits.
const GATHERED: u32 = 8;

/// Something that is computed in batches.
pub(crate) trait Work: Send + Sync + 'static {
    /// What items of one batch have in common.
    type Kind: Clone + PartialEq + Send;
    /// A text, or a query.
    type Item: Send;
    /// What is found for an item.
    type Output: Send;

    /// The cost of an item, in the unit of the budgets.
    fn cost(&self, item: &Self::Item) -> usize;

    /// Computes items on this many threads: one output each, which does not depend on the others. Work that
    /// takes long is asked to end, with any error, once `stop` says that nobody waits for it.
    fn compute(
        &self,
        kind: &Self::Kind,
        items: &[Self::Item],
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<Self::Output>, Failure>;
}

/// How much fits, in the unit of [`Work::cost`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Capacity {
    /// Batches that are computed at the same time.
    pub(crate) lanes: usize,
    /// Into a batch.
    pub(crate) batch: usize,
    /// Into the queue.
    pub(crate) queue: usize,
    /// Whether a batch of all requests takes less time than two batches of half of them.
    pub(crate) gathers: bool,
}

/// What a request gets.
#[derive(Debug)]
pub(crate) struct Answer<T> {
    /// One for each item, in order.
    pub(crate) outputs: Vec<T>,
    /// From the arrival to the first batch with an item of the request.
    pub(crate) queued: Duration,
    /// The time of all batches with items of the request.
    pub(crate) computed: Duration,
}

/// A queue and the threads that compute what is in it. They end when this is dropped.
pub(crate) struct Scheduler<W: Work> {
    shared: Arc<Shared<W>>,
    threads: Vec<JoinHandle<()>>,
}

struct Shared<W: Work> {
    work: W,
    capacity: Capacity,
    metrics: QueueMetrics,
    queue: Mutex<Queue<W>>,
    changed: Condvar,
}

impl<W: Work> Scheduler<W> {
    /// Starts the threads.
    pub(crate) fn start(name: &str, work: W, capacity: Capacity, metrics: QueueMetrics) -> io::Result<Self> {
        let (queue, changed) = (Mutex::new(Queue::default()), Condvar::new());
        let shared = Arc::new(Shared { work, capacity, metrics, queue, changed });
        let mut started = Self { shared, threads: Vec::with_capacity(capacity.lanes) };
        for _ in 0..capacity.lanes.max(1) {
            let shared = started.shared.clone();
            let thread = std::thread::Builder::new().name(name.to_owned());
            started.threads.push(thread.spawn(move || shared.run())?);
        }
        Ok(started)
    }

    /// What computes.
    pub(crate) fn work(&self) -> &W {
        &self.shared.work
    }

    /// Refuses a request that would be refused however small it were, before work is spent on it.
    pub(crate) fn check(&self, deadline: Instant) -> Result<(), Failure> {
        let checked = self.shared.tidied().room(self.shared.capacity, 1, Instant::now(), deadline);
        checked.map(drop).inspect_err(|_| self.shared.metrics.refused.increment(1))
    }

    /// Computes items before a deadline. If this future is dropped, what is not computed yet never is.
    pub(crate) async fn ask(
        &self,
        kind: W::Kind,
        items: Vec<W::Item>,
        deadline: Instant,
    ) -> Result<Answer<W::Output>, Failure> {
        let (answer, answered) = oneshot::channel();
        let Shared { work, capacity, .. } = &*self.shared;
        let admitted = self.shared.tidied().admit(work, *capacity, kind, items, deadline, answer);
        if let Err(failure) = admitted {
            self.shared.metrics.refused.increment(1);
            return Err(failure);
        }
        self.shared.changed.notify_one();
        let late = "the deadline passed before the request was computed";
        let answer = before(deadline, late, answered).await?;
        answer.unwrap_or_else(|_| Err(Failure::new(Reason::Timeout, late)))
    }
}

impl<W: Work> Drop for Scheduler<W> {
    fn drop(&mut self) {
        self.shared.lock().is_open = false;
        self.shared.changed.notify_all();
        let threads = std::mem::take(&mut self.threads);
        let wait = move || {
            for thread in threads {
                // A panic of the thread was reported where it happened.
                let _ = thread.join();
            }
        };
        // The last request to something that was replaced must not keep a thread of the runtime waiting.
        match Handle::try_current() {
            Ok(runtime) => drop(runtime.spawn_blocking(wait)),
            Err(_) => wait(),
        }
    }
}

impl<W: Work> Shared<W> {
    fn lock(&self) -> MutexGuard<'_, Queue<W>> {
        locked(&self.queue)
    }

    /// The queue without the requests that nobody waits for: others may have their room.
    fn tidied(&self) -> MutexGuard<'_, Queue<W>> {
        let mut queue = self.lock();
        self.tidy(&mut queue);
        queue
    }

    fn tidy(&self, queue: &mut Queue<W>) {
        self.metrics.abandoned.increment(queue.drop_abandoned() as u64);
        self.metrics.waiting.set(queue.cost() as f64);
    }

    /// Computes batch after batch, until the queue is closed and empty.
    fn run(&self) {
        let mut gathering = (0, Instant::now());
        while let Some(batch) = self.next(gathering) {
            let Batch { kind, items, cost, shares, threads } = batch;
            let started = Instant::now();
            let outputs = {
                let answers: Vec<_> = shares.iter().map(|(waiting, _)| waiting.answer()).collect();
                self.compute(&kind, &items, threads, &|| answers.iter().all(|answer| answer.is_closed()))
            };
            let time = started.elapsed();
            self.metrics.batch_items.record(items.len() as f64);
            self.metrics.batch_cost.record(cost as f64);
            self.metrics.batch_seconds.record(time.as_secs_f64());
            let shared_by_several = shares.len() > 1;
            let gathered = if self.capacity.gathers && shared_by_several { shares.len() } else { 0 };
            let mut rest = outputs.map(Vec::into_iter);
            let mut items = items.as_slice();
            let mut given = Vec::with_capacity(shares.len());
            for (waiting, count) in shares {
                let own;
                (own, items) = items.split_at(count);
                let outputs = match &mut rest {
                    Ok(outputs) => Ok(outputs.by_ref().take(count).collect()),
                    // Nobody fails because of a neighbour.
                    Err(_) if shared_by_several => {
                        let answer = waiting.answer();
                        self.compute(&kind, own, threads, &|| answer.is_closed())
                    }
                    Err(failure) => Err(failure.clone()),
                };
                given.push((waiting, outputs));
            }
            let mut queue = self.lock();
            queue.computed(cost, threads, time);
            for (waiting, outputs) in given {
                queue.give_back(waiting, outputs, time);
            }
            self.metrics.waiting.set(queue.cost() as f64);
            gathering = (gathered, Instant::now() + time / GATHERED);
        }
    }

    /// Waits for the next batch; `None` at the end. Until some time, waits for some number of requests.
    fn next(&self, (count, until): (usize, Instant)) -> Option<Batch<W>> {
        let mut queue = self.lock();
        while queue.is_open && queue.len() < count {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            queue = self.changed.wait_timeout(queue, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        loop {
            self.tidy(&mut queue);
            match queue.take(&self.work, self.capacity) {
                Some(batch) => return Some(batch),
                None if !queue.is_open => return None,
                None => queue = self.changed.wait(queue).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    /// Computes. A panic is a failure of only these items, and so is another number of outputs: requests
    /// would get the outputs of others.
    fn compute(
        &self,
        kind: &W::Kind,
        items: &[W::Item],
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<W::Output>, Failure> {
        let unexpected = || Failure::new(Reason::Backend, "computing failed unexpectedly");
        let computed = catch_unwind(AssertUnwindSafe(|| self.work.compute(kind, items, threads, stop)));
        let outputs = computed.unwrap_or_else(|_| Err(unexpected()))?;
        if outputs.len() == items.len() { Ok(outputs) } else { Err(unexpected()) }
    }
}
