// The state of the UPF as a whole, read again and again, and its history. All pages share it.

import { get, metricsText } from './api.js';
import { History } from './history.js';
import { buckets, parse, quantile } from './metrics.js';
import { poll } from './poll.js';

const OFTEN = 1000;
const SELDOM = 5000;

/** Seconds over which quantiles of the time to answer are taken. */
const WINDOW = 10;

const METRICS = ['pfcp_messages_total', 'pfcp_request_duration_seconds_bucket', 'causeway_sessions'];

/** The results of requests that are neither refused nor discarded. */
const ACCEPTED = new Set(['ok', 'request_accepted', 'request_partially_accepted', 'redirection_requested']);

export const history = new History();

/** The last answers; absent before the first. */
export const latest = {};

const listeners = new Set();
let wanted = false;
let again;
let slow = -Infinity;

/** Calls `update` after each reading until the signal. A page that needs each second is `eager`. */
export function follow(update, { signal, eager = false }) {
  const listener = { update, eager };
  listeners.add(listener);
  signal.addEventListener('abort', () => {
    listeners.delete(listener);
    wanted = [...listeners].some((one) => one.eager);
  });
  if (eager && !wanted) {
    wanted = true;
    again?.();
  }
  if (latest.status) update();
}

/** Starts to read. `failed` and `answered` tell how it goes. */
export function start({ signal, failed, answered }) {
  again = poll(() => (wanted ? OFTEN : SELDOM), async () => {
    const isSlowDue = performance.now() - slow >= SELDOM - 100;
    const often = Promise.all([
      get('status', { signal }), get('interfaces', { signal }), get('workers', { signal }), get('drops', { signal }), metricsText(signal),
    ]);
    const seldom = isSlowDue ? Promise.all([
      get('associations', { signal }), get('peers', { signal }), get('pools', { signal }),
    ]) : undefined;
    const [[status, { interfaces }, { workers }, { drops }, metrics], others] = await Promise.all([often, seldom]);
    Object.assign(latest, { status, interfaces, ports: ports(interfaces), workers, drops, metrics: parse(metrics, METRICS) });
    if (others) {
      const [{ associations }, peers, { pools }] = others;
      Object.assign(latest, { associations, peers, pools });
      slow = performance.now();
    }
    record(Date.now() / 1000);
    answered();
    for (const { update } of listeners) update();
  }, { signal, failed });
}

/** Reads now, for example because an event has told of a change. */
export function refresh() {
  slow = -Infinity;
  again?.();
}

/** The ports without those of further packet threads, whose counters they get. */
function ports(interfaces) {
  const names = new Set(interfaces.map(({ name }) => name));
  const found = new Map();
  for (const port of interfaces) {
    const base = port.name.replace(/\.\d+$/, '');
    const name = names.has(base) ? base : port.name;
    const sum = found.get(name) ?? {
      name, dnn: port.dnn, side: name.slice(0, 2), label: name.slice(3), received_packets: 0, received_octets: 0, sent_packets: 0,
      sent_octets: 0, failures: new Map(),
    };
    for (const field of ['received_packets', 'received_octets', 'sent_packets', 'sent_octets']) sum[field] += port[field];
    for (const { name: cause, count } of port.failures) sum.failures.set(cause, (sum.failures.get(cause) ?? 0) + count);
    found.set(name, sum);
  }
  return [...found.values()];
}

/** Whether a port is there: it may have been lost with its interface. */
export const isLost = (port) => (port.failures.get('lost') ?? 0) > (port.failures.get('reopened') ?? 0);

let readings = [];

function record(time) {
  const { status, ports: all, workers, drops, metrics } = latest;
  history.add('sessions', time, status.sessions);
  history.add('buffered', time, status.buffered_packets);
  history.count('received', time, status.received_packets);
  history.count('forwarded', time, status.forwarded_packets);
  history.count('dropped', time, status.dropped_packets);
  for (const port of all) {
    history.count(`bits/${port.name}/received`, time, port.received_octets, 8);
    history.count(`bits/${port.name}/sent`, time, port.sent_octets, 8);
    history.count(`packets/${port.name}/received`, time, port.received_packets);
    history.count(`packets/${port.name}/sent`, time, port.sent_packets);
  }
  for (const worker of workers) {
    history.count(`load/${worker.number}`, time, worker.core_seconds);
    history.count(`worker/${worker.number}`, time, worker.received_packets);
  }
  for (const { reason, count } of drops) history.count(`drop/${reason}`, time, count);
  for (const { labels, value } of metrics.get('causeway_sessions')) history.add(`dnn/${labels.dnn}`, time, value);
  recordN4(time, metrics);
}

function recordN4(time, metrics) {
  const requests = new Map();
  let refused = 0;
  for (const { labels, value } of metrics.get('pfcp_messages_total')) {
    const { message_type: type, direction, result } = labels;
    if (!type.endsWith('_request')) continue;
    requests.set(`${direction}/${type}`, (requests.get(`${direction}/${type}`) ?? 0) + value);
    if (direction === 'received' && !ACCEPTED.has(result)) refused += value;
  }
  for (const [name, value] of requests) history.count(`n4/${name}`, time, value);
  history.count('n4/refused', time, refused);
  const now = buckets(metrics.get('pfcp_request_duration_seconds_bucket'));
  readings = readings.filter(([at]) => at >= time - WINDOW - 1);
  const before = readings[0]?.[1] ?? now;
  readings.push([time, now]);
  history.add('n4/p50', time, quantile(0.5, before, now));
  history.add('n4/p99', time, quantile(0.99, before, now));
}
