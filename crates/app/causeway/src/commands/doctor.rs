//! `causeway doctor`: what a host lacks for a configuration.

use std::io;
use std::process::ExitCode;

use causeway_upf::config::Config;
use causeway_upf::doctor::{Finding, Verdict, examine};
use clap::Args;

use crate::cli::ConfigArgs;
use crate::exit;
use crate::output::{Cell, Format, Output, Tone};

/// The options of `causeway doctor`.
#[derive(Args)]
pub(crate) struct DoctorArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Form of the output: text for people, or json for programs
    #[arg(short, long, value_name = "FORM", value_enum, hide_possible_values = true, default_value_t = Format::Text)]
    output: Format,
}

pub(super) fn run(args: &DoctorArgs) -> ExitCode {
    let config = match Config::load(args.config.config.as_deref(), &args.config.overrides()) {
        Ok(config) => config,
        Err(errors) => return exit::end(exit::USAGE, errors),
    };
    let findings = examine(&config.upf);
    // A closed pipe is no error.
    let _ = show(&mut Output::new(args.output), &findings);
    let worst = findings.iter().map(|finding| finding.verdict).max();
    ExitCode::from(if worst == Some(Verdict::Failure) { exit::FAILED } else { exit::OK })
}

fn show(output: &mut Output, findings: &[Finding]) -> io::Result<()> {
    if output.is_json() {
        return output.json(&findings);
    }
    for finding in findings {
        let (mark, tone) = match finding.verdict {
            Verdict::Good => ("ok", Tone::Good),
            Verdict::Warning => ("warning", Tone::Heading),
            Verdict::Failure => ("FAILURE", Tone::Bad),
        };
        output.line(format_args!(
            "{}  {}: {}",
            Cell::new(format_args!("{mark:7}"), tone),
            finding.subject,
            finding.state
        ))?;
        if let Some(remedy) = &finding.remedy {
            output.line(format_args!("         {remedy}"))?;
        }
    }
    let count = |verdict| findings.iter().filter(|finding| finding.verdict == verdict).count();
    let (failures, warnings) = (count(Verdict::Failure), count(Verdict::Warning));
    output.line(format_args!("{failures} failures, {warnings} warnings"))?;
    output.flush()
}
