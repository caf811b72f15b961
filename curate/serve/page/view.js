import {byId, key, number, shown} from './dom.js';
import {DECIDED, DROPPED} from './model.js';
import {ask} from './net.js';
import {Grid} from './grid.js';
import {Tree} from './tree.js';
import {Pointer} from './pointer.js';
import {PlaneMap} from './map.js';
import {MarkedLabels, whereabouts} from './markedlabels.js';
import {showMessage} from './feedback.js';
import {sectionsOf} from './sections.js';
import {Rows} from './variants.js';
import * as panels from './panels.js';

// View is what the page shows: the screen, its labels, the marks and the cursor. The address
// names the screen, so that a reload and the back button return to it.
export class View {
  constructor(app) {
    const {model} = app;
    Object.assign(this, {app, model, screen: {kind: 'group', at: -1}, marks: new MarkedLabels(model), rows: new Rows(), pointer: new Pointer()});
    this.remembered = new Map(); // where labels were when a command on them began
    this.leftOut = new Set(); // decided labels that were not marked with others
    this.sorting = 'sure'; // or an order of the model
    this.singly = false; // whether each variant has a row of its own
    this.grid = new Grid(byId('grid'), {
      width: (items) => (this.kind === 'group' ? panels.lineWidth(app, items) : this.kind === 'proposals' ? 330 : 220),
      height: (wide) => this.rowHeight(wide),
      cell: (e, i, active) => (this.writer ? this.writer.cell(e, i, active) : panels.card(app, e, i, active)),
      state: (i, active) => (this.writer ? this.writer.state(i, active) : panels.cardState(app, i, active)),
      seen: (items) => { if (this.kind === 'classes') app.classes.see(this.labelsOf(items)); },
    });
    this.tree = new Tree(byId('tree'), model, {
      open: (g) => this.openGroup(g), mark: () => this.draw(), drop: (row, e) => app.drop(row, e), take: (g) => app.moveTo(g), say: (text) => this.say(text),
    });
    this.tree.refresh();
  }

  // kind is the kind of screen: group, near, like, search, marked, dropped, flagged, map, proposals or
  // review.
  get kind() { return this.screen.kind; }

  // at is the group of the screens group and near.
  get at() { return this.screen.at; }

  // writer is the screen that writes its cells itself, undefined for cards.
  get writer() { return {review: this.app.review, classes: this.app.classes}[this.kind]; }

  // onGroup tells whether the screen is about one group.
  get onGroup() { return this.kind === 'group' || this.kind === 'near'; }

  // groupScreen is the screen of a group. Its labels keep their order while it is open: the
  // surest first if margins are known when it is opened.
  groupScreen(at) { return {kind: 'group', at, order: this.sorting === 'sure' && !this.model.margins ? 'near' : this.sorting}; }

  // sortNext shows the labels in the next order.
  sortNext() {
    const orders = ['sure', 'word', 'landmarks', 'name', 'doubt', 'latest'], current = this.grid.current();
    this.sorting = orders[(orders.indexOf(this.sorting) + 1) % orders.length];
    if (this.kind === 'group') this.screen = this.groupScreen(this.at);
    this.grid.start(current);
    this.schedule(true);
  }

  say(text, leads) { showMessage(text, leads ? () => this.app.openLastEdit() : null); }

  // ——— drawing

  // refresh lists the labels of the screen again and draws what has changed.
  refresh() {
    const {byOthers, screen, grid} = this, was = grid.current();
    this.scheduled = this.edited = this.byOthers = false;
    for (const i of this.leftOut) if (!(this.model.status[i] & DECIDED)) this.leftOut.delete(i);
    if (this.onGroup) this.followGroup();
    if (this.screen !== screen) grid.start();
    this.tree.refresh();
    const {sections, rows} = sectionsOf(this.app);
    this.rows = rows;
    grid.set(sections, (i) => rows.standing(i));
    if (byOthers && this.screen === screen && was !== undefined && !grid.items.includes(rows.standing(was))) {
      this.say(`“${shown(this.model.names[was])}” is ${whereabouts(this.model, was)} now: it was changed in another tab.`);
    }
    this.drawAll();
    if (this.onGroup) this.setAddress(false);
  }

  // followGroup keeps the group in view when it gets another name or number. If it is gone, its
  // successor is shown, or else the next group.
  followGroup() {
    const m = this.model, g = m.groups[1][this.at], follow = this.follow && m.groupNamed(this.follow.to);
    if (follow >= 0) {
      const parts = (this.follow.parts || []).map((name) => m.groupNamed(name)).filter((at) => at >= 0 && at !== follow);
      this.tree.follow(this.follow.from, [follow, ...parts]);
      this.screen = this.groupScreen(follow);
      this.follow = undefined;
    } else if (g && !g.gone && this.name !== g.name && m.groupNamed(this.name) >= 0) this.screen.at = m.groupNamed(this.name);
    const now = m.groups[1][this.at];
    if (!now || now.gone || (!now.declared && !m.bucket(this.at).size)) {
      if (now?.gone && !this.follow) this.openSuccessor(this.name);
      const open = this.tree.next(1, {open: true, round: true}), next = open >= 0 ? open : this.tree.next(1, {round: true});
      const at = next >= 0 && next !== this.at ? next : this.tree.groups().find((x) => x !== this.at) ?? m.live()[0]?.at;
      this.screen = at === undefined ? {kind: 'dropped'} : this.groupScreen(at);
    }
    if (this.kind !== 'dropped') this.name = m.groups[1][this.at].name;
  }

  // rowHeight is the distance between rows of a width. A label of a group or a proposal takes one
  // line, and a label of other screens two.
  rowHeight(wide) {
    if (this.kind === 'review') return this.app.review.height(wide, byId('grid'));
    return this.kind === 'classes' ? 28 : panels.lines.includes(this.kind) ? 32 : 72;
  }

  // schedule draws once, after the present key or answer has been handled and the pointer is up.
  // edited says that the labels of the screen may have changed.
  schedule(edited) {
    this.edited ||= edited;
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => this.pointer.whenUp(() => {
      if (!this.scheduled) return; // it has been drawn since
      this.scheduled = false;
      if (this.edited) { this.refresh(); return; }
      this.grid.draw();
      this.drawAll();
    }));
  }

  // draw shows the marks, the cursor and the panels.
  draw() { this.schedule(false); }

  drawAll() {
    const {app, kind} = this;
    byId('search').hidden = kind !== 'search';
    byId('mapbox').hidden = kind !== 'map';
    byId('actions').hidden = kind === 'classes';
    byId('proposals').hidden = !['proposals', 'classes'].includes(kind);
    byId('grid').hidden = kind === 'map';
    if (this.map && kind === 'map') this.map.draw();
    this.tree.show(this.onGroup ? this.at : -1);
    panels.head(app);
    panels.actions(app);
    panels.views(app);
    panels.progress(app);
    app.rate.draw(this.model.n - this.model.done.labels, app.proposals.errors);
    if (kind === 'proposals') app.proposals.draw();
    if (kind === 'classes') app.classes.draw();
    if (kind === 'review') app.review.draw(byId('side')); else panels.side(app);
    app.enlarged?.draw();
    setTimeout(() => { app.suggestions.ask(); app.examples.ask(); app.threads.ask(); app.tagEdits.ask(); }, 0); // the screen is painted first
  }

  // ——— going to a screen

  // show opens a screen, with the cursor on a label of it.
  show(screen, push = true, current) {
    this.screen = screen;
    this.grid.start(current);
    this.grid.only = ['review', 'classes'].includes(screen.kind) ? 1 : 0;
    this.grid.sort = {review: 'duel', group: 'line', proposals: 'line', classes: 'words'}[screen.kind] || 'card';
    this.grid.titleHigh = screen.kind === 'classes' ? 31 : 44;
    this.grid.between = ['line', 'words'].includes(this.grid.sort) ? 4 : 8;
    if (this.onGroup) this.name = this.model.groups[1][this.at].name;
    this.setAddress(push);
    this.refresh();
    if (!['search', 'map'].includes(screen.kind) && document.activeElement !== byId('grid')) byId('grid').focus({preventScroll: true});
  }

  setAddress(push) {
    const hash = `#${this.kind}${this.onGroup ? `/${encodeURIComponent(this.name)}` : ''}`;
    if (push) history.pushState(null, '', hash);
    else if (location.hash !== hash) history.replaceState(null, '', hash);
  }

  // openGroup shows a group, with the cursor on one of its labels.
  openGroup(g, current) { if (g !== undefined && g >= 0) this.show(this.groupScreen(g), true, current); }

  // openCurrentGroup shows the group that was open last.
  openCurrentGroup() {
    const g = this.model.groupNamed(this.name);
    this.openGroup(g >= 0 ? g : this.tree.first());
  }

  // openLabel shows a label where it is.
  openLabel(i) {
    if (this.model.status[i] & DROPPED) this.show({kind: 'dropped'}, true, i); else this.openGroup(this.model.parent[i], i);
  }

  // openNextGroup shows the next or the previous group. After the last one it continues with the
  // first that has open labels.
  openNextGroup(step) {
    const next = this.tree.next(step, {});
    const g = next >= 0 ? next : this.tree.next(step, {open: true, round: true});
    if (g < 0) {
      const end = step > 0 ? 'last' : 'first';
      this.say(this.model.done.labels < this.model.n ? `This is the ${end} group; all open tags are in it.`
        : `This is the ${end} group, and everything is decided.`);
      return;
    }
    this.openGroup(g);
    if (next < 0) this.say(`Continuing at the ${step > 0 ? 'first' : 'last'} group with open tags.`);
  }

  // openNear shows open labels of other groups that are near a group.
  async openNear(g = this.onGroup ? this.at : this.model.parent[this.grid.current()], push = true) {
    if (g === undefined || g < 0) return;
    try { this.candidates = (await ask('/api/candidates', {group: g})).near.map((x) => x.at); } catch (e) { this.say(e.message); return; }
    if (push) this.show({kind: 'near', at: g}); else this.schedule(true);
  }

  // openLike shows the labels whose meanings are nearest to the chosen ones.
  async openLike() {
    const tags = this.chosen();
    if (!tags.length || !this.model.has.suggest) { this.say(tags.length ? 'This draft has no vectors.' : 'Choose a tag first.'); return; }
    try { this.like = (await ask('/api/like', {tags})).near.map((x) => x.at); } catch (e) { this.say(e.message); return; }
    this.likeOf = tags;
    this.show({kind: 'like'});
  }

  async openMap(push = true) {
    this.show({kind: 'map'}, push);
    const {model, marks} = this;
    this.map ??= new PlaneMap(byId('mapbox'), {
      words: {label: 'tag', then: [', then ', key('m'), ' move'], decided: 'filled points are decided', open: 'only open ones'},
      group: (i) => model.parent[i],
      isMarked: (i) => marks.has(i),
      decided: (i) => model.status[i] & DECIDED,
      name: (i) => model.names[i],
      groupName: (g) => model.groups[1][g].name,
      declared: (g) => model.groups[1][g].declared,
      marked: (tags, more) => {
        if (!more) { marks.clear(); this.leftOut.clear(); }
        this.markMany(tags);
      },
    });
    if (!this.map.places) {
      try { this.map.set((await ask('/api/map')).places); performance.mark('map'); } catch (e) { this.map.note.textContent = e.message; }
    }
    this.map.canvas.focus();
    this.draw();
  }

  // restore opens the screen that the address names.
  restore() {
    const [kind, text] = location.hash.slice(1).split('/'), name = decoded(text || '');
    const m = this.model, g = m.groupNamed(name), exists = g >= 0 && (m.groups[1][g].declared || m.bucket(g).size > 0);
    const first = this.tree.first();
    if (['dropped', 'flagged', 'search', 'marked'].includes(kind)) { this.show({kind}, false); return; }
    if (['proposals', 'classes'].includes(kind) && m.has.propose) { this.show({kind}, false); return; }
    if (kind === 'like' && this.like) { this.show({kind}, false); return; }
    if (kind === 'map' && m.has.map) { this.openMap(false); return; }
    if (first === undefined) { this.show({kind: 'dropped'}, false); return; }
    if (exists && kind === 'near' && m.has.suggest) { this.candidates = []; this.show({kind, at: g}, false); this.openNear(g, false); return; }
    this.show(this.groupScreen(exists ? g : first), false);
    if (g >= 0 && !exists) this.say(`“${shown(name)}” no longer has tags.`);
    else if (g < 0 && name) this.openSuccessor(name);
  }

  // openSuccessor shows the group that took the place of one that is gone.
  async openSuccessor(name) {
    let now;
    try {
      now = (await ask(`/api/group?name=${encodeURIComponent(name)}`)).name;
    } catch (e) {
      this.say(`${e.message[0].toUpperCase()}${e.message.slice(1)}.`);
      return;
    }
    const g = this.model.groupNamed(now);
    if (g < 0) return;
    this.show(this.groupScreen(g), false);
    this.say(`“${shown(name)}” has become “${shown(now)}”.`);
  }

  // ——— marks and the cursor

  // chosen lists the labels that a command applies to: the marked ones, or those of the current
  // row.
  chosen() {
    if (this.marks.size) {
      if (this.chosenEdition !== this.marks.edition) { this.chosenEdition = this.marks.edition; this.chosenMarks = [...this.marks]; }
      return this.chosenMarks;
    }
    if (this.kind === 'classes') return this.app.classes.chosen();
    const i = this.grid.current();
    return i === undefined || this.kind === 'map' ? [] : this.rows.labels(i);
  }

  // current is the label at the cursor.
  current() { return this.kind === 'classes' ? this.app.classes.part ?? this.grid.current() : this.grid.current(); }

  // choice identifies the chosen labels.
  choice() { return this.marks.size ? `marks ${this.marks.edition}` : `label ${this.chosen()[0]}`; }

  // commonGroup is the group that labels share, −1 if they share none.
  commonGroup(tags) { const g = this.model.parent[tags[0]]; return tags.every((i) => this.model.parent[i] === g) ? g : -1; }

  // remember notes where labels are when a command on them begins.
  remember(tags) { this.remembered = new Map(tags.map((i) => [i, this.marks.seen.get(i) ?? this.model.standing(i)])); }

  clearMarks() {
    if (this.marks.size) this.cleared = [...this.marks];
    this.marks.clear();
    this.leftOut.clear();
    this.anchor = undefined;
    this.schedule(this.kind === 'marked');
  }

  // markAgain marks labels that were marked before, if nothing else is marked.
  markAgain(tags) {
    if (this.marks.size || !tags.length) return;
    tags.forEach((i) => this.marks.add(i));
    this.schedule(this.kind === 'marked');
  }

  // marksAgain marks what was marked before clearMarks.
  marksAgain() {
    if (this.marks.size || !this.cleared?.length) { this.say(this.marks.size ? 'Other tags are selected.' : 'No selection was cleared.'); return; }
    this.markAgain(this.cleared);
  }

  // markMany marks labels that the curator did not point at one by one. It leaves out decided ones,
  // so that an edit of many does not undo decisions. In a list without others it takes them, and
  // markDecided adds them.
  markMany(tags) {
    const {model, marks, leftOut} = this, open = tags.filter((i) => !(model.status[i] & DECIDED));
    const chosen = open.length || this.kind === 'map' ? open : tags, taken = new Set(chosen);
    chosen.forEach((i) => { marks.add(i); leftOut.delete(i); });
    tags.forEach((i) => { if (!taken.has(i) && !marks.has(i)) leftOut.add(i); });
    this.draw();
  }

  // markDecided marks the decided labels that markMany has left out.
  markDecided() {
    if (!this.leftOut.size) { this.say('No decided tag has been left out.'); return; }
    this.leftOut.forEach((i) => this.marks.add(i));
    this.leftOut.clear();
    this.draw();
  }

  // isMarked tells whether all labels of a row are marked.
  isMarked(i) { return this.rows.labels(i).every((x) => this.marks.has(x)); }

  // toggle marks the labels of a row, or removes their marks.
  toggle(i) {
    const marked = this.isMarked(i);
    for (const x of this.rows.labels(i)) { if (marked) this.marks.delete(x); else this.marks.add(x); }
    this.anchor = i;
    this.schedule(this.kind === 'marked');
  }

  // markSameWord marks the labels of this screen whose head word is that of the current label; if they are
  // marked, those of the whole draft.
  markSameWord() {
    const {model, grid} = this, i = this.current();
    if (i === undefined) return;
    const word = model.head(i), same = (list) => list.filter((x) => model.head(x) === word);
    const here = same(this.labelsOf(grid.items)), open = here.filter((x) => !(model.status[x] & DECIDED)), before = this.marks.size;
    const all = (open.length ? open : here).every((x) => this.marks.has(x));
    this.markMany(all ? same([...model.names.keys()]) : here);
    const n = this.marks.size - before;
    this.say(n ? `${n === 1 ? 'One more tag' : `${number(n)} more tags`} with “${word}” selected${all ? ', of all groups' : ''}.`
      : `No other open tag with “${word}”${all ? '' : ' is here'}.`);
  }

  // labelsOf lists the labels of rows.
  labelsOf(items) { return this.rows.of.size ? items.flatMap((i) => this.rows.labels(i)) : items; }

  // toggleVariants puts the variants of a name into one row, or each into its own.
  toggleVariants() {
    this.singly = !this.singly;
    this.schedule(true);
    this.say(this.singly ? 'Every tag has a row of its own.' : 'Names that differ only in case, accents or number are in one row.');
  }

  // markTo marks the rows from the anchor to one, and moves the cursor there.
  markTo(to) {
    const anchor = this.grid.items.indexOf(this.anchor), from = anchor >= 0 ? anchor : this.grid.at;
    this.markMany(this.labelsOf(this.grid.items.slice(Math.min(from, to), Math.max(from, to) + 1)));
    this.anchor = this.grid.items[from];
    this.grid.go(to);
    this.draw();
  }

  // step moves the cursor by a number of rows; with extend it marks them.
  step(by, extend) {
    if (!this.grid.items.length) return;
    const to = Math.max(0, Math.min(this.grid.items.length - 1, this.grid.at + by));
    if (extend) { this.markTo(to); return; }
    this.anchor = undefined;
    this.grid.go(to);
    this.draw();
  }
}

// decoded decodes a part of the address. A damaged part is returned as it is.
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}
