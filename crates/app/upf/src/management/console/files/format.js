// Numbers, times and names as text.

const LARGE = ['', 'k', 'M', 'G', 'T', 'P', 'E'];

function digits(value) {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 100) return value.toFixed(0);
  if (size >= 10) return value.toFixed(1);
  return value.toFixed(2);
}

/** A value with an SI prefix and a unit. */
export function si(value, unit = '') {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  let prefix = 0;
  let scaled = value;
  while (Math.abs(scaled) >= 999.5 && prefix < LARGE.length - 1) {
    scaled /= 1000;
    prefix += 1;
  }
  const number = prefix === 0 && Number.isInteger(scaled) ? String(scaled) : digits(scaled);
  return `${number}${unit || prefix ? '\u202f' : ''}${LARGE[prefix]}${unit}`;
}

/** A number without zeros at its end. */
export const trim = (shown) => shown.replace(/(\.\d*?)0+(?!\d)/, '$1').replace(/\.(?!\d)/, '');

/** A number of things, of which one is named without `s`. */
export const things = (number, name) => `${count(number)} ${name}${number === 1 ? '' : 's'}`;

export const bitrate = (value) => si(value, 'bit/s');
export const rate = (value) => si(value, '/s');
export const octets = (value) => si(value, 'B');

/** An integer with groups of three digits. */
export function count(value) {
  if (value === null || value === undefined) return '–';
  return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** A share as percent. */
export function percent(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value > 0 && value < 1e-4) return '< 0.01\u202f%';
  return `${digits(value * 100)}\u202f%`;
}

/** A duration of a moment, in seconds. */
export function moment(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return '–';
  if (value === 0) return '0\u202fs';
  if (value < 1e-3) return `${digits(value * 1e6)}\u202fµs`;
  if (value < 1) return `${digits(value * 1e3)}\u202fms`;
  return `${digits(value)}\u202fs`;
}

/** A long duration, in seconds. */
export function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const [d, hours, m, rest] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24, Math.floor(whole / 60) % 60, whole % 60];
  if (d) return `${d}\u202fd ${hours}\u202fh`;
  if (hours) return `${hours}\u202fh ${m}\u202fmin`;
  if (m) return `${m}\u202fmin ${rest}\u202fs`;
  return `${rest}\u202fs`;
}

const two = (value) => String(value).padStart(2, '0');

/** The time of day of seconds since the Unix epoch. */
export function clock(epoch, decimals = 0) {
  const time = new Date(epoch * 1000);
  const part = decimals ? `.${String(time.getMilliseconds()).padStart(3, '0').slice(0, decimals)}` : '';
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}${part}`;
}

/** Date and time of day of seconds since the Unix epoch. */
export function date(epoch) {
  const time = new Date(epoch * 1000);
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${clock(epoch)}`;
}

/** A bit rate in kbit/s, as QERs have it. */
export const kbps = (value) => trim(bitrate(value * 1000));

/** A text of at most so many characters. */
export function short(value, most) {
  const whole = String(value);
  return whole.length > most ? `${whole.slice(0, most - 1)}…` : whole;
}

/** A name of the API as words: `buffer_and_notify` is "buffer and notify". */
export const words = (name) => String(name).replaceAll('_', ' ');

/** What a QER says of a rate. */
export const verdict = (name) => ({ within_gbr: 'within GBR', within_mbr: 'within MBR', above_mbr: 'above MBR' })[name] ?? words(name);

/** The interfaces of rules by their names in 3GPP. */
export function interfaceName(name) {
  const names = {
    access: 'Access', core: 'Core', 'n6-lan': 'SGi-LAN/N6-LAN', 'cp-function': 'CP-function', '5g-vn-internal': '5G VN Internal',
    'lawful-intercept': 'LI function',
  };
  return names[name] ?? name;
}
