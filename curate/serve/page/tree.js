import {h, hidden, become, shown, number} from './dom.js';
import {fold} from './text.js';
import {VirtualScroll} from './virtualscroll.js';

const rowHeight = 30;

// flagOf marks a class that is flagged; its title is the reason.
const flagOf = (g) => (g?.flagged ? h('span', {class: 'flag', title: g.flag || 'no reason'}, h('span', {'aria-hidden': 'true'}, '⚑'), hidden('flagged '))
  : null);

// Tree lists the groups below their kinds, and these below their parents, with all levels of the
// log. The groups are in the chosen order, which j and k follow. They keep their positions during
// the work: only choosing an order sorts them again. New groups come first, and the parts of a
// divided group take its position. If an edit moves the current group to another kind, j and k
// continue from its old position. Groups without a kind stand last. A kind can be closed, and a
// filter hides groups; j and k go through all of them.
export class Tree {
  // on: {open(group), take(group), drop(row, event), mark(), say(text)}
  constructor(root, model, on) {
    Object.assign(this, {root, model, on, order: 'impact', rank: new Map(), rows: [], place: new Map(), current: -1, at: 0, left: null, named: new Map(),
      marked: new Set(), level: 1, closed: new Set(), filter: '', all: []});
    this.scroller = new VirtualScroll(root, () => this.draw());
    root.addEventListener('keydown', (e) => this.key(e));
    root.addEventListener('focus', () => {
      if (!root.matches(':focus-visible')) return; // after a click, the row under the pointer must stay
      this.at = this.place.get(this.current) ?? this.at;
      this.draw();
    });
    root.addEventListener('click', (e) => {
      const r = this.rowOf(e);
      if (!r) return;
      if (e.ctrlKey || e.metaKey) this.toggle(r);
      else if (r.level > 1) this.setClosed(r.key, !this.closed.has(r.key));
      else if (e.shiftKey) this.on.take(r.g); else this.on.open(r.g.at);
    });
    this.listenToDrags(root);
  }

  rowOf(e) {
    const row = e.target.closest('[data-row]');
    return row ? this.rows.find((r) => r.key === row.dataset.row) : undefined;
  }

  // listenToDrags makes rows sources and targets of drags, and highlights the target under the
  // pointer.
  listenToDrags(root) {
    let over = null;
    const under = (e) => {
      if (over !== e) over?.classList.remove('over');
      over = e;
      e?.classList.add('over');
    };
    root.addEventListener('dragstart', (e) => {
      const {level, name} = this.rowOf(e).g;
      e.dataTransfer.setData('application/x-hgld-group', JSON.stringify({level, name}));
    });
    root.addEventListener('dragover', (e) => { const row = e.target.closest('[data-row]'); under(row); if (row) e.preventDefault(); });
    root.addEventListener('dragleave', (e) => { if (!root.contains(e.relatedTarget)) under(null); });
    root.addEventListener('drop', (e) => { const r = this.rowOf(e); under(null); if (r) { e.preventDefault(); this.on.drop(r, e); } });
  }

  setOrder(order) { this.order = order; this.left = null; this.rank.clear(); this.shape = -1; this.refresh(); }

  // rankAll numbers the groups in the chosen order.
  rankAll(live) {
    const m = this.model, of = (g) => m.bucket(g.at);
    const use = (g) => (m.withImages ? of(g).images : of(g).landmarks);
    const by = {
      impact: (a, b) => use(b) - use(a) || of(b).size - of(a).size,
      quick: (a, b) => (of(a).open === 0) - (of(b).open === 0) || of(a).open - of(b).open || use(b) - use(a),
      name: (a, b) => a.name.localeCompare(b.name, 'en'),
    }[this.order];
    if (this.rank.size === 0) {
      [...live].sort((a, b) => by(a, b) || a.at - b.at).forEach((g, i) => this.rank.set(g.name, i));
      this.least = 0;
    }
    for (const g of live) {
      const was = this.named.get(g.at);
      if (!this.rank.has(g.name)) this.rank.set(g.name, was !== undefined && was !== g.name ? this.rank.get(was) : --this.least); // renamed, or new
      this.named.set(g.at, g.name);
    }
  }

  setFilter(text) { this.filter = fold(text.trim()); this.shape = -1; this.refresh(); this.draw(); }

  // setClosed closes or opens a row with rows below it.
  setClosed(key, closed) {
    if (closed) this.closed.add(key); else this.closed.delete(key);
    this.shape = -1;
    this.refresh();
    this.draw();
  }

  // reveal opens the rows above a group.
  reveal(group) {
    const m = this.model;
    let g = m.groups[1][group];
    if (!g || !this.closed.size) return;
    while (g) {
      const above = g.parent >= 0 ? `${g.level + 1} ${g.parent}` : `open ${g.level}`;
      if (this.closed.delete(above)) this.shape = -1;
      g = g.parent >= 0 ? m.groups[g.level + 1]?.[g.parent] : undefined;
    }
    this.refresh();
  }

  // insert gives future groups the position of an existing one.
  insert(group, names) {
    const from = this.rank.get(group), to = Math.min(...[...this.rank.values()].filter((r) => r > from), from + 1);
    names.filter((n) => n !== group).forEach((n, i) => this.rank.set(n, from + (to - from) * (i + 1) / (names.length + 1)));
  }

  // follow lets j and k continue from the position of a group that others replace. The first of them
  // is in view.
  follow(from, to) {
    const list = this.walk();
    if (list.includes(from)) this.left = {group: to[0], list: list.filter((g) => g === from || !to.includes(g)).flatMap((g) => (g === from ? to : [g]))};
  }

  // walk lists the groups in the order of j and k.
  walk() { return this.left?.group === this.current ? this.left.list : this.groups(); }

  // refresh lists the classes again after groups have been made, renamed, moved or deleted.
  refresh() {
    const m = this.model;
    if (this.shape === m.shape) return;
    this.shape = m.shape;
    const before = this.walk(), parent = this.parentNow(), under = this.under();
    const live = m.live().filter((g) => g.declared || m.bucket(g.at).size);
    this.rankAll(live);
    live.sort((a, b) => this.rank.get(a.name) - this.rank.get(b.name));
    this.rows = [];
    const top = m.levels.length - 1;
    const below = m.levels.map(() => new Map()); // by level and parent
    for (let l = 1; l <= top; l++) {
      for (const g of l === 1 ? live : m.live(l)) {
        const parent = l < top ? g.parent : -1;
        if (!below[l].has(parent)) below[l].set(parent, []);
        below[l].get(parent).push(g);
      }
    }
    const members = (g) => below[g.level - 1]?.get(g.at) || [];
    const found = (g) => !this.filter || fold(g.name).includes(this.filter) || (g.level > 1 && members(g).some(found));
    this.all = [];
    const add = (g, depth, shut) => {
      const children = members(g), key = `${g.level} ${g.at}`;
      if (!shut && found(g)) this.rows.push({key, level: g.level, g, depth, n: children.length});
      if (g.level === 1) this.all.push(g.at);
      else children.forEach((c) => add(c, depth + 1, shut || (!this.filter && this.closed.has(key))));
    };
    for (let l = top; l >= 1; l--) {
      const open = below[l].get(-1) || [];
      const heading = l < top ? `no ${m.levels[l + 1]} yet` : top === 1 ? m.levels[1] : '';
      const key = `open ${l}`;
      if (heading && (open.some(found) || top === 1)) this.rows.push({key, level: l + 1, heading, depth: 0, n: open.length});
      open.forEach((g) => add(g, heading ? 1 : 0, !!heading && !this.filter && this.closed.has(key)));
    }
    this.place = new Map(this.rows.flatMap((r, i) => (r.level === 1 ? [[r.g.at, i]] : [])));
    if (parent !== undefined && parent !== this.parent && this.place.has(this.current)) this.left = {group: this.current, list: before};
    this.parent = parent;
    const at = under ? this.rows.findIndex((r) => r.g === under || (r.g && r.level === under.level && r.g.at === under.at)) : -1;
    if (at >= 0) this.at = at;
    this.scroller.setHeight(this.rows.length * rowHeight + 8);
  }

  // parentNow is the parent of the current group.
  parentNow() { return this.model.groups[1][this.current]?.parent; }

  // chosen lists the marked classes that exist. All have one level.
  chosen() { return this.model.live(this.level).filter((g) => this.marked.has(g.name)); }

  clearMarks() { this.marked.clear(); this.level = 1; }

  // under is the class at the tree's cursor while the tree has the focus.
  under() { return document.activeElement === this.root ? this.rows[this.at]?.g : undefined; }

  groups() { return [...this.all]; }

  // first is where a session begins: the first group with open labels, or else the first of all.
  first() { return this.all.find((g) => this.model.bucket(g).open) ?? this.all[0]; }

  // next is the group after or before the current one, −1 if there is none. With open it is one with
  // undecided labels, and with round the search continues at the other end.
  next(step, {open, round} = {}) {
    const list = this.walk(), n = list.length;
    const live = new Set(this.all), here = list.indexOf(this.current), from = here >= 0 ? here : step > 0 ? -1 : n;
    for (let k = 1; k < (here >= 0 ? n : n + 1); k++) {
      const i = from + step * k, g = list[(i + n) % n];
      if ((i < 0 || i >= n) && !round) return -1;
      if (live.has(g) && (!open || this.model.bucket(g).open)) return g;
    }
    return -1;
  }

  // show highlights the row of the current group. If the tree has the focus, its cursor stays.
  show(group) {
    if (group !== this.current) this.reveal(group);
    const i = this.place.get(group);
    if (i !== undefined && (group !== this.current || (this.at !== i && !this.under()))) {
      this.at = i;
      this.scroller.reveal((i - 1) * rowHeight, (i + 2) * rowHeight);
    }
    if (group !== this.current) { this.parent = this.model.groups[1][group]?.parent; if (group >= 0 && this.left?.group !== group) this.left = null; }
    this.current = group;
    this.draw();
  }

  draw() {
    const from = Math.max(0, Math.floor(this.scroller.top / rowHeight) - 4);
    const to = Math.min(this.rows.length, from + Math.ceil(this.scroller.height / rowHeight) + 8);
    const wanted = [];
    for (let i = from; i < to; i++) {
      const r = this.rows[i], b = r.level === 1 ? this.model.bucket(r.g.at) : null;
      const marked = !!r.g && r.level === this.level && this.marked.has(r.g.name);
      const look = {b, marked, current: r.level === 1 && r.g.at === this.current, at: i === this.at, id: `row-${i}`};
      wanted.push({key: r.key, sort: b ? 'row' : 'kind', x: 0, y: i * rowHeight, write: (e) => become(e, this.row(r, look)),
        state: JSON.stringify([i, r.depth, r.n, r.heading ?? r.g.name, r.g?.flagged, marked, this.closed.has(r.key), look.current, look.at,
          b?.size, b?.open, b?.proposed])});
    }
    this.scroller.show(wanted);
    this.root.setAttribute('aria-activedescendant', `row-${this.at}`);
  }

  row(r, {b, marked, current, at, id}) {
    const place = `${at ? ' at' : ''}${marked ? ' marked' : ''} depth-${Math.min(r.depth, 3)}`;
    if (r.level > 1) {
      const closed = this.closed.has(r.key);
      return h('div', {id, class: `kind${place}`, role: 'treeitem', 'aria-level': r.depth + 1, 'aria-selected': String(marked),
        'aria-expanded': String(!closed), draggable: !!r.g && r.level < this.model.levels.length - 1, data: {row: r.key}},
      h('span', {class: 'fold', 'aria-hidden': 'true'}, closed ? '▸' : '▾'),
      h('span', {class: 'name'}, r.heading ?? shown(r.g.name)), ' ', flagOf(r.g), h('span', {class: 'n'}, number(r.n), hidden(' below')));
    }
    const done = b.size && b.open === 0;
    return h('div', {id, class: `row${current ? ' current' : ''}${place}`, role: 'treeitem', 'aria-level': r.depth + 1, 'aria-selected': String(marked),
      'aria-current': current ? 'true' : undefined, draggable: true,
      title: r.g.name, data: {row: r.key}},
    h('span', {class: done ? 'state done' : 'state', 'aria-hidden': 'true'}, done ? '✓' : ''), h('span', {class: 'name'}, shown(r.g.name)), ' ',
    flagOf(r.g),
    b.proposed ? h('span', {class: 'proposals'}, `${number(b.proposed)}?`, hidden(' proposed ')) : null,
    h('span', {class: 'n'}, b.open && b.open < b.size ? `${number(b.size - b.open)}/${number(b.size)}` : number(b.size),
      hidden(b.open && b.open < b.size ? ' tags decided' : done ? ' tags, all decided' : ' tags')));
  }

  // toggle marks a class, or removes its mark. All marks have one level.
  toggle({g}) {
    if (!g) return;
    if (g.level !== this.level && this.chosen().length) { this.on.say('A selection has one level; Esc clears it.'); return; }
    this.level = g.level;
    if (this.marked.has(g.name)) this.marked.delete(g.name); else this.marked.add(g.name);
    this.on.mark();
  }

  // key handles the keys while the tree has the focus.
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e6, End: 1e6}[e.key];
    const r = this.rows[this.at];
    if (step) {
      const last = this.rows.length - 1;
      let i = Math.max(0, Math.min(last, this.at + step));
      const on = i === 0 ? 1 : i === last ? -1 : Math.sign(step); // past rows that are not classes
      while (this.rows[i] && !this.rows[i].g) i += on;
      if (this.rows[i]) this.at = i;
      this.scroller.reveal((this.at - 1) * rowHeight, (this.at + 1) * rowHeight);
      this.draw();
    } else if (e.key === 'ArrowLeft' && r) {
      const above = r.level > 1 && !this.closed.has(r.key) ? this.at : this.rows.slice(0, this.at).findLastIndex((x) => x.level > r.level);
      if (above < 0) return;
      this.at = above;
      this.setClosed(this.rows[above].key, true);
    } else if (e.key === 'ArrowRight' && r?.level > 1) {
      this.setClosed(r.key, false);
    } else if (e.key === 'Enter' && r?.level === 1) {
      this.on.open(r.g.at);
    } else if (e.key === ' ' && r) {
      this.toggle(r);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  }
}
