import {byId, h, fill, number, shown} from './dom.js';
import {DECIDED, DROPPED, FLAGGED, OUTLIER, stateOf} from './model.js';
import {ask} from './net.js';

// Find is the screen that searches all labels: by words or a regular expression, and by facets. A
// facet is a property of a label with few values, such as its curator.

const how = {accept: 'read', move: 'read', drop: 'read', confirm: 'confirmed unread', propose: 'proposed'};

const ranges = [[1, 'one'], [9, '2 to 9'], [99, '10 to 99'], [Infinity, '100 or more']];

const doubt = 0.05; // a lead below it is close; in units of the vectors, whose length is one

// day is the date of an edit where the curator is.
const day = (e) => new Date(e.at).toLocaleDateString('en-CA');

// The facets: {id, any, of(app, label)}. of returns the value, '' for none.
const facets = [
  {id: 'state', any: 'any state', of: ({model: m}, i) => stateOf(m.status[i])},
  {id: 'mark', any: 'any flag', of: ({model: m}, i) =>
    (m.status[i] & FLAGGED ? 'flagged' : m.remarks.get(i)?.[2] ? 'with a note' : m.extra.has(i) ? 'in two groups' : '')},
  {id: 'landmarks', any: 'any landmarks', of: ({model: m}, i) => ranges.find(([most]) => m.landmarks[i] <= most)[1]},
  {id: 'lead', any: 'any fit', of: ({model: m}, i) => leadOf(m, i)},
  {id: 'by', any: 'any curator', of: (app, i) => editOf(app, i)?.by || ''},
  {id: 'how', any: 'any way', of: (app, i) => sourceOf(app, i)},
  {id: 'day', any: 'any day', of: (app, i) => (editOf(app, i) ? day(editOf(app, i)) : '')},
];

// leadOf says how surely an open label belongs to its group.
function leadOf(m, i) {
  if (m.status[i] & DROPPED) return '';
  if (m.status[i] & OUTLIER) return 'outlier';
  if (!m.margins) return '';
  return m.margins[i] < 0 ? 'nearer to another' : m.margins[i] < doubt ? 'close' : 'confident';
}

// fitOf says how well a label fits its group: in a word, and by how much nearer it is than to the next group,
// or else its distance from the middle of its group.
export function fitOf(m, i) {
  if (m.margins && !(m.status[i] & DROPPED)) return `${leadOf(m, i)} (lead ${m.margins[i].toFixed(3)})`;
  return m.distance[i] ? `${m.distance[i].toFixed(3)} from the middle` : '';
}

// editOf is the edit that decided or proposed a label, undefined if none of this log did.
const editOf = ({find, model}, i) => find.edits[model.placed[i] - 1];

// sourceOf says where the group of a label comes from: reading, a confirmed proposal, a program.
function sourceOf(app, i) {
  const e = editOf(app, i);
  if (!e) return app.model.status[i] & DECIDED ? 'another log' : '';
  if (e.by === 'import' && e.op !== 'propose') return 'imported';
  return e.op === 'propose' && e.note ? `proposed: ${e.note}` : how[e.op] || e.op;
}

// placedBy says who decided or proposed a label, and when; '' if no edit of this log did.
export function placedBy(app, i) {
  const e = editOf(app, i);
  if (!e && app.model.placed[i]) setTimeout(() => app.find.ask(), 0);
  return e ? [e.by, day(e), sourceOf(app, i), `#${e.seq}`].filter(Boolean).join(' · ') : '';
}

// expression is the regular expression of a query that begins with a slash; '' for a query of words.
const expression = (text) => (text.length > 1 && text.startsWith('/') ? text.slice(1).replace(/\/$/, '') : '');

export class Find {
  // edits are those of the log, as the history shows them.
  constructor(app, saved) {
    Object.assign(this, {app, edits: [], chosen: {...saved}, asking: false, decided: 0, found: {query: '', tags: [], wrong: ''}, searching: ''});
    fill(byId('facets'), facets.map((f) => h('select', {id: `facet-${f.id}`, 'aria-label': f.any, data: {facet: f.id}})));
    for (const f of facets) {
      const e = this.select(f);
      e.addEventListener('change', () => this.choose(f, e.value));
      for (const type of ['pointerdown', 'focus']) e.addEventListener(type, () => this.list(f)); // counted when it opens
      e.addEventListener('keydown', (x) => { if (x.key === 'Escape') { byId('grid').focus(); x.preventDefault(); } });
    }
    this.draw();
  }

  saved() { return this.chosen; }

  select(f) { return byId(`facet-${f.id}`); }

  choose(f, value) {
    this.chosen[f.id] = value;
    if (f.id === 'state' && value && value !== 'open' && value !== 'proposed') byId('openonly').checked = false;
    this.draw();
    this.app.view.grid.start();
    this.app.view.schedule(true);
  }

  clear() {
    this.chosen = {};
    this.draw();
    this.app.view.schedule(true);
  }

  // draw shows what is chosen. The values of a facet are listed when it is opened.
  draw() {
    for (const f of facets) {
      const value = this.chosen[f.id] || '', e = this.select(f);
      fill(e, h('option', {value: ''}, f.any), value ? h('option', {value}, value) : null);
      e.value = value;
      e.classList.toggle('chosen', !!value);
    }
  }

  // list offers the values of a facet, with the numbers of labels that the other conditions leave.
  list(f) {
    const counts = new Map(), e = this.select(f), {value} = e;
    for (const i of this.matching(f)) {
      const v = f.of(this.app, i);
      if (v) counts.set(v, (counts.get(v) || 0) + 1);
    }
    if (value && !counts.has(value)) counts.set(value, 0);
    const order = f.id === 'landmarks' ? ranges.map((r) => r[1]) : [...counts.keys()].sort();
    fill(e, h('option', {value: ''}, f.any), order.filter((v) => counts.has(v)).map((v) => h('option', {value: v}, `${v} (${number(counts.get(v))})`)));
    e.value = value;
  }

  get used() { return facets.some((f) => this.chosen[f.id]); }

  // matching lists the labels that fit the query and the facets, but for one facet.
  matching(but) {
    const {model: m} = this.app, text = byId('query').value, query = expression(text.trim()), fresh = byId('newonly').checked;
    const all = () => (m.everything ??= [...m.names.keys()]);
    let list = query ? this.searched(query) : text.trim() ? m.find(text) : null;
    this.wrong = query && this.found.wrong;
    if (!list && !fresh && !this.used && !but) return null; // nothing is asked
    list ??= all();
    if (fresh) list = list.filter((i) => m.fresh.has(i));
    for (const f of facets) if (f !== but && this.chosen[f.id]) list = list.filter((i) => f.of(this.app, i) === this.chosen[f.id]);
    return list;
  }

  // searched lists the labels that match a regular expression. The server searches, because the browser's search can take
  // for ever; until it has answered, the last result stays.
  searched(query) {
    if (this.found.query !== query && this.searching !== query) this.search(query);
    return this.found.tags;
  }

  async search(query) {
    this.searching = query;
    const found = {query, tags: [], wrong: ''};
    try { found.tags = (await ask('/api/find', {expression: query})).tags; } catch (e) { found.wrong = e.message; }
    if (this.searching !== query) return; // another one is wanted by now
    Object.assign(this, {found, searching: ''});
    const open = facets.find((f) => this.select(f) === document.activeElement);
    if (open) this.list(open); // it was opened before the server answered
    this.app.view.schedule(true);
  }

  // sections lists the labels found, open ones first.
  sections() {
    this.ask();
    const {model: m} = this.app, all = this.matching() || [], asked = byId('query').value.trim() || byId('newonly').checked || this.used;
    const open = all.filter((i) => !(m.status[i] & DECIDED));
    this.decided = all.length - open.length;
    byId('counted').textContent = this.wrong ? `not a regular expression yet: ${this.wrong}`
      : asked ? `${number(open.length)} open, ${number(this.decided)} decided` : '';
    if (byId('openonly').checked || !this.decided) return [{items: open}];
    return [{items: open}, {title: `decided · ${number(this.decided)}`, items: all.filter((i) => m.status[i] & DECIDED)}];
  }

  // ask requests the edits that the page does not know yet: they say who decided a label, and when.
  async ask() {
    const {model, view} = this.app;
    if (this.edits.length > model.version) this.edits = []; // of a longer log
    if (this.asking || this.edits.length === model.version) return;
    this.asking = true;
    try {
      const list = await ask(`/api/history?since=${this.edits.length}`);
      for (const e of list) this.edits[e.seq - 1] = e;
      if (list.length) view.schedule(view.kind === 'search');
    } catch { /* the facets lack the latest edits */ }
    this.asking = false;
  }
}

// TagEdits holds the edits of the current label: who proposed and decided it, when and why.
export class TagEdits {
  constructor(app) { Object.assign(this, {app, of: '', list: [], asking: false}); }

  key(i) { return `${i} ${this.app.model.version}`; }

  // ask requests the edits of the current label if an edit has placed it, one request at a time.
  async ask() {
    const {view, model} = this.app, i = view.current(), wanted = this.key(i);
    if (i === undefined || !model.placed[i] || this.asking || this.of === wanted) return;
    this.asking = true;
    let list = [];
    try { ({edits: list} = await ask(`/api/edits?tag=${i}`)); } catch { /* the panel lacks them */ }
    this.asking = false;
    Object.assign(this, {of: wanted, list});
    view.draw(); // and ask again if the label has changed
  }

  // section shows the edits, the latest first.
  section(i) {
    if (this.of !== this.key(i) || !this.list.length) return null;
    const what = {accept: 'accepted', move: 'moved', drop: 'dropped', propose: 'proposed', confirm: 'confirmed', withdraw: 'taken back', split: 'split',
      flag: 'flagged', note: 'noted', also: 'also in'};
    return h('section', {class: 'thread'}, h('h2', {}, 'Edits of this tag'), [...this.list].reverse().slice(0, 12).map((e) => h('div', {},
      h('p', {class: 'soft'}, [e.by, day(e), `#${e.seq}`].filter(Boolean).join(' · ')),
      h('p', {}, `${e.resolved ? 'flag resolved' : e.op === 'note' && !e.note ? 'notes removed' : what[e.op] || e.op}`
        + `${e.to ? ` → ${shown(e.to)}` : ''}${e.score === undefined ? '' : `, score ${e.score.toFixed(3)}`}`),
      e.reason || e.note ? h('p', {class: 'reason', dir: 'auto'}, [e.reason, e.note].filter(Boolean).join(' · ')) : null)));
  }
}
