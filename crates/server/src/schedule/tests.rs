//! Tests of the queue, with work that is computed when a test permits it.

use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use toller_pipeline::rerank::Stop;

use super::{Answer, Capacity, Scheduler, Work};
use crate::failure::{Failure, Reason};
use crate::metrics::Metrics;

/// An item that fails, one that panics, and one that gets no output.
const BAD: usize = 13;
const AWFUL: usize = 666;
const FORGOTTEN: usize = 77;

/// Doubles numbers. The cost of a number is the number.
struct Doubling {
    permits: Mutex<Receiver<()>>,
    batches: Sender<Vec<usize>>,
    /// Of each batch.
    threads: Mutex<Vec<usize>>,
    /// Whether each batch was asked to stop once it was permitted.
    stopped: Mutex<Vec<bool>>,
}

impl Work for Doubling {
    type Kind = bool;
    type Item = usize;
    type Output = usize;

    fn cost(&self, item: &usize) -> usize {
        *item
    }

    fn compute(
        &self,
        _: &bool,
        items: &[usize],
        threads: usize,
        stop: Stop<'_>,
    ) -> Result<Vec<usize>, Failure> {
        self.permits.lock().unwrap().recv().unwrap();
        self.stopped.lock().unwrap().push(stop());
        self.threads.lock().unwrap().push(threads);
        self.batches.send(items.to_vec()).unwrap();
        assert!(!items.contains(&AWFUL));
        if items.contains(&BAD) {
            return Err(Failure::new(Reason::Backend, "bad"));
        }
        Ok(items.iter().filter(|item| **item != FORGOTTEN).map(|item| item * 2).collect())
    }
}

/// A scheduler and its permits. They are dropped first, so that work without a permit fails.
struct Bench {
    permits: Sender<()>,
    batches: Receiver<Vec<usize>>,
    scheduler: std::sync::Arc<Scheduler<Doubling>>,
}

type Asked = JoinHandle<Result<Answer<usize>, Failure>>;

impl Bench {
    fn new(batch: usize, queue: usize) -> Self {
        Self::with_lanes(1, batch, queue)
    }

    fn with_lanes(lanes: usize, batch: usize, queue: usize) -> Self {
        Self::with_capacity(Capacity { lanes, batch, queue, gathers: false })
    }

    fn with_capacity(capacity: Capacity) -> Self {
        let ((permits, receiver), (sender, batches)) = (channel(), channel());
        let (threads, stopped) = (Mutex::default(), Mutex::default());
        let work = Doubling { permits: Mutex::new(receiver), batches: sender, threads, stopped };
        let metrics = Metrics::new();
        let scheduler = Scheduler::start("test", work, capacity, metrics.queue("test")).unwrap();
        Self { scheduler: scheduler.into(), permits, batches }
    }

    /// Asks, and returns once the request is in the queue or refused.
    async fn ask(&self, kind: bool, items: &[usize], timeout: Duration) -> Asked {
        let (scheduler, items) = (self.scheduler.clone(), items.to_vec());
        let deadline = Instant::now() + timeout;
        let asked = tokio::spawn(async move { scheduler.ask(kind, items, deadline).await });
        tokio::time::sleep(Duration::from_millis(20)).await;
        asked
    }

    async fn ask_soon(&self, items: &[usize]) -> Asked {
        self.ask(true, items, Duration::from_secs(60)).await
    }

    /// Waits until all requests are in batches.
    async fn taken(&self) {
        while self.scheduler.shared.lock().len() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Lets a batch be computed.
    fn permit(&self) -> Vec<usize> {
        self.permits.send(()).unwrap();
        self.batches.recv_timeout(Duration::from_secs(10)).unwrap()
    }
}

async fn outputs(asked: Asked) -> Vec<usize> {
    asked.await.unwrap().unwrap().outputs
}

async fn reason(asked: Asked) -> Reason {
    asked.await.unwrap().unwrap_err().reason
}

#[tokio::test]
async fn waiting_requests_share_batches_of_one_kind() {
    let bench = Bench::new(10, 1000);
    let first = bench.ask_soon(&[1]).await;
    let a = bench.ask_soon(&[2, 3]).await;
    let other = bench.ask(false, &[7], Duration::from_secs(60)).await;
    let b = bench.ask_soon(&[4, 5]).await;
    assert_eq!(bench.permit(), [1]);
    assert_eq!(bench.permit(), [2, 3, 4]);
    assert_eq!(outputs(first).await, [2]);
    assert_eq!(outputs(a).await, [4, 6]);
    let rest = [bench.permit(), bench.permit()];
    assert!(rest.contains(&vec![5]) && rest.contains(&vec![7]), "{rest:?}");
    assert_eq!(outputs(b).await, [8, 10]);
    assert_eq!(outputs(other).await, [14]);
}

#[tokio::test]
async fn lanes_do_not_wait_for_each_other_and_who_is_alone_has_all_threads() {
    let bench = Bench::with_lanes(2, 10, 1000);
    // Sixteen fit, since there are two lanes and nobody else.
    let large = bench.ask_soon(&[8, 8]).await;
    let small = bench.ask_soon(&[5]).await;
    let batches = [bench.permit(), bench.permit()];
    assert!(batches.contains(&vec![8, 8]) && batches.contains(&vec![5]), "{batches:?}");
    assert_eq!(outputs(small).await, [10]);
    assert_eq!(outputs(large).await, [16; 2]);
    let mut threads = bench.scheduler.work().threads.lock().unwrap().clone();
    threads.sort_unstable();
    assert_eq!(threads, [1, 2]);
}

#[tokio::test]
async fn few_long_requests_share_the_threads_of_all_lanes() {
    let bench = Bench::with_lanes(8, 10, 10_000);
    let first = bench.ask_soon(&[10; 20]).await;
    bench.taken().await;
    let second = bench.ask_soon(&[9; 20]).await;
    bench.taken().await;
    let mut lengths: Vec<_> = std::iter::repeat_with(|| bench.permit().len()).take(2).collect();
    lengths.sort_unstable();
    // The first had all threads, and the second half of them when it came.
    assert_eq!(lengths, [4, 8]);
    while !(first.is_finished() && second.is_finished()) {
        bench.permits.send(()).unwrap();
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    assert_eq!(outputs(first).await, [20; 20]);
    assert_eq!(outputs(second).await, [18; 20]);
    let threads = bench.scheduler.work().threads.lock().unwrap().clone();
    assert!(threads.iter().all(|threads| *threads >= 4), "{threads:?}");
    assert!(threads.len() <= 9, "{threads:?}");
}

#[tokio::test]
async fn work_that_nobody_waits_for_is_asked_to_stop() {
    let bench = Bench::new(10, 100);
    let gone = bench.ask_soon(&[1]).await;
    gone.abort();
    tokio::time::sleep(Duration::from_millis(20)).await;
    bench.permit();
    let kept = bench.ask_soon(&[2]).await;
    bench.permit();
    assert_eq!(outputs(kept).await, [4]);
    assert_eq!(*bench.scheduler.work().stopped.lock().unwrap(), [true, false]);
}

#[tokio::test]
async fn a_request_is_admitted_whole_or_refused_whole() {
    let bench = Bench::new(10, 20);
    // An empty queue takes a request of any size, in batches.
    let large = bench.ask_soon(&[9; 5]).await;
    let refused = bench.ask_soon(&[1, 1]).await;
    assert_eq!(reason(refused).await, Reason::Overloaded);
    for _ in 0..5 {
        assert_eq!(bench.permit(), [9]);
    }
    assert_eq!(outputs(large).await, [18; 5]);
    let next = bench.ask_soon(&[1, 1]).await;
    assert_eq!(bench.permit(), [1, 1]);
    assert_eq!(outputs(next).await, [2, 2]);
}

#[tokio::test]
async fn who_hangs_up_or_is_late_is_not_computed() {
    let bench = Bench::new(10, 1000);
    let first = bench.ask_soon(&[1]).await;
    let gone = bench.ask_soon(&[2]).await;
    let late = bench.ask(true, &[3], Duration::from_millis(50)).await;
    let last = bench.ask_soon(&[4]).await;
    gone.abort();
    assert_eq!(reason(late).await, Reason::Timeout);
    assert_eq!(bench.permit(), [1]);
    assert_eq!(bench.permit(), [4]);
    assert_eq!(outputs(first).await, [2]);
    assert_eq!(outputs(last).await, [8]);
}

#[tokio::test]
async fn a_short_request_overtakes_a_long_one_that_has_just_come() {
    let bench = with_known_rate().await;
    // A hundred takes a tenth of a second and more now.
    let first = bench.ask_soon(&[1]).await;
    let long = bench.ask_soon(&[100; 20]).await;
    let short = bench.ask_soon(&[2]).await;
    assert_eq!(bench.permit(), [1]);
    assert_eq!(bench.permit(), [2]);
    assert_eq!(outputs(short).await, [4]);
    for _ in 0..20 {
        assert_eq!(bench.permit(), [100]);
    }
    assert_eq!(outputs(first).await, [2]);
    assert_eq!(outputs(long).await, [200; 20]);
}

#[tokio::test]
async fn requests_of_similar_lengths_are_computed_in_order() {
    let bench = Bench::new(60, 100_000);
    let known = bench.ask_soon(&[100]).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    bench.permit();
    outputs(known).await;
    let first = bench.ask_soon(&[1]).await;
    let longer = bench.ask_soon(&[60]).await;
    let shorter = bench.ask_soon(&[20]).await;
    let much_shorter = bench.ask_soon(&[10]).await;
    let batches: Vec<_> = (0..4).map(|_| bench.permit()).collect();
    assert_eq!(batches, [vec![1], vec![10], vec![60], vec![20]]);
    for (asked, doubled) in [(first, 2), (longer, 120), (shorter, 40), (much_shorter, 20)] {
        assert_eq!(outputs(asked).await, [doubled]);
    }
}

#[tokio::test]
async fn a_lane_that_gathers_gives_those_it_answered_time_to_ask_again() {
    let bench = Bench::with_capacity(Capacity { lanes: 1, batch: 100, queue: 1000, gathers: true });
    let alone = bench.ask_soon(&[1]).await;
    let first = bench.ask_soon(&[2]).await;
    let second = bench.ask_soon(&[3]).await;
    assert_eq!(bench.permit(), [1]);
    assert_eq!(outputs(alone).await, [2]);
    // The next batch may wait for an eighth of this time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(bench.permit(), [2, 3]);
    assert_eq!(outputs(first).await, [4]);
    assert_eq!(outputs(second).await, [6]);
    let first = bench.ask_soon(&[4]).await;
    let second = bench.ask_soon(&[5]).await;
    assert_eq!(bench.permit(), [4, 5]);
    assert_eq!(outputs(first).await, [8]);
    assert_eq!(outputs(second).await, [10]);
    // Others need not come.
    let rest = bench.ask_soon(&[6]).await;
    assert_eq!(bench.permit(), [6]);
    assert_eq!(outputs(rest).await, [12]);
}

#[tokio::test]
async fn a_request_that_cannot_be_answered_in_time_is_refused_at_once() {
    let bench = with_known_rate().await;
    let first = bench.ask_soon(&[100; 10]).await;
    let hopeless = bench.ask(true, &[1000], Duration::from_millis(500)).await;
    let failure = hopeless.await.unwrap().unwrap_err();
    assert_eq!(failure.reason, Reason::Overloaded);
    assert!(failure.retry_after_secs() >= Some(1));
    for _ in 0..10 {
        bench.permit();
    }
    assert_eq!(outputs(first).await.len(), 10);
}

/// A scheduler that knows that a cost of a hundred takes a tenth of a second, or a little more.
async fn with_known_rate() -> Bench {
    let bench = Bench::new(100, 100_000);
    let known = bench.ask_soon(&[100]).await;
    tokio::time::sleep(Duration::from_millis(100)).await;
    bench.permit();
    outputs(known).await;
    bench
}

#[tokio::test]
async fn a_short_request_does_not_count_the_rest_of_a_long_one_that_it_passes() {
    let bench = with_known_rate().await;
    // Two seconds; a tenth of a second is being computed.
    let long = bench.ask_soon(&[100; 20]).await;
    let short = bench.ask(true, &[2], Duration::from_secs(1)).await;
    assert_eq!(bench.permit(), [100]);
    assert_eq!(bench.permit(), [2]);
    assert_eq!(outputs(short).await, [4]);
    for _ in 1..20 {
        assert_eq!(bench.permit(), [100]);
    }
    assert_eq!(outputs(long).await, [200; 20]);
}

#[tokio::test]
async fn a_long_request_that_is_overdue_lets_short_ones_pass_for_a_share_of_the_work() {
    let bench = with_known_rate().await;
    let long = bench.ask_soon(&[100; 9]).await;
    tokio::time::sleep(Duration::from_millis(1200)).await;
    // Its first batch is being computed, and these are due later than its rest.
    let soon = Duration::from_secs(2);
    let short = bench.ask(true, &[2], soon).await;
    let longer = bench.ask(true, &[60], Duration::from_secs(60)).await;
    let another = bench.ask(true, &[59], Duration::from_secs(60)).await;
    let batches: Vec<Vec<usize>> = (0..11).map(|_| bench.permit()).collect();
    // A hundred earns a quarter of it. What passes may cost more, and is paid for afterwards.
    let places = |items: &[usize]| batches.iter().position(|batch| batch == items);
    assert_eq!(places(&[2, 60]), Some(1), "{batches:?}");
    let after = places(&[59]).unwrap();
    assert!((3..6).contains(&after), "{batches:?}");
    assert_eq!(outputs(short).await, [4]);
    assert_eq!(outputs(longer).await, [120]);
    assert_eq!(outputs(another).await, [118]);
    assert_eq!(outputs(long).await, [200; 9]);
}

#[tokio::test]
async fn who_is_late_takes_no_room_from_others() {
    let bench = Bench::new(10, 20);
    let first = bench.ask_soon(&[1]).await;
    let late = bench.ask(true, &[19], Duration::from_millis(50)).await;
    assert_eq!(reason(late).await, Reason::Timeout);
    let next = bench.ask_soon(&[10]).await;
    assert_eq!(bench.permit(), [1]);
    assert_eq!(bench.permit(), [10]);
    assert_eq!(outputs(first).await, [2]);
    assert_eq!(outputs(next).await, [20]);
    // The same for the rest of a request that is being computed.
    let late = bench.ask(true, &[9, 9], Duration::from_millis(50)).await;
    assert_eq!(reason(late).await, Reason::Timeout);
    let next = bench.ask_soon(&[10]).await;
    assert_eq!(bench.permit(), [9]);
    assert_eq!(bench.permit(), [10]);
    assert_eq!(outputs(next).await, [20]);
}

#[tokio::test]
async fn nobody_fails_because_of_a_neighbour() {
    for bad in [BAD, AWFUL, FORGOTTEN] {
        let bench = Bench::new(1000, 10_000);
        let first = bench.ask_soon(&[1]).await;
        let good = bench.ask_soon(&[2]).await;
        let failing = bench.ask_soon(&[bad]).await;
        assert_eq!(bench.permit(), [1]);
        assert_eq!(bench.permit(), [2, bad]);
        let alone = [bench.permit(), bench.permit()];
        assert_eq!(alone, [vec![2], vec![bad]]);
        assert_eq!(outputs(first).await, [2]);
        assert_eq!(outputs(good).await, [4]);
        assert_eq!(reason(failing).await, Reason::Backend);
    }
}
