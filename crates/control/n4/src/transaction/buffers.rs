//! Reuse of the buffers of sent responses.

/// The most buffers that are kept, and the largest capacity of each: that of a response to a session request, as nearly
/// all are.
const MAX_BUFFERS: usize = 256;
const OCTETS: usize = 1024;

/// Free buffers.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    /// An empty buffer.
    #[inline]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// Returns a buffer for reuse.
    #[inline]
    pub(crate) fn put(&mut self, mut buffer: Vec<u8>) {
        if self.0.len() < MAX_BUFFERS && (1..=OCTETS).contains(&buffer.capacity()) {
            buffer.clear();
            self.0.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  three hundred buffers with contents, then one that is too large and one without capacity.
    // Output: as many as the limit are returned, empty and with their capacity; then one without capacity.
    #[test]
    fn buffers_come_back_empty() {
        let mut buffers = BufferPool::default();
        (0..300).for_each(|_| buffers.put(vec![1; 100]));
        assert_eq!(buffers.0.len(), MAX_BUFFERS);
        let back: Vec<_> = (0..MAX_BUFFERS).map(|_| buffers.take()).collect();
        assert!(back.iter().all(|buffer| buffer.is_empty() && buffer.capacity() >= 100));
        buffers.put(vec![1; OCTETS + 1]);
        buffers.put(Vec::new());
        assert_eq!((buffers.0.len(), buffers.take().capacity()), (0, 0));
    }
}
