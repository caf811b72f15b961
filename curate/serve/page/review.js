import {h, hidden, become, fill, count, shown, key, number} from './dom.js';
import {DECIDED, DROPPED} from './model.js';
import {inform} from './dialogs.js';
import {decide, setParent} from './commands.js';

// The adjudicator's screen: the labels that two curators decided differently, both choices side by
// side, and how far they agree.

const dropped = '(dropped)';

const pairOf = (d) => `${d.a}\u0000${d.b}`;

export class Review {
  constructor(app, data) {
    this.app = app;
    this.names = data.names;
    this.c = data.comparison;
    this.table = data.table;
    this.byTag = new Map((this.c.differences || []).map((d) => [d.tag, d]));
  }

  // items are the labels that differ, those with most landmarks first.
  items() { return (this.c.differences || []).map((d) => d.tag); }

  // sections lists the differences by pair of groups, the pair with most of them first. Pairs with
  // one difference come last, together.
  sections() {
    const pairs = Map.groupBy(this.items(), (i) => pairOf(this.byTag.get(i)));
    const several = [...pairs.values()].filter((items) => items.length > 1).sort((x, y) => y.length - x.length);
    const alone = [...pairs.values()].filter((items) => items.length === 1).flat();
    if (!several.length) return [{items: alone}];
    const titled = several.map((items) => ({title: this.title(items), items}));
    return alone.length ? [...titled, {title: `other pairs of groups · ${number(alone.length)}`, items: alone}] : titled;
  }

  title(items) {
    const {a, b} = this.byTag.get(items[0]);
    return `${shown(a)} or ${shown(b)} · ${count(items.length, 'label')}`;
  }

  openTags() { return this.items().filter((i) => !(this.app.model.status[i] & DECIDED)); }

  parents() {
    return (this.c.parent_differences || []).filter((p) => {
      const at = this.app.model.groupNamed(p.group, p.level);
      return at >= 0 && this.app.model.groups[p.level][at].parent < 0;
    });
  }

  // now is the present choice for a label, '' for none.
  now(i) { const m = this.app.model; return m.status[i] & DROPPED ? dropped : m.parent[i] >= 0 ? m.groups[1][m.parent[i]].name : ''; }

  // state is everything that the appearance of a difference depends on.
  state(i, active) { return `${this.app.model.status[i]} ${active} ${this.now(i)}`; }

  cell(e, i, active) {
    const d = this.byTag.get(i), now = this.now(i);
    const done = this.app.model.status[i] & DECIDED;
    // A choice is no button, because it is inside an option.
    const side = (n, choice) => h('span', {class: done && now === choice ? 'side chosen' : 'side', data: {choice: n}},
      key(String(n)), h('span', {class: 'soft'}, ` ${this.names[n - 1]} `), h('span', {class: 'name'}, shown(choice)));
    const other = done && now !== d.a && now !== d.b;
    become(e, h('div', {class: `cell duel${active ? ' at' : ''}${done ? ' decided' : ''}`, role: 'option', 'aria-selected': 'false', data: {tag: i}},
      h('span', {class: 'tick', 'aria-hidden': 'true'}, done ? '✓' : ''),
        h('span', {class: 'label', title: d.name}, shown(d.name), h('span', {class: 'facts'}, ` ${count(d.landmarks, 'landmark')}`),
        other ? h('span', {class: 'facts'}, ` → ${shown(now)}`) : null), side(1, d.a), side(2, d.b),
      hidden(done && !other ? `, decided: ${now}` : '')));
  }

  // height is the height of rows that show the longest names whole, up to a limit. The panel shows
  // longer names.
  height(wide, root) {
    if (this.measured?.wide === wide) return this.measured.high;
    const long = (d) => Math.max(d.name.length, d.a.length, d.b.length);
    const cells = [...this.byTag.values()].sort((a, b) => long(b) - long(a)).slice(0, 5).map(({tag}) => {
      const e = h('div');
      this.cell(e, tag, false);
      e.classList.add('measure');
      e.style.width = `${wide - 8}px`;
      return e;
    });
    root.append(...cells);
    const high = Math.max(...cells.map((e) => e.offsetHeight), 0);
    for (const e of cells) e.remove();
    this.measured = {wide, high: Math.max(72, Math.min(260, high + 8))};
    return this.measured.high;
  }

  // take decides labels as one curator did, and goes to the next open difference after i.
  take(i, choice, tags = [i]) {
    const app = this.app;
    app.view.remember(tags);
    if (choice === dropped) decide(app, 'drop', tags, undefined, 'adjudicated');
    else decide(app, 'move', tags, choice);
    const items = app.view.grid.items;
    const from = items.indexOf(i);
    const next = items.findIndex((x, k) => k > from && !(app.model.status[x] & DECIDED));
    if (next >= 0) app.view.grid.go(next);
    app.view.draw();
  }

  // choose decides the current difference as curator n did.
  choose(n) {
    const i = this.app.view.grid.current();
    const d = this.byTag.get(i);
    if (d) this.take(i, n === 1 ? d.a : d.b);
  }

  // choosePair decides all open differences of the same pair of groups as curator n did.
  choosePair(n) {
    const i = this.app.view.grid.current(), d = this.byTag.get(i);
    if (!d) return;
    const tags = this.openTags().filter((x) => pairOf(this.byTag.get(x)) === pairOf(d));
    if (tags.length) this.take(i, n === 1 ? d.a : d.b, tags);
    else this.app.view.say('All of this pair is decided.');
  }

  // panel is beside the list: the agreement in figures, and kinds that differ.
  panel() {
    const g = this.c.agreement;
    const figure = (v) => (v === null || v === undefined ? '–' : v.toFixed(3));
    // An interval by the normal distribution can exceed the range of the figure.
    const range = (ci) => (ci ? ci.map((v) => Math.max(-1, Math.min(1, v)).toFixed(2)).join(' to ') : '–');
    const fact = (what, value) => [h('dt', {}, what), h('dd', {}, value)];
    const d = this.byTag.get(this.app.view.grid.current());
    return [d ? h('section', {}, h('h2', {}, 'Difference'), h('p', {class: 'whole'}, shown(d.name)),
      h('dl', {}, fact(this.names[0], shown(d.a)), fact(this.names[1], shown(d.b)), fact('landmarks', number(d.landmarks)))) : null,
    h('section', {}, h('h2', {}, 'Agreement'), h('dl', {}, fact('both decided', count(g.n, 'label')), fact('agree', figure(g.raw)),
      fact('Cohen’s κ', figure(g.kappa)), fact('95 %', range(g.kappa_ci95)),
      fact('Gwet’s AC1', figure(g.ac1)), fact('95 %', range(g.ac1_ci95_normal)),
        fact('left open', `${number(this.openTags().length)} of ${number(this.items().length)}`)),
    h('p', {class: 'soft'}, 'κ falls when most labels are in one group, however well people agree; AC1 does not.'),
    h('button', {type: 'button', onclick: () => this.confusion()}, 'Agreement by group')),
    this.parents().length ? h('section', {}, h('h2', {}, 'Kinds that differ'), this.parents().map((p) => h('div', {class: 'pair'}, h('p', {}, shown(p.group)),
      [p.a, p.b].map((to, k) => h('button', {type: 'button', onclick: () => setParent(this.app, [{name: p.group, level: p.level}], to)},
        `${this.names[k]}: ${to}`))))) : null];
  }

  confusion() {
    const c = this.c.categories, name = (i) => (c[i].dropped ? dropped : c[i].name);
    const by = this.c.agreement.by_category.filter((x) => x.a + x.b > 0).sort((x, y) => (x.specific_agreement ?? 2) - (y.specific_agreement ?? 2));
    const pairs = [];
    this.table.forEach((row, a) => row.forEach((n, b) => { if (a !== b && n) pairs.push([n, a, b]); }));
    pairs.sort((x, y) => y[0] - x[0]);
    inform('Agreement by group', 'wide', h('div', {class: 'two'},
      h('section', {}, h('h3', {}, 'Groups, least agreement first'), h('table', {}, h('thead', {},
        h('tr', {}, ['group', this.names[0], this.names[1], 'both', 'agreement'].map((x, n) => h('th', {scope: 'col', class: n ? 'n' : ''}, x)))),
        h('tbody', {}, by.slice(0, 100).map((x) => h('tr', {}, h('td', {}, shown(name(x.category))), h('td', {class: 'n'}, number(x.a)),
          h('td', {class: 'n'}, number(x.b)), h('td', {class: 'n'}, number(x.both)),
          h('td', {class: 'n'}, x.specific_agreement === null ? '–' : x.specific_agreement.toFixed(2))))))),
      h('section', {}, h('h3', {}, 'Confused most often'), h('table', {}, h('thead', {},
        h('tr', {}, [this.names[0], this.names[1], 'labels'].map((x, n) => h('th', {scope: 'col', class: n > 1 ? 'n' : ''}, x)))),
        h('tbody', {}, pairs.slice(0, 100).map(([n, a, b]) => h('tr', {}, h('td', {}, shown(name(a))), h('td', {}, shown(name(b))),
          h('td', {class: 'n'}, number(n)))))))));
  }

  draw(side) { fill(side, this.panel()); }
}
