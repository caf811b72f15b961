import {fold} from './text.js';
import {headWord, stem} from './variants.js';

// The page's copy of the session. What the server sends is the truth. Edits of labels are shown
// before the server has answered, and applied again on top of what it sends until it has. Counts,
// members and names are updated with each change, so that the cost of an edit depends on what it
// changes, and not on the number of labels.

export const DECIDED = 1, DROPPED = 2, FLAGGED = 4, OUTLIER = 8, PROPOSED = 16;

// stateOf is the state of a label in a word.
export const stateOf = (status) => (status & DROPPED ? 'dropped' : status & DECIDED ? 'decided' : status & PROPOSED ? 'proposed' : 'open');

const collator = new Intl.Collator('en', {numeric: true});

const nowhere = -2; // parent of a label before its group is known

// Bucket holds the labels of one group, or the dropped labels.
class Bucket {
  constructor() { Object.assign(this, {tags: new Set(), open: 0, proposed: 0, landmarks: 0, images: 0, list: null, order: undefined}); }

  get size() { return this.tags.size; }

  // listed returns the labels in an order, which has a name. They are sorted when needed.
  listed(before, order) {
    if (!this.list || this.order !== order) Object.assign(this, {list: [...this.tags].sort(before), order});
    return this.list;
  }
}

export class Model {
  load(s) {
    Object.assign(this, {draft: s.draft, by: s.by, log: s.log, queue: s.queue, levels: s.levels, kinds: s.kinds,
      names: s.names || [], items: s.items || [], landmarks: s.landmarks || [], images: s.images || [], has: s.has});
    this.fresh = new Set(s.new || []);
    const n = this.names.length;
    this.n = n;
    this.parent = new Int32Array(n).fill(nowhere);
    this.status = new Uint8Array(n);
    this.distance = new Float32Array(n);
    this.placed = new Int32Array(n); // the number of the edit that decided or proposed a label, 0 for none
    this.remarks = new Map();
    this.extra = new Map(); // names of the extra groups of the labels that have some
    this.groups = s.levels.map(() => []);
    this.byName = s.levels.map(() => new Map());
    this.of = [];
    this.dropped = new Bucket();
    this.flagged = new Set();
    this.proposed = 0;
    this.shape = (this.shape || 0) + 1; // changes when groups appear, change or go
    this.inUse = {groups: 0, decided: 0};
    this.done = {labels: 0, landmarks: 0, images: 0};
    this.total = this.touched(this.names.keys());
    this.withImages = this.total.images > 0;
    this.folded = this.found = this.index = this.everything = null;
    this.stems = [];
    this.heads = [];
    this.margins ??= null; // how surely each label belongs to its group; requested later
    this.version = -1;
    this.apply(s);
  }

  // apply takes over the changes that the server has sent.
  apply(v) {
    const t = v.tags;
    (t.at || []).forEach((i, k) => {
      this.distance[i] = t.distance[k];
      this.placed[i] = t.placed[k];
      this.put(i, t.parent[k], t.status[k]);
      if (t.remarks[i]) this.remarks.set(i, t.remarks[i]); else this.remarks.delete(i);
      if (t.extra?.[i]) this.extra.set(i, t.extra[i]); else this.extra.delete(i);
    });
    for (let l = 1; l < this.levels.length; l++) {
      for (const g of this.groups[l].splice(v.sizes[l])) this.forget(g);
    }
    for (const g of v.groups) this.setGroup(g);
    this.version = v.version;
    this.undo = v.undo;
    this.last = v.last;
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

  // put sets the group and the status of a label.
  put(i, parent, status) {
    if (this.parent[i] !== nowhere) this.tally(i, -1);
    this.parent[i] = parent;
    this.status[i] = status;
    this.tally(i, 1);
  }

  // tally adds a label to the counts, or removes it.
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

  // count adds a group to the groups in use, or removes it.
  count(b, sign) {
    if (b === this.dropped || !b.size) return;
    this.inUse.groups += sign;
    if (!b.open) this.inUse.decided += sign;
  }

  // flaggedClasses lists the groups and kinds that are flagged.
  flaggedClasses() { return this.groups.flat().filter((g) => g.flagged && !g.gone); }

  // bucket holds the labels of a group; −1 stands for the dropped labels.
  bucket(g) { return g < 0 ? this.dropped : (this.of[g] ??= new Bucket()); }

  ref(i) { return this.items[i] ? {name: this.names[i], qid: this.items[i]} : {name: this.names[i]}; }

  // standing is the group of a label, −1 for none, −2 if it is dropped.
  standing(i) { return this.status[i] & DROPPED ? -2 : this.parent[i]; }

  // stem is the form that a label shares with the variants of its name.
  stem(i) { return (this.stems[i] ??= stem(this.names[i])); }

  // head is the word of a label's name that says what it means.
  head(i) { return (this.heads[i] ??= headWord(this.names[i])); }

  // tagOf finds a label by its name and item, which edits in the browser's storage refer to.
  tagOf(ref) {
    if (!this.index) this.index = new Map(this.names.map((name, i) => [name + '\u0000' + this.items[i], i]));
    return this.index.get(ref.name + '\u0000' + (ref.qid || ''));
  }

  // groupNamed is the number of the class with a name, −1 if there is none.
  groupNamed(name, level = 1) { return this.byName[level]?.get(name) ?? -1; }

  // live lists the classes of a level that exist.
  live(level = 1) { return (this.groups[level] || []).filter((g) => g && !g.gone); }

  // placeOf is the server's number of a group, −1 for one that it does not know yet.
  placeOf(name) { const at = this.groupNamed(name); return at >= 0 && this.groups[1][at].shown ? -1 : at; }

  // above lists the classes above a group, from its kind upwards.
  above(g) {
    const list = [];
    for (let k = g; k && k.parent >= 0; list.push(k)) k = this.groups[k.level + 1][k.parent];
    return list;
  }

  // show applies an edit of labels before the server has answered. Other edits wait for it.
  show(e, tags = e.from && e.from.map((r) => this.tagOf(r))) {
    if (!['accept', 'move', 'drop', 'flag', 'note', 'also'].includes(e.op) || (e.level || 0) > 0) return;
    let to = -1;
    if (e.to && ['accept', 'move', 'also'].includes(e.op)) {
      to = this.groupNamed(e.to);
      if (to < 0) {
        to = this.groups[1].length;
        this.setGroup({level: 1, at: to, name: e.to, parent: -1, declared: true, shown: true});
      }
    }
    for (const i of tags) {
      if (i === undefined) continue;
      const [reason, flag, note, by] = this.remarks.get(i) || ['', '', '', ''];
      const status = this.status[i];
      if (e.op === 'flag') {
        this.put(i, this.parent[i], e.resolved ? status & ~FLAGGED : status | FLAGGED);
        this.remarks.set(i, e.resolved ? [reason, '', note, ''] : [reason, e.note || '', note, this.by]);
      } else if (e.op === 'note') {
        this.remarks.set(i, [reason, flag, e.note || '', by]);
      } else if (e.op === 'also') {
        if (e.to && to !== this.parent[i]) this.extra.set(i, [...new Set([...(this.extra.get(i) || []), e.to])]); else if (!e.to) this.extra.delete(i);
      } else if (e.op === 'drop') {
        this.put(i, to, (status & ~(OUTLIER | PROPOSED)) | DECIDED | DROPPED);
        this.remarks.set(i, [e.note || '', flag, note, by]);
      } else {
        this.put(i, to, (this.parent[i] === to ? status : status & ~OUTLIER) & ~(DROPPED | PROPOSED) | DECIDED);
      }
    }
  }

  // members lists the labels of a group, outliers last. The order is "sure" for those that belong to
  // it most surely first, "near" for those nearest to its centroid, or one of order().
  members(g, order = this.margins ? 'sure' : 'near') {
    const before = {sure: (x, y) => this.margins[y] - this.margins[x], near: (x, y) => this.distance[x] - this.distance[y]}[order] || this.order(order);
    return this.bucket(g).listed((x, y) => (this.status[x] & OUTLIER) - (this.status[y] & OUTLIER) || before(x, y) || x - y, order);
  }

  // order compares labels by their landmarks, most first; by how surely they belong to their groups, least
  // sure first; by the edits that decided them, latest first; by their head words; or by their names.
  order(by) {
    const byName = (x, y) => collator.compare(this.names[x], this.names[y]);
    return {word: (x, y) => collator.compare(this.head(x), this.head(y)) || byName(x, y),
      landmarks: (x, y) => this.landmarks[y] - this.landmarks[x], doubt: (x, y) => this.leadOf(x) - this.leadOf(y),
      latest: (x, y) => this.placed[y] - this.placed[x]}[by] || byName;
  }

  // leadOf says how surely a label belongs to its group.
  leadOf(i) { return this.margins ? this.margins[i] : -this.distance[i]; }

  // namesake is the first of some labels that has the name of a declared group; −1 if none has.
  namesake(tags) {
    const names = new Set(this.live(1).filter((g) => g.declared).map((g) => fold(g.name)));
    return tags.find((i) => names.has(fold(this.names[i]))) ?? -1;
  }

  // namesakes lists the clusters that have the name of a declared group, but for case, accents and number, as
  // [{cluster, group, sure}], those with the most landmarks first. A cluster whose name only begins with that of a group
  // without labels ("church building") is not sure.
  namesakes() {
    const declared = new Map(), list = [];
    for (const g of this.live(1)) if (g.declared && !declared.has(stem(g.name))) declared.set(stem(g.name), g);
    const begun = (name) => [...declared].find(([word, g]) => name.startsWith(`${word} `) && !this.bucket(g.at).size)?.[1];
    for (const cluster of this.live(1)) {
      if (cluster.declared || !this.bucket(cluster.at).size) continue;
      const same = declared.get(stem(cluster.name)), group = same || begun(stem(cluster.name));
      if (group) list.push({cluster, group, sure: !!same});
    }
    return list.sort((x, y) => y.sure - x.sure || this.bucket(y.cluster.at).landmarks - this.bucket(x.cluster.at).landmarks);
  }

  droppedTags() { return this.dropped.listed((x, y) => x - y); }

  // find lists the labels that contain all words, regardless of accents and case. If the text only
  // became longer, it searches the last result.
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

  // decidedOf counts the decided labels among some, dropped ones included.
  decidedOf(tags) { return tags.reduce((n, i) => n + (this.status[i] & DECIDED ? 1 : 0), 0); }

  // touched counts labels and their landmarks and images.
  touched(tags) {
    let labels = 0, landmarks = 0, images = 0;
    for (const i of tags) { labels++; landmarks += this.landmarks[i]; images += this.images[i]; }
    return {labels, landmarks, images};
  }
}
