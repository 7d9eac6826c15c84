// The P4 switch: its stages with their tables, how full tables are, and who has access to the accounting tables.

import { get } from './api.js';
import { h, prose, problem, state, table, text } from './dom.js';
import { count, percent, things, words } from './format.js';
import { poll } from './poll.js';

const INTERVAL = 2000;

/** A bar of a share, with its value as text beside it. */
function fill(entries, size, label) {
  const share = size ? entries / size : 0;
  return h('span', { class: 'level' },
    h('meter', { min: 0, max: 1, low: 0.8, high: 0.9, optimum: 0, value: Math.min(1, share), 'aria-label': label }), ' ', percent(share));
}

/** What a partition is used for now. */
function role({ is_read: read, takes_entries: takes }) {
  if (read) return state(takes ? 'warn' : 'good', takes ? 'read, writes wait' : 'being read');
  return takes ? state('good', 'takes new entries') : state('unknown', 'waits for a swap');
}

const SIDES = { pre_qos: 'Before QoS enforcement', post_qos: 'After QoS enforcement' };

/** The tables of each stage, ingress and egress. */
function stages(parts, tables) {
  const sizes = new Map(tables.map((one) => [one.name, one]));
  const number = 1 + Math.max(...parts.map(({ stage }) => stage));
  return Array.from({ length: number }, (_, stage) => {
    const own = (pipeline) => parts.filter((part) => part.stage === stage && part.pipeline === pipeline).map((part) => {
      const { entries, size } = sizes.get(part.table);
      return h('div', {}, h('code', {}, part.table), entries ? ` ${percent(entries / size)}` : '');
    });
    const shown = (list) => (list.length ? list : '–');
    return [String(stage), shown(own('ingress')), shown(own('egress'))];
  });
}

export function render(main, _, signal) {
  const number = (heading) => ({ heading, number: true });
  const note = h('p', { class: 'note' });
  const about = h('dl', { class: 'facts' });
  const partitions = table('Accounting tables', ['Side', 'Partition', 'State', number('Rule numbers'), 'Fill', number('Passes of the reader')], null);
  const tables = table('Tables', ['Table', number('Entries'), number('Largest'), 'Fill', 'Stages'], null);
  const placed = table('Stages of Tofino 1', ['Stage', 'Ingress', 'Egress'], null, 'This profile was not compiled for Tofino 1.');
  const events = table('Since the start', ['What', number('Number')], null);
  const panels = h('div', { class: 'panels', hidden: true },
    h('section', { class: 'card wide', 'aria-label': 'State' }, about),
    h('section', { class: 'card wide' }, partitions.element,
      h('p', { class: 'note' }, prose('An accounting table with two partitions is read in one while the other takes new entries; they swap roles when a pass ends (pendulum access). With counters by index there is one.'))),
    h('section', { class: 'card wide' }, tables.element),
    h('section', { class: 'card wide' }, placed.element),
    h('section', { class: 'card wide' }, events.element));
  main.append(h('div', { class: 'head' }, h('h1', {}, 'P4 switch')), note, panels);

  function update({ switch: found }) {
    panels.hidden = !found;
    if (!found) {
      text(note, 'The data plane of this UPF is no P4 switch.');
      return;
    }
    text(note, '');
    const facts = [
      ['Program', `profile ${found.profile}`],
      ['Switch', found.address ?? 'a model in the process of the UPF'],
      ['State', found.is_reconciling ? state('warn', 'not connected, or its tables are being compared: changes wait') : state('good', 'in step with the UPF')],
      ['Sessions', `${things(found.sessions, 'session')}, ${things(found.rule_numbers, 'rule number')}, ${things(found.changes, 'change')} in progress`],
      ['Pendulum', `${things(found.swaps, 'swap')} of partitions; ${things(found.swap_waits, 'change')} had to wait for one`],
    ];
    about.replaceChildren(...facts.map(([name, value]) => h('div', {}, h('dt', {}, name), h('dd', {}, value))));
    partitions.show(found.accounting.flatMap(({ side, passes, partitions: all }) => all.map((one, n) => [
      SIDES[side] ?? words(side), all.length > 1 ? 'AB'[n] : 'one', role(one), count(one.entries),
      fill(one.entries, one.size, `Fill of ${SIDES[side] ?? side}, partition ${n + 1}`), n ? '' : count(passes)])));
    const of = new Map(found.tables.map(({ name }) => [name, new Set()]));
    for (const { table: name, stage } of found.stages) of.get(name).add(stage);
    tables.show(found.tables.map(({ name, entries, size }) => [h('code', {}, name), count(entries), count(size),
      fill(entries, size, `Fill of ${name}`), [...of.get(name)].join(', ') || '–']));
    placed.show(found.stages.length ? stages(found.stages, found.tables) : []);
    events.show(found.events.map(({ name, count: value }) => [words(name), count(value)]));
  }

  poll(() => INTERVAL, async () => update(await get('switch', { signal })), {
    signal,
    failed: (error) => note.replaceChildren(problem(error)),
  });
}
