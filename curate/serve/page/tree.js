import {h, shown, number} from './dom.js';

const rowHeight = 30;

// Tree lists the groups below their kinds, in the chosen order; that is the order
// of j and k too. Groups keep their places while they are worked on: a new order is
// made when one is chosen, and new groups come first.
export class Tree {
  // on: {open(group), drop(group, event), parent(kind, event), mark()}
  constructor(root, model, on) {
    Object.assign(this, {root, model, on, order: 'impact', rank: new Map(), rows: [], current: -1, at: 0, marked: new Set()});
    this.space = h('div', {class: 'space', role: 'presentation'});
    root.append(this.space);
    root.addEventListener('scroll', () => this.draw(), {passive: true});
    new ResizeObserver(() => this.draw()).observe(root);
    root.addEventListener('keydown', (e) => this.key(e));
    root.addEventListener('focus', () => {
      if (!root.matches(':focus-visible')) return; // a click: what it is on must stay
      const i = this.rows.findIndex((r) => r.group === this.current); if (i >= 0) this.at = i;
      this.draw();
    });
  }

  setOrder(order) { this.order = order; this.rank.clear(); this.refresh(); this.draw(); }

  // rankAll numbers the groups in the chosen order.
  rankAll(live) {
    const {of} = this.model.sum();
    const use = (g) => (this.model.withImages ? of[g.at].images : of[g.at].landmarks);
    const by = {
      impact: (a, b) => use(b) - use(a) || of[b.at].tags.length - of[a.at].tags.length,
      quick: (a, b) => (of[a.at].open === 0) - (of[b.at].open === 0) || of[a.at].open - of[b.at].open || use(b) - use(a),
      name: (a, b) => a.name.localeCompare(b.name, 'en'),
    }[this.order];
    const first = this.rank.size === 0;
    const fresh = live.filter((g) => !this.rank.has(g.name));
    if (first) {
      [...live].sort((a, b) => by(a, b) || a.at - b.at).forEach((g, i) => this.rank.set(g.name, i));
    } else {
      let low = Math.min(0, ...this.rank.values());
      for (const g of fresh) this.rank.set(g.name, --low);
    }
  }

  refresh() {
    const live = this.model.live().filter((g) => g.declared || this.model.sum().of[g.at].tags.length);
    this.rankAll(live);
    live.sort((a, b) => this.rank.get(a.name) - this.rank.get(b.name));
    const {of} = this.model.sum();
    const sections = new Map([[-1, []]]);
    this.model.live(2).forEach((k) => sections.set(k.at, []));
    for (const g of live) (sections.get(g.parent) || sections.get(-1)).push(g);
    this.rows = [];
    for (const [kind, groups] of sections) {
      if (kind === -1 && !groups.length && sections.size > 1) continue;
      const name = kind >= 0 ? this.model.groups[2][kind].name : this.model.levels.length > 2 ? `no ${this.model.levels[2]} yet` : this.model.levels[1];
      this.rows.push({kind, name, n: groups.length});
      for (const g of groups) this.rows.push({group: g.at, g, b: of[g.at]});
    }
    this.space.style.height = `${this.rows.length * rowHeight + 8}px`;
  }

  // chosen lists the marked groups that there still are.
  chosen() { return this.model.live().filter((g) => this.marked.has(g.name)); }

  groups() { return this.rows.filter((r) => r.group !== undefined).map((r) => r.group); }

  // next is the group after (or before) the current one; with open only groups
  // that have undecided labels.
  next(step, open) {
    const list = this.groups();
    let i = list.indexOf(this.current);
    if (i < 0) return list[0];
    const {of} = this.model.sum();
    for (i += step; i >= 0 && i < list.length; i += step) if (!open || of[list[i]].open) return list[i];
    return -1;
  }

  show(group) {
    this.current = group;
    const i = this.rows.findIndex((r) => r.group === group);
    if (i >= 0) {
      this.at = i;
      const y = i * rowHeight;
      if (y < this.root.scrollTop + rowHeight) this.root.scrollTop = y - rowHeight;
      else if (y + 2 * rowHeight > this.root.scrollTop + this.root.clientHeight) this.root.scrollTop = y + 2 * rowHeight - this.root.clientHeight;
    }
    this.draw();
  }

  draw() {
    const from = Math.max(0, Math.floor(this.root.scrollTop / rowHeight) - 4);
    const to = Math.min(this.rows.length, from + Math.ceil(this.root.clientHeight / rowHeight) + 8);
    const made = [];
    for (let i = from; i < to; i++) {
      const e = this.row(this.rows[i], i);
      e.id = `row-${i}`;
      e.style.transform = `translateY(${i * rowHeight}px)`;
      made.push(e);
    }
    this.space.replaceChildren(...made);
    this.root.setAttribute('aria-activedescendant', `row-${this.at}`);
  }

  row(r, i) {
    const over = {ondragover: (e) => { e.preventDefault(); e.currentTarget.classList.add('over'); }, ondragleave: (e) => e.currentTarget.classList.remove('over')};
    if (r.group === undefined) {
      return h('div', {class: 'kind', role: 'presentation', ...over, ondrop: (e) => { e.preventDefault(); e.currentTarget.classList.remove('over'); this.on.parent(r.kind < 0 ? '' : r.name, e); }},
        h('span', {class: 'name'}, shown(r.name)), h('span', {class: 'n'}, number(r.n)));
    }
    const done = r.b.tags.length && r.b.open === 0;
    const cls = ['row', r.group === this.current ? 'current' : '', i === this.at ? 'at' : '', this.marked.has(r.g.name) ? 'marked' : ''].join(' ');
    return h('div', {class: cls, role: 'option', 'aria-selected': String(this.marked.has(r.g.name)), 'aria-current': r.group === this.current ? 'true' : undefined, draggable: true,
      title: r.g.name, 'aria-label': `${r.g.name}, ${r.b.tags.length} labels, ${r.b.open} open`,
      onclick: (e) => { if (e.ctrlKey || e.metaKey) this.toggle(r.g.name); else this.on.open(r.group); },
      ondragstart: (e) => e.dataTransfer.setData('application/x-hgld-group', r.g.name), ...over,
      ondrop: (e) => { e.preventDefault(); e.currentTarget.classList.remove('over'); this.on.drop(r.group, e); }},
    h('span', {class: done ? 'state done' : 'state', 'aria-hidden': 'true'}, done ? '✓' : ''), h('span', {class: 'name'}, shown(r.g.name)),
    r.g.flagged ? h('span', {class: 'flag', 'aria-label': 'flagged'}, '⚑') : null,
    h('span', {class: 'n'}, r.b.open && r.b.open < r.b.tags.length ? `${number(r.b.tags.length - r.b.open)}/${number(r.b.tags.length)}` : number(r.b.tags.length)));
  }

  toggle(name) {
    if (this.marked.has(name)) this.marked.delete(name); else this.marked.add(name);
    this.draw();
    this.on.mark();
  }

  // key works while the tree has the focus.
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const step = {ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15, Home: -1e6, End: 1e6}[e.key];
    if (step) {
      const last = this.rows.length - 1;
      let i = Math.max(0, Math.min(last, this.at + step));
      const on = i === 0 ? 1 : i === last ? -1 : Math.sign(step); // past headings
      while (i >= 0 && i <= last && this.rows[i].group === undefined) i += on;
      if (i < 0 || i > last) i = this.at;
      this.at = i;
      const y = i * rowHeight;
      if (y < this.root.scrollTop) this.root.scrollTop = y;
      if (y + rowHeight > this.root.scrollTop + this.root.clientHeight) this.root.scrollTop = y + rowHeight - this.root.clientHeight;
      this.draw();
    } else if (e.key === 'Enter') {
      const r = this.rows[this.at];
      if (r && r.group !== undefined) this.on.open(r.group);
    } else if (e.key === ' ') {
      const r = this.rows[this.at];
      if (r && r.group !== undefined) this.toggle(r.g.name);
    } else {
      return;
    }
    e.preventDefault();
    e.stopPropagation();
  }
}
