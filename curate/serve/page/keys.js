// Names of keys, whatever the layout of the keyboard.

// repeatable are the keys that act again while they are held down: they only move. A key that edits
// acts once for each press.
export const repeatable = new Set(['l', 'h', 'L', 'H', 'ArrowRight', 'ArrowLeft', 'ArrowDown', 'ArrowUp', 'PageDown', 'PageUp', 'j', 'k', '[', ']']);

// keyName is the name of the pressed key, with "ctrl+" for the control key and for ⌘; '' while an
// input method composes a text, and with the Alt key, except for the brackets that it enters. A
// letter key of another script has the name of the Latin letter at its place, and Caps Lock changes
// no letter.
export function keyName(e) {
  if (e.isComposing || (e.altKey && !['[', ']', '{', '}'].includes(e.key))) return '';
  const place = /^Key([A-Z])$/.exec(e.code || ''), foreign = /^\p{L}$/u.test(e.key) && e.key > '\u007f';
  const letter = foreign && place ? place[1] : /^[a-zA-Z]$/.test(e.key) ? e.key : '';
  if (e.ctrlKey || e.metaKey) return letter ? `ctrl+${e.shiftKey ? 'shift+' : ''}${letter.toLowerCase()}` : '';
  if (!letter) return e.key;
  const lower = foreign || e.getModifierState('CapsLock') ? !e.shiftKey : letter !== letter.toUpperCase();
  return lower ? letter.toLowerCase() : letter.toUpperCase();
}
