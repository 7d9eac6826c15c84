//! The class of a rule pair over several windows.

/// A change of a rule pair's class.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClassChange {
    /// The class before.
    pub from: u8,
    /// The class from now on.
    pub to: u8,
}

/// The class of a rule pair: it changes when two of the last three windows have the same other class.
///
/// At first it is class 0, and so are the windows before the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Verdict {
    class: u8,
    /// The last two windows, the last one first.
    before: [u8; 2],
}

impl Verdict {
    /// The class now.
    pub const fn class(&self) -> u8 {
        self.class
    }

    /// Takes the class of the next window.
    pub const fn observe(&mut self, window: u8) -> Option<ClassChange> {
        let [last, second] = self.before;
        self.before = [window, last];
        let agreed = if window == last || window == second {
            window
        } else if last == second {
            last
        } else {
            return None;
        };
        let from = self.class;
        self.class = agreed;
        if from == agreed { None } else { Some(ClassChange { from, to: agreed }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  windows of a game with one window of silence, and its end; windows that never agree.
    // Output: the class changes with the second window of the game and with the second after it; it does not for one.
    #[test]
    fn one_window_changes_nothing() {
        let mut verdict = Verdict::default();
        let mut changes = [0, 1, 0, 1, 1, 0, 1, 0, 0, 0].map(|window| verdict.observe(window));
        let (to, from) = (ClassChange { from: 0, to: 1 }, ClassChange { from: 1, to: 0 });
        assert_eq!(changes.iter().flatten().collect::<Vec<_>>(), [&to, &from]);
        assert_eq!((changes[3].take(), changes[7].take(), changes[8].take()), (Some(to), Some(from), None));
        assert_eq!([1, 2, 3, 1, 2].map(|window| verdict.observe(window)), [None; 5]);
    }
}
