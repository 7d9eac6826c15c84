// The frame of the console: which page is shown, and whether the UPF answers.

import { attribute, h, problem, text } from './dom.js';
import * as events from './events.js';
import { duration } from './format.js';
import * as overview from './overview.js';
import * as placement from './placement.js';
import { follow, latest, refresh, start } from './sampler.js';
import * as session from './session.js';
import * as sessions from './sessions.js';
import * as p4switch from './switch.js';
import { askAgain, forgetToken, isDeclined, token } from './token.js';
import * as topology from './topology.js';

const main = document.getElementById('main');
const line = document.getElementById('link');
const forget = document.getElementById('forget');
const forever = new AbortController().signal;

const PAGES = { overview: ['Overview', overview], sessions: ['Sessions', sessions], topology: ['Topology', topology], switch: ['P4 switch', p4switch], placement: ['Placement', placement] };

let leave = new AbortController();
let shown = {};

/** The page in the address: its name, its parameters, and the SEID of a session. */
function asked() {
  const [path, parameters = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, seid] = path.split('/');
  return { name: PAGES[name] ? name : 'overview', seid: seid && decodeURIComponent(seid), query: new URLSearchParams(parameters) };
}

function show(isFirst) {
  const page = asked();
  if (page.seid && shown.seid === page.seid && shown.page?.change) {
    shown.page.change(page.query);
    return;
  }
  leave.abort();
  leave = new AbortController();
  main.replaceChildren();
  const [title, made] = page.seid ? [`Session ${page.seid}`, session] : PAGES[page.name];
  document.title = `${title} – Causeway UPF`;
  for (const one of document.querySelectorAll('#nav a')) attribute(one, 'aria-current', one.hash === `#/${page.name}` ? 'page' : null);
  try {
    shown = { seid: page.seid, page: made.render(main, page.query, leave.signal, page.seid) };
  } catch (error) {
    main.append(problem(error));
    throw error;
  }
  if (isFirst) return;
  window.scrollTo(0, 0);
  main.focus({ preventScroll: true });
}

function tell(kind, word) {
  if (line.dataset.kind === kind && line.dataset.word === word) return;
  Object.assign(line.dataset, { kind, word });
  const again = kind === 'bad' && isDeclined() && h('button', {
    type: 'button',
    class: 'plain',
    click: () => {
      askAgain();
      refresh();
    },
  }, 'Enter the token');
  line.replaceChildren(...[h('span', { class: `state ${kind}` }, word), again].filter(Boolean));
}

document.getElementById('skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
forget.addEventListener('click', () => {
  forgetToken();
  location.reload();
});
window.addEventListener('hashchange', () => show(false));
document.addEventListener('visibilitychange', () => {
  if (document.hidden) tell('unknown', 'paused');
});

tell('unknown', 'connecting');
start({
  signal: forever,
  failed: (error) => tell('bad', error.detail || error.message),
  answered: () => tell('good', 'live'),
});
events.start({ signal: forever, changed: refresh });
follow(() => {
  const { status } = latest;
  text(document.getElementById('node'), status.node_id);
  text(document.getElementById('build'), `Causeway ${status.version}${status.build === 'debug' ? ' (debug build)' : ''}, data plane ${status.data_plane}, runs for ${duration(Date.now() / 1000 - status.started)}`);
  document.getElementById('switch').hidden = !['switch', 'hybrid'].includes(status.data_plane);
  forget.hidden = !token();
  document.getElementById('placement').hidden = status.data_plane !== 'hybrid';
  // Plain links carry no token.
  for (const one of document.querySelectorAll('footer a')) one.hidden = Boolean(token());
}, { signal: forever });
show(true);
