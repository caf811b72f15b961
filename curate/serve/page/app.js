import {byId, h, fill, count, key, shown} from './dom.js';
import {Model, DECIDED, DROPPED} from './model.js';
import {Sender, ask} from './net.js';
import {Grid} from './grid.js';
import {Tree} from './tree.js';
import {Press} from './press.js';
import {PlaneMap} from './map.js';
import {Review} from './review.js';
import {commands, decide, setParent, helpDialog} from './commands.js';
import {dialogOpen} from './dialogs.js';
import {Marks, pack, unpack, keepOnLeaving, takeUp, reopen} from './place.js';
import {asPast, told, place, say} from './feedback.js';
import {shownIn} from './views.js';
import {Pace} from './pace.js';
import {Thumbnails} from './thumbnails.js';
import {Rest} from './rest.js';
import {Rows} from './variants.js';
import * as panels from './panels.js';

// App holds what is on the screen: the view, the marks and the keyboard's place.
// The address carries the view, so that going back and reloading return to it.
class App {
  constructor(state) {
    this.model = new Model();
    this.model.load(state);
    this.marks = new Marks(this.model);
    this.looked = new Map(); // how labels stood when a command on them began
    this.view = {kind: 'group', at: -1};
    this.near = [];
    this.rows = new Rows();
    this.singly = false; // whether variants have a row each
    this.grid = new Grid(byId('grid'), {width: (items) => (this.view.kind === 'group' ? panels.lineWidth(this, items) : this.view.kind === 'rest' ? 330 : 220), height: (wide) => this.rowHeight(wide), cell: (e, i, active) => (this.view.kind === 'review' ? this.review.cell(e, i, active) : panels.card(this, e, i, active)),
      state: (i, active) => (this.view.kind === 'review' ? this.review.state(i, active) : panels.cardState(this, i, active))});
    this.tree = new Tree(byId('tree'), this.model, {open: (g) => this.open(g), mark: () => this.draw(), drop: (row, e) => this.dropped(row, e), say: (text) => this.say(text)});
    this.press = new Press();
    this.thumbnails = new Thumbnails(() => this.draw());
    const free = (run) => (...args) => this.press.free(() => run(...args));
    this.sender = new Sender(this.model, {changed: (byOthers) => { this.byOthers ||= byOthers; this.later(true); }, saved: (a, e) => this.saved(a, e), another: () => this.another(), gone: free((n, ended) => this.gone(n, ended)), back: free(() => this.back()),
      conflict: free((e, why) => this.conflict(e, why)), refused: free((_, why) => this.refused(why))});
    this.tree.refresh();
    this.listen();
    const fields = [byId('query'), byId('openonly')];
    this.kept = takeUp(this, fields);
    this.rest = new Rest(this, this.kept?.rest);
    this.pace = new Pace(this.model.done.labels, this.kept?.pace);
    this.restore();
    if (this.kept) {
      const current = unpack(this, this.kept);
      if (this.kept.view === location.hash) this.grid.wanted = current;
      this.later(true);
    }
    keepOnLeaving(this, fields);
    this.savedText(`saved #${this.model.version}`);
    this.sender.send();
    this.sender.watch();
    setTimeout(() => this.measure(), 0); // the picture is first
  }

  // measure gets how surely labels belong to their groups. Groups that are opened from
  // then on have the surest first; the one in view stays as it was read.
  async measure() {
    if (!this.model.has.suggest) return;
    try { this.model.margins = Float32Array.from((await ask('/api/margins')).margins); } catch { return; } // they stay by distance
    document.body.dataset.measured = 'yes';
  }

  // groupView is the view of a group, in the order that its labels keep while it is open.
  groupView(at) { return {kind: 'group', at, surest: !!this.model.margins}; }

  // ——— what is shown

  // refresh shows the view anew: what has changed of it is drawn.
  refresh() {
    const {byOthers, view} = this, was = this.grid.current();
    this.waiting = this.edited = this.byOthers = false;
    if (['group', 'near'].includes(view.kind)) this.keepGroup();
    if (this.view !== view) this.grid.start();
    this.tree.refresh();
    const {sections, rows} = shownIn(this);
    this.rows = rows;
    this.grid.set(sections, (i) => rows.standing(i));
    if (byOthers && this.view === view && was !== undefined && !this.grid.items.includes(rows.standing(was))) this.say(`“${shown(this.model.names[was])}” is ${this.whereIs(was)} now: it was changed in another tab.`);
    this.drawAround();
    if (['group', 'near'].includes(this.view.kind)) this.address(false);
  }

  // keepGroup keeps the group at work in view, whatever it is called now; where it is
  // gone, what has become of it, or else the next one.
  keepGroup() {
    const m = this.model, g = m.groups[1][this.view.at], follow = this.follow && m.groupNamed(this.follow.to);
    if (follow >= 0) {
      this.tree.follow(this.follow.from, [follow, ...(this.follow.parts || []).map((name) => m.groupNamed(name)).filter((at) => at >= 0 && at !== follow)]);
      this.view = this.groupView(follow);
      this.follow = undefined;
    } else if (g && !g.gone && this.name !== g.name && m.groupNamed(this.name) >= 0) this.view.at = m.groupNamed(this.name);
    const now = m.groups[1][this.view.at];
    if (!now || now.gone || (!now.declared && !m.bucket(this.view.at).size)) {
      if (now?.gone && !this.follow) this.lead(this.name);
      const next = this.tree.next(1, {round: true});
      const at = next >= 0 && next !== this.view.at ? next : this.tree.groups().find((x) => x !== this.view.at) ?? m.live()[0]?.at;
      this.view = at === undefined ? {kind: 'dropped'} : this.groupView(at);
    }
    if (this.view.kind !== 'dropped') this.name = m.groups[1][this.view.at].name;
  }

  // rowHeight is how far apart rows of a width stand: labels of a group and proposals take a line each,
  // and where they come from several groups, two.
  rowHeight(wide) { return this.view.kind === 'review' ? this.review.height(wide, byId('grid')) : ['group', 'rest'].includes(this.view.kind) ? 32 : 72; }

  // whereIs says where a label stands.
  whereIs(i) { return this.model.status[i] & DROPPED ? 'dropped' : this.model.parent[i] >= 0 ? `in “${shown(this.model.groups[1][this.model.parent[i]].name)}”` : 'in no group'; }

  // another opens the page anew, with what is at hand: the server shows another draft.
  another() {
    this.leaving = true;
    location.reload();
  }

  // later draws once for all that happens now, when the key or the answer that it
  // comes from has been dealt with: edited, what the view holds may be other than it
  // was. While the pointer is down it waits.
  later(edited) {
    this.edited ||= edited;
    if (this.waiting) return;
    this.waiting = true;
    queueMicrotask(() => this.press.free(() => {
      if (!this.waiting) return; // it has been drawn since
      this.waiting = false;
      if (this.edited) { this.refresh(); return; }
      this.grid.draw();
      this.drawAround();
    }));
  }

  // draw shows the marks, the place and the panels.
  draw() { this.later(false); }

  drawAround() {
    byId('search').hidden = this.view.kind !== 'search';
    byId('mapbox').hidden = this.view.kind !== 'map';
    byId('rest').hidden = this.view.kind !== 'rest';
    byId('grid').hidden = this.view.kind === 'map';
    if (this.map && this.view.kind === 'map') this.map.draw();
    this.tree.show(this.view.kind === 'group' || this.view.kind === 'near' ? this.view.at : -1);
    panels.head(this);
    panels.actions(this);
    panels.views(this);
    panels.progress(this);
    this.pace.draw(this.model.n - this.model.done.labels, this.rest.errors);
    if (this.view.kind === 'rest') this.rest.draw();
    if (this.view.kind === 'review') this.review.draw(byId('side')); else panels.side(this);
    setTimeout(() => { this.suggest(); this.lookUp(); }, 0); // the picture is first
  }

  // ——— going about

  // setView shows a view, with the keyboard's place on a label of it.
  setView(v, push = true, current) {
    this.view = v;
    this.grid.start(current);
    this.grid.only = v.kind === 'review' ? 1 : 0;
    this.grid.sort = {review: 'duel', group: 'line', rest: 'line'}[v.kind] || 'card';
    this.grid.between = this.grid.sort === 'line' ? 4 : 8;
    if (v.kind === 'group' || v.kind === 'near') this.name = this.model.groups[1][v.at].name;
    this.address(push);
    this.refresh();
    if (!['search', 'map'].includes(v.kind) && document.activeElement !== byId('grid')) byId('grid').focus({preventScroll: true});
  }

  // address has the address name the view.
  address(push) {
    const hash = `#${this.view.kind}${['group', 'near'].includes(this.view.kind) ? `/${encodeURIComponent(this.name)}` : ''}`;
    if (push) history.pushState(null, '', hash);
    else if (location.hash !== hash) history.replaceState(null, '', hash);
  }

  open(g, current) { if (g !== undefined && g >= 0) this.setView(this.groupView(g), true, current); }

  // goTo opens where a label stands.
  goTo(i) {
    if (this.model.status[i] & DROPPED) this.setView({kind: 'dropped'}, true, i); else this.open(this.model.parent[i], i);
  }

  // there goes to what the last edit was about.
  there() {
    if (this.went?.tag !== undefined) this.goTo(this.went.tag);
    else if (this.went) this.open(this.went.group);
    else this.say('No edit has been made here yet.');
  }

  // walk goes to the next group, and from the last to the first that has open labels.
  walk(step) {
    const next = this.tree.next(step, {});
    const g = next >= 0 ? next : this.tree.next(step, {open: true, round: true});
    if (g < 0) { this.say(this.model.done.labels < this.model.n ? `This is the ${step > 0 ? 'last' : 'first'} group; the labels that are open are in it.` : `This is the ${step > 0 ? 'last' : 'first'} group, and everything is decided.`); return; }
    this.open(g);
    if (next < 0) this.say(`Continuing at the ${step > 0 ? 'first' : 'last'} group with open labels.`);
  }

  async go(kind) {
    if (kind === 'help') return helpDialog(this, false);
    const command = commands.find((c) => c.name.toLowerCase() === kind);
    if (command) return this.do(command);
    if (kind === 'group') return this.open(this.model.groupNamed(this.name) >= 0 ? this.model.groupNamed(this.name) : this.tree.groups()[0]);
    if (kind === 'review' && !this.review) return undefined;
    if (kind === 'rest' && !this.model.has.propose) return this.say('Proposing needs the vectors of the draft.');
    this.setView({kind});
    if (kind === 'search') { byId('query').focus(); byId('query').select(); }
    if (kind === 'map') await this.openMap();
    return undefined;
  }

  async openMap() {
    if (!this.map) {
      this.map = new PlaneMap(byId('mapbox'), {group: (i) => this.model.parent[i], isMarked: (i) => this.marks.has(i), decided: (i) => this.model.status[i] & DECIDED, name: (i) => this.model.names[i], groupName: (g) => this.model.groups[1][g].name,
        marked: (tags, more) => { if (!more) this.marks.clear(); tags.forEach((i) => this.marks.add(i)); this.draw(); }});
    }
    if (!this.map.places) {
      try { this.map.set((await ask('/api/map')).places); } catch (e) { this.map.note.textContent = e.message; }
    }
    this.map.canvas.focus();
    this.draw();
  }

  async closeBy(g = ['group', 'near'].includes(this.view.kind) ? this.view.at : this.model.parent[this.grid.current()], push = true) {
    if (g === undefined || g < 0) return;
    try { this.candidates = (await ask('/api/candidates', {group: g})).near.map((x) => x.at); } catch (e) { this.say(e.message); return; }
    if (push) this.setView({kind: 'near', at: g}); else this.later(true);
  }

  // restore opens what the address names.
  restore() {
    const [kind, text] = location.hash.slice(1).split('/'), name = decoded(text || '');
    const m = this.model, g = m.groupNamed(name), there = g >= 0 && (m.groups[1][g].declared || m.bucket(g).size > 0);
    const first = this.tree.groups()[0];
    if (['dropped', 'flagged', 'search', 'marked'].includes(kind)) { this.setView({kind}, false); return; }
    if (kind === 'rest' && m.has.propose) { this.setView({kind}, false); return; }
    if (kind === 'map' && m.has.map) { this.setView({kind}, false); this.openMap(); return; }
    if (first === undefined) { this.setView({kind: 'dropped'}, false); return; }
    if (there && kind === 'near' && m.has.suggest) { this.candidates = []; this.setView({kind, at: g}, false); this.closeBy(g, false); return; }
    this.setView(this.groupView(there ? g : first), false);
    if (g >= 0 && !there) this.say(`“${shown(name)}” no longer has labels.`);
    else if (g < 0 && name) this.lead(name);
  }

  // lead opens what a group that is gone has become.
  async lead(name) {
    let now;
    try { now = (await ask(`/api/group?name=${encodeURIComponent(name)}`)).name; } catch (e) { this.say(`${e.message[0].toUpperCase()}${e.message.slice(1)}.`); return; }
    const g = this.model.groupNamed(now);
    if (g < 0) return;
    this.setView(this.groupView(g), false);
    this.say(`“${shown(name)}” has become “${shown(now)}”.`);
  }

  // ——— marks and suggestions

  // chosen is what a command works on.
  chosen() {
    if (this.marks.size) {
      if (this.chosenOf !== this.marks.edition) { this.chosenOf = this.marks.edition; this.chosenMarks = [...this.marks]; }
      return this.chosenMarks;
    }
    const i = this.grid.current();
    return i === undefined || this.view.kind === 'map' ? [] : this.rows.labels(i);
  }

  // choice names what is chosen, to tell it from another choice.
  choice() { return this.marks.size ? `marks ${this.marks.edition}` : `label ${this.chosen()[0]}`; }

  commonGroup(tags) { const g = this.model.parent[tags[0]]; return tags.every((i) => this.model.parent[i] === g) ? g : -1; }

  // look notes how labels stand when a command on them begins.
  look(tags) { this.looked = new Map(tags.map((i) => [i, this.marks.seen.get(i) ?? this.model.standing(i)])); }

  clearMarks() { this.marks.clear(); this.anchor = undefined; this.later(this.view.kind === 'marked'); }

  // isMarked tells whether all labels of a row are marked.
  isMarked(i) { return this.rows.labels(i).every((x) => this.marks.has(x)); }

  toggle(i) {
    const marked = this.isMarked(i);
    for (const x of this.rows.labels(i)) { if (marked) this.marks.delete(x); else this.marks.add(x); }
    this.anchor = i;
    this.later(this.view.kind === 'marked');
  }

  // labelsOf lists the labels of rows.
  labelsOf(items) { return this.rows.of.size ? items.flatMap((i) => this.rows.labels(i)) : items; }

  // foldVariants puts variants into one row, or each into its own.
  foldVariants() {
    this.singly = !this.singly;
    this.later(true);
    this.say(this.singly ? 'Every label has a row of its own.' : 'Names that differ only in case, accents or number are in one row.');
  }

  range(to) {
    const anchor = this.grid.items.indexOf(this.anchor), from = anchor >= 0 ? anchor : this.grid.at;
    for (const i of this.labelsOf(this.grid.items.slice(Math.min(from, to), Math.max(from, to) + 1))) this.marks.add(i);
    this.anchor = this.grid.items[from];
    this.grid.go(to);
    this.draw();
  }

  step(by, extend) {
    if (!this.grid.items.length) return;
    const to = Math.max(0, Math.min(this.grid.items.length - 1, this.grid.at + by));
    if (extend) { this.range(to); return; }
    this.anchor = undefined;
    this.grid.go(to);
    this.draw();
  }

  // suggestions are the nearest groups that there still are, of what is chosen now;
  // none while the answer for it is under way.
  suggestions() {
    const groups = this.model.groups[1];
    if (this.nearOf !== this.choice()) return [];
    return this.near.filter((x) => groups[x.at] && !groups[x.at].gone && groups[x.at].name === x.name);
  }

  // suggest asks for the nearest groups, once at a time: whoever walks on meanwhile
  // is asked about where they have arrived. An edit on its way is first.
  async suggest() {
    const tags = this.chosen(), of = this.choice(), wanted = `${this.model.version} ${of}`;
    if (!this.model.has.suggest || !tags.length || this.asking || this.sender.queue.length || this.wanted === wanted || this.view.kind === 'review') return;
    this.wanted = wanted;
    this.asking = true;
    try {
      const a = await ask('/api/suggest', {tags});
      this.near = a.near.flatMap((x) => (this.model.groups[1][x.at] ? [{...x, name: this.model.groups[1][x.at].name}] : []));
      this.nearOf = of;
    } catch { this.wanted = undefined; }
    this.asking = false;
    if (this.wanted) this.draw(); // and ask again if the choice is another now
    const waiting = this.digit;
    if (!waiting) return;
    if (waiting.of !== this.choice()) this.digit = undefined;
    else if (this.nearOf === waiting.of) { this.digit = undefined; this.takeSuggestion(waiting.n); }
  }

  // takeSuggestion moves to the n-th suggestion; while the answer for what is chosen
  // is under way, when it is there.
  takeSuggestion(n) {
    if (this.view.kind === 'review') {
      if (n < 2) this.review.choose(n + 1); else if (n < 4) this.review.choosePair(n - 1);
      return;
    }
    const list = this.suggestions(), tags = this.chosen();
    if (list[n]) { this.look(tags); decide(this, 'move', tags, list[n].name); return; }
    if (list.length || !this.model.has.suggest || !tags.length || this.nearOf === this.choice()) return;
    this.look(tags);
    this.digit = {n, of: this.choice()};
  }

  toggleExamples() {
    if (!this.model.has.examples) return;
    this.imagesOn = !this.imagesOn;
    this.draw();
  }

  // lookUp asks for the examples of the current label, once at a time, while they are
  // shown.
  async lookUp() {
    const i = this.grid.current();
    if (!this.imagesOn || i === undefined || this.lookingUp || this.examples?.of === i) return;
    this.lookingUp = true;
    let list = [];
    try { list = (await ask(`/api/examples?tag=${i}`)).examples || []; } catch (e) { this.say(e.message); }
    this.lookingUp = false;
    this.examples = {of: i, list};
    this.draw();
  }

  // dropped does what was dragged onto a row of the tree: labels and groups onto a
  // group, groups onto a kind, kinds onto what stands above them.
  dropped({g, level}, e) {
    const tags = e.dataTransfer.getData('application/x-hgld-tags');
    const group = e.dataTransfer.getData('application/x-hgld-group');
    if (tags && g && level === 1 && !g.gone) { decide(this, 'move', JSON.parse(tags), g.name); return; }
    if (!group) return;
    const what = JSON.parse(group);
    const from = this.tree.marked.has(what.name) && this.tree.level === what.level ? this.tree.chosen() : this.model.live(what.level).filter((x) => x.name === what.name);
    if (!from.length) return;
    if (level === what.level + 1) {
      this.tree.clearMarks();
      setParent(this, from, g ? g.name : '');
    } else if (level === what.level && g && g.name !== what.name) this.edit({op: 'merge', level, from: [{name: what.name}], to: g.name});
  }

  // ——— saving

  edit(e, tags) {
    this.savedText('saving…');
    this.sender.add(e, tags);
  }

  savedText(text, warn) { const s = byId('saved'); s.textContent = text; s.classList.toggle('warn', !!warn); }

  // saved says that an edit is on disk, and what it has done.
  saved({seq, tags, reverted}, e) {
    this.savedText(this.sender.queue.length ? `saved #${seq}, ${this.sender.queue.length} to go` : `saved #${seq}`);
    this.marks.see(tags.at || []);
    this.pace.note(this.model.done.labels);
    const past = reverted || (e.from || e.parts ? asPast(e) : null);
    if (!past) return;
    this.went = place(this.model, past);
    const group = this.went && (this.went.group ?? this.model.standing(this.went.tag));
    this.say(told(past, !!reverted), this.went && !(this.view.kind === 'group' && this.view.at === group)); // else it is in view
  }

  // do runs a command; its dialog can be opened again after a reload.
  do(command) {
    this.command = command.name;
    return command.run(this);
  }

  alarm(text, ...buttons) {
    const a = byId('alarm');
    a.hidden = false;
    fill(a, h('span', {}, text), buttons.map(([name, run]) => h('button', {type: 'button', onclick: run}, name)));
  }

  calm() { byId('alarm').hidden = true; }

  gone(n, ended) {
    document.body.classList.add('lost');
    this.savedText(n ? `NOT SAVED: ${count(n, 'edit')}` : 'server gone', true);
    if (ended) {
      this.alarm(`The server that this page was opened with has ended. ${n ? `${count(n, 'edit')} ${n === 1 ? 'is' : 'are'} not saved yet; this browser keeps ${n === 1 ? 'it' : 'them'}.` : 'Nothing is lost: all edits are saved.'} Open the latest link of hgld curate serve, in this tab or another.`);
      return;
    }
    this.alarm(`The server is gone. ${n ? `${count(n, 'edit')} ${n === 1 ? 'is' : 'are'} not saved yet; this browser keeps ${n === 1 ? 'it' : 'them'} and sends ${n === 1 ? 'it' : 'them'} when the server is back.` : 'Nothing is lost: all edits are saved.'} Start it again with the same hgld curate serve, and open its link in this browser.`);
  }

  back() {
    document.body.classList.remove('lost');
    const n = this.sender.queue.length;
    this.calm();
    this.savedText(n ? `saved #${this.model.version}, ${n} to go` : `saved #${this.model.version}`);
    this.say('The server is back.');
  }

  conflict(e, why) {
    const n = this.sender.queue.length;
    this.savedText(`NOT SAVED: ${count(n, 'edit')}`, n > 0);
    this.alarm(`Not saved: ${why}.`, [n > 1 ? `Do my ${n} edits now` : 'Do it anyway', () => { this.calm(); this.sender.retry(); }], [n > 1 ? `Discard my ${n} edits` : 'Discard', () => this.discard()]);
  }

  refused(why) {
    this.follow = undefined;
    this.alarm(`That was not possible: ${why}`, ['OK', () => this.calm()]);
  }

  async discard() {
    this.follow = undefined;
    this.calm();
    try {
      await this.sender.discard();
      this.savedText(`saved #${this.model.version}`);
    } catch (e) { this.sender.missing(e); }
  }

  say(text, leads) { say(text, leads ? () => this.there() : null); }

  // ——— keys and the pointer

  listen() {
    document.addEventListener('keydown', (e) => this.key(e));
    addEventListener('popstate', () => this.restore());
    addEventListener('beforeunload', (e) => { if (this.sender.queue.length && !this.leaving) e.preventDefault(); });
    byId('order').addEventListener('change', (e) => { this.tree.setOrder(e.target.value); this.open(this.tree.groups()[0]); });
    byId('declare').addEventListener('click', () => this.do(commands.find((c) => c.name === 'Declare')));
    byId('query').addEventListener('input', () => { this.grid.start(); this.later(true); });
    byId('openonly').addEventListener('change', () => this.later(true));
    byId('query').addEventListener('keydown', (e) => {
      if (e.key === 'Enter' || e.key === 'ArrowDown') { byId('grid').focus(); e.preventDefault(); }
      if (e.key === 'Escape') { this.go('group'); e.preventDefault(); }
      e.stopPropagation();
    });
    const grid = byId('grid');
    grid.addEventListener('click', (e) => {
      const cell = e.target.closest('[data-tag]');
      if (!cell) return;
      const at = this.grid.items.indexOf(Number(cell.dataset.tag));
      if (e.shiftKey) { this.range(at); return; }
      this.grid.go(at);
      const choice = e.target.closest('[data-choice]');
      if (choice) this.review.choose(Number(choice.dataset.choice));
      else if (this.view.kind !== 'review') this.toggle(Number(cell.dataset.tag)); else this.draw();
    });
    grid.addEventListener('dragstart', (e) => {
      const i = Number(e.target.closest('[data-tag]').dataset.tag);
      const tags = this.isMarked(i) ? [...this.marks] : this.rows.labels(i);
      this.look(tags);
      e.dataTransfer.setData('application/x-hgld-tags', JSON.stringify(tags));
    });
  }

  key(e) {
    if (dialogOpen() || e.altKey || e.metaKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(e.target.tagName)) return;
    if (e.target.tagName === 'BUTTON' && (e.key === ' ' || e.key === 'Enter')) return;
    const name = (e.ctrlKey ? 'ctrl+' : '') + (e.ctrlKey ? e.key.toLowerCase() : e.key);
    if (this.view.kind === 'rest' && this.rest.key(name)) { e.preventDefault(); return; }
    const cmd = commands.find((c) => c.keys.includes(name));
    if (cmd) { e.preventDefault(); this.do(cmd); return; }
    if (e.ctrlKey) return;
    const n = this.grid.columns;
    const step = {l: 1, h: -1, ArrowRight: 1, ArrowLeft: -1, ArrowDown: n, ArrowUp: -n, L: 1, H: -1, PageDown: 8 * n, PageUp: -8 * n, Home: -1e9, End: 1e9}[e.key];
    const screen = {'/': 'search', v: 'map', d: 'review', M: 'marked', '?': 'help'}[e.key];
    if (step) this.step(step, e.shiftKey);
    else if (e.key === 'j' || e.key === 'k') this.walk(e.key === 'j' ? 1 : -1);
    else if (e.key === 'o') this.there();
    else if (e.key === 'Enter' && this.view.kind !== 'group' && this.view.kind !== 'review' && this.grid.current() !== undefined) this.goTo(this.grid.current());
    else if (e.key >= '1' && e.key <= '5') this.takeSuggestion(Number(e.key) - 1);
    else if (e.key === ' ' && this.view.kind !== 'review') { const i = this.grid.current(); if (i !== undefined) this.toggle(i); }
    else if (screen) this.go(screen);
    else if (e.key === 'Escape') { if (this.marks.size) this.clearMarks(); else if (this.tree.chosen().length) { this.tree.clearMarks(); this.draw(); } else if (this.view.kind !== 'group') this.go('group'); }
    else return;
    e.preventDefault();
  }
}

// decoded reads a part of the address; one that was damaged is as it stands.
function decoded(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

async function begin() {
  const state = await ask('/api/state');
  if (state.by) document.title = `${state.by} · hgld curate`;
  byId('who').textContent = state.by || state.log;
  byId('who').title = state.log;
  const app = new App(state);
  if (app.model.has.agreement) {
    app.review = new Review(app, await ask('/api/agreement'));
    app.go('review');
  }
  document.body.dataset.ready = 'yes';
  performance.mark('ready');
  if (app.kept?.dialog && app.kept.view === location.hash) reopen(app, app.kept, commands);
  else if (app.model.version === 0 && !app.kept && !app.sender.queue.length) helpDialog(app, true);
}

begin().catch((e) => {
  byId('saved').textContent = 'not open';
  const a = byId('alarm');
  a.hidden = false;
  fill(a, h('span', {}, `The page could not be opened: ${e.message}. `), h('button', {type: 'button', onclick: () => location.reload()}, 'Try again ', key('F5')));
});
