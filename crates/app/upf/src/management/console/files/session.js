// One session: its rules as a graph, what they have counted, its peers, and a trace.

import { get } from './api.js';
import { chart } from './chart.js';
import { h, link, problem, scroller, state, sync, table } from './dom.js';
import { bitrate, clock, count, date, duration, interfaceName, kbps, moment, octets, si, words } from './format.js';
import { History } from './history.js';
import { poll } from './poll.js';
import { graph, swatch, used } from './rules.js';
import { latest } from './sampler.js';
import { panel } from './trace.js';

const SPAN = 120;

/** Charts are drawn of at most so many URRs. */
const CHARTS = 4;

const KINDS = ['pdr', 'far', 'qer', 'urr', 'bar'];

function limitText({ volume, seconds, events }) {
  const parts = [];
  for (const [sign, value] of [['', volume?.total], ['↑ ', volume?.uplink], ['↓ ', volume?.downlink]]) {
    if (value !== undefined && value !== null) parts.push(sign + octets(value));
  }
  if (seconds !== undefined && seconds !== null) parts.push(duration(seconds));
  if (events !== undefined && events !== null) parts.push(`${count(events)} events`);
  return parts.join(', ') || '–';
}

const rates = (rate) => (rate ? `↑ ${kbps(rate.uplink_kbps)} ↓ ${kbps(rate.downlink_kbps)}` : '–');
const tunnelText = (tunnel) => (tunnel ? `${tunnel.teid} at ${tunnel.addresses.join(', ')}` : '');
const or = (value) => (value === null || value === undefined || value === '' ? '–' : value);

export function render(main, query, signal, seid) {
  const own = (rule) => `#/sessions/${seid}?rule=${rule}`;
  const title = h('h1', {}, 'Session ', h('code', {}, seid));
  const facts = h('dl', { class: 'facts' });
  const trouble = h('div');
  const drawn = scroller('Graph of the rules', 'center');
  const counters = h('div', { class: 'charts fit' });
  const tables = h('div', { class: 'tables' });
  const number = (heading) => ({ heading, number: true });
  const usage = table('Usage by URR', ['URR', 'Total', 'Not reported yet', number('Packets'), 'Until threshold', 'Until quota', 'State'], null,
    'The session has no URR: its octets are not counted.');
  const peers = table('GTP-U peers', ['Peer', 'Tunnel', 'Path'], null, 'No FAR sends to a GTP-U peer.');
  const content = h('div', { hidden: true },
    h('section', { class: 'card', 'aria-labelledby': 'rules-title' },
      h('div', { class: 'head' }, h('h2', { id: 'rules-title' }, 'Rules'),
        h('ul', { class: 'key-list' }, KINDS.map((kind) => h('li', {}, swatch(kind), ` ${kind.toUpperCase()}`)))), drawn),
    counters,
    h('div', { class: 'panels' }, h('section', { class: 'card wide' }, usage.element), h('section', { class: 'card wide' }, peers.element)),
    panel(seid, signal, (keys) => shown?.mark(keys)),
    tables);
  main.append(h('p', { class: 'crumbs' }, link('sessions', {}, 'Sessions')), h('div', { class: 'head' }, title), trouble, facts, content);

  const history = new History();
  const charts = new Map();
  let shown;
  let drawnRules;
  let selected = query.get('rule');

  const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, ...value));

  function showFacts(session) {
    const users = Object.entries(session.user ?? {}).map(([name, value]) => fact(name.toUpperCase(), value));
    const { state: now } = session;
    sync(facts, [
      fact('UE', session.ue.join(', ') || '–'), ...users,
      fact('DNN', session.network_instances.join(', ') || '–'), session.slice ? fact('S-NSSAI', session.slice) : '',
      session.class ? fact('Application class', session.class) : '',
      fact('PDU session type', session.pdu_session_type === 'ip' ? 'IP' : 'Ethernet'),
      fact('SMF', link('sessions', { smf: session.node_id }, session.node_id)),
      fact('SMF SEID', h('code', {}, session.cp_seid), ` at ${session.cp_address}`),
      fact('Since', `${date(session.since)} (${duration(Date.now() / 1000 - session.since)})`),
      now ? fact('Packet thread', String(now.worker)) : '',
      now ? fact('Last measured packet', now.last_packet === null ? 'none' : clock(now.last_packet)) : '',
      now ? fact('Buffered', now.buffer.packets ? `${count(now.buffer.packets)} packets, ${octets(now.buffer.octets)}` : 'none') : '',
      session.waiting_reports ? fact('Reports that wait', count(session.waiting_reports)) : '',
      session.inactivity_timer ? fact('Inactivity timer', duration(session.inactivity_timer)) : ''].filter(Boolean));
  }

  function showRules(session) {
    const rules = JSON.stringify(KINDS.map((kind) => session[`${kind}s`]));
    if (rules === drawnRules) return;
    drawnRules = rules;
    shown = graph(session, (kind, id) => own(`${kind}-${id}`));
    drawn.replaceChildren(shown.element);
    const rule = (kind, id) => h('a', { href: own(`${kind}-${id}`), id: `${kind}-${id}` }, `${kind.toUpperCase()} ${id}`);
    const refer = (kind, ids) => (ids.length ? ids.map((id, n) => [n > 0 && ', ', h('a', { href: own(`${kind}-${id}`) }, String(id))]) : '–');
    const make = (caption, columns, rows) => rows.length && h('section', { class: 'card' }, table(caption, columns, rows).element);
    tables.replaceChildren(...[
      make('Packet Detection Rules', ['PDR', number('Precedence'), 'Source', 'F-TEID', 'UE', 'Network instance', 'Filters', 'FAR', 'QER', 'URR'],
        session.pdrs.map((pdr) => [rule('pdr', pdr.id), String(pdr.precedence), interfaceName(pdr.source), or(tunnelText(pdr.tunnel)),
          [...pdr.ue, ...pdr.framed_routes].join(', ') || '–', or(pdr.network_instance),
          [pdr.qfis.length && `QFI ${pdr.qfis.join(', ')}`, ...pdr.filters, pdr.application && `Application ${pdr.application}`,
            pdr.ethernet_filters && `${pdr.ethernet_filters} Ethernet Packet Filters`].filter(Boolean).join('; ') || 'any',
          refer('far', [pdr.far]), refer('qer', pdr.qers), refer('urr', pdr.urrs)])),
      make('Forwarding Action Rules', ['FAR', 'Action', 'Destination', 'Outer header', 'Network instance', 'BAR', number('Copies')],
        session.fars.map((far) => [rule('far', far.id), words(far.action), far.destination ? interfaceName(far.destination) : '–',
          or(tunnelText(far.tunnel) || far.outer_header), or(far.network_instance), refer('bar', far.bar === null ? [] : [far.bar]), count(far.duplicates)])),
      make('QoS Enforcement Rules', ['QER', 'QFI', 'Gate ↑', 'Gate ↓', 'MBR', 'GBR', 'Correlation ID'],
        session.qers.map((qer) => [rule('qer', qer.id), or(qer.qfi), qer.gates.uplink_open ? 'open' : 'closed', qer.gates.downlink_open ? 'open' : 'closed',
          rates(qer.mbr), rates(qer.gbr), or(qer.correlation)])),
      make('Usage Reporting Rules', ['URR', 'Measures', 'Reporting Triggers', 'Thresholds', 'Quotas', 'Period', 'FAR for quota'],
        session.urrs.map((urr) => [rule('urr', urr.id), urr.measures.join(', ') || '–', urr.triggers.join(', ') || '–', limitText(urr.thresholds),
          limitText(urr.quotas), urr.period === null ? '–' : duration(urr.period), refer('far', urr.quota_far === null ? [] : [urr.quota_far])])),
      make('Buffering Action Rules', ['BAR', 'Downlink Data Notification Delay', number('Suggested packets')],
        session.bars.map((bar) => [rule('bar', bar.id), moment(bar.notification_delay), or(bar.suggested_packets)])),
    ].filter(Boolean));
    select(selected, false);
  }

  function select(rule, isNew) {
    selected = rule;
    for (const row of tables.querySelectorAll('tr.selected')) row.classList.remove('selected');
    shown?.select(rule);
    const target = rule && document.getElementById(rule);
    if (!target || !tables.contains(target)) return;
    target.closest('tr').classList.add('selected');
    if (isNew) {
      target.focus({ preventScroll: true });
      target.scrollIntoView({ block: 'center' });
    }
  }

  function showUsage(session, time) {
    const all = session.state?.usage ?? [];
    usage.show(all.map((urr) => {
      const { total, unreported } = urr;
      const rule = session.urrs.find(({ id }) => id === urr.urr);
      const word = urr.exhausted ? state('bad', 'exhausted') : urr.active ? state('good', 'measures') : state('warn', 'paused');
      return [h('a', { href: own(`urr-${urr.urr}`) }, `URR ${urr.urr}`),
        used(total, rule), [used(unreported, rule), h('span', { class: 'note' }, ` since ${clock(urr.since)}`)],
        `↑ ${si(total.uplink_packets)} ↓ ${si(total.downlink_packets)}`, limitText(urr.until_threshold), limitText(urr.until_quota), word];
    }));
    shown.usage(all);
    const volumeUrrs = all.filter(({ urr }) => session.urrs.find(({ id }) => id === urr)?.measures.includes('volume')).slice(0, CHARTS);
    for (const { urr, total } of volumeUrrs) {
      history.count(`${urr}/up`, time, total.uplink_octets, 8);
      history.count(`${urr}/down`, time, total.downlink_octets, 8);
      if (!charts.has(urr)) {
        charts.set(urr, chart(`URR ${urr}`, { format: bitrate, floor: 1000, height: 130 }));
        counters.append(charts.get(urr).element);
      }
      charts.get(urr).draw([
        { label: 'uplink', points: history.points(`${urr}/up`), colour: 0 },
        { label: 'downlink', points: history.points(`${urr}/down`), colour: 1 }], time, Math.min(SPAN, Math.max(30, time - history.start)));
    }
  }

  function showPeers(session) {
    const known = new Map((latest.peers?.peers ?? []).map((path) => [path.peer, path.up]));
    const none = latest.peers?.supervised ? state('unknown', 'not known') : state('unknown', 'not supervised');
    peers.show(session.peers.map((tunnel) => {
      const [teid, peer] = tunnel.split('@');
      const path = known.has(peer) ? state(known.get(peer) ? 'good' : 'bad', known.get(peer) ? 'answers' : 'no answer') : none.cloneNode(true);
      return [link('sessions', { gnb: peer }, peer), h('code', {}, teid), path];
    }));
  }

  let isOver = false;
  poll(1000, async () => {
    if (isOver) return;
    const session = await get(`sessions/${encodeURIComponent(seid)}`, { signal });
    trouble.replaceChildren();
    content.hidden = false;
    showFacts(session);
    showRules(session);
    showUsage(session, Date.now() / 1000);
    showPeers(session);
  }, {
    signal,
    failed: (error) => {
      trouble.replaceChildren(problem(error));
      if (error.status === 404 || error.status === 400) isOver = true;
    },
  });

  return {
    /** Another rule of the same session is asked for. */
    change: (asked) => select(asked.get('rule'), true),
  };
}
