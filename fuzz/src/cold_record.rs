//! Any octets as the record of an idle session in cold storage: what is read is written as a record that is read as the same state.

use causeway_slowpath::lease::MeasuredState;
use causeway_types::Time;

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let since = Time::from_secs(1_700_000_000);
    if let Ok(state) = MeasuredState::read(octets, since) {
        let mut again = Vec::new();
        state.write(since, &mut again);
        assert_eq!(MeasuredState::read(&again, since), Ok(state));
    }
}
