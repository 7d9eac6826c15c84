//! Validation of commands.

use super::command::{Command, Invalid};
use super::table_access::{Rule, TableAccess};

impl<W> TableAccess<W> {
    /// Checks that its numbers can be added, and can expire.
    pub(super) fn check(&self, command: &Command<W>) -> Result<(), Invalid> {
        for (index, number) in command.add.iter().enumerate() {
            let again = command.add.iter().take(index).any(|other| other == number);
            if again || self.rules.contains_key(number) || self.coming.contains(number) {
                return Err(Invalid::InUse(*number));
            }
        }
        for (index, number) in command.expire.iter().enumerate() {
            let again = command.expire.iter().take(index).any(|other| other == number);
            let lives = |rule: &Rule| !rule.leaving && rule.expired.is_none();
            if again || !self.rules.get(number).is_some_and(lives) {
                return Err(Invalid::NotInUse(*number));
            }
        }
        Ok(())
    }
}
