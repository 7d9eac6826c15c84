// Values over time, and rates of counters, in bounded memory.

/** Seconds that are kept. */
export const KEPT = 900;

export class History {
  #series = new Map();

  #counters = new Map();

  /** The value of a series at a time, in seconds since the Unix epoch. */
  add(name, time, value) {
    let points = this.#series.get(name);
    if (!points) this.#series.set(name, points = []);
    points.push([time, value]);
    let old = 0;
    while (old < points.length && points[old][0] < time - KEPT) old += 1;
    if (old > 60) points.splice(0, old);
  }

  /** The value of a counter at a time: its increase in a second is added to the series. */
  count(name, time, value, factor = 1) {
    const last = this.#counters.get(name);
    this.#counters.set(name, [time, value]);
    if (!last || time <= last[0]) return;
    // A counter that falls is one of a UPF that was started again.
    this.add(name, time, value < last[1] ? null : ((value - last[1]) / (time - last[0])) * factor);
  }

  points(name) {
    return this.#series.get(name) ?? [];
  }

  /** The last value of a series; `null`: there is none. */
  last(name) {
    return this.points(name).at(-1)?.[1] ?? null;
  }

  /** The time of the first value of all. */
  get start() {
    return Math.min(...[...this.#series.values()].map((points) => points[0][0]));
  }

  /** The names of series that begin so, in the order in which they came. */
  names(prefix) {
    return [...this.#series.keys()].filter((name) => name.startsWith(prefix));
  }

  /** The greatest value of a series since a time. */
  greatest(name, since) {
    return this.points(name).reduce((most, [time, value]) => (time >= since && value > most ? value : most), 0);
  }
}
