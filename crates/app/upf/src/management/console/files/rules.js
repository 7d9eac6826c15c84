// The rules of a session as a graph: from where a packet comes, its PDR, the rules that apply, and where it goes.

import { box, drawing, edge, height } from './diagram.js';
import { attribute, s } from './dom.js';
import { count, duration, interfaceName, kbps, moment, octets, words } from './format.js';

const WIDTH = 212;
const GAP = 66;
const SPACE = 14;

const tunnelLines = (tunnel) => [`TEID ${tunnel.teid}`, ...tunnel.addresses];

function sourceOf(pdr) {
  const lines = [];
  if (pdr.tunnel) lines.push(...tunnelLines(pdr.tunnel));
  else lines.push(...pdr.ue.slice(0, 3));
  if (pdr.network_instance) lines.push(pdr.network_instance);
  return { title: interfaceName(pdr.source), lines };
}

function pdrLines(pdr) {
  const lines = [`Precedence ${pdr.precedence}`];
  if (pdr.qfis.length) lines.push(`QFI ${pdr.qfis.join(', ')}`);
  if (pdr.filters.length) lines.push(pdr.filters.length === 1 ? pdr.filters[0] : `${pdr.filters.length} SDF filters`);
  if (pdr.ethernet_filters) lines.push(`${pdr.ethernet_filters} Ethernet Packet Filters`);
  if (pdr.application) lines.push(`Application ${pdr.application}`);
  if (pdr.outer_header_removal) lines.push(`Removes the ${pdr.outer_header_removal === 'gtpu' ? 'GTP-U' : pdr.outer_header_removal.toUpperCase()} header`);
  if (pdr.predefined_rules.length) lines.push(`Predefined: ${pdr.predefined_rules.join(', ')}`);
  return lines;
}

function farLines(far) {
  const lines = [{ text: words(far.action), class: far.action === 'forward' ? 'good' : far.action === 'drop' ? 'bad' : 'warn' }];
  if (far.forwarding_policy) lines.push(`Policy ${far.forwarding_policy}`);
  if (far.redirect) lines.push(`Redirect ${far.redirect}`);
  if (far.duplicates) lines.push(`${far.duplicates} copies`);
  return lines;
}

function destinationOf(far) {
  if (!far.destination) return undefined;
  const lines = [];
  if (far.tunnel) lines.push(...tunnelLines(far.tunnel));
  if (far.outer_header) lines.push(far.outer_header);
  if (far.network_instance) lines.push(far.network_instance);
  return { title: interfaceName(far.destination), lines };
}

const up = '↑';
const down = '↓';

function qerLines(qer) {
  const lines = [];
  const rates = (name, rate) => (rate.uplink_kbps === rate.downlink_kbps ? [`${name} ${up}${down} ${kbps(rate.uplink_kbps)}`]
    : [`${name} ${up} ${kbps(rate.uplink_kbps)}`, `${name} ${down} ${kbps(rate.downlink_kbps)}`]);
  if (qer.qfi !== null) lines.push(`QFI ${qer.qfi}${qer.reflective ? ', RQI' : ''}`);
  if (qer.mbr) lines.push(...rates('MBR', qer.mbr));
  if (qer.gbr) lines.push(...rates('GBR', qer.gbr));
  if (qer.limits_packet_rate) lines.push('Packet Rate');
  if (!qer.gates.uplink_open) lines.push({ text: 'UL gate closed', class: 'bad' });
  if (!qer.gates.downlink_open) lines.push({ text: 'DL gate closed', class: 'bad' });
  if (qer.gates.uplink_open && qer.gates.downlink_open) lines.push('Gates open');
  return lines;
}

function urrLines(urr) {
  const lines = [`Measures ${urr.measures.join(', ') || 'nothing'}`];
  if (urr.period !== null) lines.push(`Period ${duration(urr.period)}`);
  const limits = (name, limit) => {
    const { total, uplink, downlink } = limit.volume ?? {};
    if (total !== undefined && total !== null) lines.push(`${name} ${octets(total)}`);
    if (uplink !== undefined && uplink !== null) lines.push(`${name} ${up} ${octets(uplink)}`);
    if (downlink !== undefined && downlink !== null) lines.push(`${name} ${down} ${octets(downlink)}`);
    if (limit.seconds) lines.push(`${name} ${duration(limit.seconds)}`);
  };
  limits('Threshold', urr.thresholds);
  limits('Quota', urr.quotas);
  return lines;
}

/** What a URR has measured of the kind that it measures. */
export function used(usage, urr) {
  const measures = urr?.measures ?? [];
  const parts = [];
  if (measures.includes('volume')) parts.push(`${up} ${octets(usage.uplink_octets)} ${down} ${octets(usage.downlink_octets)}`);
  if (measures.includes('duration')) parts.push(duration(usage.seconds));
  if (measures.includes('events')) parts.push(`${count(usage.events)} events`);
  return parts.join(', ') || '–';
}

/**
 * The graph. Each rule is a link, whose address `target` makes from its kind and id. The result has the drawing, `mark` for the
 * rules that a packet has met, `select` for one of them, and `usage` for the counters of URRs.
 */
export function graph(session, target) {
  const columns = [[], [], [], []];
  const nodes = new Map();
  const edges = [];
  const node = (column, key, made) => {
    if (!nodes.has(key)) {
      const one = { key, column, ...made() };
      nodes.set(key, one);
      columns[column].push(one);
    }
    return key;
  };
  const rule = (column, kind, one, lines) => node(column, `${kind}-${one.id}`, () => (
    { title: `${kind.toUpperCase()} ${one.id}`, lines, kind, href: target(kind, one.id) }));

  for (const far of session.fars) rule(2, 'far', far, farLines(far));
  for (const qer of session.qers) rule(2, 'qer', qer, qerLines(qer));
  for (const urr of session.urrs) rule(2, 'urr', urr, [...urrLines(urr), { text: ' ', class: 'usage' }]);
  const join = (from, to, kind) => {
    if (nodes.has(from) && nodes.has(to)) edges.push({ from, to, kind });
  };
  for (const pdr of [...session.pdrs].sort((a, b) => a.precedence - b.precedence || a.id - b.id)) {
    const source = sourceOf(pdr);
    const key = node(0, `source ${JSON.stringify(source)}`, () => ({ ...source, kind: 'end' }));
    const own = rule(1, 'pdr', pdr, pdrLines(pdr));
    join(key, own, 'path');
    join(own, `far-${pdr.far}`, 'far');
    for (const qer of pdr.qers) join(own, `qer-${qer}`, 'qer');
    for (const urr of pdr.urrs) join(own, `urr-${urr}`, 'urr');
  }
  for (const far of session.fars) {
    const destination = destinationOf(far);
    if (destination) join(`far-${far.id}`, node(3, `destination ${JSON.stringify(destination)}`, () => ({ ...destination, kind: 'end' })), 'path');
    const bar = session.bars.find(({ id }) => id === far.bar);
    if (bar) {
      const lines = [`Delay ${moment(bar.notification_delay)}`];
      if (bar.suggested_packets !== null) lines.push(`Suggested packets ${bar.suggested_packets}`);
      join(`far-${far.id}`, rule(3, 'bar', bar, lines), 'bar');
    }
  }

  const tall = (column) => column.reduce((sum, { lines }) => sum + height(lines.length) + SPACE, -SPACE);
  const whole = Math.max(60, ...columns.map(tall)) + 2;
  columns.forEach((column, n) => {
    let y = 1 + (whole - 2 - tall(column)) / 2;
    for (const one of column) {
      Object.assign(one, { x: 1 + n * (WIDTH + GAP), y, width: WIDTH });
      y += height(one.lines.length) + SPACE;
    }
  });
  // Where several curves meet a side, they are spread over it.
  const side = (key, isOut) => edges.filter(({ from, to }) => (isOut ? from : to) === key);
  const point = (one, of, isOut) => {
    const other = (each) => nodes.get(isOut ? each.to : each.from).y;
    const all = side(of.key, isOut).sort((a, b) => other(a) - other(b));
    const share = (all.indexOf(one) + 1) / (all.length + 1);
    return [of.x + (isOut ? WIDTH : 0), of.y + height(of.lines.length) * (0.25 + 0.5 * share)];
  };
  const width = 3 * (WIDTH + GAP) + WIDTH + 2;
  const drawn = drawing(width, whole, 'Rules of the session as a graph: sources, PDRs, the rules that each applies, destinations. The rules are links to the tables below.');
  for (const one of edges) {
    one.element = edge(point(one, nodes.get(one.from), true), point(one, nodes.get(one.to), false), one.kind);
    drawn.append(one.element);
  }
  for (const one of nodes.values()) {
    one.element = box(one);
    drawn.append(one.element);
    const near = (isNear) => {
      for (const each of edges) each.element.classList.toggle('near', isNear && (each.from === one.key || each.to === one.key));
    };
    for (const name of ['pointerenter', 'focus']) one.element.addEventListener(name, () => near(true));
    for (const name of ['pointerleave', 'blur']) one.element.addEventListener(name, () => near(false));
  }

  return {
    element: drawn,
    /** Marks the rules that packets have met, for a moment. */
    mark(keys) {
      for (const [key, one] of nodes) one.element.classList.toggle('met', keys.has(key));
      for (const one of edges) one.element.classList.toggle('met', keys.has(one.from) && keys.has(one.to));
    },
    /** Emphasises a rule and what it is joined with. */
    select(key) {
      for (const [each, one] of nodes) {
        one.element.classList.toggle('selected', each === key);
        attribute(one.element, 'aria-current', each === key ? 'true' : null);
      }
      for (const one of edges) one.element.classList.toggle('selected', one.from === key || one.to === key);
    },
    usage(all) {
      for (const { urr, total, exhausted } of all) {
        const line = nodes.get(`urr-${urr}`)?.element.querySelector('.usage');
        if (!line) continue;
        line.textContent = exhausted ? 'Quota exhausted' : used(total, session.urrs.find(({ id }) => id === urr));
        line.classList.toggle('bad', exhausted);
      }
    },
  };
}

/** A small square in the colour of a kind of rule. */
export const swatch = (kind) => s('svg', { class: `swatch ${kind}`, viewBox: '0 0 10 10', 'aria-hidden': 'true' }, s('rect', { width: 10, height: 10, rx: 2 }));
