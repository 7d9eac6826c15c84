// The UPF and what it is connected with: SMFs on N4, gNBs on N3, data networks on N6, with their states.

import { get } from './api.js';
import { box, drawing, edge, height } from './diagram.js';
import { h, link, problem, s, scroller, state, sync, table } from './dom.js';
import { bitrate, count, date, rate, things } from './format.js';
import { follow, history, isLost, latest } from './sampler.js';

/** Boxes of one kind that are drawn; the tables have all. */
const DRAWN = 6;

/** Sessions whose peers are shown where paths are not supervised. */
const SAMPLE = 200;

const WIDTH = 980;
const NARROW = 720;
const BOX = 210;
const UPF = 330;
const ROW = 14;

const tall = (boxes) => boxes.reduce((sum, one) => sum + height(one.lines.length) + ROW, 0);
const middle = (one) => one.y + height(one.lines.length) / 2;

/** The boxes and lines of a drawing while it is made. */
class Sketch {
  content = [];

  lines = [];

  box(one, x, y, width, kind) {
    Object.assign(one, { x, y, width, kind });
    this.content.push(box(one));
  }

  /** Boxes below each other, in the middle of a room. */
  stack(boxes, x, width, kind, from, room) {
    let y = from + Math.max(0, (room - tall(boxes) + ROW) / 2);
    for (const one of boxes) {
      this.box(one, x, y, width, kind);
      y += height(one.lines.length) + ROW;
    }
  }

  /** The UPF: its frame, its name, and its ports. */
  upf({ n3, n6, n4 }, x, y, width, whole) {
    const ground = y + whole - 20;
    const { status } = latest;
    this.content.push(s('rect', { x, y, width, height: whole, rx: 10, class: 'upf' }),
      s('text', { x: x + width / 2, y: ground - 8, 'text-anchor': 'middle', class: 'head' }, `UPF ${status.node_id}`),
      s('text', { x: x + width / 2, y: ground + 9, 'text-anchor': 'middle' }, `${status.data_plane}, ${things(status.sessions, 'session')}`));
    this.box(n4, x + width * 0.2, y + 12, width * 0.6, 'port');
    const each = (width - 36) / 2;
    const from = y + 12 + height(1) + 16;
    this.stack(n3, x + 10, each, 'port', from, ground - 30 - from);
    this.stack(n6, x + width - 10 - each, each, 'port', from, ground - 30 - from);
  }

  /** SMFs beside each other, with lines to N4. */
  smfs(smfs, width, n4) {
    const span = width / Math.max(1, smfs.length);
    smfs.forEach((one, n) => {
      const place = Math.min(BOX, span - 12);
      this.box(one, span * n + (span - place) / 2, 1, place, 'end');
      const [from, to] = [one.x + place / 2, n4.x + n4.width / 2];
      this.lines.push(s('path', {
        class: `edge ${one.dot ?? 'unknown'}`, d: `M${from} ${1 + height(2)}C${from} ${n4.y - 32} ${to} ${n4.y - 56} ${to} ${n4.y}`,
      }));
    });
  }
}

const upfHeight = ({ n3, n6 }) => height(1) + 16 + Math.max(tall(n3), tall(n6), 60) + 52;

/** Peers to the left, data networks to the right. */
function besideEachOther(parts) {
  const { gnbs, smfs, n6, networks } = parts;
  const sketch = new Sketch();
  const top = smfs.length ? height(2) + 64 : 8;
  const body = Math.max(upfHeight(parts), tall(gnbs), tall(networks));
  const own = upfHeight(parts);
  sketch.upf(parts, (WIDTH - UPF) / 2, top + (body - own) / 2, UPF, own);
  sketch.stack(gnbs, 1, BOX, 'end', top, body);
  networks.forEach((one, n) => sketch.box(one, WIDTH - BOX - 1, middle(n6[n]) - height(1) / 2, BOX, 'end'));
  sketch.smfs(smfs, WIDTH, parts.n4);
  n6.forEach((one, n) => sketch.lines.push(edge([one.x + one.width, middle(one)], [networks[n].x, middle(networks[n])], one.dot)));
  if (!gnbs.length) sketch.content.push(s('text', { x: BOX / 2, y: top + body / 2, 'text-anchor': 'middle' }, 'No GTP-U peers'));
  return {
    ...sketch,
    width: WIDTH,
    height: top + body + 12,
    join: (peer, port) => sketch.lines.push(edge([peer.x + BOX, middle(peer)], [port.x, middle(port)], peer.dot ?? 'unknown')),
  };
}

/** For a phone: peers and data networks below the UPF. */
function belowEachOther(parts) {
  const { gnbs, smfs, n6, networks, room } = parts;
  const sketch = new Sketch();
  const width = Math.max(300, room);
  const top = smfs.length ? height(2) + 44 : 8;
  const body = upfHeight(parts);
  sketch.upf(parts, 1, top, width - 2, body);
  const below = top + body + 22;
  // Lines run down at the outer sides.
  const each = (width - 38) / 2;
  sketch.stack(gnbs, 31, each - 20, 'end', below, 0);
  sketch.stack(networks, width - 11 - each, each - 20, 'end', below, 0);
  sketch.smfs(smfs, width, parts.n4);
  const branch = (trunk, port, one, kind) => {
    const side = trunk < one.x ? one.x : one.x + one.width;
    sketch.lines.push(s('path', { class: `edge ${kind}`, d: `M${trunk} ${port.y + height(2)}V${middle(one)}H${side}` }));
  };
  n6.forEach((one, n) => branch(one.x + one.width - 8, one, networks[n], one.dot));
  return {
    ...sketch,
    width,
    height: below + Math.max(tall(gnbs), tall(networks)) + 2,
    join: (peer, port) => branch(port.x + 8, port, peer, peer.dot ?? 'unknown'),
  };
}

/** Requests in both directions, per second. */
function n4Rate() {
  const values = ['n4/received/', 'n4/sent/'].flatMap((prefix) => history.names(prefix)).map((name) => history.last(name) ?? 0);
  return values.length ? values.reduce((sum, value) => sum + value, 0) : null;
}

export function render(main, _, signal) {
  const drawn = scroller('Diagram of the UPF and its neighbours', 'center');
  const note = h('p', { class: 'note' });
  const number = (heading) => ({ heading, number: true });
  const associations = table('SMFs (N4)', ['SMF', 'Address', 'State', number('Sessions'), 'Since'], null, 'No SMF has an association.');
  const paths = table('GTP-U peers (N3, N9)', ['Peer', 'UPF', 'State', 'Used by'], null);
  paths.element.classList.add('tall');
  const ports = table('Interfaces', ['Interface', 'State', 'DNN', number('Received'), number('Sent'), 'Losses'], null);
  const further = h('button', { type: 'button', hidden: true, click: () => page() }, 'More peers');
  const more = h('div', { class: 'buttons' });
  main.append(h('div', { class: 'head' }, h('h1', {}, 'Topology')), h('section', { class: 'card', 'aria-label': 'Diagram' }, drawn, note),
    h('div', { class: 'panels' },
      h('section', { class: 'card wide' }, associations.element), h('section', { class: 'card wide' }, paths.element, more, further),
      h('section', { class: 'card wide' }, ports.element)));

  let n4 = [];
  let sampled;
  const beyond = [];
  let next;
  let shown = [undefined, undefined, undefined];
  let from;

  async function load() {
    try {
      const { upf } = await get('config', { signal });
      n4 = (upf.pfcp?.server ?? []).map(({ address, dev }) => address ?? dev).filter(Boolean);
    } catch (error) {
      if (!signal.aborted) note.replaceChildren(problem(error));
    }
  }

  /** The peers of some sessions, where the UPF supervises none. */
  async function sample() {
    sampled = new Map();
    try {
      const { sessions } = await get('sessions', { query: { limit: SAMPLE }, signal });
      for (const peer of sessions.flatMap((session) => session.peers)) {
        const address = peer.split('@')[1];
        sampled.set(address, (sampled.get(address) ?? 0) + 1);
      }
    } catch (error) {
      if (!signal.aborted) more.replaceChildren(problem(error));
    }
    if (!signal.aborted) update();
  }

  function peersNow() {
    const { supervised, peers } = latest.peers;
    if (supervised) return [...peers, ...beyond];
    if (!sampled) {
      sample();
      return [];
    }
    return [...sampled].map(([peer, tunnels]) => ({ peer, local: '', up: null, fars: tunnels }));
  }

  function update() {
    if (!latest.status) return;
    const peers = peersNow();
    const { supervised, after } = latest.peers;
    const word = (isUp) => (isUp === null ? state('unknown', 'not supervised') : state(isUp ? 'good' : 'bad', isUp ? 'answers' : 'no answer'));
    associations.show(latest.associations.map((one) => [link('sessions', { smf: one.node_id }, one.node_id), one.peer,
      state(one.path_up ? 'good' : 'bad', one.path_up ? 'answers' : 'no heartbeat'), count(one.sessions), date(one.since)]));
    // There may be thousands, which change seldom.
    const reading = [latest.peers, beyond.length, sampled?.size].map((part) => part ?? null);
    if (shown.some((part, n) => part !== reading[n])) paths.show(peers.map((path) => [link('sessions', { gnb: path.peer }, path.peer), path.local || '–', word(path.up), things(path.fars, supervised ? 'FAR' : 'tunnel')]));
    shown = reading;
    const following = next === undefined ? after : next;
    further.hidden = !(supervised && following);
    from = following;
    note.replaceChildren(...(supervised ? [] : [
      `Paths are not supervised, since upf.gtpu.echo.interval is 0: the peers are those of the first ${SAMPLE} sessions.`]));
    ports.show(latest.ports.map((port) => [h('code', {}, port.name), isLost(port) ? state('bad', 'lost') : state('good', 'open'),
      port.dnn.join(', ') || '–', bitrate(history.last(`bits/${port.name}/received`)), bitrate(history.last(`bits/${port.name}/sent`)),
      [...port.failures].map(([name, value]) => `${count(value)} ${name}`).join(', ') || 'none']));
    draw(peers, supervised);
  }

  async function page() {
    try {
      const answer = await get('peers', { query: { after: from }, signal });
      beyond.push(...answer.peers);
      next = answer.after ?? null;
      update();
    } catch (error) {
      if (!signal.aborted) more.replaceChildren(problem(error));
    }
  }

  function draw(peers, supervised) {
    const focused = document.activeElement?.getAttribute?.('href');
    const some = (all, most, make, rest) => {
      const boxes = all.slice(0, most).map(make);
      if (all.length > most) boxes.push(rest(all.length - most));
      return boxes;
    };
    const wide = drawn.clientWidth >= NARROW || !drawn.clientWidth;
    const two = (kind, number) => (wide ? [`${kind}, ${number}`] : [kind, number]);
    const sorted = [...peers].sort((a, b) => (a.up === false ? 0 : 1) - (b.up === false ? 0 : 1));
    const gnbs = some(sorted, wide ? DRAWN : 3, (path) => ({
      title: path.peer,
      lines: [...two('GTP-U peer', things(path.fars, supervised ? 'FAR' : 'tunnel')), path.up === null ? 'not supervised' : path.up ? 'answers' : 'no answer'],
      dot: path.up === null ? 'unknown' : path.up ? 'good' : 'bad',
      href: `#/sessions?${new URLSearchParams({ gnb: path.peer })}`,
    }), (rest) => ({ title: `${count(rest)} further peers`, lines: ['in the table below'] }));
    const smfs = some(latest.associations, wide ? 3 : 1, (one) => ({
      title: one.node_id,
      lines: [`SMF, ${things(one.sessions, 'session')}`, one.path_up ? 'answers' : 'no heartbeat'],
      dot: one.path_up ? 'good' : 'bad',
      href: `#/sessions?${new URLSearchParams({ smf: one.node_id })}`,
    }), (rest) => ({ title: `${count(rest)} further SMFs`, lines: ['in the table below'] }));
    const port = (one) => ({
      name: one.name,
      title: one.side === 'n3' ? `N3 ${one.label}` : `N6 ${one.label}`,
      lines: [`in ${bitrate(history.last(`bits/${one.name}/received`))}`, `out ${bitrate(history.last(`bits/${one.name}/sent`))}`],
      dot: isLost(one) ? 'bad' : 'good',
      dnn: one.dnn,
    });
    const n3 = latest.ports.filter(({ side }) => side === 'n3').slice(0, DRAWN).map(port);
    const n6 = latest.ports.filter(({ side }) => side === 'n6').slice(0, DRAWN).map(port);
    const networks = n6.map((one) => ({ title: one.dnn.join(', ') || 'data network', lines: ['data network'] }));

    const made = (wide ? besideEachOther : belowEachOther)({ gnbs, smfs, n3, n6, networks, room: drawn.clientWidth, n4: {
      title: `N4 ${n4.join(', ')}`, lines: [`Requests ${rate(n4Rate())}`],
    } });
    // Which N3 address a peer uses is known of supervised paths only.
    const local = new Map(sorted.map((path) => [path.peer, `n3-${path.local}`]));
    for (const one of n3.length ? gnbs : []) made.join(one, n3.find(({ name }) => name === local.get(one.title)) ?? n3[0]);
    const { width, height: whole, content, lines } = made;
    const [frame, ...others] = content;
    sync(drawn, [drawing(width, whole, 'The UPF with its SMFs, GTP-U peers and data networks; the tables below have the same.', frame, lines, others)], true);
    if (focused) drawn.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  const resized = new ResizeObserver(() => update());
  resized.observe(drawn);
  signal.addEventListener('abort', () => resized.disconnect());
  load().then(() => {
    if (!signal.aborted) follow(update, { signal, eager: true });
  });
}
