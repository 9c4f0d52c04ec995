//! Decoding under watch: a record on which a decoder makes no progress becomes a reject instead of
//! holding up the run.
//!
//! A thread cannot be stopped from outside. So blocks are decoded on threads of their own, which
//! are left to themselves where they hang; the records before the bad one are kept, and another
//! thread goes on behind it. Later passes read only records that were decoded once, and need no
//! watch.

use super::scan::BlockWork;
use jiff::tz::TimeZone;
use pentimento_core::format::frame::{Block, RecordSpan};
use pentimento_core::format::{DecodeContext, LogFormat};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// A record is taken to hang when it is still the same one after so long. The longest record that
/// is read (1 GiB) takes seconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// So many threads may be lost; after that no further record is tried.
const MOST_LOST: usize = 4;

/// What is made of one record.
pub trait RecordWork: Send + Sync + 'static {
    /// Its result.
    type Out: Send + 'static;

    /// Decodes a record.
    fn record(
        &self,
        block: &Block,
        span: &RecordSpan,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out;

    /// The result for a record that hangs.
    fn hung(&self, block: &Block, span: &RecordSpan) -> Self::Out;

    /// Adds to the context what decoding needs and only the work owns: a thread that may outlive
    /// the run cannot borrow from it.
    fn lend<'a>(&'a self, context: DecodeContext<'a>) -> DecodeContext<'a> {
        context
    }
}

/// Work under watch.
pub struct Watched<W: RecordWork> {
    work: Arc<W>,
    patience: Duration,
    idle: Mutex<Vec<Decoder<W::Out>>>,
    lost: AtomicUsize,
}

/// A thread that decodes.
struct Decoder<O> {
    jobs: Sender<Job<O>>,
    done: Receiver<()>,
    thread: JoinHandle<()>,
}

struct Job<O> {
    block: Arc<Block>,
    format: &'static dyn LogFormat,
    context: Context,
    from: usize,
    outs: Arc<Mutex<Vec<O>>>,
}

/// A [`DecodeContext`] that borrows nothing.
#[derive(Clone)]
struct Context {
    zone: Option<TimeZone>,
    year: Option<i16>,
    first_month: Option<u8>,
    header: Option<Arc<[u8]>>,
    source_name: String,
}

impl Context {
    fn of(block: &Block, context: &DecodeContext<'_>) -> Context {
        Context {
            zone: context.zone.cloned(),
            year: context.year,
            first_month: context.first_month,
            header: block.header.clone(),
            source_name: context.source_name.to_owned(),
        }
    }

    fn lent(&self) -> DecodeContext<'_> {
        let context = DecodeContext {
            zone: self.zone.as_ref(),
            year: self.year,
            first_month: self.first_month,
            source_name: &self.source_name,
            ..DecodeContext::default()
        };
        DecodeContext {
            header: self.header.as_deref(),
            ..context
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<W: RecordWork> Watched<W> {
    /// Watches over `work`.
    pub fn new(work: W) -> Watched<W> {
        Watched::with_patience(work, PATIENCE)
    }

    fn with_patience(work: W, patience: Duration) -> Watched<W> {
        Watched {
            work: Arc::new(work),
            patience,
            idle: Mutex::default(),
            lost: AtomicUsize::new(0),
        }
    }

    fn decoder(&self) -> Decoder<W::Out> {
        if let Some(decoder) = lock(&self.idle).pop() {
            return decoder;
        }
        let (jobs, inbox) = channel::<Job<W::Out>>();
        let (outbox, done) = channel();
        let work = self.work.clone();
        let thread = std::thread::spawn(move || {
            for job in inbox {
                let context = work.lend(job.context.lent());
                for span in job.block.records.iter().skip(job.from) {
                    let out = work.record(&job.block, span, job.format, &context);
                    lock(&job.outs).push(out);
                }
                if outbox.send(()).is_err() {
                    return;
                }
            }
        });
        Decoder { jobs, done, thread }
    }

    /// Decodes the records from one on; gives the results of those before one that hangs.
    fn run(&self, job: Job<W::Out>) -> Vec<W::Out> {
        let outs = job.outs.clone();
        let decoder = self.decoder();
        let sent = decoder.jobs.send(job).is_ok();
        let mut before = 0;
        loop {
            match decoder.done.recv_timeout(self.patience) {
                Ok(()) => {
                    lock(&self.idle).push(decoder);
                    break;
                }
                Err(RecvTimeoutError::Timeout) if sent => {
                    let now = lock(&outs).len();
                    if now == before {
                        self.lost.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                    before = now;
                }
                // It panicked, which is a bug of ours and ends the run as in any other thread.
                Err(_) => match decoder.thread.join() {
                    Err(panic) => std::panic::resume_unwind(panic),
                    Ok(()) => break,
                },
            }
        }
        std::mem::take(&mut *lock(&outs))
    }
}

impl<W: RecordWork> BlockWork for Watched<W> {
    type Out = Vec<W::Out>;

    fn work(
        &self,
        block: &Block,
        format: &dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let each = |span| self.work.record(block, span, format, context);
        block.records.iter().map(each).collect()
    }

    fn work_shared(
        &self,
        block: &Arc<Block>,
        format: &'static dyn LogFormat,
        context: &DecodeContext<'_>,
    ) -> Self::Out {
        let mut all = Vec::with_capacity(block.records.len());
        while let Some(span) = block.records.get(all.len()) {
            if self.lost.load(Ordering::Relaxed) >= MOST_LOST {
                all.push(self.work.hung(block, span));
                continue;
            }
            all.extend(self.run(Job {
                block: block.clone(),
                format,
                context: Context::of(block, context),
                from: all.len(),
                outs: Arc::default(),
            }));
            if let Some(span) = block.records.get(all.len()) {
                all.push(self.work.hung(block, span));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pentimento_core::exchange::{Exchange, RecordKind, RejectReason};
    use pentimento_core::format::frame::Framer;
    use std::sync::atomic::AtomicBool;

    static RELEASED: AtomicBool = AtomicBool::new(false);

    /// Never comes back from a record that says so.
    struct Stubborn;

    impl LogFormat for Stubborn {
        fn name(&self) -> &'static str {
            "stubborn"
        }

        fn sniff(&self, _record: &[u8]) -> u8 {
            100
        }

        fn decode(
            &self,
            record: &[u8],
            _context: &DecodeContext<'_>,
            _out: &mut Vec<Exchange>,
        ) -> Result<RecordKind, RejectReason> {
            match record {
                b"hang" => {
                    while !RELEASED.load(Ordering::Relaxed) {
                        std::thread::yield_now();
                    }
                }
                // Each is fast enough, all together are not.
                b"slow" => std::thread::sleep(Duration::from_millis(40)),
                _ => {}
            }
            Ok(RecordKind::Other)
        }
    }

    struct Outcomes;

    impl RecordWork for Outcomes {
        type Out = Result<String, RejectReason>;

        fn record(
            &self,
            block: &Block,
            span: &RecordSpan,
            format: &dyn LogFormat,
            context: &DecodeContext<'_>,
        ) -> Self::Out {
            let record = block.record(span);
            format.decode(record, context, &mut Vec::new())?;
            Ok(String::from_utf8_lossy(record).into_owned())
        }

        fn hung(&self, _block: &Block, _span: &RecordSpan) -> Self::Out {
            Err(RejectReason::Hang)
        }
    }

    fn decoded(text: &str) -> Vec<String> {
        let watched = Watched::with_patience(Outcomes, Duration::from_millis(150));
        let mut framer = Framer::new(text.as_bytes(), 100);
        let block = Arc::new(framer.next_block(1 << 20).expect("records"));
        let outs = watched.work_shared(&block, &Stubborn, &DecodeContext::default());
        let said = |out: Result<String, RejectReason>| {
            out.unwrap_or_else(|reason| reason.as_str().to_uppercase())
        };
        outs.into_iter().map(said).collect()
    }

    #[test]
    fn a_hang_is_a_reject_and_its_neighbours_are_not() {
        assert_eq!(decoded("a\nb\nc\n"), ["a", "b", "c"]);
        assert_eq!(decoded("hang\na\n"), ["HANG", "a"]);
        assert_eq!(decoded("a\nhang\nb\nhang"), ["a", "HANG", "b", "HANG"]);
        let slow = "slow\n".repeat(10);
        assert_eq!(decoded(&slow), ["slow"; 10]);
        let many = "hang\n".repeat(6) + "a\n";
        let expected = ["HANG"; 7];
        assert_eq!(decoded(&many), expected);
        RELEASED.store(true, Ordering::Relaxed);
    }
}
