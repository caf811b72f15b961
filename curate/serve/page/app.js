import {byId, h, fill, count, key} from './dom.js';
import {Model, DECIDED} from './model.js';
import {Sender, ask} from './net.js';
import {Grid} from './grid.js';
import {Tree} from './tree.js';
import {PlaneMap} from './map.js';
import {Review} from './review.js';
import {commands, decide, setParent, helpDialog} from './commands.js';
import {dialogOpen} from './dialogs.js';
import * as panels from './panels.js';

// App holds what is on the screen: the view, the marks and the keyboard's place.
// The address carries the view, so that going back and reloading return to it.
class App {
  constructor(state) {
    this.model = new Model();
    this.model.load(state);
    this.marks = new Set();
    this.view = {kind: 'group', at: -1};
    this.near = [];
    this.grid = new Grid(byId('grid'), {width: 236, height: 74, cell: (i, active) => (this.view.kind === 'review' ? this.review.cell(i, active) : panels.card(this, i, active))});
    this.tree = new Tree(byId('tree'), this.model, {open: (g) => this.open(g), mark: () => this.draw(), drop: (g, e) => this.dropped(g, e), parent: (kind, e) => this.droppedOnKind(kind, e)});
    this.sender = new Sender(this.model, {changed: () => this.later(), saved: (seq) => this.saved(seq), gone: (n) => this.gone(n), back: () => this.back(),
      conflict: (e, why) => this.conflict(e, why), refused: (_, why) => this.alarm(`That was not possible: ${why}`, ['OK', () => this.calm()])});
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
      const cut = tags.findIndex((i) => m.status[i] & 8);
      if (cut < 0) return [{items: tags}];
      return [{items: tags.slice(0, cut)}, {title: `outliers · ${tags.length - cut} far from the centre`, items: tags.slice(cut)}];
    }
    if (v.kind === 'near') return [{items: (this.candidates || []).filter((i) => !(m.status[i] & DECIDED))}];
    if (v.kind === 'search') return [{items: m.find(byId('query').value, byId('openonly').checked)}];
    if (v.kind === 'dropped') return [{items: m.sum().dropped.tags}];
    if (v.kind === 'flagged') return [{items: m.sum().flagged}];
    if (v.kind === 'review') return [{items: this.review.items()}];
    return [{items: []}];
  }

  // refresh draws everything anew: after an edit, or else only what the view holds.
  refresh(edited = true) {
    if (this.follow !== undefined && this.model.groupNamed(this.follow) >= 0) { this.view = {kind: 'group', at: this.model.groupNamed(this.follow)}; this.name = this.follow; this.follow = undefined; }
    if (this.view.kind === 'group' || this.view.kind === 'near') {
      const g = this.model.groups[1][this.view.at];
      if (g && !g.gone && this.name !== g.name && this.model.groupNamed(this.name) >= 0) this.view.at = this.model.groupNamed(this.name);
      const now = this.model.groups[1][this.view.at];
      if (!now || now.gone || (!now.declared && !this.model.members(this.view.at).length)) {
        const next = this.tree.next(1, false);
        const at = next >= 0 && next !== this.view.at ? next : this.tree.groups().find((x) => x !== this.view.at) ?? this.model.live()[0]?.at;
        this.view = at === undefined ? {kind: 'dropped'} : {kind: 'group', at};
      }
      if (this.view.kind !== 'dropped') this.name = this.model.groups[1][this.view.at].name;
    }
    if (edited) this.tree.refresh();
    this.tree.show(this.view.kind === 'group' || this.view.kind === 'near' ? this.view.at : -1);
    this.grid.set(this.sections());
    this.drawAround();
    this.suggest();
  }

  // later refreshes once for all that changes now: the next edit is on its way
  // before the screen is drawn.
  later() {
    if (!this.waiting) this.waiting = setTimeout(() => { this.waiting = 0; this.refresh(); }, 0);
  }

  // draw shows the marks, the place and the panels.
  draw() {
    this.grid.draw();
    this.drawAround();
  }

  drawAround() {
    byId('search').hidden = this.view.kind !== 'search';
    byId('mapbox').hidden = this.view.kind !== 'map';
    byId('grid').hidden = this.view.kind === 'map';
    if (this.map && this.view.kind === 'map') this.map.draw();
    panels.head(this);
    panels.actions(this);
    panels.views(this);
    panels.progress(this);
    this.drawSide();
  }

  drawSide() { if (this.view.kind === 'review') this.review.draw(byId('side')); else panels.side(this); }

  // ——— going about

  setView(v, push = true) {
    this.view = v;
    this.examplesOf = undefined;
    this.grid.at = 0;
    this.grid.only = v.kind === 'review' ? 1 : 0;
    if (v.kind === 'group' || v.kind === 'near') this.name = this.model.groups[1][v.at].name;
    if (push) history.pushState(v, '', `#${v.kind}${v.kind === 'group' ? `/${encodeURIComponent(this.name)}` : ''}`);
    if (byId('grid').scrollTop) byId('grid').scrollTop = 0;
    this.refresh(false);
    if (!['search', 'map'].includes(v.kind)) byId('grid').focus({preventScroll: true});
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
        marked: (tags, more) => { if (!more) this.marks.clear(); tags.forEach((i) => this.marks.add(i)); this.draw(); this.suggest(); }});
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
    if (this.marks.size) return [...this.marks];
    const i = this.grid.current();
    return i === undefined || this.view.kind === 'map' ? [] : [i];
  }

  commonGroup(tags) { const g = this.model.parent[tags[0]]; return tags.every((i) => this.model.parent[i] === g) ? g : -1; }

  clearMarks() { this.marks.clear(); this.anchor = undefined; this.draw(); this.suggest(); }

  toggle(i) { if (this.marks.has(i)) this.marks.delete(i); else this.marks.add(i); this.anchor = this.grid.at; this.draw(); this.suggest(); }

  range(to) {
    const from = this.anchor ?? this.grid.at;
    for (const i of this.grid.items.slice(Math.min(from, to), Math.max(from, to) + 1)) this.marks.add(i);
    this.anchor = from;
    this.grid.go(to);
    this.draw();
    this.suggest();
  }

  step(by, extend) {
    if (!this.grid.items.length) return;
    const to = Math.max(0, Math.min(this.grid.items.length - 1, this.grid.at + by));
    if (extend) { this.range(to); return; }
    this.anchor = undefined;
    this.grid.go(to);
    this.drawSide();
    this.suggest();
  }

  // suggestions are the nearest groups that there still are, of what is chosen now;
  // none while the answer for it is under way.
  suggestions() {
    const groups = this.model.groups[1];
    if (this.nearOf !== this.chosen().join()) return [];
    return this.near.filter((x) => groups[x.at] && !groups[x.at].gone && groups[x.at].name === x.name);
  }

  // suggest asks for the nearest groups; only the latest answer counts.
  async suggest() {
    const tags = this.chosen();
    const of = tags.join(), wanted = `${this.model.version} ${of}`;
    if (!this.model.has.suggest || !tags.length || this.wanted === wanted || this.view.kind === 'review') return;
    this.wanted = wanted;
    try {
      const a = await ask('/api/suggest', {tags});
      if (this.wanted !== wanted) return;
      this.near = a.near.flatMap((x) => (this.model.groups[1][x.at] ? [{...x, name: this.model.groups[1][x.at].name}] : []));
      this.nearOf = of;
      this.drawSide();
    } catch { this.wanted = undefined; }
  }

  takeSuggestion(n) {
    if (this.view.kind === 'review') { if (n < 2) this.review.choose(n + 1); return; }
    const x = this.suggestions()[n];
    if (x) decide(this, 'move', this.chosen(), x.name);
  }

  async toggleExamples() {
    const i = this.grid.current();
    if (i === undefined || !this.model.has.examples) return;
    if (this.examplesOf === i) { this.examplesOf = undefined; this.drawSide(); return; }
    this.examplesOf = i;
    this.examples = null;
    this.drawSide();
    try { this.examples = (await ask(`/api/examples?tag=${i}`)).examples || []; } catch (e) { this.examples = []; this.say(e.message); }
    this.drawSide();
  }

  dropped(g, e) {
    const tags = e.dataTransfer.getData('application/x-hgld-tags');
    const group = e.dataTransfer.getData('application/x-hgld-group');
    const to = this.model.groups[1][g];
    if (!to || to.gone) return;
    if (tags) decide(this, 'move', JSON.parse(tags), to.name);
    else if (group !== to.name && this.model.groupNamed(group) >= 0) this.edit({op: 'merge', level: 1, from: [{name: group}], to: to.name});
  }

  droppedOnKind(kind, e) {
    const group = e.dataTransfer.getData('application/x-hgld-group');
    const from = this.tree.marked.has(group) ? this.tree.chosen() : this.model.live().filter((g) => g.name === group);
    if (!from.length || this.model.levels.length < 3) return;
    this.tree.marked.clear();
    setParent(this, from, kind);
  }

  // ——— saving

  edit(e) {
    this.savedText('saving…');
    this.sender.add(e);
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

  gone(n) {
    document.body.classList.add('lost');
    this.savedText(n ? `NOT SAVED: ${count(n, 'edit')}` : 'server gone', true);
    this.alarm(`The server is gone. ${n ? `${count(n, 'edit')} ${n === 1 ? 'is' : 'are'} not saved yet; this browser keeps ${n === 1 ? 'it' : 'them'} and sends ${n === 1 ? 'it' : 'them'} when the server is back.` : 'Nothing is lost: all edits are saved.'} Start it again with the same hgld curate serve.`);
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
    if (!e) { this.alarm(why); return; }
    this.alarm(`Not saved: ${why}.`, [n > 1 ? `Do my ${n} edits now` : 'Do it anyway', () => { this.calm(); this.sender.retry(); }], [n > 1 ? `Discard my ${n} edits` : 'Discard', () => this.discard()]);
  }

  async discard() {
    this.calm();
    try {
      await this.sender.discard();
      this.savedText(`saved #${this.model.version}`);
    } catch { this.sender.missing(); }
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
    byId('query').addEventListener('input', () => { this.grid.at = 0; this.refresh(); });
    byId('openonly').addEventListener('change', () => this.refresh());
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
      if (this.view.kind !== 'review') this.toggle(Number(cell.dataset.tag)); else this.draw();
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
    else if (e.key === 'Escape') { if (this.marks.size) this.clearMarks(); else if (this.view.kind !== 'group') this.go('group'); }
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
