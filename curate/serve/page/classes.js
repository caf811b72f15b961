import {attribute, byId, h, hidden, fill, count, number, key, shown} from './dom.js';
import {DECIDED, DROPPED} from './model.js';
import {decide} from './commands.js';
import {ask} from './net.js';
import {headWord, Rows} from './variants.js';
import {sum} from './text.js';

// The screen that reads class by class. It is a table of head words: each line has the open labels of one word that are
// proposed for one class, as many as fit on it, or several labels whose words stand alone. One key takes all lines and
// shows the next ones. A wrong label, under the pointer or at the cursor, goes by one key, and so does a line, by its
// word. Between two screens the server learns from what was decided. Nothing on the screen moves while it is read: a
// label that was decided stays at its place.

const beside = 74; // pixels of a line that its labels leave free, beside those of its word
const apart = 16; // pixels between labels
const several = 5; // names that share their last two words, for a line of their own
const heading = 1.15; // lines that the heading of a class takes

// Classes is the screen. at lists the classes that are shown, as {group, lines}; a group of −1 drops its labels. A line
// is {word, parts}, and a part the variants of one name. part is the first label of the part that a key decides; undefined
// for all of the line at the cursor.
export class Classes {
  constructor(app) {
    Object.assign(this, {app, at: null, part: undefined, of: -1, lists: [], choices: new Map(), seen: new Set(), skipped: new Set(), waiting: false,
      failed: ''});
    this.text = h('canvas').getContext('2d');
    this.before = (x, y) => Number(!x.word) - Number(!y.word) || app.model.order('word')(x.parts[0][0], y.parts[0][0]); // lines
  }

  name(group) { return group < 0 ? 'drop' : this.app.model.groups[1][group]?.name ?? ''; }

  isOpen(i) { return !(this.app.model.status[i] & DECIDED); }

  // lines lists the lines of the screen, and tags their labels.
  lines() { return (this.at || []).flatMap((x) => x.lines); }
  tags() { return this.lines().flatMap((l) => l.parts.flat()); }

  // left lists the open labels of the screen.
  left() { return this.tags().filter((i) => this.isOpen(i)); }

  // ask requests the classes if no screen is shown. Edits on their way go first.
  async ask() {
    const {app} = this, {model, sender, view} = app;
    if (view.kind !== 'classes' || this.at || this.asking || sender.queue.length || this.of === model.version) return;
    this.asking = true;
    try {
      const a = await ask('/api/classes', {});
      Object.assign(this, {of: a.version, waiting: a.waiting, failed: '', lists: this.grouped(a)});
      if (a.waiting) setTimeout(() => { this.of = -1; view.draw(); }, 500);
    } catch (e) { Object.assign(this, {failed: e.message, of: model.version}); }
    this.asking = false;
    this.next();
  }

  // grouped lists the classes with their lines, those that are worth most first: with many labels that are sure, or that
  // another program has proposed. Labels in doubt stand first, the surest of the others next. The variants of a name are in
  // the class that is proposed for most of them.
  grouped({tags, groups, leads, doubt}) {
    const {model: m, view: {grid: {scroller}}} = this.app, by = new Map();
    for (const [stem, of] of Map.groupBy((tags || []).keys(), (k) => m.stem(tags[k]))) {
      const [[group, most], second] = [...Map.groupBy(of, (k) => groups[k])].sort((x, y) => y[1].length - x[1].length);
      if (!by.has(group)) by.set(group, new Map());
      by.get(group).set(stem, {tags: of.map((k) => tags[k]), worth: of.some((k) => doubt[k]) ? 1 : Math.max(0.02, second ? 0 : leads[most[0]])});
    }
    this.room = Math.max(6, Math.floor((scroller.height - 20) / this.app.view.rowHeight()));
    const heads = [...by.values()].flatMap((parts) => [...new Set([...parts.values()].map((x) => m.head(x.tags[0])))]);
    this.impure = new Set(heads.filter((w, k) => heads.indexOf(w) < k));
    this.text.font = `500 14px ${getComputedStyle(document.body).fontFamily}`;
    return [...by].map(([group, parts]) => {
      const lines = this.divided([...parts.values()], scroller.width).sort((x, y) => y.worth - x.worth);
      return {group, lines, names: parts.size, worth: sum(lines.slice(0, this.room).map((x) => x.worth))};
    }).sort((x, y) => y.worth - x.worth);
  }

  // divided divides names into lines of a width, by their head words. A word that is in several classes is divided by the
  // word before it where several names share both. The words of single names share lines.
  divided(names, wide) {
    const m = this.app.model, twoWords = (x) => headWord(m.names[x.tags[0]], 2), list = [];
    const byTwo = Map.groupBy(names.filter((x) => this.impure.has(m.head(x.tags[0]))), twoWords);
    const byWord = Map.groupBy(names, (x) => (byTwo.get(twoWords(x))?.length >= several ? twoWords(x) : m.head(x.tags[0])));
    this.width = wide;
    const add = (word, of) => {
      const full = wide - beside - (word ? this.text.measureText(word).width : 0);
      let line, left = 0;
      for (const x of of) {
        const need = apart + this.text.measureText(this.textOf(x.tags)).width;
        if (left < need) {
          line = {word, parts: [], worth: 0, long: need > full};
          list.push(line);
          left = full;
        }
        left -= need;
        line.parts.push(x.tags);
        line.worth += x.worth;
      }
    };
    const alone = [];
    for (const [word, of] of byWord) if (of.length > 1) add(word, of.sort((x, y) => y.worth - x.worth)); else alone.push(of[0]);
    const before = m.order('word');
    add('', alone.sort((x, y) => before(x.tags[0], y.tags[0])));
    return list;
  }

  // textOf is the text of the variants of a name: the name, and how many others there are.
  textOf(tags) { return shown(this.app.model.names[tags[0]]) + (tags.length > 1 ? ` +${tags.length - 1}` : ''); }

  // next fills the screen with the classes that are worth most of those that were not skipped.
  next() {
    const {view} = this.app;
    let list = this.lists.filter((x) => !this.skipped.has(x.group));
    if (!list.length && this.skipped.size) { this.skipped.clear(); list = this.lists; }
    let {room} = this;
    this.at = null;
    for (const x of list) {
      if (this.at && room < heading + 2) break;
      room -= heading;
      const lines = x.lines.slice(0, Math.max(1, Math.floor(room))).sort(this.before);
      room -= lines.length;
      (this.at ||= []).push({group: x.group, all: x.names, lines});
    }
    this.choices.clear();
    this.seen.clear();
    this.part = undefined;
    this.index();
    if (this.at) this.loadChoices();
    view.grid.start();
    view.schedule(true);
  }

  async loadChoices() {
    const {at} = this, tags = this.tags();
    try {
      const {choices} = await ask('/api/choices', {tags});
      if (this.at !== at) return;
      (choices || []).forEach((list, k) => this.choices.set(tags[k], list.filter((g) => g >= 0 && g !== this.groupOf.get(tags[k])).slice(0, 9)));
    } catch { return; } // the digits do nothing; m and x still do
    this.app.view.draw();
  }

  // see notes which labels have been on the screen. Lines that were made for another width are divided again first.
  see(tags) {
    const {view, view: {grid: {scroller: {width}}}} = this.app;
    if (this.at && this.width !== width) {
      for (const x of this.at) x.lines = this.divided(x.lines.flatMap((l) => l.parts.map((of) => ({tags: of, worth: 0}))), width).sort(this.before);
      this.index();
      view.schedule(true);
    } else for (const i of tags) this.seen.add(i);
  }

  // index finds lines and groups by their labels.
  index() {
    this.lineOf = new Map(this.lines().map((l) => [l.parts[0][0], l]));
    this.groupOf = new Map((this.at || []).flatMap((x) => x.lines.flatMap((l) => l.parts.flat().map((i) => [i, x.group]))));
  }

  // take confirms the open labels of the screen that have been in sight, and goes on.
  take() {
    const {app} = this, tags = this.left().filter((i) => this.seen.has(i)), unseen = this.left().length - tags.length;
    if (!this.at) return;
    if (tags.length) {
      const parts = [...Map.groupBy(tags, (i) => this.groupOf.get(i))]
        .map(([g, of]) => ({to: g < 0 ? '' : this.name(g), members: of.map((i) => app.model.ref(i))}));
      app.edit({op: 'confirm', parts, note: 'read'}, tags);
      app.view.clearMarks();
    }
    if (unseen) { app.view.say(`${count(unseen, 'tag')} ${unseen === 1 ? 'has' : 'have'} not been on the screen yet.`); return; }
    this.at = null;
    app.view.schedule(true);
  }

  // skip shows other classes, and these later.
  skip() {
    if (!this.at) return;
    for (const x of this.at) this.skipped.add(x.group);
    this.next();
  }

  // chosen lists the labels that a key decides: those of a part, or of the line at the cursor that are still open.
  chosen() {
    const line = this.lineOf?.get(this.app.view.grid.current());
    if (!line) return [];
    const part = line.parts.find((p) => p[0] === this.part), open = line.parts.flat().filter((i) => this.isOpen(i));
    return part || (open.length ? open : line.parts.flat());
  }

  // offered lists the groups that the digits take for the chosen labels, best first: those that stand first for most.
  offered() {
    const of = new Map();
    for (const i of this.app.view.chosen()) (this.choices.get(i) || []).forEach((g, k) => of.set(g, (of.get(g) || 0) + 1 / (k + 1)));
    return [...of].sort((x, y) => y[1] - x[1]).slice(0, 9).map(([g]) => this.app.model.groups[1][g]).filter((g) => g && !g.gone);
  }

  // choose moves the chosen labels to the n-th group that is offered.
  choose(n) {
    const {view} = this.app, tags = view.chosen(), g = this.offered()[n];
    if (!g) return;
    view.remember(tags);
    decide(this.app, 'move', tags, g.name);
  }

  // point puts the cursor on what is under the pointer: a label, or the word of a line, which stands for the line.
  point(target) {
    const cell = target.closest('[data-part], .word')?.closest('[data-tag]'), {view} = this.app;
    if (!cell || view.pointer.down) return;
    const at = view.grid.items.indexOf(Number(cell.dataset.tag)), part = target.closest('[data-part]')?.dataset.part;
    if (at < 0 || (at === view.grid.at && this.part === (part && Number(part)))) return;
    Object.assign(this, {part: part && Number(part)});
    view.grid.at = at;
    view.draw();
  }

  // step moves the cursor to the next label, or to the one before.
  step(by) {
    const {grid} = this.app.view, parts = this.lines().flatMap((l) => l.parts.map((p) => ({line: l.parts[0][0], part: p[0]})));
    const from = this.part === undefined ? parts.findIndex((x) => x.line === grid.current()) - (by > 0) : parts.findIndex((x) => x.part === this.part);
    const to = parts[Math.max(0, Math.min(parts.length - 1, from + by))];
    if (!to) return;
    this.part = to.part;
    grid.seek(to.line);
    this.app.view.draw();
  }

  // key handles the keys of this screen, and tells whether the key is one of them.
  key(name) {
    const keys = {a: () => this.take(), j: () => this.skip(), R: () => this.app.go('proposals'), l: () => this.step(1), h: () => this.step(-1),
      ' ': () => this.toggle()};
    Object.assign(keys, {Enter: keys.a, ArrowRight: keys.l, ArrowLeft: keys.h});
    if (/^[1-9]$/.test(name)) { this.choose(Number(name) - 1); return true; }
    if (name.startsWith('Arrow') && !keys[name]) this.part = undefined; // to another line
    if (!Object.hasOwn(keys, name)) return false;
    keys[name]();
    return true;
  }

  // toggle marks the chosen labels, or removes their marks.
  toggle() {
    const {view} = this.app, {marks} = view, tags = marks.size ? this.chosen() : view.chosen(), marked = tags.every((i) => marks.has(i));
    for (const i of tags) if (marked) marks.delete(i); else marks.add(i);
    view.draw();
  }

  // sections lists the lines of each class by their first labels, and rows all labels of each line.
  sections() {
    const names = (x) => sum(x.lines.map((l) => l.parts.length));
    return this.at ? this.at.map((x) => ({key: x.group, title: `${shown(this.name(x.group))} · ${number(names(x))} of ${number(x.all)}`,
      items: x.lines.map((l) => l.parts[0][0])})) : [{items: []}];
  }

  rows() {
    const rows = new Rows();
    for (const l of this.lines()) rows.put(l.parts.flat());
    return rows;
  }

  // about says where a label is that was decided. Its place on the line stays as it was.
  about(i) {
    const {model: m} = this.app;
    if (this.isOpen(i)) return '';
    return ` → ${m.status[i] & DROPPED ? 'dropped' : shown(this.name(m.parent[i]))}`;
  }

  // state is everything that the appearance of a line depends on.
  state(i, active) {
    const {view, model: m} = this.app, tags = view.rows.labels(i);
    return [active && (this.part ?? true), ...tags.flatMap((x) => [m.status[x], m.parent[x], view.marks.has(x)])].join();
  }

  // cell writes a line into an element.
  cell(e, i, active) {
    const {view, model: m} = this.app, line = this.lineOf.get(i), whole = active && this.part === undefined;
    if (!line) return;
    const part = (tags) => {
      const open = tags.some((x) => this.isOpen(x)), marked = tags.every((x) => view.marks.has(x));
      const is = {part: true, at: active && this.part === tags[0], decided: !open, dropped: m.status[tags[0]] & DROPPED, marked};
      return h('span', {class: Object.keys(is).filter((k) => is[k]).join(' '), data: {part: tags[0]}, dir: 'auto', draggable: true,
        title: tags.map((x) => m.names[x]).join('\n') + this.about(tags[0])}, this.textOf(tags), hidden(this.about(tags[0])));
    };
    attribute(e, 'class', `cell words${whole ? ' at' : ''}${line.long ? ' long' : ''}`);
    attribute(e, 'role', 'option');
    attribute(e, 'aria-selected', view.isMarked(i));
    e.dataset.tag = i;
    fill(e, line.word ? h('span', {class: 'word', dir: 'auto', title: 'all tags of this line'}, line.word) : null, line.parts.map(part));
  }

  // draw writes the part above the labels, and requests what is missing.
  draw() {
    const {app, at} = this, {model: m} = app, open = m.n - m.done.labels, box = byId('proposals');
    const button = (k, text, run, main) => h('button', {type: 'button', class: main ? 'main-button' : '', 'aria-keyshortcuts': k, onclick: run},
      text, ' ', key(k));
    const rest = this.waiting ? 'The names of the groups are being encoded…' : this.of < m.version ? 'learning from what is decided…' : open
      ? 'Nothing can be proposed. A proposal needs at least two groups that were declared by name: by N, by an import, or by hgld cluster run --groups.'
      : 'No tag is open.';
    const told = at && `${count(open, 'tag')} ${open === 1 ? 'is' : 'are'} open. A wrong one, or a line by its word, goes by a digit, m or x.`;
    const run = (name) => () => app.go(name);
    fill(box, h('p', {class: 'whole', role: 'status'}, told || this.failed || rest),
      h('p', {class: 'buttons'}, at ? [button('a', `Take ${number(this.left().length)}`, () => this.take(), true),
        button('j', 'Other classes', () => this.skip()), button('m', 'Move', run('move')), button('x', 'Drop', run('drop'))] : null,
      button('u', 'Undo', run('undo')), button('R', 'By sample', run('proposals'))));
    setTimeout(() => this.ask(), 0); // the screen is painted first
  }
}
