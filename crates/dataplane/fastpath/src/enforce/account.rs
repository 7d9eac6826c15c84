//! Accounts: what a rule may still pass, and what it has passed.

use crate::program::compiled_action::CompiledAction;
use crate::program::{Rate, Step};
use crate::table::flow_entry::{Account, PER_OCTET};

impl Account {
    /// Charges a packet that passes. `None`: the slow path must see it, or the rate does not let it pass.
    #[inline(always)]
    pub(crate) fn charge(&mut self, action: &CompiledAction, len: u32, now: u64) -> Option<()> {
        // [`super::matched`] also handles a time that runs backwards.
        if self.budget < u64::from(len) || now.wrapping_sub(self.last_pass) >= action.idle_limit {
            return None;
        }
        if action.is_metered {
            let passed = now.wrapping_sub(self.updated).cast_signed();
            if passed < 0 {
                return None;
            }
            let tokens = self.filled(action.rate, passed);
            if tokens <= 0 {
                return None;
            }
            self.tokens = tokens - i64::from(len) * PER_OCTET;
        }
        self.budget -= u64::from(len);
        (self.updated, self.last_pass) = (now, now);
        (self.last_size, self.packets) = (len, self.packets + 1);
        Some(())
    }

    /// Records a packet that is dropped whatever the account holds. `None`: the slow path must see it.
    #[inline(always)]
    pub(crate) fn advance_for_drop(&mut self, action: &CompiledAction, len: u32, now: u64) -> Option<()> {
        if self.budget < u64::from(len) || now.saturating_sub(self.last_pass) >= action.idle_limit {
            return None;
        }
        if action.is_metered {
            // Tokens that the rate has gained so far are kept.
            let passed = now.saturating_sub(self.updated).cast_signed();
            self.tokens = self.filled(action.rate, passed);
        }
        self.updated = now;
        Some(())
    }

    /// The tokens in the bucket after this many nanoseconds.
    #[inline(always)]
    fn filled(&self, rate: Rate, passed: i64) -> i64 {
        let capacity = rate.burst.max(i64::from(self.last_size) * PER_OCTET);
        // Bit rates have 40 bits.
        let Some(gained) = rate.kbps.cast_signed().checked_mul(passed) else {
            return self.tokens.saturating_add(i64::MAX).min(capacity);
        };
        // The gain is not negative.
        match self.tokens.overflowing_add(gained) {
            (_, true) => capacity,
            (tokens, false) => tokens.min(capacity),
        }
    }

    /// Whether the account may count the packet without the slow path.
    #[inline]
    pub(super) fn may_count(&self, step: &Step, size: u32, now: u64) -> bool {
        self.budget >= u64::from(size) && now.saturating_sub(self.last_pass) < step.idle_limit
    }

    /// Fills the bucket. Returns whether a packet may pass.
    #[inline]
    pub(super) fn fill(&mut self, rate: Rate, now: u64) -> bool {
        let gained = rate.kbps.saturating_mul(now.saturating_sub(self.updated));
        let capacity = rate.burst.max(i64::from(self.last_size) * PER_OCTET);
        let tokens = self.tokens.saturating_add(i64::try_from(gained).unwrap_or(i64::MAX));
        self.tokens = tokens.min(capacity);
        self.updated = self.updated.max(now);
        self.tokens > 0
    }
}
