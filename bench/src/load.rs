//! An artificially busy machine: threads that burn CPU until dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Burns CPU until dropped. These are our threads, so they cannot outlive us or count as a child's CPU.
pub struct Load {
    stop: Arc<AtomicBool>,
    burners: Vec<JoinHandle<()>>,
}

impl Load {
    /// Keeps `cores` cores busy.
    pub fn start(cores: usize) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let burner = || {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })
        };
        let burners = (0..cores).map(|_| burner()).collect();
        Load { stop, burners }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for burner in self.burners.drain(..) {
            // A burner cannot panic.
            let _ = burner.join();
        }
    }
}
