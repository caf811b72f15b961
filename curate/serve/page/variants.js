import {fold} from './model.js';

// Variants are labels whose names differ only in case, accents, white space or number:
// "church", "Churches", "church(s)". They stand in one row, which shows all their names,
// and whatever is done to the row is done to each.

// stem is what the variants of a name have in common.
export function stem(name) {
  const plain = fold(name).replace(/\((e?s)\)/g, '').replace(/\s+/g, ' ').trim();
  if (/[^aeiou]ies$/.test(plain) && plain.length > 4) return `${plain.slice(0, -3)}y`;
  if (/(ch|sh|x|ss|z)es$/.test(plain)) return plain.slice(0, -2);
  return /[^su i]s$/.test(plain) && plain.length > 3 ? plain.slice(0, -1) : plain;
}

// Rows are the labels of a screen, with variants in one row: the first of them stands for
// the others.
export class Rows {
  constructor() { Object.assign(this, {of: new Map(), first: new Map()}); }

  // gather takes labels in order and returns those that stand for a row. Those that same()
  // tells apart are never in one.
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

  // labels lists what is in the row that a label stands for.
  labels(i) { return this.of.get(i) || [i]; }

  // standing is the label that stands for the row of a label.
  standing(i) { return this.first.get(i) ?? i; }
}
