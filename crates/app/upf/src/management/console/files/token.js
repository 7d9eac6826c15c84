// The token of `upf.management.token_file`: asked for once, and held until the tab is closed.

import { h } from './dom.js';

const KEY = 'causeway-token';

let asking;
let declined = false;

/** The token, if one is held. */
export const token = () => sessionStorage.getItem(KEY);

export function forgetToken() {
  sessionStorage.removeItem(KEY);
  declined = false;
}

/** Whether the operator has closed the question without a token. */
export const isDeclined = () => declined;

/** Lets the question be asked again. */
export function askAgain() {
  declined = false;
}

/**
 * Asks for a token, since `refused` was not accepted. `true`: there is another one to try. Only one question is open at a time.
 */
export async function askToken(refused) {
  if (token() !== refused) return true;
  if (declined) return false;
  asking ??= question(refused).finally(() => {
    asking = undefined;
  });
  const given = await asking;
  if (given) sessionStorage.setItem(KEY, given);
  else declined = true;
  return Boolean(given);
}

function question(refused) {
  return new Promise((resolve) => {
    const input = h('input', {
      id: 'token', type: 'password', autocomplete: 'off', spellcheck: 'false', required: true, minlength: 16, maxlength: 1024,
      'aria-describedby': 'token-note',
    });
    const dialog = h('dialog', { 'aria-labelledby': 'token-title' },
      h('form', {
        submit: (event) => {
          event.preventDefault();
          dialog.close(input.value.trim());
        },
      },
      h('h2', { id: 'token-title' }, 'Token of the management API'),
      refused && h('p', { class: 'problem', role: 'alert' }, 'The UPF does not accept this token.'),
      h('label', { for: 'token' }, 'Token'), input,
      h('p', { class: 'note', id: 'token-note' },
        'It is the content of the file that upf.management.token_file names. This tab keeps it until it is closed.'),
      h('p', { class: 'buttons' },
        h('button', { type: 'submit', class: 'primary' }, 'Continue'),
        h('button', { type: 'button', click: () => dialog.close('') }, 'Cancel'))));
    dialog.addEventListener('close', () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    // Escape leaves no value.
    dialog.addEventListener('cancel', () => {
      dialog.returnValue = '';
    });
    document.body.append(dialog);
    dialog.showModal();
    input.focus();
  });
}
