// What only the metrics have: PFCP messages, the time to answer them, sessions by DNN.

const LINE = /^([a-z_]+)(?:\{([^}]*)\})? ([0-9.e+-]+|\+Inf|NaN)/i;
const LABEL = /([a-z_]+)="((?:[^"\\]|\\.)*)"/g;

/** The samples of these metrics: by name a list of `{ labels, value }`. */
export function parse(text, wanted) {
  const found = new Map(wanted.map((name) => [name, []]));
  for (const line of text.split('\n')) {
    if (line.startsWith('#')) continue;
    const end = line.search(/[{ ]/);
    const list = found.get(line.slice(0, end));
    const parts = list && LINE.exec(line);
    if (!parts) continue;
    const labels = Object.fromEntries(Array.from((parts[2] ?? '').matchAll(LABEL), ([, name, value]) => [name, value]));
    list.push({ labels, value: Number(parts[3]) });
  }
  return found;
}

/** The cumulative counts of a histogram by upper bound, of all its labels together. */
export function buckets(samples) {
  const sums = new Map();
  for (const { labels, value } of samples) {
    const bound = labels.le === '+Inf' ? Infinity : Number(labels.le);
    sums.set(bound, (sums.get(bound) ?? 0) + value);
  }
  return [...sums].sort(([a], [b]) => a - b);
}

/** The quantile of what came between two readings of a histogram; `null`: nothing came. */
export function quantile(share, before, after) {
  const old = new Map(before);
  const increases = after.map(([bound, value]) => [bound, value - (old.get(bound) ?? 0)]);
  const total = increases.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return null;
  const rank = share * total;
  let [low, below] = [0, 0];
  for (const [bound, reached] of increases) {
    if (reached >= rank) {
      if (bound === Infinity) return low;
      return low + (bound - low) * ((rank - below) / Math.max(1e-9, reached - below));
    }
    [low, below] = [bound, reached];
  }
  return low;
}
