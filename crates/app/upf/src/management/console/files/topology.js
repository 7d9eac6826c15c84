// The UPF and what it is connected with: SMFs on N4, gNBs on N3, data networks on N6, with their states.

import { get } from './api.js';
import { box, drawing, edge, height } from './diagram.js';
import { h, link, problem, s, scroller, state, sync, table } from './dom.js';
import { bitrate, count, date, rate, things } from './format.js';
import { follow, history, isLost, latest } from './sampler.js';

/** Boxes of one kind that are drawn; the tables have all. */
const DRAWN = 8;

/** Sessions whose peers are shown where paths are not supervised. */
const SAMPLE = 200;

const WIDTH = 980;
const BOX = 210;
const UPF = 330;
const ROW = 14;

/** Requests in both directions, per second. */
function n4Rate() {
  const values = ['n4/in/', 'n4/out/'].flatMap((prefix) => history.names(prefix)).map((name) => history.last(name) ?? 0);
  return values.length ? values.reduce((sum, value) => sum + value, 0) : null;
}

export function render(main, _, signal) {
  const drawn = scroller('Diagram of the UPF and its neighbours', 'center');
  const note = h('p', { class: 'note' });
  const number = (heading) => ({ heading, number: true });
  const associations = table('SMFs (N4)', ['SMF', 'Address', 'State', number('Sessions'), 'Since'], [], 'No SMF has an association.');
  const paths = table('GTP-U peers (N3, N9)', ['Peer', 'UPF', 'State', 'Used by'], [], 'None.');
  const ports = table('Interfaces', ['Interface', 'State', 'DNN', number('Received'), number('Sent'), 'Losses'], []);
  const more = h('p', { class: 'buttons' });
  main.append(h('div', { class: 'head' }, h('h1', {}, 'Topology')), h('section', { class: 'card', 'aria-label': 'Diagram' }, drawn, note),
    h('div', { class: 'panels' },
      h('section', { class: 'card wide' }, associations.element), h('section', { class: 'card wide' }, paths.element, more),
      h('section', { class: 'card wide' }, ports.element)));

  let n4 = [];
  let sampled;
  let further = [];
  let next;

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
      sampled = undefined;
    }
    if (!signal.aborted) update();
  }

  function peersNow() {
    const { supervised, peers } = latest.peers;
    if (supervised) return [...peers, ...further];
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
    paths.show(peers.map((path) => [link('sessions', { gnb: path.peer }, path.peer), path.local || '–', word(path.up), things(path.fars, supervised ? 'FAR' : 'tunnel')]));
    const following = next === undefined ? after : next;
    more.replaceChildren(...(supervised && following ? [h('button', { type: 'button', click: () => page(following) }, 'More peers')] : []));
    note.replaceChildren(...(supervised ? [] : [
      `Paths are not supervised, since upf.gtpu.echo.interval is 0: the peers are those of the first ${SAMPLE} sessions.`]));
    ports.show(latest.ports.map((port) => [h('code', {}, port.name), isLost(port) ? state('bad', 'lost') : state('good', 'open'),
      port.dnn.join(', ') || '–', bitrate(history.last(`bits/${port.name}/received`)), bitrate(history.last(`bits/${port.name}/sent`)),
      [...port.failures].map(([name, value]) => `${count(value)} ${name}`).join(', ') || 'none']));
    draw(peers, supervised);
  }

  async function page(from) {
    try {
      const answer = await get('peers', { query: { after: from }, signal });
      further.push(...answer.peers);
      next = answer.after ?? null;
      update();
    } catch (error) {
      if (!signal.aborted) note.replaceChildren(problem(error));
    }
  }

  function draw(peers, supervised) {
    const focused = document.activeElement?.getAttribute?.('href');
    const some = (all, make, rest) => {
      const boxes = all.slice(0, DRAWN).map(make);
      if (all.length > DRAWN) boxes.push(rest(all.length - DRAWN));
      return boxes;
    };
    const sorted = [...peers].sort((a, b) => (a.up === false ? 0 : 1) - (b.up === false ? 0 : 1));
    const gnbs = some(sorted, (path) => ({
      title: path.peer,
      lines: [`GTP-U peer, ${things(path.fars, supervised ? 'FAR' : 'tunnel')}`, path.up === null ? 'not supervised' : path.up ? 'answers' : 'no answer'],
      dot: path.up === null ? 'unknown' : path.up ? 'good' : 'bad',
      href: `#/sessions?${new URLSearchParams({ gnb: path.peer })}`,
    }), (rest) => ({ title: `${count(rest)} further peers`, lines: ['in the table below'] }));
    const smfs = some(latest.associations, (one) => ({
      title: one.node_id,
      lines: [`SMF, ${things(one.sessions, 'session')}`, one.path_up ? 'answers' : 'no heartbeat'],
      dot: one.path_up ? 'good' : 'bad',
      href: `#/sessions?${new URLSearchParams({ smf: one.node_id })}`,
    }), (rest) => ({ title: `${count(rest)} further SMFs`, lines: ['in the table below'] })).slice(0, 4);
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

    const tall = (boxes) => boxes.reduce((sum, one) => sum + height(one.lines.length) + ROW, 0);
    const top = smfs.length ? height(2) + 64 : 8;
    const n4Box = { title: `N4 ${n4.join(', ')}`, lines: [`${rate(n4Rate())} requests`] };
    const inner = height(1) + 16 + Math.max(tall(n3), tall(n6), 60) + 52;
    const body = Math.max(inner, tall(gnbs), tall(networks));
    const whole = top + body + 12;
    const left = (WIDTH - UPF) / 2;
    const content = [];
    const boxAt = (one, x, y, width, kind) => {
      Object.assign(one, { x, y, width, kind });
      content.push(box(one));
    };
    const stack = (boxes, x, width, kind, from, room) => {
      let y = from + Math.max(0, (room - tall(boxes) + ROW) / 2);
      for (const one of boxes) {
        boxAt(one, x, y, width, kind);
        y += height(one.lines.length) + ROW;
      }
    };
    const middle = (one) => one.y + height(one.lines.length) / 2;

    content.push(s('rect', { x: left, y: top, width: UPF, height: body, rx: 10, class: 'upf' }));
    const ground = top + body - 20;
    content.push(s('text', { x: WIDTH / 2, y: ground - 8, 'text-anchor': 'middle', class: 'head' }, `UPF ${latest.status.node_id}`),
      s('text', { x: WIDTH / 2, y: ground + 9, 'text-anchor': 'middle' }, `${latest.status.data_plane}, ${things(latest.status.sessions, 'session')}`));
    boxAt(n4Box, left + 70, top + 12, UPF - 140, 'port');
    const width = (UPF - 36) / 2;
    const from = top + 12 + height(1) + 16;
    const room = ground - 30 - from;
    stack(n3, left + 10, width, 'port', from, room);
    stack(n6, left + UPF - 10 - width, width, 'port', from, room);
    stack(gnbs, 1, BOX, 'end', top, body);
    networks.forEach((one, n) => boxAt(one, WIDTH - BOX - 1, middle(n6[n]) - height(1) / 2, BOX, 'end'));

    const span = WIDTH / Math.max(1, smfs.length);
    smfs.forEach((one, n) => {
      const place = Math.min(BOX, span - 16);
      boxAt(one, span * n + (span - place) / 2, 1, place, 'end');
    });
    const lines = smfs.map((one) => s('path', {
      class: `edge ${one.dot ?? 'unknown'}`,
      d: `M${one.x + one.width / 2} ${one.y + height(2)}C${one.x + one.width / 2} ${top - 20} ${WIDTH / 2} ${top - 44} ${WIDTH / 2} ${n4Box.y}`,
    }));
    // Which N3 address a peer uses is known of supervised paths only.
    for (const one of gnbs) {
      const path = sorted.find(({ peer }) => peer === one.title);
      const known = n3.filter(({ name }) => name === `n3-${path?.local}`);
      for (const to of known.length ? known : n3.slice(0, 1)) {
        lines.push(edge([one.x + BOX, middle(one)], [to.x, middle(to)], one.dot ?? 'unknown'));
      }
    }
    n6.forEach((one, n) => lines.push(edge([one.x + width, middle(one)], [networks[n].x, middle(networks[n])], one.dot)));
    if (!gnbs.length) content.push(s('text', { x: BOX / 2, y: top + body / 2, 'text-anchor': 'middle', class: 'faint' }, 'No GTP-U peers'));
    const [frame, ...others] = content;
    const made = drawing(WIDTH, whole, 'The UPF with its SMFs, GTP-U peers and data networks; the tables below have the same.', frame, lines, others);
    sync(drawn, [made], true);
    if (focused) drawn.querySelector(`a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  load().then(() => {
    if (!signal.aborted) follow(update, { signal, eager: true });
  });
}
