//! A thread that makes the kernel allocate memory before packet threads use it.

use std::ops::Range;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use std::thread;

use super::arena::populate;

/// The minimum size, in octets, that is worth prefaulting.
const MIN_PREFAULT: usize = 1 << 20;

/// The channel to the thread; `None` if it could not be started.
static PREFAULT_SENDER: OnceLock<Option<Sender<Range<usize>>>> = OnceLock::new();

/// Starts the thread, if it is not running. It inherits the CPU affinity of the calling thread: call this before that
/// is bound to a core.
pub fn start_prefault_thread() {
    PREFAULT_SENDER.get_or_init(start);
}

/// Requests that another thread prefaults the pages in a range of addresses, with huge pages where possible, so that
/// the first access takes no page fault. It is harmless if that happens too late, or after the memory was released. The
/// content is unchanged.
pub fn request_prefault(range: Range<*const u8>) {
    let range = range.start.addr()..range.end.addr();
    if range.len() < MIN_PREFAULT || cfg!(miri) {
        return;
    }
    if let Some(sender) = PREFAULT_SENDER.get_or_init(start) {
        // It ends with the process.
        let _ = sender.send(range);
    }
}

fn start() -> Option<Sender<Range<usize>>> {
    let (sender, ranges) = channel::<Range<usize>>();
    let run = move || ranges.iter().for_each(populate);
    thread::Builder::new().name("memory".to_owned()).spawn(run).ok()?;
    Some(sender)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::time::{Duration, Instant};

    use causeway_collections::{Release, Tail};

    use super::super::{Arena, ToKernel};
    use super::*;

    // Input:  an unused array of 64 MB; half of it is prefaulted, then memory that is not mapped.
    // Output: little of it takes memory at first, and half of it soon; its elements are unchanged.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap")]
    fn memory_is_prefaulted_by_another_thread() {
        let mut words = Arena::<u64>::sparse(8 << 20).unwrap();
        words[5] = 7;
        assert!(resident_kb(words.as_ptr_range()) < 1000);
        let half: Range<*const u64> = words[..4 << 20].as_ptr_range();
        request_prefault(half.start.cast()..half.end.cast());
        request_prefault(std::ptr::without_provenance(1 << 40)..std::ptr::without_provenance(1 << 41));
        let patience = Instant::now() + Duration::from_secs(30);
        while resident_kb(words.as_ptr_range()) < 32_000 {
            assert!(Instant::now() < patience, "{} kB", resident_kb(words.as_ptr_range()));
            thread::yield_now();
        }
        assert!(resident_kb(words.as_ptr_range()) < 40_000);
        assert_eq!((words[5], words[6], words[(4 << 20) - 1]), (7, 0, 0));
    }

    // Input:  a vector of 43 MB of elements of 216 octets, all vacant, which are removed some at a time.
    // Output: their pages are released, also those that two steps share; each that stayed would let the kernel make a
    //         huge page again.
    #[test]
    #[cfg_attr(miri, ignore = "needs mmap")]
    fn no_page_stays_between_released_elements() {
        let mut elements = vec![[1_u64; 27]; 200_000];
        let all = elements.as_ptr_range();
        let mut tail = Tail::new(Some(ToKernel::release::<[u64; 27]>));
        assert!(resident_kb(all.clone()) > 42_000);
        while tail.shorten(&mut elements, 1000, |[first, ..]| *first == 1) > 0 {}
        assert!(resident_kb(all.clone()) < 12, "{} kB", resident_kb(all));
    }

    /// The resident size of an array, in kB.
    fn resident_kb<T>(pages: Range<*const T>) -> usize {
        let (first, last) = (pages.start.addr().div_ceil(4096), pages.end.addr() / 4096);
        let mut entries = vec![0; (last - first) * 8];
        let map = File::open("/proc/self/pagemap").unwrap();
        map.read_exact_at(&mut entries, first as u64 * 8).unwrap();
        entries.as_chunks::<8>().0.iter().filter(|entry| u64::from_ne_bytes(**entry) >> 63 == 1).count() * 4
    }
}
