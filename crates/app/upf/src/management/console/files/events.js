// The stream of events, while the page is visible, and the list of the last ones.

import { stream } from './api.js';
import { h, link, scroller, text } from './dom.js';
import { clock, count } from './format.js';

const SHOWN = 100;

const KINDS = {
  session_established: ['Session established', 'good'],
  session_modified: ['Session modified', 'plain'],
  session_deleted: ['Session deleted', 'plain'],
  association_up: ['Association set up', 'good'],
  association_down: ['Association ended', 'bad'],
  path_up: ['Path up', 'good'],
  path_down: ['Path down', 'bad'],
  report_sent: ['Session report sent', 'plain'],
  heavy_hitter: ['Heavy hitter', 'bad'],
  heavy_hitter_over: ['Heavy hitter over', 'plain'],
  class_change: ['Application class', 'plain'],
  lost: ['Events lost', 'bad'],
};

const last = [];
const listeners = new Set();
let seen = 0;
let flow = { kind: 'unknown', word: 'not connected' };

function detail(event) {
  if (event.event === 'class_change') return [`${event.to}, before ${event.from}: `, link(`sessions/${event.seid}`, {}, event.ue ?? `SEID ${event.seid}`)];
  if (event.seid) return link(`sessions/${event.seid}`, {}, `SEID ${event.seid}`);
  if (event.node_id) return link('sessions', { smf: event.node_id }, event.node_id);
  if (event.peer) return event.peer;
  if (event.to) return `SMF SEID ${event.cp_seid} at ${event.to}`;
  return event.events ? `${count(event.events)} before this` : '';
}

function tell() {
  for (const listener of listeners) listener();
}

let isDue = false;

/** Many events in a moment are shown together. */
function tellSoon() {
  if (isDue) return;
  isDue = true;
  setTimeout(() => {
    isDue = false;
    tell();
  }, 250);
}

/** Listens until the signal. `changed` gets each event that changes associations or paths. */
export function start({ signal, changed }) {
  let current;
  let timer;
  const listen = async () => {
    clearTimeout(timer);
    if (current || document.hidden || signal.aborted) return;
    current = new AbortController();
    const mine = current;
    try {
      await stream('events', {
        signal: AbortSignal.any([signal, mine.signal]),
        opened: () => {
          flow = { kind: 'good', word: 'live' };
          tell();
        },
        take: (_, event) => {
          seen += 1;
          last.unshift(event);
          if (last.length > SHOWN) last.length = SHOWN;
          if (/^(association|path)/.test(event.event)) changed();
          tellSoon();
        },
      });
      flow = { kind: 'warn', word: 'connecting' };
    } catch (error) {
      flow = document.hidden ? { kind: 'unknown', word: 'paused' } : { kind: 'bad', word: error.detail ?? 'no answer' };
    }
    current = undefined;
    tell();
    if (!signal.aborted && !document.hidden) timer = setTimeout(listen, 3000);
  };
  document.addEventListener('visibilitychange', () => {
    if (document.hidden) current?.abort();
    else listen();
  }, { signal });
  listen();
}

/** The list, which follows the events until the signal. */
export function list(signal) {
  const rows = h('ol', { class: 'events', reversed: true });
  const mark = h('span', { class: 'state unknown' });
  const total = h('span', { class: 'when' });
  const element = h('section', { class: 'card', 'aria-labelledby': 'events-title' },
    h('div', { class: 'head' }, h('h2', { id: 'events-title' }, 'Events'), mark, total),
    scroller('Events', 'tall', rows));
  const row = (event) => {
    const [name, kind] = KINDS[event.event] ?? [event.event, 'plain'];
    return h('li', {}, h('time', {}, clock(event.time)), ' ', h('span', { class: kind }, name), ' ', detail(event));
  };
  let shown = -1;
  const update = () => {
    text(mark, flow.word);
    mark.className = `state ${flow.kind}`;
    text(total, seen ? `${count(seen)} since the console was opened` : '');
    if (shown === seen) return;
    if (shown <= 0) rows.replaceChildren();
    rows.prepend(...last.slice(0, seen - Math.max(0, shown)).map(row));
    while (rows.children.length > SHOWN) rows.lastChild.remove();
    if (!seen) rows.replaceChildren(h('li', { class: 'none' }, 'None since the console was opened.'));
    shown = seen;
  };
  listeners.add(update);
  signal.addEventListener('abort', () => listeners.delete(update));
  update();
  return element;
}
