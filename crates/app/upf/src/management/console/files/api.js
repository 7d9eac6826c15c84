// Calls of the management API. With a token each call carries it, which is why streams are read with fetch, too.

import { askToken, token } from './token.js';

const TIMEOUT = 10_000;

/** A refusal of the API (RFC 9457), or no answer at all. */
export class ApiError extends Error {
  constructor(status, title, detail) {
    super(detail);
    this.status = status;
    this.title = title;
    this.detail = detail;
  }
}

async function refusal(response) {
  try {
    const { title, detail } = await response.json();
    return new ApiError(response.status, title ?? response.statusText, detail ?? '');
  } catch {
    return new ApiError(response.status, response.statusText || 'Error', 'The response has no explanation.');
  }
}

async function call(path, accept, signal) {
  for (;;) {
    const held = token();
    const headers = { accept };
    if (held) headers.authorization = `Bearer ${held}`;
    let response;
    try {
      response = await fetch(path, { headers, signal, cache: 'no-store', redirect: 'error' });
    } catch (error) {
      if (signal?.aborted && signal.reason?.name !== 'TimeoutError') throw error;
      throw new ApiError(0, 'No answer', 'The UPF does not answer at this address.');
    }
    if (response.ok) return response;
    if (response.status !== 401 || !(await askToken(held))) throw await refusal(response);
  }
}

const bounded = (signal) => (signal ? AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)]) : AbortSignal.timeout(TIMEOUT));

/** An object of the API. */
export async function get(path, { query, signal } = {}) {
  const parameters = new URLSearchParams(query ?? {}).toString();
  const target = `/api/v1/${path}${parameters ? `?${parameters}` : ''}`;
  return (await call(target, 'application/json', bounded(signal))).json();
}

/** The metrics as Prometheus text. */
export async function metricsText(signal) {
  return (await call('/metrics', 'text/plain', bounded(signal))).text();
}

/**
 * A file of the API that grows: what has come when it ends, or when `stop` is aborted. `grown` gets its length in octets.
 */
export async function download(path, { query, signal, stop, grown }) {
  const response = await call(`/api/v1/${path}?${new URLSearchParams(query)}`, '*/*', AbortSignal.any([signal, stop]));
  const parts = [];
  let length = 0;
  const reader = response.body.getReader();
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      parts.push(value);
      length += value.length;
      grown(length);
    }
  } catch (error) {
    if (!stop.aborted || signal.aborted) throw error;
  }
  return new Blob(parts, { type: response.headers.get('content-type') ?? 'application/octet-stream' });
}

/**
 * Server-sent events until the stream ends: `opened` once it begins, then `take` with the name and the data of each.
 */
export async function stream(path, { query, signal, opened, take }) {
  const parameters = new URLSearchParams(query ?? {}).toString();
  const response = await call(`/api/v1/${path}${parameters ? `?${parameters}` : ''}`, 'text/event-stream', signal);
  opened?.();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let name = 'message';
  let data = [];
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
      if (line === '') {
        if (data.length) take(name, JSON.parse(data.join('\n')));
        name = 'message';
        data = [];
      } else if (line.startsWith('event:')) name = line.slice(6).trimStart();
      else if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
    }
  }
}

let description;

/** Whether the API has a path. */
export async function hasPath(path) {
  description ??= get('openapi.json').catch((error) => {
    description = undefined;
    throw error;
  });
  return path in (await description).paths;
}
