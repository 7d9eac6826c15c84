// Which rules are on the switch of `upf.dataplane: hybrid`, why, and what each side handles.

import { get } from './api.js';
import { chart } from './chart.js';
import { h, link, problem, state, table, tile } from './dom.js';
import { bitrate, count, duration, percent, rate, si, things } from './format.js';
import { History } from './history.js';
import { poll } from './poll.js';

/** Rules that the table has. */
const ROWS = 100;

/** Seconds that the charts have. */
const SPAN = 300;

const KINDS = { switch: 'good', armed: 'warn', promoting: 'warn', demoting: 'warn', software: 'unknown' };

// It lasts while other pages are shown.
const history = new History();

export function render(main, _, signal) {
  const tiles = {
    rules: tile('Rules on the switch'),
    share: tile('Packets by the switch'),
    changes: tile('Rule changes'),
    waits: tile('Time to the switch'),
    refused: tile('Not taken by the switch'),
  };
  const charts = {
    packets: chart('Packets by side', { format: rate, floor: 10 }),
    bits: chart('Traffic by side', { format: bitrate, floor: 1000 }),
    rules: chart('Rules', { format: (value) => si(value), floor: 4 }),
    changes: chart('Rule changes', { format: rate, floor: 1 }),
  };
  const number = (heading) => ({ heading, number: true });
  const rules = table('Rules by rate', ['UE', 'Direction', 'Place', number('Rate'), number('For'), 'Why', 'SEID'], null,
    'All rules are at rest in the software.');
  const moves = table('Moves since the start', ['Move', number('Rules'), 'Meaning'], null);
  const note = h('p', { class: 'summary', role: 'status' });
  const failure = h('div');
  main.append(
    h('div', { class: 'head' }, h('h1', {}, 'Placement')), note, failure,
    h('div', { class: 'tiles' }, Object.values(tiles).map(({ element }) => element)),
    h('div', { class: 'charts' }, Object.values(charts).map(({ element }) => element)),
    h('div', { class: 'panels' }, h('section', { class: 'card wide' }, rules.element), h('section', { class: 'card wide' }, moves.element)));

  const line = (label, name, colour) => ({ label, points: history.points(name), colour });

  function record(seen, time) {
    for (const side of ['switch', 'software']) {
      history.add(`packets/${side}`, time, seen[side].packets_per_second);
      history.add(`bits/${side}`, time, seen[side].bits_per_second);
    }
    history.add('rules/switch', time, seen.rules.switch);
    history.add('rules/moving', time, seen.rules.promoting + seen.rules.armed + seen.rules.demoting);
    history.add('changes', time, seen.changes_per_second);
  }

  function draw(time) {
    const span = Math.min(SPAN, Math.max(60, time - history.start));
    const sides = (name) => [line('switch', `${name}/switch`, 0), line('software', `${name}/software`, 1)];
    charts.packets.draw(sides('packets'), time, span);
    charts.bits.draw(sides('bits'), time, span);
    charts.rules.draw([line('on the switch', 'rules/switch', 0), line('moving', 'rules/moving', 2)], time, span);
    charts.changes.draw([line('changes', 'changes', 0)], time, span);
  }

  function show(seen, time) {
    note.textContent = seen.enabled ? 'A rule is one direction of a session.' : 'This data plane moves no rules: upf.dataplane is not hybrid.';
    const { rules: places, moves: moved } = seen;
    tiles.rules.show(count(places.switch), `of at most ${count(places.capacity)}; ${count(places.software)} in software`);
    tiles.share.show(percent(seen.switch_share), `${rate(seen.switch.packets_per_second)}, software ${rate(seen.software.packets_per_second)}`);
    tiles.changes.show(rate(seen.changes_per_second), `${things(moved.changes, 'change')} since the start`);
    const { count: waited, p50_ms: half, p99_ms: nearly } = seen.waits;
    tiles.waits.show(waited ? `${half} ms` : '–', waited ? `half of ${things(waited, 'move')}; 99 % within ${nearly} ms` : 'no move since the start');
    tiles.refused.show(count(moved.refused + moved.gave_up), `${count(moved.over_budget)} without budget`);
    rules.show(seen.listed.map((rule) => [
      link(`sessions/${rule.seid}`, {}, rule.ue.join(', ') || '(session ended)'), rule.direction, state(KINDS[rule.place] ?? 'unknown', rule.place),
      rule.bits_per_second === undefined ? '–' : bitrate(rule.bits_per_second),
      rule.since === undefined ? '–' : duration(Math.max(0, time - rule.since)), rule.why, h('code', {}, rule.seid)]));
    moves.show([
      ['promoted', moved.promoted, 'to the switch, since their rate reached promote_at'],
      ['again', moved.again, 'of these, less than 5 s after they had left it by their rate'],
      ['demoted', moved.demoted, 'to the software, by their rate'],
      ['returned', moved.returned, 'to the software, since the session changed or ended, or a quota is near its end'],
      ['gave up', moved.gave_up, 'to the software, since there was no gap between their packets'],
      ['refused', moved.refused, 'not taken by the switch'],
      ['early', moved.flipped_early, `of ${things(moved.flipped, 'rule')} that the switch forwards, after a short gap: packets may have overtaken others`],
    ].map(([name, value, meaning]) => [name, count(value), meaning]));
    draw(time);
  }

  poll(1000, async () => {
    const seen = await get('placement', { query: { limit: ROWS }, signal });
    const time = Date.now() / 1000;
    failure.replaceChildren();
    record(seen, time);
    show(seen, time);
  }, { signal, failed: (error) => failure.replaceChildren(problem(error)) });
}
