import {byId, h, fill, count, number, key, shown} from './dom.js';
import {DECIDED, PROPOSED} from './model.js';
import {confirm} from './dialogs.js';
import {decide} from './commands.js';
import {ask} from './net.js';

// The screen that assigns the rest by proposals. It first shows what would be proposed: every open
// label whose best group leads the second best by a threshold. Once a proposal is made, it draws a
// sample of its labels to check, and says how many of the others are expected to be wrong. It
// confirms or takes back all of them, those of a group, or those above a threshold.

const seed = 1; // of the sample: a reload or another tab draws the same labels
const sampleStep = 20; // labels that are drawn at once

const round = (x) => number(Math.round(x));

// Proposals is the screen. share is the percentage of the labels above the threshold, and n the size
// of the sample.
export class Proposals {
  constructor(app, saved) {
    Object.assign(this, {app, share: 50, n: sampleStep, choosing: false, offered: null, check: null, lead: new Map(), all: [], taken: [], groupOf: new Map(),
      mixed: new Set(),
      ...saved});
    this.slider = h('input', {type: 'range', id: 'share', min: '0', max: '100', step: '1'});
    this.slider.addEventListener('input', () => { this.share = Number(this.slider.value); app.view.schedule(true); });
    this.slider.addEventListener('keydown', (e) => {
      if (e.key.startsWith('Arrow') || ['Home', 'End', 'PageUp', 'PageDown'].includes(e.key)) e.stopPropagation();
    });
    this.message = h('p', {class: 'whole', role: 'status'});
    this.details = h('p', {class: 'soft'});
    this.threshold = h('label', {for: 'share'});
    this.buttons = h('p', {class: 'buttons'});
    this.parts = [h('div', {}, this.message, this.details), h('div', {class: 'threshold'}, this.threshold, this.slider,
      h('span', {class: 'keys'}, key('{'), ' ', key('['), ' ', key(']'), ' ', key('}'))), this.buttons];
  }

  // saved is the state that outlives a reload. The checks of the sample are in the log.
  saved() { return {share: this.share, n: this.n, choosing: this.choosing}; }

  // stage is "check" while a proposal is being checked, and "choose" before one is made.
  get stage() { return this.app.model.proposed && !this.choosing ? 'check' : 'choose'; }

  // errors says how many proposed labels are expected to be wrong, once some are checked.
  get errors() {
    if (!this.app.model.proposed || (this.check?.expected ?? null) === null) return '';
    return `about ${round(this.check.expected)} of ${number(this.check.left)} proposed are wrong`;
  }

  // ask requests what the screen shows, one request at a time. An edit on its way goes first.
  async ask() {
    const {app} = this, {model} = app, wanted = `${this.stage} ${model.version} ${this.n}`;
    if (app.view.kind !== 'proposals' || this.asking || app.sender.queue.length || this.wanted === wanted) return;
    this.wanted = wanted;
    this.asking = true;
    try {
      if (this.stage === 'choose') await this.loadOffer();
      else await this.loadCheck();
      this.failed = '';
    } catch (e) { this.failed = e.message; }
    this.asking = false;
    byId('proposals').dataset.answered = wanted;
    app.view.schedule(true); // and ask again if something has changed
    if (this.pending) this.propose();
  }

  async loadOffer() {
    const a = await ask('/api/proposals', {});
    this.offered = a.proposals;
    for (const x of a.proposals) this.lead.set(x.tag, x.lead);
    this.waiting = a.waiting;
    if (a.waiting) setTimeout(() => { this.wanted = ''; this.app.view.draw(); }, 500);
  }

  async loadCheck() {
    let a = await ask('/api/check', {of: 0, n: this.n, seed, whole: !this.labels});
    if (this.labels && (a.of !== this.check.of || a.left !== this.left().length)) a = await ask('/api/check', {of: a.of, n: this.n, seed, whole: true});
    this.check = a;
    if (!a.rest) return;
    (a.leads || []).forEach((lead, k) => this.lead.set(a.rest[k], lead));
    this.ranked = !!a.leads;
    this.labels = a.rest.sort((x, y) => this.leadOf(y) - this.leadOf(x) || x - y);
  }

  // isProposed tells whether a label is proposed and not decided.
  isProposed(i) { return (this.app.model.status[i] & (PROPOSED | DECIDED)) === PROPOSED; }

  // left lists the undecided labels of the proposal, surest first.
  left() { return (this.labels || []).filter((i) => this.isProposed(i)); }

  leadOf(i) { return this.lead.get(i) ?? 0; }

  // drawn lists the unchecked labels of the sample.
  drawn() { return (this.check?.tags || []).filter((i) => this.isProposed(i)); }

  // among lists the labels that the threshold divides, with their groups.
  among() {
    if (this.stage === 'check') return this.left().map((tag) => ({tag, group: this.app.model.parent[tag]}));
    return (this.offered || []).filter((x) => !(this.app.model.status[x.tag] & (DECIDED | PROPOSED)));
  }

  // byGroup gathers labels by their group, the largest group first. While a proposal is checked, the groups stay in the order
  // that they had at first: no section moves while it is read.
  byGroup(list) {
    const by = [...Map.groupBy(list, (x) => x.group).entries()].sort((x, y) => y[1].length - x[1].length || x[0] - y[0]);
    if (this.stage !== 'check') return by;
    if (!this.order || this.order.of !== this.check?.of) this.order = {of: this.check?.of, place: new Map()};
    const {place} = this.order;
    for (const [g] of by) if (!place.has(g)) place.set(g, place.size);
    return by.sort((x, y) => place.get(x[0]) - place.get(y[0]));
  }

  name(g) { return g < 0 ? '' : this.app.model.groups[1][g]?.name ?? ''; }

  // title names a group, or dropping, which has no group.
  title(g) { return g < 0 ? 'drop' : shown(this.name(g)); }

  // sections lists the labels of the grid. It also updates all, taken (those above the threshold) and
  // groupOf, which are valid until the next edit.
  sections() {
    this.all = this.among();
    this.taken = this.surest();
    this.groupOf = new Map(this.taken.map((x) => [x.tag, x.group]));
    const drawn = this.stage === 'check' ? this.drawn() : [], first = new Set(drawn);
    const notDrawn = (x) => !first.has(x.tag), by = this.byGroup(this.taken.filter(notDrawn))
      .map(([g, list]) => ({key: g, title: `${this.title(g)} · ${number(list.length)}`, items: list.map((x) => x.tag)}));
    const below = this.stage === 'check' ? this.all.slice(this.taken.length).filter(notDrawn).reverse().map((x) => x.tag) : [];
    const {sorting} = this.app.view;
    if (sorting !== 'sure') for (const items of [below, ...by.map((s) => s.items)]) items.sort(this.app.model.order(sorting));
    this.mixed = new Set([...drawn, ...below]); // in sections of several groups
    const order = sorting === 'sure' ? ', least confident first' : '';
    const list = [{key: 'drawn', title: `drawn to check · ${number(drawn.length)}`, items: drawn},
      {key: 'below', title: `below the slider${order} · ${number(below.length)}`, items: below}, ...by].filter((s) => s.items.length);
    return list.length ? list : [{items: []}];
  }

  // surest lists the labels above the threshold. While a proposal is checked, the threshold keeps its lead until
  // the slider moves, so that no label comes into the list that is being read.
  surest() {
    const {all, share} = this, first = all.slice(0, Math.round((all.length * share) / 100)), of = `${this.stage} ${share} ${this.check?.of}`;
    if (this.stage !== 'check' || !this.ranked) return first;
    if (this.held?.of !== of) this.held = {of, least: first.length ? this.leadOf(first.at(-1).tag) : Infinity};
    const end = all.findIndex((x) => this.leadOf(x.tag) < this.held.least);
    return end < 0 ? all : all.slice(0, end);
  }

  // about is the text on a card: the proposed group and the lead.
  about(i) {
    const g = this.stage === 'check' ? this.app.model.parent[i] : this.groupOf.get(i) ?? -1;
    return [this.mixed.has(i) ? `${this.title(g)}?` : '', this.lead.has(i) ? this.lead.get(i).toFixed(2) : ''].filter(Boolean).join(' ');
  }

  // draw writes the part above the labels, and requests missing data.
  draw() {
    const box = byId('proposals');
    if (box.firstChild !== this.parts[0]) box.replaceChildren(...this.parts); // another screen has used it
    this.slider.value = String(this.share);
    const {taken} = this, least = taken.length ? this.leadOf(taken.at(-1).tag) : 0;
    this.threshold.textContent = `most confident ${this.share} % · margin ≥ ${least.toFixed(3)}`;
    this.threshold.parentElement.hidden = this.stage === 'check' && !this.ranked;
    if (this.stage === 'check') this.drawCheck(taken.length); else this.drawChoice(taken);
    setTimeout(() => this.ask(), 0); // the screen is painted first
  }

  button(k, text, run, main) {
    return h('button', {type: 'button', class: main ? 'main-button' : '', 'aria-keyshortcuts': k, onclick: run}, text, ' ', key(k));
  }

  drawChoice(taken) {
    const m = this.app.model, all = this.all.length;
    if (!this.offered) {
      fill(this.message, this.failed || 'comparing the open tags with the names of the groups…');
      fill(this.details, '');
      fill(this.buttons);
      return;
    }
    if (!all) {
      const allDecided = m.done.labels + m.proposed === m.n, none = allDecided ? 'No tag is open.' : 'Nothing can be proposed.';
      fill(this.message, this.failed || (this.waiting ? 'The names of the groups are being encoded…' : none));
      fill(this.details, this.waiting || allDecided ? '' : 'A proposal needs at least two groups that were declared by name: by N, by an import, '
        + 'or by hgld cluster run --groups. Tags that were taken back as wrong are not proposed again.');
    } else {
      const groups = new Set(taken.map((x) => x.group)).size;
      fill(this.message, `${number(taken.length)} of ${count(all, 'open tag')} would be proposed, for ${count(groups, 'group')}.`);
      fill(this.details, 'Each tag goes to the group with the highest score: by its vector, its last words and the name of the group. '
        + 'Its margin is the lead over the second group. Nothing is decided yet, and one undo takes all of it back.');
    }
    fill(this.buttons, taken.length ? this.button('a', `Propose ${count(taken.length, 'tag')}`, () => this.propose(), true) : null,
      m.proposed ? this.button('R', `To the ${number(m.proposed)} proposed`, () => this.switchStage()) : null);
  }

  drawCheck(above) {
    const c = this.check, left = this.all.length;
    if (!c) { fill(this.message, this.failed || 'drawing tags to check…'); fill(this.details, ''); fill(this.buttons); return; }
    const checked = c.right + c.wrong;
    const are = c.expected >= 0.5 && c.expected < 1.5 ? 'is' : 'are';
    const unknown = checked ? `No estimate for the ${count(left, 'tag')} left: none with a similar score has been checked.`
      : `${count(left, 'tag')} proposed. Check the drawn ones to learn how many are wrong.`;
    fill(this.message, c.expected === null ? unknown
      : `About ${round(c.expected)} of the ${count(left, 'tag')} left ${are} expected to be wrong (95 %: ${round(c.low)} to ${round(c.high)}).`);
    const surest = this.ranked ? this.expectedOf(above) : null;
    this.threshold.textContent += surest && above
      ? ` · about ${round(surest.expected)} of ${number(above)} wrong (${round(surest.low)} to ${round(surest.high)})`
      : '';
    fill(this.details, `${number(checked)} of ${number(c.tags.length)} drawn tags checked: ${number(c.right)} right, ${number(c.wrong)} wrong. `
      + `For a wrong one, a digit or m moves it to its group; 0 only takes it back.${this.failed ? ` ${this.failed}` : ''}`);
    const g = this.groupHere(), inGroup = this.all.filter((x) => x.group === g).length;
    const at = this.app.view.grid.current() !== undefined;
    const together = (...list) => h('span', {class: 'together'}, ...list);
    fill(this.buttons, together(at ? [this.button('y', 'Right', () => this.right(), true), this.button('0', 'Wrong', () => this.wrong()),
      this.button('Y', 'Right to here', () => this.rightToHere())] : null,
      c.tags.length < left + checked ? this.button('+', `Draw ${sampleStep} more`, () => this.drawMore()) : null,
      this.button('R', 'Propose more', () => this.switchStage())),
    together(h('span', {class: 'soft'}, 'Confirm '), this.button('a', `all ${number(left)}`, () => this.confirmAll()),
      this.ranked ? this.button('A', `most confident ${number(above)}`, () => this.confirmSurest()) : null,
      this.button('q', 'class by class', () => this.app.go('classes'))),
    together(h('span', {class: 'soft'}, 'Take back '), this.button('W', 'all', () => this.withdrawAll()),
      inGroup ? this.button('B', `${this.title(g)} ${number(inGroup)}`, () => this.withdrawGroup()) : null));
  }

  // groupHere is the group of the current label.
  groupHere() { const i = this.app.view.grid.current(); return i === undefined ? -2 : this.app.model.parent[i]; }

  // switchStage goes from the check to choosing another proposal, and back.
  switchStage() {
    this.choosing = this.stage === 'check';
    this.app.view.grid.start();
    this.app.view.schedule(true);
  }

  // partsOf lists labels by the name of their group, in the form of an edit.
  partsOf(list) { return this.byGroup(list).map(([g, of]) => ({to: this.name(g), members: of.map((x) => this.app.model.ref(x.tag))})); }

  // scored adds the lead of each label to the parts of a proposal.
  scored(list) { return this.partsOf(list).map((p, n) => ({...p, scores: this.byGroup(list)[n][1].map((x) => Number(this.leadOf(x.tag).toFixed(4)))})); }

  // expectedOf estimates how many of the surest n labels are wrong, as {expected, low, high}; null if
  // no checked label tells. In a stratum of which only a part is among them, it takes that part of
  // the stratum's numbers.
  expectedOf(n) {
    if (!this.check?.strata?.length) return null;
    let left = n, expected = 0, below = 0, above = 0;
    for (const s of this.check.strata) {
      const share = s.left ? Math.min(1, left / s.left) : 0;
      left -= Math.round(share * s.left);
      expected += share * s.expected;
      below += (share * (s.expected - s.low)) ** 2;
      above += (share * (s.high - s.expected)) ** 2;
    }
    return {expected, low: Math.max(0, expected - Math.sqrt(below)), high: Math.min(n, expected + Math.sqrt(above))};
  }

  edit(op, list, fields) {
    if (!list.length) return;
    this.app.view.grid.start();
    this.app.edit({op, ...fields}, list.map((x) => x.tag ?? x));
  }

  // propose proposes the labels above the threshold. If the offer is older than the last edit, it
  // waits for a new one.
  propose() {
    this.pending = this.asking || this.wanted !== `choose ${this.app.model.version} ${this.n}`;
    if (this.pending) return;
    this.sections();
    const {taken} = this;
    this.choosing = false;
    this.n = sampleStep;
    this.edit('propose', taken, {parts: this.scored(taken)});
  }

  // confirmThese confirms the proposed groups of labels. If no label has been checked, it asks
  // first.
  async confirmThese(list) {
    if (!list.length) return;
    const unchecked = () => this.check.right + this.check.wrong === 0;
    if (unchecked()) await this.loadCheck(); // the last check may not be counted yet
    if (unchecked()) {
      const answer = await confirm({title: `Confirm ${count(list.length, 'tag')}`,
        body: [h('p', {}, 'None of the drawn tags has been checked, so nobody knows how many of these are wrong.')], answers: ['Confirm all the same']});
      if (answer < 0) return;
    }
    this.edit('confirm', list, {parts: this.partsOf(list)});
  }

  confirmAll() { return this.confirmThese(this.all); }
  confirmSurest() { return this.confirmThese(this.taken); }

  withdraw(list) { this.edit('withdraw', list, {from: list.map((x) => this.app.model.ref(x.tag))}); }
  withdrawAll() { this.withdraw(this.all); }
  withdrawGroup() { const g = this.groupHere(); this.withdraw(this.all.filter((x) => x.group === g)); }

  // chosen lists the proposed labels among the marked ones, or the current one.
  chosen() {
    const tags = this.app.view.chosen().filter((i) => this.isProposed(i));
    this.app.view.remember(tags);
    return tags;
  }

  // right accepts the chosen labels in their groups by one edit. The note of a confirmation says that
  // they were checked.
  right(tags = this.chosen()) {
    const of = tags.map((tag) => ({tag, group: this.app.model.parent[tag]}));
    if (!tags.length) return;
    if (new Set(of.map((x) => x.group)).size === 1) { this.accept(tags, of[0].group); return; }
    this.app.edit({op: 'confirm', parts: this.partsOf(of), note: 'right'}, tags);
    this.app.view.clearMarks();
  }

  // accept decides labels in their proposed group, or drops them.
  accept(tags, g) { decide(this.app, g < 0 ? 'drop' : 'accept', tags, g < 0 ? undefined : this.name(g), g < 0 ? 'as proposed' : undefined); }

  // rightToHere accepts the labels from the first to the current one.
  rightToHere() {
    const {grid} = this.app.view, tags = this.app.view.labelsOf(grid.items.slice(0, grid.at + 1)).filter((i) => this.isProposed(i));
    this.app.view.remember(tags);
    this.right(tags);
  }

  // wrong takes the chosen labels back. The note says that they were checked.
  wrong() {
    const tags = this.chosen();
    if (tags.length) this.app.edit({op: 'withdraw', from: tags.map((i) => this.app.model.ref(i)), note: 'wrong'}, tags);
    this.app.view.clearMarks();
  }

  drawMore() {
    this.n += sampleStep;
    this.app.view.grid.start();
    this.app.view.schedule(true);
  }

  // slide changes the threshold by a percentage of the labels.
  slide(by) {
    this.share = Math.max(0, Math.min(100, this.share + by));
    this.app.view.schedule(true);
  }

  // key handles the keys of this screen, and tells whether the key is one of them.
  key(name) {
    const keys = {'[': () => this.slide(-5), ']': () => this.slide(5), '{': () => this.slide(-100), '}': () => this.slide(100)};
    if (this.app.model.proposed) keys.R = () => this.switchStage();
    if (this.stage === 'choose') keys.a = () => this.propose();
    else {
      Object.assign(keys, {y: () => this.right(), Y: () => this.rightToHere(), 0: () => this.wrong(), '+': () => this.drawMore(), a: () => this.confirmAll(),
        A: () => this.confirmSurest(), W: () => this.withdrawAll(), B: () => this.withdrawGroup()});
    }
    if (!Object.hasOwn(keys, name)) return false;
    keys[name]();
    return true;
  }
}
