//! `causeway switch-model`: the model of a P4 switch as a P4Runtime server.

use std::io;
use std::process::ExitCode;

use causeway_p4runtime::server::{ModelSwitch, Options, PROFILES, Totals};
use causeway_switch::model::Timing;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{SwitchModelArgs, SwitchTiming};
use crate::exit::{self, print};

pub(super) fn run(args: &SwitchModelArgs) -> ExitCode {
    let switch = ModelSwitch::new(options(args));
    let profile = PROFILES.iter().find(|(name, _)| *name == args.profile && !args.empty);
    if let Some((name, p4info)) = profile
        && let Err(error) = switch.run(p4info)
    {
        return exit::end(exit::FAILED, format_args!("profile {name} cannot run: {error}"));
    }
    let program = profile.map_or("no program", |(name, _)| *name);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let served = match runtime {
        Ok(runtime) => runtime.block_on(serve(args, &switch, program)),
        Err(error) => Err(error.to_string()),
    };
    match served {
        Ok(()) => exit::end(exit::OK, log_switch(switch.entries(), switch.totals())),
        Err(error) => exit::end(exit::FAILED, error),
    }
}

fn options(args: &SwitchModelArgs) -> Options {
    Options {
        device_id: args.device_id,
        cpu_port: args.cpu_port,
        local: args.local.clone(),
        timing: match args.timing {
            SwitchTiming::Instant => Timing::INSTANT,
            SwitchTiming::Paper => Timing::PAPER,
            SwitchTiming::PaperAllDriver => Timing::PAPER_ALL_DRIVER,
        },
        has_atomic_batches: !args.not_atomic,
        reads_registers: !args.no_register_reads,
    }
}

async fn serve(args: &SwitchModelArgs, switch: &ModelSwitch, program: &str) -> Result<(), String> {
    let failed = |error: io::Error| format!("cannot listen on {}: {error}", args.listen);
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    print(format_args!("switch model ready: {program} on {address}, device {}", args.device_id));
    let serving = switch.serve(listener);
    tokio::pin!(serving);
    tokio::select! {
        ended = &mut serving => return ended.map_err(|error| error.to_string()),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    switch.stop();
    // Calls in flight end; the end does not wait for connected controllers.
    let gentle = tokio::time::timeout(std::time::Duration::from_secs(2), serving).await;
    gentle.map_or(Ok(()), |ended| ended.map_err(|error| error.to_string()))
}

fn log_switch(entries: usize, totals: Totals) -> String {
    let Totals { updates, refused, read, packets_in, packets_in_lost, packets_out, sent } = totals;
    format!(
        "stopped: {entries} entries; {updates} updates made and {refused} refused, {read} entities read; packets: {packets_out} out, \
         {packets_in} in and {packets_in_lost} without a controller, {sent} sent by ports"
    )
}
