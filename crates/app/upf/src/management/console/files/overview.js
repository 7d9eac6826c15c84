// The UPF at a glance.

import { chart } from './chart.js';
import { h, link, prose, state, table, tile } from './dom.js';
import { list } from './events.js';
import { bitrate, count, date, moment, octets, percent, rate, si, words } from './format.js';
import { follow, history, isLost, latest } from './sampler.js';

const SPANS = [['1 min', 60], ['5 min', 300], ['15 min', 900]];

/** Lines of at most so many drop reasons are drawn. */
const REASONS = 6;

let span = 300;

/** A bar of a share, with its value as text beside it. */
function meter(share, label) {
  return h('meter', { min: 0, max: 1, low: 0.8, high: 0.9, optimum: 0, value: Math.min(1, share || 0), 'aria-label': label });
}

export function render(main, _, signal) {
  const tiles = {
    sessions: tile('PFCP sessions', '#/sessions'),
    associations: tile('Associations', '#/topology'),
    uplink: tile('N3 received'),
    downlink: tile('N3 sent'),
    drops: tile('Dropped packets'),
    memory: tile('Memory of sessions'),
  };
  const charts = {
    n3: chart('N3', { format: bitrate, floor: 1000 }),
    n6: chart('N6 by DNN', { format: bitrate, floor: 1000 }),
    packets: chart('Packets', { format: rate, floor: 10 }),
    drops: chart('Drops by reason', { format: rate, floor: 1, empty: 'No packet was dropped in this time.' }),
    sessions: chart('Sessions by DNN', { format: (value) => si(value), floor: 4 }),
    load: chart('Load of packet threads', { format: percent, floor: 0.1 }),
    n4: chart('N4 requests', { format: rate, floor: 1 }),
    buffered: chart('Buffered packets', { format: (value) => si(value), floor: 4 }),
    latency: chart('Time to answer N4 requests', { format: moment, floor: 0.001 }),
  };
  const spans = h('div', { class: 'choice', role: 'group', 'aria-label': 'Time shown' }, SPANS.map(([label, seconds]) => h('button', {
    type: 'button',
    'aria-pressed': String(seconds === span),
    click: (event) => {
      span = seconds;
      for (const button of spans.children) button.setAttribute('aria-pressed', String(button === event.currentTarget));
      draw();
    },
  }, label)));

  const number = (heading) => ({ heading, number: true });
  const associations = table('Associations with SMFs', ['SMF', 'State', number('Sessions'), 'Since'], null, 'No SMF has an association.');
  const paths = table('GTP-U paths', ['Peer', 'UPF', 'State', number('FARs')], null);
  const pools = table('UE IP address pools', ['DNN', 'IP', number('Allocated'), number('Size'), 'Share'], null, 'The UPF allocates no UE addresses.');
  const drops = table('Drops since the start', ['Reason', number('Packets'), number('Rate'), 'Meaning and remedy'], null, 'No packet was dropped.');
  const workers = table('Packet threads',
    [number('Thread'), number('Sessions'), number('Load'), number('Received'), number('Dropped'), number('Buffered'), number('Longest pause')], null);

  main.append(
    h('div', { class: 'head' }, h('h1', {}, 'Overview'), spans),
    h('div', { class: 'tiles' }, Object.values(tiles).map(({ element }) => element)),
    h('div', { class: 'charts' }, Object.values(charts).map(({ element }) => element)),
    h('div', { class: 'panels' },
      h('div', { class: 'column' }, h('section', { class: 'card' }, associations.element), h('section', { class: 'card' }, pools.element)),
      h('div', { class: 'column' }, h('section', { class: 'card' }, paths.element), list(signal)),
      h('section', { class: 'card wide' }, drops.element), h('section', { class: 'card wide' }, workers.element)));

  const line = (label, name, colour, dashed = false) => ({ label, points: history.points(name), colour, dashed });

  function drawPorts(drawn, side, name, end, seconds) {
    const of = latest.ports.filter((port) => port.side === side);
    drawn.draw(of.flatMap((port, n) => [
      line(`${name(port)} received`, `bits/${port.name}/received`, n),
      line(`${name(port)} sent`, `bits/${port.name}/sent`, n, true),
    ]), end, seconds);
  }

  function draw() {
    if (!latest.status) return;
    const end = Date.now() / 1000;
    // At first the axis is as long as the history.
    const seconds = Math.min(span, Math.max(60, end - history.start));
    drawPorts(charts.n3, 'n3', (port) => port.label, end, seconds);
    drawPorts(charts.n6, 'n6', (port) => port.dnn.join(', ') || port.label, end, seconds);
    charts.packets.draw([line('received', 'received', 0), line('forwarded', 'forwarded', 1), line('dropped', 'dropped', 3)], end, seconds);
    const reasons = latest.drops.map(({ reason }) => [reason, history.greatest(`drop/${reason}`, end - span)])
      .filter(([, most]) => most > 0).sort(([, a], [, b]) => b - a).slice(0, REASONS);
    charts.drops.draw(reasons.map(([reason], n) => line(words(reason), `drop/${reason}`, n)), end, seconds);
    const networks = history.names('dnn/').filter((name) => history.greatest(name, end - span) > 0 || name !== 'dnn/other');
    charts.sessions.draw(networks.map((name, n) => line(name.slice(4) || 'no DNN', name, n)), end, seconds);
    charts.load.draw(latest.workers.map(({ number: n }) => line(`thread ${n}`, `load/${n}`, n)), end, seconds);
    const requests = [...history.names('n4/received/'), ...history.names('n4/sent/')].filter((name) => history.greatest(name, end - span) > 0);
    charts.n4.draw([
      ...requests.map((name, n) => line(requestName(name), name, n + (n >= 3 ? 1 : 0), name.startsWith('n4/sent'))),
      line('refused or discarded', 'n4/refused', 3)], end, seconds);
    charts.buffered.draw([line('waiting for idle UEs', 'buffered', 0)], end, seconds);
    charts.latency.draw([line('median', 'n4/p50', 0), line('99 of 100 within', 'n4/p99', 1)], end, seconds);
  }

  function update() {
    const { status } = latest;
    tiles.sessions.show(count(status.sessions), status.draining ? 'draining: no new ones' : `of at most ${count(status.max_sessions)}`,
      status.draining ? 'warn' : '');
    const down = latest.associations.filter(({ path_up: isUp }) => !isUp).length;
    tiles.associations.show(count(status.associations), down ? `${down} without heartbeat` : status.associations ? 'all answer' : 'no SMF',
      down || !status.associations ? 'bad' : '');
    const sum = (side, direction) => {
      const values = latest.ports.filter((port) => port.side === side).map((port) => history.last(`bits/${port.name}/${direction}`));
      return values.every((value) => value === null) ? null : values.reduce((total, value) => total + (value ?? 0), 0);
    };
    tiles.uplink.show(bitrate(sum('n3', 'received')), 'uplink, GTP-U');
    tiles.downlink.show(bitrate(sum('n3', 'sent')), 'downlink, GTP-U');
    const [lost, received] = [history.last('dropped'), history.last('received')];
    tiles.drops.show(rate(lost), received > 0 ? `${percent(lost / received)} of received` : `${count(status.dropped_packets)} since the start`,
      received > 0 && lost / received > 0.01 ? 'bad' : '');
    const { memory } = status;
    tiles.memory.show(memory.for_sessions ? percent(memory.needed / memory.for_sessions) : '–',
      memory.for_sessions ? `${octets(memory.needed)} of ${octets(memory.for_sessions)}` : '', memory.needed > 0.9 * memory.for_sessions ? 'bad' : '');

    associations.show(latest.associations.map((one) => [
      link('sessions', { smf: one.node_id }, one.node_id), state(one.path_up ? 'good' : 'bad', one.path_up ? 'answers' : 'no heartbeat'),
      count(one.sessions), date(one.since)]));
    showPaths(paths);
    pools.show(latest.pools.map((pool) => {
      const share = pool.allocated / pool.size;
      return [pool.dnn + (pool.identity ? ` (${pool.identity})` : ''), pool.ip_version === 4 ? 'IPv4' : 'IPv6 /64', count(pool.allocated),
        count(pool.size), [meter(share, `Share of ${pool.dnn} allocated`), ' ', percent(share)]];
    }));
    drops.show(latest.drops.filter((drop) => drop.count > 0).sort((a, b) => b.count - a.count).map((drop) => [
      h('code', {}, drop.reason), count(drop.count), rate(history.last(`drop/${drop.reason}`)),
      [prose(drop.meaning), ' ', h('span', { class: 'note' }, prose(drop.remedy))]]));
    workers.show(latest.workers.map((worker) => [
      String(worker.number), count(worker.sessions), percent(history.last(`load/${worker.number}`)), rate(history.last(`worker/${worker.number}`)),
      count(worker.dropped_packets), count(worker.buffered_packets), moment(worker.longest_pause)]));
    draw();
  }

  follow(update, { signal, eager: true });
}

function requestName(name) {
  const [, direction, type] = name.split('/');
  return `${words(type).replace(/ request$/, '').replace(/^session /, '')}${direction === 'sent' ? ', sent' : ''}`;
}

/** The first paths that do not answer, then others. */
function showPaths(paths) {
  const { supervised, peers, after } = latest.peers;
  const shown = [...peers].sort((a, b) => a.up - b.up).slice(0, 8);
  const rows = shown.map((path) => [
    link('sessions', { gnb: path.peer }, path.peer), path.local, state(path.up ? 'good' : 'bad', path.up ? 'answers' : 'no answer'), count(path.fars)]);
  if (peers.length > shown.length || after) rows.push([link('topology', {}, `all ${count(peers.length)}${after ? ' and more' : ''}`), '', '', '']);
  const lost = latest.ports.filter(isLost);
  for (const port of lost) rows.unshift([port.name, '', state('bad', 'interface lost'), '']);
  paths.show(rows, supervised ? 'No session has a GTP-U peer.' : 'Paths are not supervised: upf.gtpu.echo.interval is 0.');
}
