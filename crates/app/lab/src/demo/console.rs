//! The screen: one line for each step, with its current action.

use std::io::{IsTerminal, Write, stdout};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The interval at which the line of a running step is redrawn.
const FRAME: Duration = Duration::from_millis(120);

/// Without a terminal, progress is printed after this time without output.
const SILENCE: Duration = Duration::from_secs(2);

const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];

/// Longest line that is drawn over, in characters.
const WIDTH: usize = 78;

/// The output of the demo. Clones write to the same screen.
#[derive(Clone)]
pub struct Console(Arc<Mutex<Screen>>);

struct Screen {
    out: Box<dyn Write + Send>,
    terminal: bool,
    running: Option<Running>,
    last_print: Instant,
    frame: usize,
    muted: bool,
}

struct Running {
    number: usize,
    title: String,
    doing: String,
    start: Instant,
}

impl Console {
    /// Standard output: in colour and motion on a terminal, plain lines otherwise.
    pub fn stdout() -> Self {
        let terminal = stdout().is_terminal();
        let console = Self::new(Box::new(stdout()), terminal);
        if terminal {
            let ticking = console.clone();
            // Without this thread the line is only not animated.
            let _ = thread::Builder::new().name("console".into()).spawn(move || {
                loop {
                    thread::sleep(FRAME);
                    ticking.lock().draw();
                }
            });
        }
        console
    }

    /// A console without output, for tests.
    #[cfg(test)]
    pub(super) fn silent() -> Self {
        Self::new(Box::new(std::io::sink()), false)
    }

    fn new(out: Box<dyn Write + Send>, terminal: bool) -> Self {
        let screen =
            Screen { out, terminal, running: None, last_print: Instant::now(), frame: 0, muted: false };
        Self(Arc::new(Mutex::new(screen)))
    }

    /// Prints lines of text.
    pub fn say(&self, text: &str) {
        self.lock().print(text);
    }

    /// Prints a last line of text, and suppresses all later output.
    pub fn mute(&self, text: &str) {
        let mut screen = self.lock();
        screen.running = None;
        screen.muted = false;
        screen.print(text);
        screen.muted = true;
    }

    /// A step begins.
    pub fn begin(&self, number: usize, title: &str) {
        let mut screen = self.lock();
        screen.last_print = Instant::now();
        screen.running =
            Some(Running { number, title: title.into(), doing: String::new(), start: Instant::now() });
        screen.draw();
    }

    /// Sets the current action of the running step.
    pub fn progress(&self, doing: &str) {
        let mut screen = self.lock();
        let plain_line = match &mut screen.running {
            Some(step) => {
                step.doing = doing.into();
                format!("    {:>2}  {}: {doing}", step.number, step.title)
            }
            None => return,
        };
        if screen.terminal {
            screen.draw();
        } else if screen.last_print.elapsed() >= SILENCE {
            screen.print(&plain_line);
        }
    }

    /// The running step ends, with its result in one line.
    pub fn end(&self, passed: bool, summary: &str) {
        let mut screen = self.lock();
        let Some(step) = screen.running.take() else { return };
        let elapsed = step.start.elapsed().as_secs_f32();
        let (mark, colour) = if passed { ('✔', "32") } else { ('✘', "31") };
        let mark = if screen.terminal { format!("\x1b[1;{colour}m{mark}\x1b[0m") } else { mark.to_string() };
        let line = format!(" {mark}  {:>2}  {:<34} {elapsed:>5.1} s  {summary}", step.number, step.title);
        screen.print(&line);
    }

    fn lock(&self) -> MutexGuard<'_, Screen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Screen {
    fn print(&mut self, text: &str) {
        if self.muted {
            return;
        }
        let clear = if self.terminal { "\r\x1b[2K" } else { "" };
        // Nobody may be reading any more; the demo goes on, its files are what stays.
        let _ = writeln!(self.out, "{clear}{text}").and_then(|()| self.out.flush());
        self.last_print = Instant::now();
        self.draw();
    }

    /// Draws the line of the running step over itself.
    fn draw(&mut self) {
        let Some(step) = self.running.as_ref().filter(|_| self.terminal && !self.muted) else { return };
        self.frame = (self.frame + 1) % SPINNER.len();
        let spinner = SPINNER.get(self.frame).copied().unwrap_or('·');
        let elapsed = step.start.elapsed().as_secs_f32();
        let line =
            format!(" {spinner}  {:>2}  {:<34} {elapsed:>5.1} s  {}", step.number, step.title, step.doing);
        let line: String = line.chars().take(WIDTH).collect();
        let _ = write!(self.out, "\r\x1b[2K{line}").and_then(|()| self.out.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A screen that can be read.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, octets: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(octets)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    fn play(terminal: bool) -> String {
        let paper = Paper::default();
        let console = Console::new(Box::new(paper.clone()), terminal);
        console.begin(3, "ping");
        console.progress("2 of 10 UEs");
        console.end(true, "0 % loss");
        console.begin(4, "TCP");
        console.end(false, "refused");
        let text = paper.0.lock().unwrap().clone();
        String::from_utf8(text).unwrap()
    }

    // Input:  two steps, one good and one bad, without a terminal.
    // Output: two lines with mark, number, title and result, and no control characters.
    #[test]
    fn plain_output_has_one_line_per_step() {
        let text = play(false);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert!(lines[0].starts_with(" ✔   3  ping") && lines[0].ends_with(" s  0 % loss"));
        assert!(lines[1].starts_with(" ✘   4  TCP") && lines[1].ends_with("refused"));
        assert!(!text.contains('\x1b'));
    }

    // Input:  a last word in the middle of a step, which then ends.
    // Output: nothing follows the last word.
    #[test]
    fn a_muted_screen_stays_as_it_is() {
        let paper = Paper::default();
        let console = Console::new(Box::new(paper.clone()), false);
        console.begin(1, "ping");
        console.mute("Interrupted.");
        console.end(false, "no answer");
        console.say("all is lost");
        assert_eq!(*paper.0.lock().unwrap(), b"Interrupted.\n");
    }

    // Input:  the same on a terminal.
    // Output: progress is drawn over itself, results stay.
    #[test]
    fn a_terminal_shows_progress_in_place() {
        let text = play(true);
        assert!(text.contains("2 of 10 UEs"));
        assert_eq!(text.matches('\n').count(), 2);
    }
}
