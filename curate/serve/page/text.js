// Functions of text that know nothing of the page.

// fold is a text without case and accents, to compare it with others.
export const fold = (s) => (/^[ -~]*$/.test(s) ? s : s.normalize('NFD').replace(/\p{M}/gu, '')).toLowerCase();

const loose = 300; // the best score of letters with gaps

// best lists the items with a score, the best first, and of equal ones the earlier. If one contains
// what was typed as it stands, those that only have its letters with gaps are left out.
export function best(items, score) {
  const scored = items.map((item, i) => [score(item, i), i, item]).filter((x) => x[0] > 0).sort((a, b) => b[0] - a[0] || a[1] - b[1]);
  return scored.filter((x) => x[0] > loose || scored[0][0] <= loose).map((x) => x[2]);
}

// fuzzy scores how well a folded name matches what was typed; 0 is no match. The whole name
// scores highest, then its beginning, the beginning of a word, any other part, and its letters
// in order with gaps, of which the first begins a word.
export function fuzzy(typed, name) {
  if (!typed) return 1;
  const at = name.indexOf(typed);
  if (name === typed) return 1000;
  if (at === 0) return 900 - name.length;
  if (at > 0 && /[\s(-]/.test(name[at - 1])) return 700 - name.length;
  if (at > 0) return 500 - name.length;
  let k = 0, gaps = 0;
  for (let i = 0; i < name.length && k < typed.length; i++) {
    if (name[i] === typed[k] && (k || i === 0 || /[\s(-]/.test(name[i - 1]))) k++; else if (k) gaps++;
  }
  return k === typed.length ? Math.max(1, loose - 4 * gaps - name.length) : 0;
}

// sum adds numbers.
export const sum = (list) => list.reduce((all, x) => all + x, 0);
