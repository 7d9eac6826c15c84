// Repeated tasks: often while the page is visible, seldom while it is hidden or nothing answers.

const HIDDEN = 30_000;
const LONGEST = 10_000;

/**
 * Runs a task again and again until the signal: `interval` ms from start to start. Each run gets the signal. Failures are passed to
 * `failed`, and double the interval up to 10 s.
 */
export function poll(interval, task, { signal, failed }) {
  let timer;
  let running = false;
  let failures = 0;
  const delay = () => {
    if (document.hidden) return HIDDEN;
    const wanted = typeof interval === 'function' ? interval() : interval;
    return Math.max(wanted, failures ? Math.min(LONGEST, 1000 * 2 ** Math.min(failures, 4)) : 0);
  };
  const run = async () => {
    if (running || signal.aborted) return;
    clearTimeout(timer);
    running = true;
    const start = performance.now();
    try {
      await task(signal);
      failures = 0;
    } catch (error) {
      if (signal.aborted) return;
      failures += 1;
      failed?.(error);
    } finally {
      running = false;
      if (!signal.aborted) timer = setTimeout(run, Math.max(50, delay() - (performance.now() - start)));
    }
  };
  const seen = () => {
    clearTimeout(timer);
    if (document.hidden) timer = setTimeout(run, HIDDEN);
    else run();
  };
  document.addEventListener('visibilitychange', seen, { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  run();
  return run;
}
