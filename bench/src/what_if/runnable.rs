//! How many threads were runnable on the machine while a pipeline ran.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(20);

/// Samples the number of runnable threads until it is stopped.
pub struct Runnable {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Runnable {
    /// Starts.
    pub fn watch() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let (mut sum, mut count) = (0.0, 0.0);
            while !stopped.load(Ordering::Relaxed) {
                if let Some(now) = runnable() {
                    // This thread is one of them.
                    sum += now - 1.0;
                    count += 1.0;
                }
                std::thread::sleep(INTERVAL);
            }
            sum / f64::max(count, 1.0)
        });
        Runnable { stop, thread }
    }

    /// Stops, and returns the mean.
    pub fn mean(self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or(f64::NAN)
    }
}

fn runnable() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/stat").ok()?;
    text.lines().find_map(|line| line.strip_prefix("procs_running "))?.trim().parse().ok()
}
