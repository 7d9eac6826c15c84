//! The end of the association and of the daemon.

use std::time::{Duration, Instant};

use crate::LabError;
use crate::demo::environment::DemoEnvironment;
use crate::demo::step::Observer;

const GRACE: Duration = Duration::from_secs(20);

pub(super) fn play(stage: &mut DemoEnvironment, observer: &mut Observer<'_>) -> Result<(), LabError> {
    let stays = stage.options.keep;
    let network = stage.network()?;
    if !super::was_released(stays, network)? {
        network.smf.release()?;
        observer.expect("Association Release Response", "accepted", true);
    }
    let again = network.smf.retransmissions();
    observer.note("PFCP requests sent more than once", again);
    let start = Instant::now();
    let status = network.daemon.stop(GRACE)?;
    let took = start.elapsed().as_millis();
    observer.expect("exit status after SIGTERM", status, status.success());
    if let Some((memory, _)) = &network.memory {
        let status = memory.stop(GRACE)?;
        observer.expect("exit status of the memory server after SIGTERM", status, status.success());
        observer.note("memory server", memory.last_output_lines(1));
    }
    let mut lost = 0;
    for (name, capture) in
        [("n3", &network.captures.n3), ("n4", &network.captures.n4), ("n6", &network.captures.n6)]
    {
        observer.expect(&format!("frames in {name}.pcap"), capture.written(), capture.written() > 0);
        lost += capture.lost();
    }
    observer.note("frames that the captures lack, because the machine had no time to write them", lost);
    let captures =
        if lost > 0 { format!("; {lost} frames are missing in the captures") } else { String::new() };
    observer
        .summarise(format!("association released; the daemon ended with status 0 in {took} ms{captures}"));
    Ok(())
}
