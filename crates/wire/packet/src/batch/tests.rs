use super::*;
use crate::STRIDE;

fn ip(data: &[u8]) -> Frame<'_> {
    Frame { meta: Meta::Ip, data }
}

// Input:  one frame more than a batch holds, then one frame longer than a buffer.
// Output: both are refused; the frames before them are intact.
#[test]
fn a_full_batch_and_an_oversized_frame_are_refused() {
    let mut batch = Batch::new();
    for n in 0..BATCH as u8 {
        assert!(batch.push(ip(&[n; 3])));
    }
    assert!(batch.is_full());
    assert!(!batch.push(ip(&[0])));
    assert_eq!(batch.frame(31).map(|f| f.data[2]), Some(31));
    batch.clear();
    assert!(!batch.push(ip(&[0; STRIDE])));
    assert!(batch.push(ip(&[0; STRIDE - HEADROOM])));
}

// Input:  a frame in the second buffer; a header is prepended and removed again.
// Output: the first buffer is unchanged, and no more than the headroom can be prepended.
#[test]
fn a_header_goes_into_the_headroom() {
    let mut batch = Batch::new();
    assert!(batch.push(ip(&[1; 2048])) && batch.push(ip(&[2, 2])));
    let mut frame = batch.frame_mut(1).unwrap();
    frame.prepend(HEADROOM - 2).unwrap().fill(9);
    frame.prepend(2).unwrap().fill(9);
    assert!(frame.prepend(1).is_none());
    assert_eq!(frame.data().len(), HEADROOM + 2);
    assert!(frame.trim_front(HEADROOM));
    assert_eq!(frame.data(), [2, 2]);
    assert!(!frame.trim_front(3));
    assert_eq!(batch.frame(0), Some(ip(&[1; 2048])));
}

// Input:  a frame of four octets that is cut to its second and third, with two octets before them; more octets than
//         it has, and more headroom; then one octet less.
// Output: the requested octets, and what follows them in the buffer; an excess is rejected without effect.
#[test]
fn a_frame_is_cut_and_prepended_in_one_step() {
    let mut batch = Batch::new();
    assert!(batch.push(ip(&[9; 5])) && batch.push(ip(&[1, 2, 3, 4])));
    let mut frame = batch.frame_mut(1).unwrap();
    let seen = frame.replace_front::<2, 5>(1, 2).unwrap();
    [seen[0], seen[1]] = [7, 8];
    assert_eq!(*seen, [7, 8, 2, 3, 4]);
    assert!(
        frame.replace_front::<0, 1>(1, 4).is_none() && frame.replace_front::<HEADROOM, 1>(0, 1).is_none()
    );
    assert_eq!(frame.data(), [7, 8, 2, 3]);
    assert_eq!(frame.replace_front::<0, 2>(3, 1), Some(&mut [3, 4]));
    assert_eq!((batch.data(0), batch.data(1)), (Some(&[9; 5][..]), Some(&[3][..])));
}

// Input:  a received series of three buffers of which the second is not wanted.
// Output: two frames, in order, from the first and the third buffer.
#[test]
fn a_skipped_buffer_leaves_no_frame() {
    let mut batch = Batch::new();
    for (n, buffer) in batch.free().take(3).enumerate() {
        buffer[0] = n as u8;
    }
    batch.commit(1, Meta::Ip);
    batch.skip();
    batch.commit(1, Meta::Ip);
    let seen: Vec<_> = batch.frames().map(|f| f.data[0]).collect();
    assert!(batch.metas_and_data().filter_map(|(_, data)| data).eq([&[0], &[2]]));
    let heads: Vec<_> = batch.frame_heads::<1>(0).collect();
    assert_eq!(heads, [(&Meta::Ip, 1, Some(&[0])), (&Meta::Ip, 1, Some(&[2]))]);
    assert_eq!(batch.octets(), 2);
    assert_eq!(seen, [0, 2]);
    batch.swap(0, 1);
    batch.swap(0, 2);
    batch.retain(|frame| frame.data[0] == 2);
    assert_eq!(batch.as_frames().as_slice(), [ip(&[2])]);
}

// Input:  a frame grown to the end of its buffer, and one octet further.
// Output: the first succeeds, the second fails.
#[test]
fn a_frame_never_grows_into_the_next_buffer() {
    let mut batch = Batch::with_frame_size(100);
    let size = batch.frame_size();
    assert!(size >= 100);
    assert!(batch.push(ip(&[1])));
    let mut frame = batch.frame_mut(0).unwrap();
    assert!(frame.resize(size));
    assert!(!frame.resize(size + 1));
    assert_eq!(frame.data().len(), size);
}

// Input:  a batch that received a frame; an I/O library exchanges its buffer for one of its own, with a frame at octet 8
//         of 32; then a header is prepended; then a place without a frame, and octets outside the buffer.
// Output: the frame is in the library's memory, where the header is written as well, and its buffer comes back with
//         the same address; what does not fit is returned without effect.
#[test]
fn a_buffer_of_another_library_is_used_in_place() {
    let memory: &'static mut [u8] = Box::leak(Box::new([7; 32]));
    let address = memory.as_ptr();
    let mut batch = Batch::new();
    assert!(batch.push(Frame { meta: Meta::Ethernet, data: &[1, 2, 3] }));
    let own = batch.exchange(0, Buffer::new(memory, 8), 8, 4).unwrap();
    assert_eq!(own.octets().get(HEADROOM..HEADROOM + 3), Some(&[1, 2, 3][..]));
    batch.frame_mut(0).unwrap().prepend(2).unwrap().fill(9);
    assert_eq!(batch.frame(0), Some(Frame { meta: Meta::Ethernet, data: &[9, 9, 7, 7, 7, 7] }));
    let own = batch.exchange(1, own, HEADROOM, 3).unwrap_err();
    let own = batch.exchange(0, own, STRIDE, 1).unwrap_err();
    let theirs = batch.exchange(0, own, HEADROOM, 2).unwrap();
    assert_eq!(theirs.octets().as_ptr(), address);
    assert_eq!(theirs.into_octets()[6..12], [9, 9, 7, 7, 7, 7]);
    assert_eq!(batch.data(0), Some(&[1, 2][..]));
}

// Input:  a batch of three buffers of an I/O library, one of them without space for a frame; frames until it is full.
// Output: two frames are accepted, of the length that fits into the shorter buffer.
#[test]
fn a_batch_consists_of_the_buffers_of_a_library() {
    let buffer = |len, headroom| Buffer::new(Box::leak(vec![0; len].into_boxed_slice()), headroom);
    let mut batch = Batch::of_buffers([buffer(40, 8), buffer(20, 4), buffer(8, 9)]);
    assert_eq!((batch.frame_size(), batch.free_buffers()), (16, 2));
    assert!(batch.push(ip(&[1; 16])) && batch.push(ip(&[2; 16])));
    assert!(batch.is_full() && !batch.push(ip(&[3])));
    batch.commit(1, Meta::Ip);
    assert_eq!(batch.as_frames().as_slice(), [ip(&[1; 16]), ip(&[2; 16])]);
}

// Input:  a batch of a size that no other test uses is dropped; another one of that size, then a third.
// Output: the second has the memory of the first, the third its own.
#[test]
fn memory_of_a_dropped_batch_is_used_again() {
    let start = |batch: &mut Batch| batch.free().next().map(|buffer| buffer.as_ptr());
    let mut first = Batch::with_frame_size(12_345);
    let places: Vec<_> = first.free().map(|buffer| buffer.as_ptr()).collect();
    drop(first);
    let (mut second, mut third) = (Batch::with_frame_size(12_345), Batch::with_frame_size(12_345));
    assert!(start(&mut second).is_some_and(|place| places.contains(&place)));
    assert!(start(&mut third).is_some_and(|place| !places.contains(&place)));
}

// Input:  three frames, all of which get octets before them while they are walked, until the headroom of a library's buffer is used.
// Output: the octets stand before each frame, which is unchanged; what finds no headroom has no effect.
#[test]
fn octets_are_prepended_while_there_is_headroom() {
    let mut batch = Batch::new();
    assert!((1..4).all(|octet| batch.push(ip(&[octet; 2]))));
    let seven = Buffer::new(Box::leak(Box::new([7; 12])), 5);
    assert!(batch.exchange(1, seven, 5, 2).is_ok());
    for (at, mut frame) in batch.frames_mut().enumerate() {
        let (front, data) = frame.prepend_chunk::<3>().unwrap();
        assert_eq!(data.len(), 2);
        *front = [at as u8 + 10; 3];
        assert_eq!(frame.prepend_chunk::<3>().is_none(), at == 1);
    }
    let lens: Vec<usize> = batch.frames_mut().map(|frame| frame.len()).collect();
    assert_eq!(lens, [8, 5, 8]);
    assert_eq!(batch.data(1), Some(&[11, 11, 11, 7, 7][..]));
    assert_eq!(batch.data(2).map(|data| &data[3..]), Some(&[12, 12, 12, 3, 3][..]));
}
