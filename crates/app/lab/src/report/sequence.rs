//! The message sequence chart.

use std::fmt;

use maud::{Markup, html};

use crate::timeline::Message;

const LANES: [&str; 4] = ["smf", "upf", "gnb1", "gnb2"];
const NAMES: [&str; 4] = ["SMF", "UPF", "gNB 1", "gNB 2"];
const WIDTH: usize = 960;
const LEFT: usize = 170;
const GAP: usize = 245;
const ROW: usize = 24;
const TOP: usize = 46;

/// The longest pattern that is looked for when repetitions are drawn together.
const PATTERN: usize = 4;

/// A message, or several of its name in a row.
#[derive(Clone, Copy, PartialEq, Debug)]
struct MessageRow<'a> {
    message: &'a Message,
    times: usize,
}

/// Draws an arrow per message; repeated exchanges become one with their number.
pub(super) fn draw(messages: &[Message]) -> Markup {
    let rows = fold(messages);
    let height = TOP + rows.len() * ROW + 12;
    html! {
        svg viewBox={ "0 0 " (WIDTH) " " (height) } role="img" aria-label="Message sequence" {
            @for (lane, name) in NAMES.iter().enumerate() {
                line.lane x1=(x(lane)) x2=(x(lane)) y1="30" y2=(height) {}
                rect.box x=(x(lane) - 42) y="4" width="84" height="26" rx="6" {}
                text.boxed x=(x(lane)) y="22" { (name) }
            }
            @for (index, row) in rows.iter().enumerate() {
                (arrow(row, TOP + index * ROW))
            }
        }
    }
}

fn arrow(row: &MessageRow<'_>, y: usize) -> Markup {
    let lane = |name: &str| LANES.iter().position(|lane| *lane == name).unwrap_or(0);
    let (from, to) = (x(lane(&row.message.from)), x(lane(&row.message.to)));
    // The head of the arrow, and where its tip points.
    let back = if to > from { to - 7 } else { to + 7 };
    let kind = match row.message.from.as_str() {
        "smf" => "from-smf",
        "upf" => "from-upf",
        _ => "from-gnb",
    };
    let middle = (from + to) / 2;
    html! {
        g class=(kind) {
            title { (row.message.detail) }
            text.time x="8" y=(y + 13) { (format_args!("{:.3} s", row.message.at.as_secs_f64())) }
            line x1=(from) x2=(to) y1=(y + 14) y2=(y + 14) {}
            polygon points={ (to) "," (y + 14) " " (back) "," (y + 10) " " (back) "," (y + 18) } {}
            text.label x=(middle) y=(y + 9) { (row) }
        }
    }
}

impl maud::Render for MessageRow<'_> {
    fn render_to(&self, buffer: &mut String) {
        maud::Render::render_to(&format_args!("{self}"), buffer);
    }
}

impl fmt::Display for MessageRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message.label)?;
        match self.times {
            1 => Ok(()),
            times => write!(f, " ×{times}"),
        }
    }
}

fn x(lane: usize) -> usize {
    LEFT + lane * GAP
}

/// Draws together what repeats: a message, or a request and its response.
fn fold(messages: &[Message]) -> Vec<MessageRow<'_>> {
    let mut rows = Vec::new();
    let mut rest = messages;
    while !rest.is_empty() {
        let (period, times) = (1..=PATTERN.min(rest.len()))
            .map(|period| (period, repetitions(rest, period)))
            .find(|(_, times)| *times > 1)
            .unwrap_or((1, 1));
        rows.extend(rest.iter().take(period).map(|message| MessageRow { message, times }));
        rest = rest.get(period * times..).unwrap_or_default();
    }
    rows
}

/// How often the first `period` messages come in a row.
fn repetitions(messages: &[Message], period: usize) -> usize {
    let key = |message: &Message| (message.from.clone(), message.to.clone(), message.label.clone());
    let pattern: Vec<_> = messages.iter().take(period).map(key).collect();
    messages
        .chunks_exact(period)
        .take_while(|chunk| chunk.iter().map(key).eq(pattern.iter().cloned()))
        .count()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn message(from: &str, label: &str) -> Message {
        let to = if from == "smf" { "upf" } else { "smf" };
        let (from, to, label) = (from.into(), to.into(), label.into());
        Message { at: Duration::ZERO, from, to, label, detail: String::new() }
    }

    fn names(messages: &[Message]) -> Vec<String> {
        fold(messages).iter().map(ToString::to_string).collect()
    }

    // Input:  an association, three establishments with their responses, two end markers.
    // Output: the establishments are one exchange three times, the end markers one arrow twice.
    #[test]
    fn repeated_exchanges_are_drawn_once() {
        let mut messages = vec![message("smf", "setup"), message("upf", "setup ok")];
        for _ in 0..3 {
            messages.extend([message("smf", "establish"), message("upf", "ok")]);
        }
        messages.extend([message("upf", "end"), message("upf", "end")]);
        assert_eq!(names(&messages), ["setup", "setup ok", "establish ×3", "ok ×3", "end ×2"]);
        assert!(names(&[]).is_empty());
    }
}
