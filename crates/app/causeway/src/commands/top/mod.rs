//! `causeway top`: live rates on a terminal.

mod reading;
mod rows;
mod screen;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use ratatui::{DefaultTerminal, try_init, try_restore};

use super::sessions::Filters;
use crate::client::Client;
use crate::exit;
use crate::management::{CommandError, ManagementArgs, ask};
use reading::Reading;
use rows::{By, Rows};
use screen::Screen;

/// The options of `causeway top`.
#[derive(Args)]
pub(crate) struct TopArgs {
    /// What the rates are of; keys change it
    #[arg(long, value_enum, hide_possible_values = true, default_value_t = By::Session)]
    by: By,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=60))]
    interval: u64,
    /// Maximum number of sessions that are looked at, each with a call
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: u16,

    #[command(flatten)]
    management: ManagementArgs,

    // At the end, since arguments after it would be under its heading.
    #[command(flatten)]
    filters: Filters,
}

pub(super) fn run(args: &TopArgs) -> ExitCode {
    if !(io::stdout().is_terminal() && io::stdin().is_terminal()) {
        return exit::end(
            exit::FAILED,
            "`top` needs a terminal; `causeway workers -o json` and the like are for programs",
        );
    }
    ask(&args.management, |client, _| {
        // An error before the screen changes is one line.
        let first = Reading::take(client, &args.filters, args.limit)?;
        let mut terminal = try_init()?;
        let shown = show(args, client, first, &mut terminal);
        try_restore()?;
        shown
    })
}

/// Until a key ends it.
fn show(
    args: &TopArgs,
    client: &Client,
    first: Reading,
    terminal: &mut DefaultTerminal,
) -> Result<(), CommandError> {
    let interval = Duration::from_secs(args.interval);
    let (mut before, mut now) = (first.clone(), first);
    let mut screen = Screen::new(args.by);
    loop {
        let rows = Rows::new(screen.by, &before, &now);
        terminal.draw(|frame| screen.draw(frame, &now, rows))?;
        let due = Instant::now() + interval;
        loop {
            let left = due.saturating_duration_since(Instant::now());
            if !event::poll(left)? {
                break;
            }
            match event::read()? {
                Event::Key(key) if key.kind == KeyEventKind::Press => {
                    let is_interrupt =
                        key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
                    if is_interrupt || matches!(key.code, KeyCode::Char('q') | KeyCode::Esc) {
                        return Ok(());
                    }
                    screen.press(key.code);
                }
                _ => {}
            }
            let rows = Rows::new(screen.by, &before, &now);
            terminal.draw(|frame| screen.draw(frame, &now, rows))?;
        }
        if !screen.is_paused {
            match Reading::take(client, &args.filters, args.limit) {
                Ok(reading) => {
                    before = std::mem::replace(&mut now, reading);
                    screen.failure = None;
                }
                // A UPF that restarts comes back.
                Err(error) => screen.failure = Some(error.to_string()),
            }
        }
    }
}
