// Boxes with lines of text, and curves between them, as SVG.

import { s } from './dom.js';
import { short } from './format.js';

export const LINE = 17;
const PAD = 10;

/** The height of a box with so many lines below its title. */
export const height = (lines) => PAD * 2 + 14 + lines * LINE - 2;

/**
 * A box at a place. With `href` it is a link. Lines are texts, or `{ text, class }`; those that are too long for the width are cut,
 * and whole in the tooltip.
 */
export function box({ x, y, width, title, lines = [], kind = '', href, label, dot }) {
  const fits = Math.floor((width - 2 * PAD) / 6.7);
  const all = lines.map((line) => (typeof line === 'string' ? { text: line } : line));
  const whole = [title, ...all.map((line) => line.text)].join('\n');
  const content = [
    s('title', {}, whole),
    s('rect', { x, y, width, height: height(all.length), rx: 6 }),
    s('text', { x: x + PAD, y: y + PAD + 11, class: 'head' }, short(title, fits)),
    dot && s('circle', { cx: x + width - PAD - 4, cy: y + PAD + 7, r: 5, class: `dot ${dot}` }),
    all.map((line, n) => s('text', { x: x + PAD, y: y + PAD + 13 + (n + 1) * LINE, class: line.class }, short(line.text, fits))),
  ];
  if (href) return s('a', { href, class: `box ${kind}`, 'aria-label': label ?? whole.replaceAll('\n', ', ') }, content);
  return s('g', { class: `box ${kind}` }, content);
}

/** A curve from a point to another one. */
export function edge(from, to, kind = '') {
  const bend = Math.max(24, Math.abs(to[0] - from[0]) / 2);
  return s('path', { class: `edge ${kind}`, d: `M${from[0]} ${from[1]}C${from[0] + bend} ${from[1]} ${to[0] - bend} ${to[1]} ${to[0]} ${to[1]}` });
}

/** A drawing of this size, with a text for those who do not see it. */
export function drawing(width, tall, label, ...content) {
  return s('svg', { class: 'diagram', viewBox: `0 0 ${width} ${tall}`, width, height: tall, role: 'group', 'aria-label': label }, ...content);
}
