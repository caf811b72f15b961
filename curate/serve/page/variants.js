import {fold} from './text.js';

// Variants are labels whose names differ only in case, accents, white space or number, such as
// "church", "Churches" and "church(s)". They share a row, which shows all their names. A command on
// the row applies to all of them.

// stem is the form that the variants of a name share.
export function stem(name) {
  const plain = fold(name).replace(/\((e?s)\)/g, '').replace(/\s+/g, ' ').trim();
  if (/[^aeiou]ies$/.test(plain) && plain.length > 4) return `${plain.slice(0, -3)}y`;
  if (/(ch|sh|x|ss|z)es$/.test(plain)) return plain.slice(0, -2);
  return /[^su i]s$/.test(plain) && plain.length > 3 ? plain.slice(0, -1) : plain;
}

// The words after which the name of a kind goes on about its place or purpose: "church in Norway".
const after = new Set('of in on for with at by from to near and or de du des der la le'.split(' '));

// headWord is the word that says what a name means, folded and without its plural: the last one before a
// preposition, a comma or a parenthesis. With n words it begins with those before it.
export function headWord(name, n = 1) {
  const words = fold(name).split(/[,(/]/)[0].split(/\s+/).filter(Boolean), end = words.findIndex((w, k) => k > 0 && after.has(w));
  return stem((end < 0 ? words : words.slice(0, end)).slice(-n).join(' ') || fold(name));
}

// Rows are the rows of a screen. The label with the most landmarks stands for the others of its row.
export class Rows {
  constructor() { Object.assign(this, {of: new Map(), first: new Map()}); }

  // gather returns the label that stands for each row, in the order of the rows' first labels. Labels with
  // different results of same() never share a row. landmarks says how often a label is used.
  gather(tags, stems, same, landmarks) {
    const rows = new Map();
    for (const i of tags) {
      const key = `${stems(i)}\u0000${same(i)}`;
      if (rows.has(key)) rows.get(key).push(i); else rows.set(key, [i]);
    }
    return [...rows.values()].map((row) => {
      if (row.length === 1) return row[0];
      row.sort((x, y) => landmarks(y) - landmarks(x));
      return this.put(row);
    });
  }

  // put makes a row of labels, for which the first one stands.
  put(row) {
    this.of.set(row[0], row);
    for (const i of row.slice(1)) this.first.set(i, row[0]);
    return row[0];
  }

  // labels lists the labels of the row that a label stands for.
  labels(i) { return this.of.get(i) || [i]; }

  // standing is the label that stands for a label's row.
  standing(i) { return this.first.get(i) ?? i; }
}
