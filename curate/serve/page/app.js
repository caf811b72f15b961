import {byId, h, fill, count, key, number} from './dom.js';
import {Model} from './model.js';
import {Sender, ask, wayBack, isPerson} from './net.js';
import {Review} from './review.js';
import {View} from './view.js';
import {Suggestions} from './suggestions.js';
import {Enlarged, Examples, Thumbnails} from './images.js';
import {Threads} from './threads.js';
import {Proposals} from './proposals.js';
import {Classes} from './classes.js';
import {Rate} from './rate.js';
import {Find, TagEdits} from './find.js';
import {commands, decide, mergeNamesakes, setParent, helpDialog} from './commands.js';
import {dialogOpen} from './dialogs.js';
import {applyState, reopenDialog, saveOnLeaving, takeState} from './savedstate.js';
import {asPast, objectOf, describe, endMessage} from './feedback.js';
import {keyName, repeatable} from './keys.js';

// App connects the parts of the page: the model, the view, the server, the keys and the pointer.
class App {
  constructor(state) {
    this.model = new Model();
    this.model.load(state);
    this.suggestions = new Suggestions(this);
    this.marksOf = new Map(); // by the number of the edit that they were marked for
    this.examples = new Examples(this);
    this.threads = new Threads(this);
    this.tagEdits = new TagEdits(this);
    this.view = new View(this);
    this.thumbnails = new Thumbnails(() => this.view.draw());
    this.enlarged = new Enlarged(this);
    const {view} = this, whenUp = (run) => (...args) => view.pointer.whenUp(() => run(...args));
    this.sender = new Sender(this.model, {
      changed: (byOthers) => { view.byOthers ||= byOthers; this.showSaved(); view.schedule(true); },
      undone: whenUp((list) => this.undone(list)),
      place: () => (view.onGroup ? view.name : ''),
      others: (list) => { view.others = list; view.draw(); },
      slow: whenUp((n) => this.slow(n)),
      saved: (answer, edit, marks) => this.saved(answer, edit, marks),
      otherDraft: () => this.reload(),
      gone: whenUp((n, ended) => this.gone(n, ended)),
      back: whenUp(() => this.back()),
      conflict: whenUp((held) => this.conflict(held)),
      refused: whenUp((edit, why) => this.refused(why)),
    });
    this.listen();
    const fields = [byId('query'), byId('openonly'), byId('newonly')];
    byId('newfield').hidden = !this.model.fresh.size;
    this.restored = takeState(this, fields);
    this.find = new Find(this, this.restored?.find);
    this.proposals = new Proposals(this, this.restored?.proposals);
    this.classes = new Classes(this);
    this.rate = new Rate(this.model.done.labels, this.restored?.rate);
    view.restore();
    if (this.restored) {
      const current = applyState(this, this.restored);
      if (this.restored.address === location.hash) view.grid.wanted = current;
      view.schedule(true);
    }
    saveOnLeaving(this, fields);
    this.showSaved();
    this.sender.send();
    this.sender.watch();
    setTimeout(() => this.loadMargins(), 0); // the screen is painted first
  }

  // loadMargins requests how surely each label belongs to its group. Groups that are opened
  // afterwards show the surest labels first; the order of the open group stays. Without margins
  // the order is that of the distance.
  async loadMargins() {
    if (!this.model.has.suggest) return;
    try { this.model.margins = Float32Array.from((await ask('/api/margins')).margins); } catch { return; }
    document.body.dataset.measured = 'yes';
  }

  // reload loads the page again, because the server shows another draft.
  reload() {
    this.reloading = true;
    location.reload();
  }

  // go shows a screen, or runs a command, by its name.
  async go(name) {
    const {view} = this;
    if (name === 'help') return helpDialog(this, false);
    const command = commands.find((c) => c.name.toLowerCase() === name);
    if (command) return this.run(command);
    if (name === 'group') return view.openCurrentGroup();
    if (name === 'map') return view.openMap();
    if (name === 'review' && !this.review) return undefined;
    if (['proposals', 'classes'].includes(name) && !this.model.has.propose) return view.say('Proposing needs the vectors of the draft.');
    view.show({kind: name});
    if (name === 'search') { byId('query').focus(); byId('query').select(); }
    return undefined;
  }

  // openLastEdit shows the labels or the group of the last edit.
  openLastEdit() {
    if (this.lastEdit?.tag !== undefined) this.view.openLabel(this.lastEdit.tag);
    else if (this.lastEdit) this.view.openGroup(this.lastEdit.group);
    else this.view.say('No edit has been made here yet.');
  }

  // drop makes the edit of a drag onto a row of the tree: labels or groups onto a group, groups
  // onto a kind, kinds onto a class above them.
  drop({g, level}, e) {
    const tags = e.dataTransfer.getData('application/x-hgld-tags');
    const group = e.dataTransfer.getData('application/x-hgld-group');
    if (tags && g && level === 1 && !g.gone) { decide(this, 'move', JSON.parse(tags), g.name); return; }
    if (!group) return;
    const dragged = JSON.parse(group), {tree} = this.view;
    const marked = tree.marked.has(dragged.name) && tree.level === dragged.level;
    const from = marked ? tree.chosen() : this.model.live(dragged.level).filter((x) => x.name === dragged.name);
    if (!from.length) return;
    if (level === dragged.level + 1) {
      tree.clearMarks();
      setParent(this, from, g ? g.name : '');
    } else if (level === dragged.level && g && g.name !== dragged.name) this.edit({op: 'merge', level, from: [{name: dragged.name}], to: g.name});
  }

  // moveTo moves the chosen labels to a group that the pointer took.
  moveTo(g) {
    const {view} = this, tags = view.chosen();
    if (!tags.length) { view.say('Select some tags first.'); return; }
    view.remember(tags);
    decide(this, 'move', tags, g.name);
  }

  // run runs a command. The dialog of the last command can be opened again after a reload.
  run(command) {
    this.command = command.name;
    return command.run(this);
  }

  // ——— saving

  // edit makes an edit. tags are its labels, and marks what was marked: undo marks them again.
  edit(e, tags, marks) {
    this.sender.add(e, tags, marks);
  }

  showStatus(text, warn) { const s = byId('saved'); s.textContent = text; s.classList.toggle('warn', !!warn); }

  // showSaved shows the number of edits on disk, or of those that are not.
  showSaved() {
    const {model, sender} = this, n = sender?.queue.length;
    if (!sender) return;
    if (n && (sender.lost || sender.late || sender.held)) this.showStatus(`NOT SAVED: ${count(n, 'edit')}`, true);
    else if (sender.lost) this.showStatus('server gone', true);
    else this.showStatus(n === 0 ? `saved #${model.version}` : n === 1 ? 'saving…' : `saved #${model.version}, ${n} to go`);
  }

  // slow says that the server has not answered an edit for a while.
  slow(n) {
    if (this.sender.lost || !this.sender.late) return;
    this.showSaved();
    this.alarm(`The server has not answered for 3 seconds. ${n === 1 ? 'An edit is' : `${number(n)} edits are`} not saved yet; `
      + 'this browser keeps what is not saved, and sends it until the server answers.');
  }

  // saved says that an edit is on disk, and what it did.
  saved({seq, tags, reverted}, e, marks) {
    const {model, view} = this;
    if (marks?.length > 1) this.marksOf.set(seq, marks);
    if (reverted && !reverted.active) view.markAgain(this.marksOf.get(reverted.seq) || []);
    this.showSaved();
    view.marks.see(tags.at || []);
    this.rate.count(model.done.labels);
    const past = reverted || (e.op === 'revert' ? null : asPast(e));
    if (!past) return;
    this.lastEdit = objectOf(model, past);
    const group = this.lastEdit && (this.lastEdit.group ?? model.standing(this.lastEdit.tag));
    view.say(describe(past, !!reverted), this.lastEdit && !(view.kind === 'group' && view.at === group)); // otherwise it is in view
  }

  // undone says which edits of this curator somebody else has undone.
  undone(list) {
    endMessage();
    const [e] = list;
    this.alarm(`${e.by || 'Somebody'} has undone ${list.length > 1 ? `${number(list.length)} of your edits, the first` : 'your edit'}: ${describe(e, false)}`,
      ['OK', () => this.endAlarm()]);
  }

  alarm(text, ...buttons) {
    const a = byId('alarm');
    a.hidden = false;
    fill(a, h('span', {}, text), buttons.map(([name, run]) => h('button', {type: 'button', onclick: run}, name)));
  }

  endAlarm() { byId('alarm').hidden = true; }

  // gone says that the server is gone while n edits are not saved; ended, that it is another one.
  gone(n, ended) {
    document.body.classList.add('lost');
    this.showSaved();
    const [are, them] = n === 1 ? ['is', 'it'] : ['are', 'them'];
    const unsaved = `${count(n, 'edit')} ${are} not saved yet; this browser keeps ${them}`;
    if (ended) {
      this.alarm(`${isPerson() ? '' : 'The server that this page was opened with has ended. '}${n ? `${unsaved}.` : 'Nothing is lost: all edits are saved.'} `
        + wayBack());
      return;
    }
    this.alarm(`The server is gone. ${n ? `${unsaved} and sends ${them} when the server is back.` : 'Nothing is lost: all edits are saved.'} `
      + (isPerson() ? 'This page goes on when it is back.' : 'Start it again with the same command, and open its link in this browser.'));
  }

  back() {
    const lost = document.body.classList.contains('lost');
    document.body.classList.remove('lost');
    this.endAlarm();
    this.showSaved();
    if (lost) this.view.say('The server is back.');
  }

  conflict({why, again}) {
    const n = this.sender.queue.length;
    this.showSaved();
    this.alarm(`Not saved: ${why}.`,
      [n > 1 ? `Do my ${n} edits now` : again, () => { this.endAlarm(); this.sender.retry(); }],
      [n > 1 ? `Discard my ${n} edits` : 'Discard', () => this.discard()]);
  }

  refused(why) {
    this.view.follow = undefined;
    this.alarm(`That was not possible: ${why}`, ['OK', () => this.endAlarm()]);
  }

  async discard() {
    this.view.follow = undefined;
    this.endAlarm();
    try {
      await this.sender.discard();
      this.showSaved();
    } catch (e) { this.sender.serverGone(e); }
  }

  // ——— keys and the pointer

  listen() {
    const {view} = this, {grid, tree} = view;
    document.addEventListener('keydown', (e) => this.key(e));
    addEventListener('popstate', () => view.restore());
    addEventListener('beforeunload', (e) => { if (this.sender.queue.length && !this.reloading) e.preventDefault(); });
    byId('order').addEventListener('change', (e) => { tree.setOrder(e.target.value); view.openGroup(tree.first()); });
    byId('filter').addEventListener('input', (e) => tree.setFilter(e.target.value));
    byId('filter').addEventListener('keydown', (e) => {
      if (e.isComposing) return;
      if (e.key === 'Enter') { const first = tree.rows.find((r) => r.level === 1); if (first) { view.openGroup(first.g.at); byId('grid').focus(); } }
      if (e.key === 'Escape') { e.target.value = ''; tree.setFilter(''); byId('grid').focus(); e.preventDefault(); }
      e.stopPropagation();
    });
    byId('declare').addEventListener('click', () => this.run(commands.find((c) => c.name === 'Empty group')));
    byId('query').addEventListener('input', () => { grid.start(); view.schedule(true); });
    for (const id of ['openonly', 'newonly']) byId(id).addEventListener('change', () => view.schedule(true));
    byId('query').addEventListener('keydown', (e) => {
      if (e.isComposing) return;
      if (e.key === 'Enter' || e.key === 'ArrowDown') { byId('grid').focus(); e.preventDefault(); }
      if (e.key === 'Escape') { this.go('group'); e.preventDefault(); }
      e.stopPropagation();
    });
    byId('grid').addEventListener('click', (e) => {
      const cell = e.target.closest('[data-tag]');
      if (!cell) return;
      const at = grid.items.indexOf(Number(cell.dataset.tag));
      if (e.shiftKey) { view.markTo(at); return; }
      grid.go(at);
      const choice = e.target.closest('[data-choice]');
      if (view.kind === 'classes') { this.classes.point(e.target); this.classes.toggle(); } else if (choice) this.review.choose(Number(choice.dataset.choice));
      else if (view.kind !== 'review') view.toggle(Number(cell.dataset.tag)); else view.draw();
    });
    byId('grid').addEventListener('pointermove', (e) => { // the label under the pointer is the current one
      if (view.kind === 'classes') this.classes.point(e.target);
    });
    byId('grid').addEventListener('dragstart', (e) => {
      const i = Number(e.target.closest('[data-tag]').dataset.tag);
      const tags = view.kind === 'classes' ? view.chosen() : view.isMarked(i) ? [...view.marks] : view.rows.labels(i);
      view.remember(tags);
      e.dataTransfer.setData('application/x-hgld-tags', JSON.stringify(tags));
    });
  }

  // key handles the keys that work outside dialogs and fields: first those of the screen, then
  // those of the commands, then those that move.
  key(e) {
    if (e.repeat && e.target.tagName === 'BUTTON' && (e.key === ' ' || e.key === 'Enter')) { e.preventDefault(); return; }
    const name = keyName(e);
    if (dialogOpen() || !name || ['INPUT', 'SELECT', 'TEXTAREA'].includes(e.target.tagName)) return;
    if (e.target.tagName === 'BUTTON' && (name === ' ' || name === 'Enter')) return;
    if (e.repeat && !repeatable.has(name)) { e.preventDefault(); return; }
    const screen = {proposals: this.proposals, classes: this.classes}[this.view.kind];
    if (screen?.key(name)) { e.preventDefault(); return; }
    const command = commands.find((c) => c.keys.includes(name));
    if (command) { e.preventDefault(); this.run(command); return; }
    if (!name.startsWith('ctrl+') && this.moveKey(name, e.shiftKey)) e.preventDefault();
  }

  // moveKey handles the keys that move the cursor, mark, or change the screen, and tells whether
  // the key is one of them.
  moveKey(name, shift) {
    const {view} = this, n = view.grid.columns, current = view.current();
    const step = {
      l: 1, h: -1, ArrowRight: 1, ArrowLeft: -1, ArrowDown: n, ArrowUp: -n, L: 1, H: -1, PageDown: 8 * n, PageUp: -8 * n, Home: -1e9, End: 1e9,
    }[name];
    const screen = {'/': 'search', v: 'map', d: 'review', M: 'marked', '?': 'help'}[name];
    if (step) view.step(step, shift);
    else if (name === 'j' || name === 'k') view.openNextGroup(name === 'j' ? 1 : -1);
    else if (name === 'o') this.openLastEdit();
    else if (name === 'Enter' && view.kind !== 'group' && view.kind !== 'review' && current !== undefined) view.openLabel(current);
    else if (/^[1-5]$/.test(name) || (view.kind === 'review' && /^[6-9]$/.test(name))) this.suggestions.take(Number(name) - 1);
    else if (name === ' ' && view.kind !== 'review' && current !== undefined) view.toggle(current);
    else if (screen) this.go(screen);
    else if (name === 'Escape') this.leave();
    else return false;
    return true;
  }

  // leave clears the marks of labels, or else those of groups, or else leaves the screen.
  leave() {
    const {view} = this;
    if (view.marks.size || view.leftOut.size) view.clearMarks();
    else if (view.tree.chosen().length) {
      view.tree.clearMarks();
      view.draw();
    } else if (view.kind !== 'group') view.openCurrentGroup();
  }
}

async function start() {
  const state = await ask('/api/state');
  if (state.by) document.title = `${state.by} · hgld curate`;
  byId('who').textContent = state.by || state.log;
  byId('who').title = state.log;
  const app = new App(state), {restored} = app;
  if (app.model.has.agreement) {
    app.review = new Review(app, await ask('/api/agreement'));
    app.go('review');
  }
  document.body.dataset.ready = 'yes';
  performance.mark('ready');
  if (restored?.dialog && restored.address === location.hash) reopenDialog(app, restored, commands);
  else if (app.model.version === 0 && !restored && !app.sender.queue.length) helpDialog(app, true);
  else if (!restored && !app.review) offerNamesakes(app);
}

// offerNamesakes offers to merge clusters into declared groups of the same name, as they are after an import
// of names. Once labels are decided, it only mentions it.
function offerNamesakes(app) {
  const n = app.model.namesakes().filter((x) => x.sure).length;
  if (!n) return;
  if (app.model.done.labels) app.view.say(`${number(n)} of the clusters ${n === 1 ? 'is' : 'are'} called like a declared group: G merges them into it.`);
  else mergeNamesakes(app);
}

start().catch((e) => {
  byId('saved').textContent = 'not open';
  const a = byId('alarm');
  a.hidden = false;
  fill(a, h('span', {}, `The page could not be opened: ${e.message}. `),
    h('button', {type: 'button', onclick: () => location.reload()}, 'Try again ', key('F5')));
});
