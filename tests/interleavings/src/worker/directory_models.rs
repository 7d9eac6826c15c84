//! Models of workers that read the directory while threads that have its writer in turn change it.

use std::sync::Arc;

use loom::thread;

use super::directory::{ALL_WORKERS, Directory};
use super::explore;
use super::sync::Mutex;

/// A key gets an owner, then all workers as its owner, and is removed, and another key takes its place: a reader sees the owners of each key in
/// their order, and of neither key an owner that it never had.
///
/// # Panics
/// A reader sees another owner, or an old one after a new one.
pub fn a_key_has_its_old_or_its_new_owner() {
    explore(2, || {
        let (directory, mut writer) = Directory::with_buckets(1, 8, |_| ());
        let [one, other] = [7, 8].map(|teid| directory.tunnel(0, teid));
        let reader = Arc::clone(&directory);
        let reading = thread::spawn(move || {
            let seen = [(); 2].map(|()| (reader.owner(one), reader.owner(other)));
            // None is both the first and the last.
            let order = |owner| [Some(1), Some(ALL_WORKERS), None].iter().position(|known| *known == owner);
            let [first, last] = seen.map(|(owner, _)| order(owner).expect("an owner that it had"));
            assert!(first <= last || first == 2, "{seen:?}");
            assert!(seen.iter().all(|(_, owner)| matches!(owner, None | Some(3))), "{seen:?}");
            assert!(seen[0].1 <= seen[1].1, "{seen:?}");
        });
        assert!(writer.claim(one, 1).is_some() && writer.claim(one, 2).is_some());
        assert!(writer.remove(one));
        assert!(writer.claim(other, 3).is_some());
        reading.join().expect("the reader ends");
        assert_eq!((directory.owner(one), directory.owner(other)), (None, Some(3)));
    });
}

/// A key stays while others come and go in the same buckets: it is found at any time.
///
/// # Panics
/// A reader does not find it.
pub fn neighbours_do_not_hide_a_key() {
    explore(2, || {
        let (directory, mut writer) = Directory::with_buckets(1, 8, |_| ());
        let [before, stays, after] = [7, 8, 9].map(|teid| directory.tunnel(0, teid));
        assert!(writer.claim(before, 1).is_some() && writer.claim(stays, 2).is_some());
        let reader = Arc::clone(&directory);
        let reading = thread::spawn(move || assert_eq!(reader.owner(stays), Some(2)));
        assert!(writer.remove(before));
        assert!(writer.claim(after, 3).is_some());
        reading.join().expect("the reader ends");
    });
}

/// Two threads have the writer in turn. Each adds a key to the same buckets, where another one stays, and one removes its key: nobody overwrites an
/// entry, and a reader finds the one that stays at any time.
///
/// # Panics
/// An entry is lost.
pub fn writers_in_turn_keep_each_others_keys() {
    explore(2, || {
        let (directory, mut writer) = Directory::with_buckets(1, 8, |_| ());
        let [stays, passes, comes] = [7, 8, 9].map(|teid| directory.tunnel(0, teid));
        assert!(writer.claim(stays, 1).is_some());
        let writer = Arc::new(Mutex::new(writer));
        let (other, reader) = (Arc::clone(&writer), Arc::clone(&directory));
        let writing = thread::spawn(move || {
            assert_eq!(other.lock().expect("no panic").claim(passes, 2), Some(true));
            assert!(other.lock().expect("no panic").remove(passes));
        });
        assert_eq!(writer.lock().expect("no panic").claim(comes, 3), Some(true));
        assert_eq!((reader.owner(stays), reader.owner(comes)), (Some(1), Some(3)));
        writing.join().expect("the other thread ends");
        let owners = [stays, passes, comes].map(|key| directory.owner(key));
        assert_eq!(owners, [Some(1), None, Some(3)]);
    });
}
