// The search for sessions, page by page.

import { get } from './api.js';
import { h, link, problem, table, text } from './dom.js';
import { count, date } from './format.js';

const PAGE = 50;

/** Requests that one search makes at most by itself while few sessions match. */
const REQUESTS = 16;

/** The filters of the API: parameter, label, example. */
const FIELDS = [
  ['ue', 'UE IP address', '10.45.0.2'],
  ['user', 'IMSI, MSISDN or other identity', '001010000000001'],
  ['seid', 'SEID of the UPF', '0x2a'],
  ['teid', 'TEID of the UPF', '0x1a2b3c4d'],
  ['dnn', 'DNN', 'internet'],
  ['gnb', 'gNB', '198.51.100.7'],
  ['smf', 'SMF', '192.0.2.21'],
  ['cp_seid', 'SEID of the SMF', '0x51@192.0.2.21'],
];

const identity = (user) => {
  if (!user) return '';
  const [name, value] = Object.entries(user)[0] ?? [];
  return name ? `${name.toUpperCase()} ${value}` : '';
};

export function render(main, query, signal) {
  const inputs = new Map();
  const wanted = Object.fromEntries(FIELDS.map(([name]) => [name, query.get(name)?.trim()]).filter(([, value]) => value));
  const form = h('form', {
    class: 'card search',
    role: 'search',
    'aria-label': 'Sessions',
    submit: (event) => {
      event.preventDefault();
      const filled = [...inputs].map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value);
      const target = `#/sessions${filled.length ? `?${new URLSearchParams(filled)}` : ''}`;
      if (location.hash === target) find();
      else location.hash = target;
    },
  },
  FIELDS.map(([name, label, example]) => {
    const input = h('input', { id: `by-${name}`, name, placeholder: example, autocomplete: 'off', spellcheck: 'false', maxlength: 255 });
    input.value = wanted[name] ?? '';
    inputs.set(name, input);
    return h('div', { class: 'field' }, h('label', { for: `by-${name}` }, label), input);
  }),
  h('div', { class: 'buttons' }, h('button', { type: 'submit', class: 'primary' }, 'Search'),
    h('button', {
      type: 'button',
      click: () => {
        for (const input of inputs.values()) input.value = '';
        location.hash = '#/sessions';
      },
    }, 'Clear')));

  const summary = h('p', { class: 'summary', role: 'status' });
  const results = h('div');
  const more = h('p', { class: 'buttons' });
  main.append(h('div', { class: 'head' }, h('h1', {}, 'Sessions')), form, summary, results, more);

  const found = table('Sessions found', ['UE', 'SEID', 'User', 'DNN', 'GTP-U peers', 'SMF', { heading: 'PDRs', number: true }, 'Since'], null,
    'No session matches.');

  const row = (session) => [
    link(`sessions/${session.seid}`, {}, session.ue.slice(0, 2).join(', ') || '(no UE address)', session.ue.length > 2 && ` and ${session.ue.length - 2}`),
    h('code', {}, session.seid), identity(session.user), session.network_instances.join(', '),
    session.peers.map((peer) => peer.split('@')[1] ?? peer).filter((peer, n, all) => all.indexOf(peer) === n).join(', '),
    session.node_id, String(session.rules.pdr), date(session.since)];

  let searching;

  /** Searches from an index on until the page is full, all was searched, or enough was asked. */
  async function find(from = query.get('after') ?? undefined, sessions = []) {
    searching?.abort();
    searching = new AbortController();
    const mine = AbortSignal.any([signal, searching.signal]);
    more.replaceChildren();
    text(summary, 'Searching …');
    let after = from;
    let total = 0;
    try {
      for (let n = 0; n < REQUESTS; n += 1) {
        const page = await get('sessions', { query: { ...wanted, limit: PAGE - sessions.length, ...(after ? { after } : {}) }, signal: mine });
        total = page.total;
        sessions.push(...page.sessions);
        after = page.after;
        if (!after || sessions.length >= PAGE) break;
        text(summary, `Searching … ${count(sessions.length)} found.`);
      }
    } catch (error) {
      if (mine.aborted) return;
      text(summary, '');
      results.replaceChildren(problem(error));
      return;
    }
    show(sessions, total, after, sessions.length < PAGE ? from : undefined);
  }

  function show(sessions, total, after) {
    const isFiltered = Object.keys(wanted).length > 0;
    const isPart = after || query.get('after');
    const n = count(sessions.length);
    text(summary, isFiltered
      ? `${n} ${sessions.length === 1 ? 'session' : 'sessions'}${isPart ? ' on this page' : ''}; the UPF has ${count(total)}.`
      : `${n} of ${count(total)} sessions${isPart ? ' on this page' : ''}.`);
    found.show(sessions.map(row));
    results.replaceChildren(found.element);
    const next = new URLSearchParams({ ...wanted, ...(after ? { after } : {}) });
    more.replaceChildren(...[
      query.get('after') && h('a', { class: 'button', href: `#/sessions?${new URLSearchParams(wanted)}` }, 'First page'),
      after && sessions.length >= PAGE && h('a', { class: 'button', href: `#/sessions?${next}` }, 'Next page'),
      after && sessions.length < PAGE && h('button', { type: 'button', click: () => find(after, sessions) }, 'Search further'),
      after && sessions.length < PAGE && h('span', { class: 'note' }, 'Not all sessions have been compared with the filters yet.'),
    ].filter(Boolean));
  }

  find();
  return { focus: () => inputs.get('ue').focus() };
}
