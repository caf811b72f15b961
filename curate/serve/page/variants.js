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

// Rows are the rows of a screen. The first label of a row stands for its variants.
export class Rows {
  constructor() { Object.assign(this, {of: new Map(), first: new Map()}); }

  // gather returns the first label of each row, in order. Labels with different results of same()
  // never share a row.
  gather(tags, stems, same) {
    const known = new Map();
    return tags.filter((i) => {
      const key = `${stems(i)}\u0000${same(i)}`, first = known.get(key);
      if (first === undefined) { known.set(key, i); return true; }
      if (!this.of.has(first)) this.of.set(first, [first]);
      this.of.get(first).push(i);
      this.first.set(i, first);
      return false;
    });
  }

  // labels lists the labels of the row that a label stands for.
  labels(i) { return this.of.get(i) || [i]; }

  // standing is the first label of a label's row.
  standing(i) { return this.first.get(i) ?? i; }
}
