// Lines over time. A pointer or the arrow keys read the values of a moment.

import { h, s, sync, text } from './dom.js';
import { clock, trim } from './format.js';

const LEFT = 68;
const RIGHT = 10;
const TOP = 8;
const BOTTOM = 22;

/** The end of an axis and the distance of its lines, for values up to `most`. */
function scale(most) {
  if (!(most > 0)) return [1, 0.5];
  const rough = most / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough * 0.999) ?? 10 * power;
  return [Math.ceil((most / step) * 0.999) * step, step];
}

/**
 * A chart. `format` writes a value; `floor` is the least end of the axis; `height` is in px;
 * `empty` is shown where there is no line.
 *
 * Its `draw` takes `{ label, points, colour, dashed }` for each line, the end of the time axis and its length in seconds. Points are
 * `[time, value]`; a value of `null` interrupts the line.
 */
export function chart(title, { format, floor = 0, height = 150, empty = 'No values.' } = {}) {
  const legend = h('ul', { class: 'legend' });
  const when = h('span', { class: 'when' });
  const drawing = s('svg', { class: 'plot', height, role: 'img', tabindex: 0 });
  const element = h('figure', { class: 'card chart' },
    h('figcaption', {}, h('span', { class: 'title' }, title), when), drawing, legend);
  const grid = s('g', { class: 'grid' });
  const lines = s('g', { class: 'lines' });
  const cursor = s('line', { class: 'cursor', y1: TOP, y2: height - BOTTOM, visibility: 'hidden' });
  drawing.append(grid, lines, cursor);
  let width = 0;
  let last = null;
  let at = null;

  const place = (time) => LEFT + ((time - (last.end - last.span)) / last.span) * (width - LEFT - RIGHT);

  function redraw() {
    if (!last || width < LEFT + RIGHT + 20) return;
    const { series, end, span } = last;
    const from = end - span;
    const visible = series.map((one) => ({ ...one, points: one.points.filter(([time]) => time >= from - 10) }));
    const most = Math.max(floor, ...visible.flatMap(({ points }) => points.map(([, value]) => value ?? 0)));
    const [top, step] = scale(most);
    const level = (value) => TOP + (1 - value / top) * (height - TOP - BOTTOM);
    const marks = [];
    for (let value = 0; value <= top * 1.001; value += step) {
      const y = Math.round(level(value)) + 0.5;
      marks.push(s('line', { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: value === 0 ? 'axis' : null }),
        s('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, trim(format(value))));
    }
    const interval = [15, 30, 60, 120, 300].find((candidate) => span / candidate <= Math.max(2, (width - LEFT) / 90)) ?? 600;
    for (let time = Math.ceil(from / interval) * interval; time <= end; time += interval) {
      const x = place(time);
      if (x < LEFT + 18 || x > width - RIGHT - 14) continue;
      marks.push(s('text', { x, y: height - 6, 'text-anchor': 'middle' }, interval < 60 ? clock(time) : clock(time).slice(0, 5)));
    }
    grid.replaceChildren(...marks);
    lines.replaceChildren(...visible.map(({ points, colour, dashed }) => {
      let path = '';
      let isOpen = false;
      for (const [time, value] of points) {
        if (value === null) isOpen = false;
        else {
          path += `${isOpen ? 'L' : 'M'}${Math.max(LEFT, place(time)).toFixed(1)} ${level(value).toFixed(1)}`;
          isOpen = true;
        }
      }
      return s('path', { d: path || 'M0 0', class: `line c${colour % 8}${dashed ? ' dashed' : ''}` });
    }));
    read();
  }

  /** The values now, or at the cursor. */
  function read() {
    const { series, end, span } = last;
    const values = series.map(({ points }) => {
      if (at === null) return points.at(-1)?.[1] ?? null;
      return points.reduce((best, point) => (!best || Math.abs(point[0] - at) < Math.abs(best[0] - at) ? point : best), null)?.[1] ?? null;
    });
    if (!series.length) sync(legend, [h('li', {}, empty)]);
    else if (legend.children.length !== series.length || series.some(({ label }, n) => legend.children[n].dataset.label !== label)) {
      legend.replaceChildren(...series.map(({ label, colour, dashed }) => h('li', { 'data-label': label },
        s('svg', { class: 'key', viewBox: '0 0 18 8', 'aria-hidden': 'true' },
          s('path', { d: 'M0 4h18', class: `line c${colour % 8}${dashed ? ' dashed' : ''}` })), h('span', {}, label), ' ', h('b', {}))));
    }
    values.forEach((value, n) => text(legend.children[n].querySelector('b'), format(value)));
    text(when, at === null ? '' : clock(at));
    const shown = at !== null && at >= end - span;
    cursor.setAttribute('visibility', shown ? 'visible' : 'hidden');
    if (shown) {
      cursor.setAttribute('x1', place(at));
      cursor.setAttribute('x2', place(at));
    }
    const spoken = series.map(({ label }, n) => `${label} ${format(values[n])}`).join(', ') || 'no values';
    drawing.setAttribute('aria-label', `${title}, ${at === null ? 'now' : `at ${clock(at)}`}: ${spoken}. Arrow keys read earlier values.`);
  }

  function look(time) {
    if (!last) return;
    at = time === null ? null : Math.min(last.end, Math.max(last.end - last.span, time));
    read();
  }

  drawing.addEventListener('pointermove', (event) => {
    if (!last) return;
    const x = event.clientX - drawing.getBoundingClientRect().left;
    look(last.end - last.span + ((x - LEFT) / (width - LEFT - RIGHT)) * last.span);
  });
  drawing.addEventListener('pointerleave', () => look(null));
  drawing.addEventListener('blur', () => look(null));
  drawing.addEventListener('keydown', (event) => {
    if (!last) return;
    const step = last.span / 60;
    if (event.key === 'ArrowLeft') look((at ?? last.end) - step);
    else if (event.key === 'ArrowRight') look((at ?? last.end) + step);
    else if (event.key === 'Escape') look(null);
    else return;
    event.preventDefault();
  });
  new ResizeObserver(() => {
    width = drawing.clientWidth || drawing.getBoundingClientRect().width;
    redraw();
  }).observe(drawing);

  return {
    element,
    draw(series, end, span) {
      last = { series, end, span };
      redraw();
    },
  };
}
