import {byId, h, fill, count, key} from './dom.js';
import {Model, DECIDED, OUTLIER} from './model.js';
import {Sender, ask} from './net.js';
import {Grid} from './grid.js';
import {Tree} from './tree.js';
import {Press} from './press.js';
import {PlaneMap} from './map.js';
import {Review} from './review.js';
import {commands, decide, setParent, helpDialog} from './commands.js';
import {dialogOpen} from './dialogs.js';
import * as panels from './panels.js';

// Marks are the labels that are marked; the edition tells whether they have changed.
class Marks extends Set {
  edition = 0;

  add(i) { this.edition++; return super.add(i); }
  delete(i) { this.edition++; return super.delete(i); }
  clear() { this.edition++; super.clear(); }
}

// App holds what is on the screen: the view, the marks and the keyboard's place.
// The address carries the view, so that going back and reloading return to it.
class App {
  constructor(state) {
    this.model = new Model();
    this.model.load(state);
    this.marks = new Marks();
    this.view = {kind: 'group', at: -1};
    this.near = [];
    this.grid = new Grid(byId('grid'), {width: 220, height: 72, cell: (e, i, active) => (this.view.kind === 'review' ? this.review.cell(e, i, active) : panels.card(this, e, i, active)),
      state: (i, active) => (this.view.kind === 'review' ? this.review.state(i, active) : panels.cardState(this, i, active))});
    this.tree = new Tree(byId('tree'), this.model, {open: (g) => this.open(g), mark: () => this.draw(), drop: (row, e) => this.dropped(row, e), say: (text) => this.say(text)});
    this.press = new Press();
    const free = (run) => (...args) => this.press.free(() => run(...args));
    this.sender = new Sender(this.model, {changed: () => this.later(true), saved: (seq) => this.saved(seq), gone: free((n, ended) => this.gone(n, ended)), back: free(() => this.back()),
      conflict: free((e, why) => this.conflict(e, why)), refused: free((_, why) => this.alarm(`That was not possible: ${why}`, ['OK', () => this.calm()]))});
    this.tree.refresh();
    this.listen();
    this.restore();
    this.savedText(`saved #${this.model.version}`);
    this.sender.send();
    this.sender.watch();
  }

  // ——— what is shown

  sections() {
    const m = this.model, v = this.view;
    if (v.kind === 'group') {
      const tags = m.members(v.at);
      const cut = tags.findIndex((i) => m.status[i] & OUTLIER);
      if (cut < 0) return [{items: tags}];
      return [{items: tags.slice(0, cut)}, {title: `outliers · ${tags.length - cut} far from the centre`, items: tags.slice(cut)}];
    }
    if (v.kind === 'near') return [{items: (this.candidates || []).filter((i) => !(m.status[i] & DECIDED))}];
    if (v.kind === 'search') return [{items: m.find(byId('query').value, byId('openonly').checked)}];
    if (v.kind === 'dropped') return [{items: m.droppedTags()}];
    if (v.kind === 'flagged') return [{items: [...m.flagged].sort((x, y) => x - y)}];
    if (v.kind === 'review') return [{items: this.review.items()}];
    return [{items: []}];
  }

  // refresh shows the view anew: what has changed of it is drawn.
  refresh() {
    const m = this.model;
    this.waiting = this.edited = false;
    if (this.follow !== undefined && m.groupNamed(this.follow) >= 0) { this.view = {kind: 'group', at: m.groupNamed(this.follow)}; this.name = this.follow; this.follow = undefined; }
    if (this.view.kind === 'group' || this.view.kind === 'near') {
      const g = m.groups[1][this.view.at];
      if (g && !g.gone && this.name !== g.name && m.groupNamed(this.name) >= 0) this.view.at = m.groupNamed(this.name);
      const now = m.groups[1][this.view.at];
      if (!now || now.gone || (!now.declared && !m.bucket(this.view.at).size)) {
        const next = this.tree.next(1, false);
        const at = next >= 0 && next !== this.view.at ? next : this.tree.groups().find((x) => x !== this.view.at) ?? m.live()[0]?.at;
        this.view = at === undefined ? {kind: 'dropped'} : {kind: 'group', at};
      }
      if (this.view.kind !== 'dropped') this.name = m.groups[1][this.view.at].name;
    }
    this.tree.refresh();
    this.grid.set(this.sections());
    this.drawAround();
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
    byId('grid').hidden = this.view.kind === 'map';
    if (this.map && this.view.kind === 'map') this.map.draw();
    this.tree.show(this.view.kind === 'group' || this.view.kind === 'near' ? this.view.at : -1);
    panels.head(this);
    panels.actions(this);
    panels.views(this);
    panels.progress(this);
    if (this.view.kind === 'review') this.review.draw(byId('side')); else panels.side(this);
    setTimeout(() => this.suggest(), 0); // the picture is first
  }

  // ——— going about

  setView(v, push = true) {
    this.view = v;
    this.examplesOf = undefined;
    this.grid.at = 0;
    this.grid.only = v.kind === 'review' ? 1 : 0;
    this.grid.sort = v.kind === 'review' ? 'duel' : 'card';
    if (v.kind === 'group' || v.kind === 'near') this.name = this.model.groups[1][v.at].name;
    if (push) history.pushState(v, '', `#${v.kind}${v.kind === 'group' ? `/${encodeURIComponent(this.name)}` : ''}`);
    this.grid.sight.scroll(0);
    this.refresh();
    if (!['search', 'map'].includes(v.kind) && document.activeElement !== byId('grid')) byId('grid').focus({preventScroll: true});
  }

  open(g) { if (g !== undefined && g >= 0) this.setView({kind: 'group', at: g}); }

  async go(kind) {
    if (kind === 'help') return helpDialog(this, false);
    const command = commands.find((c) => c.name.toLowerCase() === kind);
    if (command) return command.run(this);
    if (kind === 'group') return this.open(this.model.groupNamed(this.name) >= 0 ? this.model.groupNamed(this.name) : this.tree.groups()[0]);
    if (kind === 'review' && !this.review) return undefined;
    this.setView({kind});
    if (kind === 'search') { byId('query').focus(); byId('query').select(); }
    if (kind === 'map') await this.openMap();
    return undefined;
  }

  async openMap() {
    if (!this.map) {
      this.map = new PlaneMap(byId('mapbox'), {group: (i) => this.model.parent[i], isMarked: (i) => this.marks.has(i), decided: (i) => this.model.status[i] & DECIDED, name: (i) => this.model.names[i],
        marked: (tags, more) => { if (!more) this.marks.clear(); tags.forEach((i) => this.marks.add(i)); this.draw(); }});
    }
    if (!this.map.places) {
      try { this.map.set((await ask('/api/map')).places); } catch (e) { this.map.note.textContent = e.message; }
    }
    this.map.canvas.focus();
    this.draw();
  }

  async closeBy() {
    const g = this.view.kind === 'group' || this.view.kind === 'near' ? this.view.at : this.model.parent[this.grid.current()];
    if (g === undefined || g < 0) return;
    try { this.candidates = (await ask('/api/candidates', {group: g})).near.map((x) => x.at); } catch (e) { this.say(e.message); return; }
    this.setView({kind: 'near', at: g});
  }

  // restore opens what the address names.
  restore() {
    const [kind, name] = location.hash.slice(1).split('/');
    const g = this.model.groupNamed(decoded(name || ''));
    const first = this.tree.groups()[0];
    if (g < 0 && first === undefined && kind !== 'flagged' && kind !== 'search') { this.setView({kind: 'dropped'}, false); return; }
    if (['dropped', 'flagged', 'search'].includes(kind)) { this.setView({kind}, false); return; }
    if (kind === 'map' && this.model.has.map) { this.setView({kind}, false); this.openMap(); return; }
    this.setView({kind: 'group', at: g >= 0 ? g : first}, false);
  }

  // ——— marks and suggestions

  // chosen is what a command works on.
  chosen() {
    if (this.marks.size) {
      if (this.chosenOf !== this.marks.edition) { this.chosenOf = this.marks.edition; this.chosenMarks = [...this.marks]; }
      return this.chosenMarks;
    }
    const i = this.grid.current();
    return i === undefined || this.view.kind === 'map' ? [] : [i];
  }

  // choice names what is chosen, to tell it from another choice.
  choice() { return this.marks.size ? `marks ${this.marks.edition}` : `label ${this.chosen()[0]}`; }

  commonGroup(tags) { const g = this.model.parent[tags[0]]; return tags.every((i) => this.model.parent[i] === g) ? g : -1; }

  clearMarks() { this.marks.clear(); this.anchor = undefined; this.draw(); }

  toggle(i) { if (this.marks.has(i)) this.marks.delete(i); else this.marks.add(i); this.anchor = this.grid.at; this.draw(); }

  range(to) {
    const from = this.anchor ?? this.grid.at;
    for (const i of this.grid.items.slice(Math.min(from, to), Math.max(from, to) + 1)) this.marks.add(i);
    this.anchor = from;
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
  }

  takeSuggestion(n) {
    if (this.view.kind === 'review') { if (n < 2) this.review.choose(n + 1); return; }
    const x = this.suggestions()[n];
    if (x) decide(this, 'move', this.chosen(), x.name);
  }

  async toggleExamples() {
    const i = this.grid.current();
    if (i === undefined || !this.model.has.examples) return;
    if (this.examplesOf === i) { this.examplesOf = undefined; this.draw(); return; }
    this.examplesOf = i;
    this.examples = null;
    this.draw();
    try { this.examples = (await ask(`/api/examples?tag=${i}`)).examples || []; } catch (e) { this.examples = []; this.say(e.message); }
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

  saved(seq) {
    this.savedText(this.sender.queue.length ? `saved #${seq}, ${this.sender.queue.length} to go` : `saved #${seq}`);
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
      this.alarm(`The server that this page was opened with has ended. ${n ? `${count(n, 'edit')} ${n === 1 ? 'is' : 'are'} not saved yet; this browser keeps ${n === 1 ? 'it' : 'them'}.` : 'Nothing is lost: all edits are saved.'} Open the link that hgld curate serve gave last, in this tab or another.`);
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

  async discard() {
    this.calm();
    try {
      await this.sender.discard();
      this.savedText(`saved #${this.model.version}`);
    } catch (e) { this.sender.missing(e); }
  }

  say(text) {
    const t = byId('toast');
    t.textContent = text;
    t.classList.add('on');
    clearTimeout(this.toastTimer);
    this.toastTimer = setTimeout(() => t.classList.remove('on'), 4000);
  }

  // ——— keys and the pointer

  listen() {
    document.addEventListener('keydown', (e) => this.key(e));
    addEventListener('popstate', () => this.restore());
    addEventListener('beforeunload', (e) => { if (this.sender.queue.length) e.preventDefault(); });
    byId('order').addEventListener('change', (e) => { this.tree.setOrder(e.target.value); this.open(this.tree.groups()[0]); });
    byId('declare').addEventListener('click', () => commands.find((c) => c.name === 'Declare').run(this));
    byId('query').addEventListener('input', () => { this.grid.at = 0; this.later(true); });
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
      const tags = this.marks.has(i) ? [...this.marks] : [i];
      e.dataTransfer.setData('application/x-hgld-tags', JSON.stringify(tags));
    });
  }

  key(e) {
    if (dialogOpen() || e.altKey || e.metaKey || ['INPUT', 'SELECT', 'TEXTAREA'].includes(e.target.tagName)) return;
    if (e.target.tagName === 'BUTTON' && (e.key === ' ' || e.key === 'Enter')) return;
    const name = (e.ctrlKey ? 'ctrl+' : '') + (e.ctrlKey ? e.key.toLowerCase() : e.key);
    const cmd = commands.find((c) => c.keys.includes(name));
    if (cmd) { e.preventDefault(); cmd.run(this); return; }
    if (e.ctrlKey) return;
    const n = this.grid.columns;
    const step = {l: 1, h: -1, ArrowRight: 1, ArrowLeft: -1, ArrowDown: n, ArrowUp: -n, L: 1, H: -1, PageDown: 8 * n, PageUp: -8 * n, Home: -1e9, End: 1e9}[e.key];
    const screen = {'/': 'search', v: 'map', d: 'review', '?': 'help'}[e.key];
    if (step) this.step(step, e.shiftKey);
    else if (e.key === 'j' || e.key === 'k') { const g = this.tree.next(e.key === 'j' ? 1 : -1, false); if (g >= 0) this.open(g); else this.say(e.key === 'j' ? 'This is the last group.' : 'This is the first group.'); }
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
  if (app.model.version === 0 && !app.sender.queue.length) helpDialog(app, true);
}

begin().catch((e) => {
  byId('saved').textContent = 'not open';
  const a = byId('alarm');
  a.hidden = false;
  fill(a, h('span', {}, `The page could not be opened: ${e.message}. `), h('button', {type: 'button', onclick: () => location.reload()}, 'Try again ', key('F5')));
});
