//! Steps and their observations.

use std::fmt::Display;
use std::time::Duration;

use serde::Serialize;

use super::console::Console;
use super::path::PacketPath;
use crate::LabError;
use crate::timeline::{Timeline, in_seconds};

/// One thing that was observed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Check {
    /// What was looked at.
    pub what: String,
    /// What there was to see.
    pub seen: String,
    /// It is as it should be. `None`: nothing to compare with, only to know.
    pub passed: Option<bool>,
}

/// The observations of a running step.
pub struct Observer<'a> {
    console: &'a Console,
    checks: Vec<Check>,
    summary: String,
}

impl Observer<'_> {
    /// Notes something that is neither right nor wrong.
    pub fn note(&mut self, what: &str, seen: impl Display) {
        self.checks.push(Check { what: what.into(), seen: seen.to_string(), passed: None });
    }

    /// Notes whether something is as it should be. The step fails if it is not, but goes on.
    pub fn expect(&mut self, what: &str, seen: impl Display, passed: bool) {
        self.checks.push(Check { what: what.into(), seen: seen.to_string(), passed: Some(passed) });
    }

    /// The result in one line.
    pub fn summarise(&mut self, summary: impl Into<String>) {
        self.summary = summary.into();
    }

    /// What the step is doing now.
    pub fn progress(&self, doing: impl Display) {
        self.console.progress(&doing.to_string());
    }
}

/// How a step went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct StepReport {
    /// Its place, from 1.
    pub number: usize,
    /// Its title.
    pub title: &'static str,
    /// What it shows, in a sentence.
    pub about: &'static str,
    /// When it began, on the timeline.
    #[serde(serialize_with = "in_seconds")]
    pub start: Duration,
    /// How long it lasted.
    #[serde(serialize_with = "in_seconds")]
    pub elapsed: Duration,
    /// Everything was as it should be.
    pub passed: bool,
    /// The result in one line: of a failed step, the reason.
    pub summary: String,
    /// What was observed.
    pub checks: Vec<Check>,
    /// Where its packets were counted, for each kind of packets that was followed.
    pub paths: Vec<PacketPath>,
}

/// What steps are played on.
pub trait Stage {
    /// Where the packets of the step that has just ended were counted.
    fn take_paths(&mut self) -> Vec<PacketPath> {
        Vec::new()
    }
}

/// A step to be played on a stage `S`.
pub struct Step<S> {
    /// Its title.
    pub title: &'static str,
    /// What it shows, in a sentence.
    pub about: &'static str,
    /// What it does.
    pub play: fn(&mut S, &mut Observer<'_>) -> Result<(), LabError>,
}

/// Plays steps one after the other, up to the first that fails: each builds on those before it. Adds their reports
/// to those of the steps before.
pub fn play<S: Stage>(
    steps: &[Step<S>],
    stage: &mut S,
    console: &Console,
    timeline: &Timeline,
    reports: &mut Vec<StepReport>,
) {
    for step in steps {
        let report = play_one(reports.len() + 1, step, stage, console, timeline);
        let passed = report.passed;
        reports.push(report);
        if !passed {
            break;
        }
    }
}

fn play_one<S: Stage>(
    number: usize,
    step: &Step<S>,
    stage: &mut S,
    console: &Console,
    timeline: &Timeline,
) -> StepReport {
    let start = timeline.now();
    console.begin(number, step.title);
    let mut observer = Observer { console, checks: Vec::new(), summary: String::new() };
    let result = (step.play)(stage, &mut observer);
    let Observer { checks, summary, .. } = observer;
    let wrong = checks.iter().find(|check| check.passed == Some(false));
    let reason = match (result, wrong) {
        (Err(error), _) => Some(error.to_string()),
        (Ok(()), Some(check)) => Some(format!("{}: {}", check.what, check.seen)),
        (Ok(()), None) => None,
    };
    let paths = stage.take_paths();
    let passed = reason.is_none();
    let summary = reason.map_or(summary, |reason| with_last_seen(reason, &paths));
    console.end(passed, &summary);
    let elapsed = timeline.now().saturating_sub(start);
    let Step { title, about, .. } = *step;
    StepReport { number, title, about, start, elapsed, passed, summary, checks, paths }
}

/// The reason of a failure, and where packets were last seen if some are lost.
fn with_last_seen(reason: String, paths: &[PacketPath]) -> String {
    match paths.iter().find_map(|path| path.last_seen.as_ref()) {
        Some(last_seen) => format!("{reason}. {last_seen}"),
        None => reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Stage for Vec<u8> {
        fn take_paths(&mut self) -> Vec<PacketPath> {
            let last_seen = self.contains(&2).then(|| "1 of 5 packets was last seen there".into());
            vec![PacketPath { packets: 5, places: Vec::new(), losses: Vec::new(), last_seen }]
        }
    }

    fn good(stage: &mut Vec<u8>, observer: &mut Observer<'_>) -> Result<(), LabError> {
        stage.push(1);
        observer.note("rate", "3 Mbit/s");
        observer.expect("loss", "0 %", true);
        observer.summarise("fine");
        Ok(())
    }

    fn wrong(stage: &mut Vec<u8>, observer: &mut Observer<'_>) -> Result<(), LabError> {
        observer.expect("loss", "20 %", false);
        stage.push(2);
        observer.summarise("fine");
        Ok(())
    }

    fn broken(_: &mut Vec<u8>, _: &mut Observer<'_>) -> Result<(), LabError> {
        Err(LabError::Peer("no answer".into()))
    }

    type Play = fn(&mut Vec<u8>, &mut Observer<'_>) -> Result<(), LabError>;

    fn run(plays: &[Play]) -> (Vec<StepReport>, Vec<u8>) {
        let steps: Vec<_> = plays.iter().map(|play| Step { title: "t", about: "a", play: *play }).collect();
        let mut stage = Vec::new();
        let mut reports = Vec::new();
        play(&steps, &mut stage, &Console::silent(), &Timeline::default(), &mut reports);
        (reports, stage)
    }

    // Input:  a good step, one that sees something wrong, and one that is never reached.
    // Output: two reports; the second fails with what was wrong and where packets were last seen, after having played
    //         to its end.
    #[test]
    fn a_wrong_observation_fails_its_step_and_ends_the_play() {
        let (reports, stage) = run(&[good, wrong, good]);
        assert_eq!(stage, [1, 2]);
        let results: Vec<_> = reports.iter().map(|r| (r.number, r.passed, r.summary.as_str())).collect();
        let reason = "loss: 20 %. 1 of 5 packets was last seen there";
        assert_eq!(results, [(1, true, "fine"), (2, false, reason)]);
        assert_eq!(reports[0].checks.len(), 2);
    }

    // Input:  a step that cannot be played.
    // Output: the error is its result.
    #[test]
    fn an_error_is_the_reason() {
        let (reports, _) = run(&[broken]);
        assert_eq!((reports[0].passed, reports[0].summary.as_str()), (false, "no answer"));
    }
}
