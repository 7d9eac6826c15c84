//! The terminal: a summary, a table, and the keys.

use ratatui::Frame;
use ratatui::crossterm::event::KeyCode;
use ratatui::layout::{Alignment, Constraint, Layout};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table, TableState};

use super::reading::Reading;
use super::rows::{By, Rows};
use crate::output::{ago, number, printable};

/// What is shown, and how.
pub(super) struct Screen {
    pub(super) by: By,
    /// The figure by which lines are sorted.
    column: usize,
    is_reversed: bool,
    pub(super) is_paused: bool,
    /// Why the last look failed.
    pub(super) failure: Option<String>,
    table: TableState,
    lines: usize,
}

impl Screen {
    pub(super) fn new(by: By) -> Self {
        let (column, is_reversed, is_paused, failure) = (0, false, false, None);
        Self { by, column, is_reversed, is_paused, failure, table: TableState::new(), lines: 0 }
    }

    /// Does what a key says.
    pub(super) fn press(&mut self, key: KeyCode) {
        let last = self.lines.saturating_sub(1);
        let offset = self.table.offset();
        match key {
            KeyCode::Char(digit @ '1'..='4') => {
                let at = digit as usize - '1' as usize;
                self.change(By::ALL[at]);
            }
            KeyCode::Tab => {
                let at = By::ALL.iter().position(|by| *by == self.by).unwrap_or(0);
                self.change(By::ALL[(at + 1) % By::ALL.len()]);
            }
            KeyCode::Char('s') => self.column = (self.column + 1) % self.by.headings().1.len(),
            KeyCode::Char('r') => self.is_reversed = !self.is_reversed,
            KeyCode::Char(' ') => self.is_paused = !self.is_paused,
            KeyCode::Down => *self.table.offset_mut() = (offset + 1).min(last),
            KeyCode::Up => *self.table.offset_mut() = offset.saturating_sub(1),
            KeyCode::PageDown => *self.table.offset_mut() = (offset + 20).min(last),
            KeyCode::PageUp => *self.table.offset_mut() = offset.saturating_sub(20),
            KeyCode::Home => *self.table.offset_mut() = 0,
            KeyCode::End => *self.table.offset_mut() = last,
            _ => {}
        }
    }

    fn change(&mut self, by: By) {
        (self.by, self.column, self.is_reversed) = (by, 0, false);
        *self.table.offset_mut() = 0;
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, now: &Reading, mut rows: Rows) {
        rows.sort(self.column, self.is_reversed);
        self.lines = rows.0.len();
        let parts = [Constraint::Length(3), Constraint::Min(2), Constraint::Length(1)];
        let [summary, table, keys] = Layout::vertical(parts).areas(frame.area());
        frame.render_widget(self.summary(now), summary);
        frame.render_stateful_widget(self.lines_of(&rows), table, &mut self.table);
        let text = "1-4 Tab: what   s: sort by   r: reverse   arrows: scroll   space: pause   q: quit";
        frame.render_widget(Line::styled(text, Style::new().add_modifier(Modifier::DIM)), keys);
    }

    fn summary(&self, now: &Reading) -> Paragraph<'static> {
        let status = &now.status;
        let state = match (&self.failure, self.is_paused) {
            (Some(failure), _) => {
                let first = failure.lines().next().unwrap_or_default();
                Span::styled(format!("   {}", printable(first)), Style::new().fg(Color::Red))
            }
            (None, true) => Span::styled("   paused", Style::new().fg(Color::Yellow)),
            (None, false) => Span::raw(""),
        };
        let first = Line::from(vec![
            Span::styled("causeway top", Style::new().add_modifier(Modifier::BOLD)),
            Span::raw(format!(
                "  {}, running for {}",
                printable(&status.node_id),
                ago(status.started as f64)
            )),
            state,
        ]);
        let second = format!(
            "{} sessions ({} looked at), {} associations; {} packets received, {} dropped, {} buffered",
            number(status.sessions),
            number(now.sessions.len()),
            number(status.associations),
            number(status.received_packets),
            number(status.dropped_packets),
            number(status.buffered_packets)
        );
        let tab = |by: &By| {
            let style =
                if *by == self.by { Style::new().add_modifier(Modifier::REVERSED) } else { Style::new() };
            [Span::styled(format!(" {} ", by.name()), style), Span::raw(" ")]
        };
        let third = Line::from_iter(By::ALL.iter().flat_map(tab));
        Paragraph::new(Text::from(vec![first, Line::from(second), third]))
    }

    fn lines_of(&self, rows: &Rows) -> Table<'static> {
        let (texts, figures) = self.by.headings();
        let heading = |(at, name): (usize, &&'static str)| {
            let mark = match (at == self.column, self.is_reversed) {
                (false, _) => "",
                (true, false) => " v",
                (true, true) => " ^",
            };
            right(format!("{name}{mark}"))
        };
        let heads = texts.iter().map(|name| Cell::from(*name)).chain(figures.iter().enumerate().map(heading));
        let head = Row::new(heads).style(Style::new().add_modifier(Modifier::BOLD));
        let line = |row: &super::rows::Row| {
            let texts = row.texts.iter().map(|text| Cell::from(text.clone()));
            Row::new(texts.chain(row.figures.iter().map(|figure| right(figure.text.clone()))))
        };
        let width = |column: usize| {
            let widest =
                rows.0.iter().filter_map(|row| row.texts.get(column)).map(|text| text.chars().count());
            let widest = widest.max().unwrap_or(0).max(texts.get(column).map_or(0, |name| name.len()));
            // Texts name what is shown: on a narrow terminal they keep their width.
            Constraint::Min(u16::try_from(widest).unwrap_or(u16::MAX))
        };
        let widths = (0..texts.len()).map(width).chain(figures.iter().map(|_| Constraint::Length(12)));
        Table::new(rows.0.iter().map(line), widths).header(head).column_spacing(2)
    }
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Text::from(text).alignment(Alignment::Right))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use causeway_upf::management::views::{
        InterfaceView, SessionDetail, SessionStateView, SessionView, StatusView, UrrStateView, UsageView,
        WorkerView,
    };
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    /// A look at sessions that have had so many octets from their UEs.
    fn reading(at: Instant, octets: &[u64]) -> Reading {
        let session = |(n, octets): (usize, &u64)| {
            let total =
                UsageView { uplink_octets: *octets, uplink_packets: octets / 100, ..UsageView::default() };
            let urr = UrrStateView { total, ..UrrStateView::default() };
            let state = SessionStateView { usage: vec![urr], ..SessionStateView::default() };
            let session = SessionView {
                seid: format!("{n:#x}"),
                ue: vec![format!("10.45.0.{n}")],
                network_instances: vec!["internet".into()],
                peers: vec![format!("0x1@198.51.100.{}", n % 2)],
                ..SessionView::default()
            };
            (session.seid.clone(), SessionDetail { session, state: Some(state), ..SessionDetail::default() })
        };
        let sum: u64 = octets.iter().sum();
        Reading {
            at,
            status: StatusView { sessions: 7, node_id: "upf.example".into(), ..StatusView::default() },
            sessions: octets.iter().enumerate().map(session).collect(),
            interfaces: vec![InterfaceView {
                name: "n6-causeway0".into(),
                dnn: vec!["internet".into()],
                sent_octets: sum,
                ..InterfaceView::default()
            }],
            workers: vec![WorkerView { core_seconds: sum as f64 / 1e6, ..WorkerView::default() }],
        }
    }

    /// The lines of the screen after these keys.
    fn drawn(screen: &mut Screen, keys: &[KeyCode]) -> Vec<String> {
        keys.iter().for_each(|key| screen.press(*key));
        let start = Instant::now();
        let (before, now) = (
            reading(start, &[0, 0, 0]),
            reading(start + Duration::from_secs(1), &[125_000, 375_000, 250_000]),
        );
        let mut terminal = Terminal::new(TestBackend::new(100, 9)).unwrap();
        terminal.draw(|frame| screen.draw(frame, &now, Rows::new(screen.by, &before, &now))).unwrap();
        let buffer = terminal.backend().buffer();
        let line =
            |y| (0..100).filter_map(|x| buffer.cell((x, y))).map(|cell| cell.symbol()).collect::<String>();
        (0..9).map(|y| line(y).trim_end().to_owned()).collect()
    }

    /// The words of the lines of the table.
    fn table(lines: &[String]) -> Vec<Vec<&str>> {
        lines[4..8]
            .iter()
            .map(|line| line.split_whitespace().collect::<Vec<_>>())
            .filter(|words| !words.is_empty())
            .collect()
    }

    // Input:  three sessions of two gNBs with 1, 3 and 2 Mbit/s; keys that sort, reverse and change what is shown.
    // Output: the sessions in that order; rates by DNN, by gNB and by packet thread.
    #[test]
    fn rates_are_shown_and_sorted() {
        let mut screen = Screen::new(By::Session);
        let lines = drawn(&mut screen, &[]);
        assert!(lines[0].starts_with("causeway top  upf.example"), "{lines:#?}");
        assert!(lines[1].starts_with("7 sessions (3 looked at)"), "{lines:#?}");
        let seids =
            |lines: &[String]| table(lines).iter().map(|words| words[0].to_owned()).collect::<Vec<_>>();
        assert_eq!(seids(&lines), ["0x1", "0x2", "0x0"], "{lines:#?}");
        assert!(lines[4].contains("10.45.0.1") && lines[4].contains("3 Mbit/s"), "{lines:#?}");
        assert_eq!(seids(&drawn(&mut screen, &[KeyCode::Char('r')])), ["0x0", "0x2", "0x1"]);
        assert_eq!(seids(&drawn(&mut screen, &[KeyCode::Char('r'), KeyCode::Down])), ["0x2", "0x0"]);
        let lines = drawn(&mut screen, &[KeyCode::Char('2')]);
        assert_eq!(table(&lines)[0][..4], ["internet", "n6-causeway0", "6", "Mbit/s"], "{lines:#?}");
        let lines = drawn(&mut screen, &[KeyCode::Tab]);
        assert_eq!(table(&lines)[0][..3], ["198.51.100.0", "3", "Mbit/s"], "{lines:#?}");
        assert_eq!(table(&lines)[1][..3], ["198.51.100.1", "3", "Mbit/s"], "{lines:#?}");
        let lines = drawn(&mut screen, &[KeyCode::Char('4')]);
        assert_eq!(table(&lines)[0][..3], ["0", "75", "%"], "{lines:#?}");
        assert_eq!(screen.by.name(), "packet threads");
    }

    // Input:  the first look, a pause, and a UPF that does not answer, on a terminal of one line.
    // Output: rates are zero; the pause and the failure are said; nothing panics.
    #[test]
    fn pauses_and_failures_are_said() {
        let mut screen = Screen::new(By::Worker);
        let now = reading(Instant::now(), &[1]);
        for (width, height) in [(100, 9), (1, 1)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal.draw(|frame| screen.draw(frame, &now, Rows::new(screen.by, &now, &now))).unwrap();
        }
        assert!(drawn(&mut screen, &[KeyCode::Char(' ')])[0].ends_with("paused"));
        screen.failure = Some("no UPF answers".into());
        assert!(drawn(&mut screen, &[])[0].ends_with("no UPF answers"));
    }
}
