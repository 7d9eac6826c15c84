//! Memory of answers that were sent, for the next ones.

/// Buffers that are kept at most, and octets that each has at most: those of an answer to a session request, which nearly all are.
const MAX_BUFFERS: usize = 256;
const OCTETS: usize = 1024;

/// Buffers that are free.
#[derive(Debug, Default)]
pub(crate) struct BufferPool(Vec<Vec<u8>>);

impl BufferPool {
    /// An empty one.
    #[inline]
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.0.pop().unwrap_or_default()
    }

    /// One that nobody needs any more.
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

    // Input:  three hundred buffers with something in them, then one that is too large and one without memory.
    // Output: as many as are kept come back, empty and with their memory; then one without any.
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
