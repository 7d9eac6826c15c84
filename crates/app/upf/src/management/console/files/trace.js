// The live trace of a session: its packets as they pass, in a bounded list.

import { download, hasPath, stream } from './api.js';
import { h, problem, prose, scroller, state, text } from './dom.js';
import { clock, count, octets, verdict, words } from './format.js';

/** Packets that stay in the list. */
const SHOWN = 200;

const KINDS = { forwarded: 'good', dropped: 'bad', buffered: 'warn', consumed: 'unknown' };
const ENDS = { seconds: 'its time is over', packets: 'its number of packets is reached', session: 'the session has ended' };

/** The octets that a URR has counted before and after a packet, if the packet changes them. */
function counted({ before, after }) {
  const sum = (volume) => volume.uplink_octets + volume.downlink_octets;
  return sum(before) === sum(after) ? '' : `: ${sum(before)} to ${sum(after)} octets`;
}

function applied(rules) {
  if (!rules) return '–';
  const qers = rules.qers.map((qer) => `QER ${qer.id}${qer.gate === 'closed' ? ' closed' : qer.rate ? ` ${verdict(qer.rate)}` : ''}`);
  const urrs = rules.urrs.map((urr) => `URR ${urr.id}${urr.is_exhausted ? ' exhausted' : ''}${counted(urr)}`);
  return [`PDR ${rules.pdr}`, `FAR ${rules.far}`, ...qers, ...urrs].join(', ');
}

function details(packet) {
  const { explanation } = packet;
  const rows = [];
  const row = (name, ...value) => rows.push(h('div', {}, h('dt', {}, name), h('dd', {}, ...value)));
  if (packet.reason) row('Drop reason', h('code', {}, packet.reason.reason), ' ', prose(`${packet.reason.meaning} ${packet.reason.remedy}`));
  if (explanation?.key) row('Looked up by', explanation.key);
  for (const trial of explanation?.sessions ?? []) {
    row(`PDRs of ${trial.seid}`, h('ul', {}, trial.pdrs.map((pdr) => h('li', {}, `PDR ${pdr.id}: ${pdr.mismatch ?? 'matches'}`))));
  }
  if (explanation?.rules) row('Rules', `${explanation.rules.direction}, ${applied(explanation.rules)}, ${words(explanation.rules.action)}`);
  for (const sent of packet.sent) row('Sent', `${octets(sent.octets)} to ${sent.to}`);
  if (!explanation) row('Rules', 'The data plane does not explain packets of this kind.');
  return h('dl', { class: 'details' }, rows);
}

/** The panel of a session. `met` gets the keys of the rules that packets have met since it was last called. */
export function panel(seid, signal, met) {
  const seconds = h('input', { id: 'trace-seconds', type: 'number', min: 1, max: 3600, value: 60, required: true });
  const packets = h('input', { id: 'trace-packets', type: 'number', min: 1, max: 1000000, value: 1000, required: true });
  const start = h('button', { type: 'submit', class: 'primary', id: 'trace-start' }, 'Start');
  const stop = h('button', { type: 'button', id: 'trace-stop', disabled: true }, 'Stop');
  const status = h('p', { class: 'summary', role: 'status' }, 'Shows keys and rules of packets, no user data. The UPF counts drops of all sessions together; a trace counts those of this session.');
  const trouble = h('div');
  const body = h('tbody');
  const columns = ['Time', 'From', 'Length', 'Result', 'Rules', ''];
  const list = scroller('Traced packets', 'tall',
    h('table', { class: 'trace cards', role: 'table' }, h('caption', {}, `The last ${SHOWN} packets, the newest first`),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' }, columns.map((name, n) => h('th', { scope: 'col', role: 'columnheader', class: n === 2 ? 'number' : undefined }, name || h('span', { class: 'hidden' }, 'Details'))))), body));
  list.hidden = true;
  const tally = h('ul', { class: 'tally' });

  let running;
  let queue = [];
  let keys = new Set();
  const counts = { all: 0, missed: 0, dispositions: new Map(), reasons: new Map() };

  const form = h('form', {
    class: 'row',
    submit: (event) => {
      event.preventDefault();
      run();
    },
  },
  h('div', { class: 'field narrow' }, h('label', { for: 'trace-seconds' }, 'At most, in s'), seconds),
  h('div', { class: 'field narrow' }, h('label', { for: 'trace-packets' }, 'At most, in packets'), packets),
  h('div', { class: 'buttons' }, start, stop));
  const element = h('section', { class: 'card wide', 'aria-labelledby': 'trace-title' },
    h('div', { class: 'head' }, h('h2', { id: 'trace-title' }, 'Trace')), form, status, trouble, tally, list);

  let serial = 0;

  function row(packet) {
    serial += 1;
    const id = `packet-${serial}`;
    const more = h('tr', { id, hidden: true }, h('td', { colspan: columns.length }));
    const button = h('button', {
      type: 'button',
      class: 'plain',
      'aria-expanded': 'false',
      'aria-controls': id,
      click: () => {
        const isOpen = more.hidden;
        if (isOpen && !more.firstChild.firstChild) more.firstChild.append(details(packet));
        more.hidden = !isOpen;
        button.setAttribute('aria-expanded', String(isOpen));
        text(button, isOpen ? 'Less' : 'More');
      },
    }, 'More');
    const result = [state(KINDS[packet.disposition] ?? 'unknown', packet.disposition), packet.reason && [' ', h('code', {}, packet.reason.reason)]];
    const cells = [clock(packet.time, 3), packet.from, octets(packet.octets), result, applied(packet.explanation?.rules), button];
    return [h('tr', { role: 'row' }, cells.map((cell, n) => h('td', {
      role: 'cell', class: n === 2 ? 'number' : undefined, 'data-label': columns[n] || undefined,
    }, cell))), more];
  }

  function flush() {
    if (queue.length) {
      list.hidden = false;
      body.prepend(...queue.slice(-SHOWN).reverse().flatMap(row));
      // Two rows for each packet.
      while (body.children.length > 2 * SHOWN) body.lastChild.remove();
      queue = [];
    }
    met(keys);
    keys = new Set();
    const entries = [...counts.dispositions].map(([name, n]) => `${count(n)} ${name}`);
    const reasons = [...counts.reasons].map(([name, n]) => `${count(n)} × ${name}`);
    const missed = counts.missed ? [`${count(counts.missed)} not shown`] : [];
    tally.replaceChildren(...[...entries, ...reasons, ...missed].map((entry) => h('li', {}, entry)));
  }

  function take(name, event) {
    if (name === 'packet') {
      queue.push(event);
      if (queue.length > SHOWN) queue.shift();
      counts.all += 1;
      const add = (map, key) => map.set(key, (map.get(key) ?? 0) + 1);
      add(counts.dispositions, event.disposition);
      if (event.reason) add(counts.reasons, event.reason.reason);
      const rules = event.explanation?.rules;
      if (rules) {
        for (const key of [`pdr-${rules.pdr}`, `far-${rules.far}`]) keys.add(key);
        for (const qer of rules.qers) keys.add(`qer-${qer.id}`);
        for (const urr of rules.urrs) keys.add(`urr-${urr.id}`);
      }
    } else counts.missed += event.lost + event.not_observed;
    if (name === 'ended') text(status, `The trace has ended: ${ENDS[event.end] ?? event.end}.`);
  }

  async function run() {
    if (running) return;
    running = new AbortController();
    const mine = AbortSignal.any([signal, running.signal]);
    trouble.replaceChildren();
    body.replaceChildren();
    Object.assign(counts, { all: 0, missed: 0, dispositions: new Map(), reasons: new Map() });
    start.disabled = true;
    stop.disabled = false;
    text(status, 'Starting …');
    const timer = setInterval(flush, 250);
    try {
      await stream(`sessions/${seid}/trace`, {
        query: { seconds: seconds.value, packets: packets.value },
        signal: mine,
        opened: () => text(status, 'Running: packets appear as they pass.'),
        take,
      });
      if (status.textContent.startsWith('Running')) text(status, 'The stream has ended.');
    } catch (error) {
      if (mine.aborted) text(status, 'Stopped.');
      else {
        text(status, '');
        trouble.replaceChildren(problem(error));
      }
    }
    clearInterval(timer);
    flush();
    met(new Set());
    running = undefined;
    start.disabled = false;
    stop.disabled = true;
  }

  stop.addEventListener('click', () => running?.abort());
  hasPath('/api/v1/sessions/{seid}/capture').then((isThere) => {
    if (isThere && !signal.aborted) form.querySelector('.buttons').append(captureButton());
  }, () => {});

  /** Writes packets into a file. A plain link would not carry the token, and could not be stopped without losing the file. */
  function captureButton() {
    let stopped;
    const button = h('button', { type: 'button', id: 'capture' }, 'Capture to a file');
    button.addEventListener('click', async () => {
      if (stopped) {
        stopped.abort();
        return;
      }
      if (!form.reportValidity()) return;
      stopped = new AbortController();
      text(button, 'End capture');
      trouble.replaceChildren();
      try {
        const file = await download(`sessions/${seid}/capture`, {
          query: { seconds: seconds.value, packets: packets.value },
          signal,
          stop: stopped.signal,
          grown: (length) => text(button, `End capture (${octets(length)})`),
        });
        const target = URL.createObjectURL(file);
        h('a', { href: target, download: `session-${seid}.pcapng` }).click();
        setTimeout(() => URL.revokeObjectURL(target), 60_000);
      } catch (error) {
        if (!signal.aborted && !stopped.signal.aborted) trouble.replaceChildren(problem(error));
      }
      stopped = undefined;
      text(button, 'Capture to a file');
    });
    return button;
  }

  return element;
}
