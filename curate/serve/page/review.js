import {h, byId, hidden, become, fill, count, shown, key, number} from './dom.js';
import {DECIDED, DROPPED} from './model.js';
import {inform} from './dialogs.js';
import {decide, setParent} from './commands.js';

// The adjudicator's screen: the labels that curators decided differently, all answers side by
// side with the names of those who gave them, and how far they agree.

const dropped = '(dropped)';

const choicesOf = (d) => d.choices ?? [d.a, d.b];

const caseOf = (d) => d.answers.map((x) => x.choice).join('\u0000');

const figure = (v) => (v === null || v === undefined ? '–' : v.toFixed(3));

const fact = (what, value) => [h('dt', {}, what), h('dd', {}, value)];

// answersOf lists the answers [{choice, who}] to a difference, that of most curators first, and else
// that of the first curator.
function answersOf(d, names) {
  const by = Map.groupBy(names.keys(), (k) => choicesOf(d)[k]);
  by.delete('');
  return [...by].map(([choice, who]) => ({choice, who: who.map((k) => names[k]).join(', '), votes: who.length})).sort((x, y) => y.votes - x.votes);
}

export class Review {
  constructor(app, data) {
    this.app = app;
    this.names = data.names;
    this.c = data.comparison;
    this.byTag = new Map(this.c.disagreements.map((d) => [d.tag, {...d, answers: answersOf(d, this.names)}]));
    // most is the largest number of answers to a difference. The digits up to it take an answer for
    // a label, and the next ones for all of its case.
    this.most = Math.max(2, ...[...this.byTag.values()].map((d) => d.answers.length));
    byId('grid').style.setProperty('--answers', this.most);
  }

  // items are the labels that differ, those with most landmarks first.
  items() { return [...this.byTag.keys()]; }

  // sections lists the differences by case: the answers in order. The case with most of them is
  // first. Cases with one difference come last, together.
  sections() {
    const cases = Map.groupBy(this.items(), (i) => caseOf(this.byTag.get(i)));
    const several = [...cases.values()].filter((items) => items.length > 1).sort((x, y) => y.length - x.length);
    const alone = [...cases.values()].filter((items) => items.length === 1).flat();
    if (!several.length) return [{items: alone}];
    const titled = several.map((items) => ({title: this.title(items), items}));
    const others = this.names.length > 2 ? 'other groups' : 'other pairs of groups';
    return alone.length ? [...titled, {title: `${others} · ${number(alone.length)}`, items: alone}] : titled;
  }

  title(items) {
    const groups = this.byTag.get(items[0]).answers.map((x) => shown(x.choice));
    return `${groups.slice(0, -1).join(', ')} or ${groups.at(-1)} · ${count(items.length, 'tag')}`;
  }

  // hint says what the digits do.
  hint() {
    const n = this.most, keys = (from, to) => [key(String(from)), to > from + 1 ? ' … ' : ' ', key(String(to))];
    return [' · ', ...keys(1, n), ' choose an answer', ...(2 * n > 9 ? [] : [', ', ...keys(n + 1, 2 * n), ' apply it to all tags with these answers'])];
  }

  openTags() { return this.items().filter((i) => !(this.app.model.status[i] & DECIDED)); }

  parents() {
    return this.c.parent_differences.filter((p) => {
      const at = this.app.model.groupNamed(p.group, p.level);
      return at >= 0 && this.app.model.groups[p.level][at].parent < 0;
    });
  }

  // now is the present choice for a label, '' for none.
  now(i) { const m = this.app.model; return m.status[i] & DROPPED ? dropped : m.parent[i] >= 0 ? m.groups[1][m.parent[i]].name : ''; }

  // caseOf names the answers to the difference of a label.
  caseOf(i) { return caseOf(this.byTag.get(i)); }

  // state is everything that the appearance of a difference depends on.
  state(i, active) { return `${this.app.model.status[i]} ${active} ${this.now(i)} ${this.app.view.rows.labels(i)}`; }

  cell(e, i, active) {
    const d = this.byTag.get(i), now = this.now(i);
    const done = this.app.model.status[i] & DECIDED;
    // A choice is no button, because it is inside an option.
    const side = ({choice, who}, n) => h('span', {class: done && now === choice ? 'side chosen' : 'side', data: {choice: n + 1}},
      n < 9 ? key(String(n + 1)) : null, h('span', {class: 'soft'}, ` ${who} `), h('span', {class: 'name'}, shown(choice)));
    const other = done && !d.answers.some((x) => x.choice === now);
    become(e, h('div', {class: `cell duel${active ? ' at' : ''}${done ? ' decided' : ''}`, role: 'option', 'aria-selected': 'false', data: {tag: i}},
      h('span', {class: 'tick', 'aria-hidden': 'true'}, done ? '✓' : ''),
        h('span', {class: 'label', title: d.name}, this.app.view.rows.labels(i).map((x) => shown(this.app.model.names[x])).join(' · '),
          h('span', {class: 'facts'}, ` ${count(d.landmarks, 'landmark')}`),
        other ? h('span', {class: 'facts'}, ` → ${shown(now)}`) : null), d.answers.map(side),
      hidden(done && !other ? `, decided: ${now}` : '')));
  }

  // height is the height of rows that show the longest names whole, up to a limit. The panel shows
  // longer names.
  height(wide, root) {
    if (this.measured?.wide === wide) return this.measured.high;
    const long = (d) => Math.max(d.name.length, ...d.answers.map((x) => x.choice.length + x.who.length));
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
  take(i, choice, tags = this.app.view.rows.labels(i)) {
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

  // digit does what a digit key says: it takes an answer to the current difference, or to all of its case.
  digit(n) {
    if (n <= this.most) this.choose(n); else this.chooseCase(n - this.most);
  }

  // choose gives the n-th answer to the current difference.
  choose(n) {
    const i = this.app.view.grid.current();
    const answer = this.byTag.get(i)?.answers[n - 1];
    if (answer) this.take(i, answer.choice);
  }

  // chooseCase gives the n-th answer to all open differences with the same answers as the current one.
  chooseCase(n) {
    const i = this.app.view.grid.current(), d = this.byTag.get(i), answer = d?.answers[n - 1];
    if (!answer) return;
    const tags = this.openTags().filter((x) => caseOf(this.byTag.get(x)) === caseOf(d));
    if (tags.length) this.take(i, answer.choice, tags);
    else this.app.view.say(this.names.length > 2 ? 'All of this case is decided.' : 'All of this pair is decided.');
  }

  // panel is beside the list: the current difference, the agreement in figures, and kinds that differ.
  panel() {
    const i = this.app.view.grid.current(), d = this.byTag.get(i);
    return [d ? this.difference(d) : null,
      h('section', {}, h('h2', {}, 'Agreement'), this.names.length > 2 ? this.ofMany() : this.ofTwo(),
        h('dl', {}, fact('left open', `${number(this.openTags().length)} of ${number(this.items().length)}`)),
        h('p', {class: 'soft'}, 'κ falls when most tags are in one group, however well people agree; AC1 does not.'),
        h('button', {type: 'button', onclick: () => this.confusion()}, 'Agreement by group')),
      this.parents().length ? h('section', {}, h('h2', {}, 'Kinds that differ'), this.parents().map((p) => h('div', {class: 'pair'}, h('p', {}, shown(p.group)),
        answersOf(p, this.names).map(({choice, who}) => h('button', {type: 'button',
          onclick: () => setParent(this.app, [{name: p.group, level: p.level}], choice)}, `${who}: ${choice}`))))) : null];
  }

  // difference names the answers to a difference, with buttons that give one to all of its case.
  difference(d) {
    const open = this.openTags().filter((x) => caseOf(this.byTag.get(x)) === caseOf(d)), n = this.most;
    return h('section', {}, h('h2', {}, 'Difference'), h('p', {class: 'whole'}, shown(d.name)),
      h('dl', {}, this.names.map((name, k) => fact(name, shown(choicesOf(d)[k]) || 'not decided')).flat(), fact('landmarks', number(d.landmarks))),
      open.length > 1 ? h('div', {class: 'pair'}, h('p', {}, `${count(open.length, 'open tag')} with these answers`),
        d.answers.map(({choice}, k) => h('button', {type: 'button', onclick: () => this.chooseCase(k + 1)}, `all ${shown(choice)} `,
          n + k < 9 && 2 * n <= 9 ? key(String(n + k + 1)) : null))) : null);
  }

  // ofTwo lists the measures of two curators.
  ofTwo() {
    const g = this.c.pairs[0];
    // An interval by the normal distribution can exceed the range of the figure.
    const range = (ci) => (ci ? ci.map((v) => Math.max(-1, Math.min(1, v)).toFixed(2)).join(' to ') : '–');
    return h('dl', {}, fact('both decided', count(g.tags, 'tag')), fact('agree', figure(g.raw)),
      fact('Cohen’s κ', figure(g.kappa)), fact('95 %', range(g.kappa_ci95)),
      fact('Gwet’s AC1', figure(g.ac1)), fact('95 %', range(g.ac1_ci95_normal)));
  }

  // ofMany lists the measures of all curators together, and of each pair. Fleiss' kappa is undefined if
  // the labels have different numbers of decisions; Krippendorff's alpha is not.
  ofMany() {
    const g = this.c.agreement;
    return [h('dl', {}, fact('two or more decided', count(g.items, 'tag')), fact('two agree', figure(g.raw)),
      fact('Fleiss’ κ', figure(g.fleiss_kappa)), fact('Krippendorff’s α', figure(g.alpha)), fact('Gwet’s AC1', figure(g.ac1))),
    h('p', {class: 'soft'}, 'Agreement of pairs, and Cohen’s κ:'),
    h('dl', {}, this.c.pairs.map((p) => fact(`${this.names[p.a]}, ${this.names[p.b]}`, `${figure(p.raw)} · κ ${figure(p.kappa)}`)).flat())];
  }

  confusion() {
    const c = this.c.categories, name = (i) => (c[i].dropped ? dropped : c[i].name), two = this.names.length === 2;
    const by = this.c.by_category.filter((x) => x.tags.some(Boolean)).sort((x, y) => (x.specific_agreement ?? 2) - (y.specific_agreement ?? 2));
    const cases = [...Map.groupBy(this.byTag.values(), (d) => choicesOf(d).join('\u0000')).values()].sort((x, y) => y.length - x.length);
    const heads = (list, numbers) => h('thead', {}, h('tr', {}, list.map((x, n) => h('th', {scope: 'col', class: n >= numbers ? 'n' : ''}, x))));
    const cell = (x) => h('td', {class: 'n'}, x);
    inform('Agreement by group', 'wide', h('div', {class: 'two'},
      h('section', {}, h('h3', {}, 'Groups, least agreement first'), h('table', {}, heads(['group', ...this.names, two ? 'both' : 'all', 'agreement'], 1),
        h('tbody', {}, by.slice(0, 100).map((x) => h('tr', {}, h('td', {}, shown(name(x.category))), x.tags.map((n) => cell(number(n))),
          cell(number(x.all)), cell(x.specific_agreement === null ? '–' : x.specific_agreement.toFixed(2))))))),
      h('section', {}, h('h3', {}, 'Confused most often'), h('table', {}, heads([...this.names, 'tags'], this.names.length),
        h('tbody', {}, cases.slice(0, 100).map((list) => h('tr', {}, choicesOf(list[0]).map((x) => h('td', {}, shown(x) || '–')),
          cell(number(list.length)))))))));
  }

  draw(side) { fill(side, this.panel()); }
}
