// Functions of text that know nothing of the page.

// fold is a text without case and accents, to compare it with others.
export const fold = (s) => (/^[ -~]*$/.test(s) ? s : s.normalize('NFD').replace(/\p{M}/gu, '')).toLowerCase();

// fuzzy scores how well a folded name matches what was typed; 0 is no match. The whole name
// scores highest, then its beginning, the beginning of a word, any other part, and its letters
// in order with gaps.
export function fuzzy(typed, name) {
  if (!typed) return 1;
  const at = name.indexOf(typed);
  if (name === typed) return 1000;
  if (at === 0) return 900 - name.length;
  if (at > 0 && /[\s(-]/.test(name[at - 1])) return 700 - name.length;
  if (at > 0) return 500 - name.length;
  let k = 0, gaps = 0;
  for (let i = 0; i < name.length && k < typed.length; i++) {
    if (name[i] === typed[k]) k++; else if (k) gaps++;
  }
  return k === typed.length ? Math.max(1, 300 - 4 * gaps - name.length) : 0;
}
