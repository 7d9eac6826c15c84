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

/**
 * A table with a caption, a row of headings and rows of cells. A column is a heading, or an object with `heading` and `number`.
 * A row is a list of cells; a cell is a text, an element or a list of these.
 */
export function table(caption, columns, rows, empty = 'None.') {
  const column = columns.map((one) => (typeof one === 'string' ? { heading: one } : one));
  const kind = (n) => (column[n]?.number ? 'number' : undefined);
  const body = h('tbody');
  const element = h('div', { class: 'scroll', role: 'region', 'aria-label': caption, tabindex: 0 },
    h('table', {}, h('caption', {}, caption),
      h('thead', {}, h('tr', {}, column.map((one, n) => h('th', { scope: 'col', class: kind(n) }, one.heading)))), body));
  const show = (cells) => {
    const shown = cells.map((row) => h('tr', {}, row.map((cell, n) => (
      n === 0 ? h('th', { scope: 'row', class: kind(n) }, cell) : h('td', { class: kind(n) }, cell)))));
    body.replaceChildren(...(shown.length ? shown : [h('tr', {}, h('td', { colspan: column.length, class: 'none' }, empty))]));
  };
  show(rows);
  return { element, show, body };
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

/** What went wrong, with the words of the API. */
export function problem(error) {
  const title = error?.title ? `${error.title}${error.status ? ` (${error.status})` : ''}` : 'Error';
  return h('div', { class: 'problem', role: 'alert' }, h('b', {}, title), ' ', error?.detail ?? error?.message ?? String(error));
}
