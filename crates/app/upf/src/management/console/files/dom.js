// Elements. All text becomes text nodes, and no attribute holds code or style.

const SVG = 'http://www.w3.org/2000/svg';

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** An HTML element. A function among the attributes listens to the event of that name. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Sets the text of an element, if it differs. */
export function text(element, value) {
  const wanted = String(value);
  if (element.textContent !== wanted) element.textContent = wanted;
}

/** Sets or removes an attribute, if it differs. */
export function attribute(element, name, value) {
  if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value === true ? '' : String(value));
}

/** Gives an element these children, and keeps those that are the same: a focused link stays focused. `deeper` compares their own children. */
export function sync(parent, children, deeper = false) {
  children.forEach((child, n) => {
    const old = parent.childNodes[n];
    if (!old) parent.append(child);
    else if (!old.isEqualNode(child)) {
      if (deeper && old.cloneNode().isEqualNode(child.cloneNode())) sync(old, [...child.childNodes]);
      else old.replaceWith(child);
    }
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
}

/** Scrolled with the keyboard where it is wider or taller than its place. */
const scrollers = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scroller = target.closest('.scroll');
    if (!scroller) continue;
    const scrolls = scroller.scrollWidth > scroller.clientWidth || scroller.scrollHeight > scroller.clientHeight;
    attribute(scroller, 'tabindex', scrolls ? 0 : null);
    attribute(scroller, 'role', scrolls ? 'region' : null);
    attribute(scroller, 'aria-label', scrolls ? scroller.dataset.name : null);
  }
});

/** A place for something that may be larger than it. */
export function scroller(label, kind, ...content) {
  const element = h('div', { class: `scroll ${kind}`, 'data-name': label }, ...content);
  scrollers.observe(element);
  for (const child of element.children) scrollers.observe(child);
  return element;
}

/**
 * A table with a caption, a row of headings and rows of cells. A column is a heading, or an object with `heading` and `number`.
 * A row is a list of cells; a cell is a text, an element or a list of these. Without rows nothing is known yet.
 */
export function table(caption, columns, rows, empty = 'None.') {
  const column = columns.map((one) => (typeof one === 'string' ? { heading: one } : one));
  const kind = (n) => (column[n]?.number ? 'number' : undefined);
  const body = h('tbody', {}, h('tr', {}, h('td', { colspan: column.length, class: 'none' }, '…')));
  const element = scroller(caption, '',
    h('table', { role: 'table', class: column.length > 3 ? 'cards' : null }, h('caption', {}, caption),
      h('thead', { role: 'rowgroup' }, h('tr', { role: 'row' },
        column.map((one, n) => h('th', { scope: 'col', role: 'columnheader', class: kind(n) }, one.heading)))), body));
  const show = (cells, none = empty) => {
    // On a phone each row is a card, whose cells have their headings beside them.
    const made = (cell, n) => {
      const attributes = { class: kind(n), 'data-label': column[n].heading, role: n === 0 ? 'rowheader' : 'cell' };
      return n === 0 ? h('th', { scope: 'row', ...attributes }, cell) : h('td', attributes, cell);
    };
    const shown = cells.map((row) => h('tr', { role: 'row' }, row.map(made)));
    sync(body, shown.length ? shown : [h('tr', {}, h('td', { colspan: column.length, class: 'none' }, none))], true);
  };
  if (rows) show(rows);
  return { element, show, body };
}

/** A card with a figure, and what is to say of it. With `href` it is a link. */
export function tile(title, href) {
  const value = h('b', { class: 'value' }, '–');
  const note = h('span', { class: 'note' });
  const content = [h('span', { class: 'title' }, title), value, note];
  const element = href ? h('a', { class: 'card tile', href }, content) : h('div', { class: 'card tile' }, content);
  return {
    element,
    show(shown, more = '', kind = '') {
      text(value, shown);
      text(note, more);
      element.dataset.kind = kind;
    },
  };
}

/** A state: a shape, a colour and a word. `kind` is `good`, `bad`, `warn` or `unknown`. */
export function state(kind, word) {
  return h('span', { class: `state ${kind}` }, word);
}

/** A link to another page of the console. */
export function link(page, query, ...children) {
  const parameters = new URLSearchParams(query ?? {}).toString();
  return h('a', { href: `#/${page}${parameters ? `?${parameters}` : ''}` }, ...children);
}

/** A text of the API, whose parts between backticks are commands. */
export const prose = (words) => words.split('`').map((part, n) => (n % 2 ? h('code', {}, part) : part));

/** What went wrong, with the words of the API. */
export function problem(error) {
  const title = error?.title ? `${error.title}${error.status ? ` (${error.status})` : ''}` : 'Error';
  return h('div', { class: 'problem', role: 'alert' }, h('b', {}, title), ' ', error?.detail ?? error?.message ?? String(error));
}
