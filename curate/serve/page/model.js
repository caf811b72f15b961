import {stem} from './variants.js';

// The page's copy of the session. What the server sends is the truth; edits of
// single labels are shown before the server has answered, and made again on top of
// what it sends until it has. Counts, members and names are kept as labels and
// groups change, so that an edit costs what it changes, however many labels there
// are.

export const DECIDED = 1, DROPPED = 2, FLAGGED = 4, OUTLIER = 8, PROPOSED = 16;

// stateOf says how a label stands, in a word.
export const stateOf = (status) => (status & DROPPED ? 'dropped' : status & DECIDED ? 'decided' : status & PROPOSED ? 'proposed' : 'open');

const nowhere = -2; // parent of a label before its place is known

// Bucket is what stands in one group, or what is dropped.
class Bucket {
  constructor() { Object.assign(this, {tags: new Set(), open: 0, proposed: 0, landmarks: 0, images: 0, list: null, order: undefined}); }

  get size() { return this.tags.size; }

  // listed are the labels in an order that has a name, made when they are looked at.
  listed(before, order) {
    if (!this.list || this.order !== order) Object.assign(this, {list: [...this.tags].sort(before), order});
    return this.list;
  }
}

export class Model {
  load(s) {
    Object.assign(this, {draft: s.draft, by: s.by, log: s.log, queue: s.queue, levels: s.levels, kinds: s.kinds,
      names: s.names || [], items: s.items || [], landmarks: s.landmarks || [], images: s.images || [], has: s.has});
    const n = this.names.length;
    this.n = n;
    this.parent = new Int32Array(n).fill(nowhere);
    this.status = new Uint8Array(n);
    this.distance = new Float32Array(n);
    this.remarks = new Map();
    this.groups = s.levels.map(() => []);
    this.byName = s.levels.map(() => new Map());
    this.of = [];
    this.dropped = new Bucket();
    this.flagged = new Set();
    this.proposed = 0;
    this.shape = (this.shape || 0) + 1; // changes with the groups that there are
    this.inUse = {groups: 0, decided: 0};
    this.done = {labels: 0, landmarks: 0, images: 0};
    this.total = this.touched(this.names.keys());
    this.withImages = this.total.images > 0;
    this.folded = this.found = this.index = null;
    this.stems = [];
    this.margins ??= null; // how surely each label belongs to its group; it comes later
    this.version = -1;
    this.apply(s);
  }

  // apply takes what the server says has changed.
  apply(v) {
    const t = v.tags;
    (t.at || []).forEach((i, k) => {
      this.distance[i] = t.distance[k];
      this.put(i, t.parent[k], t.status[k]);
      if (t.remarks[i]) this.remarks.set(i, t.remarks[i]); else this.remarks.delete(i);
    });
    for (let l = 1; l < this.levels.length; l++) {
      for (const g of this.groups[l].splice(v.sizes[l])) this.forget(g);
    }
    for (const g of v.groups) this.setGroup(g);
    this.version = v.version;
    this.undo = v.undo;
    this.redo = v.redo;
  }

  forget(g) {
    if (this.byName[g.level].get(g.name) === g.at) this.byName[g.level].delete(g.name);
    this.shape++;
  }

  setGroup(g) {
    const was = this.groups[g.level][g.at];
    this.groups[g.level][g.at] = g;
    if (was && ['name', 'parent', 'gone', 'declared', 'flagged'].every((k) => was[k] === g[k])) return;
    if (was) this.forget(was);
    this.shape++;
    if (!g.gone) this.byName[g.level].set(g.name, g.at);
  }

  // put says where a label is and how it stands.
  put(i, parent, status) {
    if (this.parent[i] !== nowhere) this.tally(i, -1);
    this.parent[i] = parent;
    this.status[i] = status;
    this.tally(i, 1);
  }

  // tally adds a label to what is counted, or takes it out.
  tally(i, sign) {
    const b = this.bucket(this.parent[i]), decided = this.status[i] & DECIDED;
    const before = b.size;
    this.count(b, -1);
    if (sign > 0) b.tags.add(i); else b.tags.delete(i);
    b.list = null;
    b.landmarks += sign * this.landmarks[i];
    b.images += sign * this.images[i];
    if (!decided) b.open += sign;
    if (this.status[i] & PROPOSED) { b.proposed += sign; this.proposed += sign; }
    this.count(b, 1);
    if (!before !== !b.size) this.shape++;
    if (decided) {
      this.done.labels += sign;
      this.done.landmarks += sign * this.landmarks[i];
      this.done.images += sign * this.images[i];
    }
    if (this.status[i] & FLAGGED) { if (sign > 0) this.flagged.add(i); else this.flagged.delete(i); }
  }

  // count adds a group to those in use, or takes it out.
  count(b, sign) {
    if (b === this.dropped || !b.size) return;
    this.inUse.groups += sign;
    if (!b.open) this.inUse.decided += sign;
  }

  // bucket is what stands in a group; −1 is what is dropped.
  bucket(g) { return g < 0 ? this.dropped : (this.of[g] ??= new Bucket()); }

  ref(i) { return this.items[i] ? {name: this.names[i], qid: this.items[i]} : {name: this.names[i]}; }

  // standing is where a label is: its group, −1 for none, −2 if it is dropped.
  standing(i) { return this.status[i] & DROPPED ? -2 : this.parent[i]; }

  // stem is what a label has in common with the variants of its name.
  stem(i) { return (this.stems[i] ??= stem(this.names[i])); }

  // tagOf finds a label by its name and item: an edit that was kept in the browser's
  // storage knows no other.
  tagOf(ref) {
    if (!this.index) this.index = new Map(this.names.map((name, i) => [name + '\u0000' + this.items[i], i]));
    return this.index.get(ref.name + '\u0000' + (ref.qid || ''));
  }

  groupNamed(name, level = 1) { return this.byName[level]?.get(name) ?? -1; }
  live(level = 1) { return (this.groups[level] || []).filter((g) => g && !g.gone); }
  // placeOf is where the server has a group, −1 for one that it has not made yet.
  placeOf(name) { const at = this.groupNamed(name); return at >= 0 && this.groups[1][at].shown ? -1 : at; }

  // above lists what a group belongs to: its kind, and what that belongs to.
  above(g) {
    const list = [];
    for (let k = g; k && k.parent >= 0; list.push(k)) k = this.groups[k.level + 1][k.parent];
    return list;
  }

  // show makes an edit of labels visible at once. Other edits wait for the server.
  show(e, tags = e.from && e.from.map((r) => this.tagOf(r))) {
    if (!['accept', 'move', 'drop', 'flag', 'note'].includes(e.op) || (e.level || 0) > 0) return;
    let to = -1;
    if (e.op === 'accept' || e.op === 'move') {
      to = this.groupNamed(e.to);
      if (to < 0) {
        to = this.groups[1].length;
        this.setGroup({level: 1, at: to, name: e.to, parent: -1, declared: true, shown: true});
      }
    }
    for (const i of tags) {
      if (i === undefined) continue;
      const [reason, flag, note] = this.remarks.get(i) || ['', '', ''];
      const status = this.status[i];
      if (e.op === 'flag') {
        this.put(i, this.parent[i], status | FLAGGED);
        this.remarks.set(i, [reason, e.note || '', note]);
      } else if (e.op === 'note') {
        this.remarks.set(i, [reason, flag, e.note || '']);
      } else if (e.op === 'drop') {
        this.put(i, to, (status & ~(OUTLIER | PROPOSED)) | DECIDED | DROPPED);
        this.remarks.set(i, [e.note || '', flag, note]);
      } else {
        this.put(i, to, (this.parent[i] === to ? status : status & ~OUTLIER) & ~(DROPPED | PROPOSED) | DECIDED);
      }
    }
  }

  // members of a group, outliers last: with surest those that belong to it most surely
  // first, otherwise those nearest to its centroid.
  members(g, surest = !!this.margins) {
    const before = surest ? (x, y) => this.margins[y] - this.margins[x] : (x, y) => this.distance[x] - this.distance[y];
    return this.bucket(g).listed((x, y) => (this.status[x] & OUTLIER) - (this.status[y] & OUTLIER) || before(x, y) || x - y, surest);
  }

  droppedTags() { return this.dropped.listed((x, y) => x - y); }

  // find lists labels that hold all words, accents and case aside. What holds more
  // letters is looked for among what held fewer.
  find(text) {
    const query = fold(text).trimStart();
    const words = query.split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    if (!this.folded) this.folded = this.names.map(fold);
    if (this.found?.query !== query) {
      const among = this.found && query.startsWith(this.found.query) ? this.found.tags : [...this.names.keys()];
      this.found = {query, tags: among.filter((i) => words.every((w) => this.folded[i].includes(w)))};
    }
    return this.found.tags;
  }

  touched(tags) {
    let labels = 0, landmarks = 0, images = 0;
    for (const i of tags) { labels++; landmarks += this.landmarks[i]; images += this.images[i]; }
    return {labels, landmarks, images};
  }
}

export const fold = (s) => (/^[ -~]*$/.test(s) ? s : s.normalize('NFD').replace(/\p{M}/gu, '')).toLowerCase();

// fuzzy scores how well a name answers what was typed; 0 is not at all. The whole
// beats a beginning, that beats the beginning of a word, and that letters in order.
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
