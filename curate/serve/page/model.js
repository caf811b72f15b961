// The page's copy of the session. What the server sends is the truth; edits of
// single labels are shown before the server has answered, and made again on top of
// what it sends until it has.

export const DECIDED = 1, DROPPED = 2, FLAGGED = 4, OUTLIER = 8;

export class Model {
  load(s) {
    Object.assign(this, {by: s.by, log: s.log, queue: s.queue, levels: s.levels, kinds: s.kinds,
      names: s.names, items: s.items, landmarks: s.landmarks, images: s.images, has: s.has});
    const n = this.names.length;
    this.n = n;
    this.parent = new Int32Array(n);
    this.status = new Uint8Array(n);
    this.distance = new Float32Array(n);
    this.remarks = new Map();
    this.groups = s.levels.map(() => []);
    this.folded = null;
    this.withImages = this.images.some((x) => x > 0);
    this.index = new Map();
    for (let i = 0; i < n; i++) this.index.set(this.names[i] + '\u0000' + this.items[i], i);
    this.version = -1;
    this.apply(s);
  }

  // apply takes what the server says has changed.
  apply(v) {
    const t = v.tags;
    (t.at || []).forEach((i, k) => {
      this.parent[i] = t.parent[k];
      this.status[i] = t.status[k];
      this.distance[i] = t.distance[k];
      if (t.remarks[i]) this.remarks.set(i, t.remarks[i]); else this.remarks.delete(i);
    });
    for (let l = 1; l < this.levels.length; l++) this.groups[l].length = Math.min(this.groups[l].length, v.sizes[l]);
    for (const g of v.groups) this.groups[g.level][g.at] = g;
    this.version = v.version;
    this.undo = v.undo;
    this.redo = v.redo;
    this.buckets = null;
  }

  ref(i) { return this.items[i] ? {name: this.names[i], qid: this.items[i]} : {name: this.names[i]}; }
  tagOf(ref) { return this.index.get(ref.name + '\u0000' + (ref.qid || '')); }
  groupNamed(name, level = 1) { return (this.groups[level] || []).findIndex((g) => g && !g.gone && g.name === name); }
  live(level = 1) { return (this.groups[level] || []).filter((g) => g && !g.gone); }
  // placeOf is where the server has a group, −1 for one that it has not made yet.
  placeOf(name) { const at = this.groupNamed(name); return at >= 0 && this.groups[1][at].shown ? -1 : at; }
  kindOf(g) { const k = this.groups[1][g].parent; return k < 0 ? null : this.groups[2][k]; }

  // show makes an edit of labels visible at once. Other edits wait for the server.
  show(e) {
    if (!['accept', 'move', 'drop', 'flag', 'note'].includes(e.op) || (e.level || 0) > 0) return;
    let to = -1;
    if (e.op === 'accept' || e.op === 'move') {
      to = this.groupNamed(e.to);
      if (to < 0) {
        to = this.groups[1].length;
        this.groups[1].push({level: 1, at: to, name: e.to, parent: -1, declared: true, shown: true});
      }
    }
    for (const ref of e.from) {
      const i = this.tagOf(ref);
      const [reason, flag, note] = this.remarks.get(i) || ['', '', ''];
      if (e.op === 'flag') {
        this.status[i] |= FLAGGED;
        this.remarks.set(i, [reason, e.note || '', note]);
      } else if (e.op === 'note') {
        this.remarks.set(i, [reason, flag, e.note || '']);
      } else {
        if (this.parent[i] !== to) this.status[i] &= ~OUTLIER;
        this.parent[i] = to;
        this.status[i] = (this.status[i] | DECIDED) & ~DROPPED;
        if (e.op === 'drop') { this.status[i] |= DROPPED; this.remarks.set(i, [e.note || '', flag, note]); }
      }
    }
    this.buckets = null;
  }

  // sum gathers members and counts of every group.
  sum() {
    if (this.buckets) return this.buckets;
    const fresh = () => ({tags: [], open: 0, landmarks: 0, images: 0, sorted: false});
    const buckets = {of: this.groups[1].map(fresh), dropped: fresh(), flagged: [],
      total: {labels: this.n, landmarks: 0, images: 0}, done: {labels: 0, landmarks: 0, images: 0}};
    for (let i = 0; i < this.n; i++) {
      const b = this.parent[i] >= 0 ? buckets.of[this.parent[i]] : buckets.dropped;
      b.tags.push(i);
      b.landmarks += this.landmarks[i];
      b.images += this.images[i];
      buckets.total.landmarks += this.landmarks[i];
      buckets.total.images += this.images[i];
      if (this.status[i] & FLAGGED) buckets.flagged.push(i);
      if (this.status[i] & DECIDED) {
        buckets.done.labels++;
        buckets.done.landmarks += this.landmarks[i];
        buckets.done.images += this.images[i];
      } else {
        b.open++;
      }
    }
    this.buckets = buckets;
    return buckets;
  }

  // members of a group: nearest to its centroid first, outliers last.
  members(g) {
    const b = this.sum().of[g];
    if (!b) return [];
    if (!b.sorted) {
      b.tags.sort((x, y) => (this.status[x] & OUTLIER) - (this.status[y] & OUTLIER) || this.distance[x] - this.distance[y] || x - y);
      b.sorted = true;
    }
    return b.tags;
  }

  // find lists labels that hold all words, accents and case aside.
  find(text, openOnly) {
    if (!this.folded) this.folded = this.names.map(fold);
    const words = fold(text).split(/\s+/).filter(Boolean);
    const found = [];
    if (!words.length) return found;
    for (let i = 0; i < this.n; i++) {
      if (openOnly && this.status[i] & DECIDED) continue;
      const name = this.folded[i];
      if (words.every((w) => name.includes(w))) found.push(i);
    }
    return found;
  }

  touched(tags) {
    let landmarks = 0, images = 0;
    for (const i of tags) { landmarks += this.landmarks[i]; images += this.images[i]; }
    return {labels: tags.length, landmarks, images};
  }
}

export const fold = (s) => s.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase();

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
