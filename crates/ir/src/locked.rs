//! Values that threads share.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Waits for the value of a mutex, and takes it even if a thread panicked while it held it. So a panic fails
/// the work that panicked, and not all work after it. What is kept in a mutex is whole between two
/// statements, or checked when it is used.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;
    use std::sync::Mutex;

    use super::locked;

    #[test]
    fn a_panic_does_not_lock_others_out() {
        let mutex = Mutex::new(1);
        let panicked = catch_unwind(|| {
            let mut value = locked(&mutex);
            *value = 2;
            assert_eq!(*value, 3, "a panic");
        });
        assert!(panicked.is_err() && mutex.is_poisoned());
        assert_eq!(*locked(&mutex), 2);
    }
}
