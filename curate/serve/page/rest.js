import {byId, h, fill, count, number, key, shown} from './dom.js';
import {DECIDED, PROPOSED} from './model.js';
import {confirm} from './dialogs.js';
import {decide} from './commands.js';
import {ask} from './net.js';

// The screen that assigns the rest. It first shows what would be proposed: every open label
// whose nearest name leads the second nearest by a threshold. When a proposal is made, it
// draws labels of it to be checked, says how many of the others are expected to be wrong, and
// confirms them or takes them back, all of them, by group, or above a threshold.

const seed = 1; // of the sample: a reload, or another tab, draws the same labels
const more = 20; // labels that are drawn at once

const round = (x) => number(Math.round(x));

// Rest is the screen. Share is the part of the labels that the threshold leaves, surest
// first; n is the size of the sample.
export class Rest {
  constructor(app, kept) {
    Object.assign(this, {app, share: 50, n: more, choosing: false, offered: null, check: null, lead: new Map(), all: [], taken: [], groupOf: new Map(), ...kept});
    this.slider = h('input', {type: 'range', id: 'share', min: '0', max: '100', step: '1'});
    this.slider.addEventListener('input', () => { this.share = Number(this.slider.value); app.later(true); });
    this.slider.addEventListener('keydown', (e) => { if (e.key.startsWith('Arrow') || ['Home', 'End', 'PageUp', 'PageDown'].includes(e.key)) e.stopPropagation(); });
    this.told = h('p', {class: 'whole', role: 'status'});
    this.under = h('p', {class: 'soft'});
    this.threshold = h('label', {for: 'share'});
    this.buttons = h('p', {class: 'buttons'});
    fill(byId('rest'), h('div', {}, this.told, this.under), h('div', {class: 'threshold'}, this.threshold, this.slider, h('span', {class: 'keys'}, key('['), ' ', key(']'))), this.buttons);
  }

  // kept is what outlives a reload; the answers to the sample are in the log.
  kept() { return {share: this.share, n: this.n, choosing: this.choosing}; }

  // stage is what the screen is at: to check what is proposed, or to choose what to propose.
  get stage() { return this.app.model.proposed && !this.choosing ? 'check' : 'choose'; }

  // errors says how many of the proposed labels are expected to be wrong, once some are
  // checked.
  get errors() { return this.app.model.proposed && (this.check?.expected ?? null) !== null ? `about ${round(this.check.expected)} of ${number(this.check.left)} proposed are wrong` : ''; }

  // ask gets what the screen shows, once at a time: an edit on its way is first. The leads of
  // a proposal are asked for once.
  async ask() {
    const {app} = this, {model} = app, wanted = `${this.stage} ${model.version} ${this.n}`;
    if (app.view.kind !== 'rest' || this.asking || app.sender.queue.length || this.wanted === wanted) return;
    this.wanted = wanted;
    this.asking = true;
    try {
      if (this.stage === 'choose') await this.offer();
      else await this.look();
      this.failed = '';
    } catch (e) { this.failed = e.message; }
    this.asking = false;
    byId('rest').dataset.answered = wanted;
    app.later(true); // and ask again if something has changed
    if (this.pending) this.propose();
  }

  async offer() {
    const a = await ask('/api/proposals', {});
    this.offered = a.proposals;
    for (const x of a.proposals) this.lead.set(x.tag, x.lead);
    this.waiting = a.waiting;
    if (a.waiting) setTimeout(() => { this.wanted = ''; this.app.draw(); }, 500);
  }

  async look() {
    let a = await ask('/api/check', {of: 0, n: this.n, seed, whole: !this.rest});
    if (this.rest && (a.of !== this.check.of || a.left !== this.left().length)) a = await ask('/api/check', {of: a.of, n: this.n, seed, whole: true});
    this.check = a;
    if (!a.rest) return;
    (a.leads || []).forEach((lead, k) => this.lead.set(a.rest[k], lead));
    this.ranked = !!a.leads;
    this.rest = a.rest.sort((x, y) => this.leadOf(y) - this.leadOf(x) || x - y);
  }

  // isProposed tells whether a label is proposed and not decided.
  isProposed(i) { return (this.app.model.status[i] & (PROPOSED | DECIDED)) === PROPOSED; }

  // left are the labels of the proposal that are not decided, surest first.
  left() { return (this.rest || []).filter((i) => this.isProposed(i)); }

  leadOf(i) { return this.lead.get(i) ?? 0; }

  // drawn are the labels of the sample that nobody has looked at.
  drawn() { return (this.check?.tags || []).filter((i) => this.isProposed(i)); }

  // among are the labels that the threshold is about, and the group of each.
  among() {
    if (this.stage === 'check') return this.left().map((tag) => ({tag, group: this.app.model.parent[tag]}));
    return (this.offered || []).filter((x) => !(this.app.model.status[x.tag] & (DECIDED | PROPOSED)));
  }

  // byGroup gathers labels by their group, the largest group first.
  byGroup(list) { return [...Map.groupBy(list, (x) => x.group).entries()].sort((x, y) => y[1].length - x[1].length || x[0] - y[0]); }

  name(g) { return this.app.model.groups[1][g]?.name ?? ''; }

  // sections lists what the grid shows, and notes what the threshold is about, for what is
  // drawn until the next edit: all, those above it, and the group of each of them.
  sections() {
    this.all = this.among();
    this.taken = this.all.slice(0, Math.round((this.all.length * this.share) / 100));
    this.groupOf = new Map(this.taken.map((x) => [x.tag, x.group]));
    const drawn = this.stage === 'check' ? this.drawn() : [], first = new Set(drawn);
    const notDrawn = (x) => !first.has(x.tag), by = this.byGroup(this.taken.filter(notDrawn)).map(([g, list]) => ({title: `${shown(this.name(g))} · ${number(list.length)}`, items: list.map((x) => x.tag)}));
    const below = this.stage === 'check' ? this.all.slice(this.taken.length).filter(notDrawn).reverse().map((x) => x.tag) : [];
    const list = [{title: `drawn to check · ${number(drawn.length)}`, items: drawn}, {title: `below the slider, least sure first · ${number(below.length)}`, items: below}, ...by].filter((s) => s.items.length);
    return list.length ? list : [{items: []}];
  }

  // about says on a card what is proposed for a label, and how clearly.
  about(i) {
    const g = this.stage === 'check' ? this.app.model.parent[i] : this.groupOf.get(i) ?? -1;
    return [g >= 0 ? `${shown(this.name(g))}?` : '', this.lead.has(i) ? this.lead.get(i).toFixed(2) : ''].filter(Boolean).join(' ');
  }

  // draw writes what stands above the labels, and asks for what it lacks.
  draw() {
    this.slider.value = String(this.share);
    const {taken} = this, least = taken.length ? this.leadOf(taken.at(-1).tag) : 0;
    this.threshold.textContent = `surest ${this.share} % · lead ≥ ${least.toFixed(3)}`;
    this.threshold.parentElement.hidden = this.stage === 'check' && !this.ranked;
    if (this.stage === 'check') this.drawCheck(taken.length); else this.drawChoice(taken);
    setTimeout(() => this.ask(), 0); // the picture is first
  }

  button(k, text, run, main) { return h('button', {type: 'button', class: main ? 'main-button' : '', 'aria-keyshortcuts': k, onclick: run}, text, ' ', key(k)); }

  drawChoice(taken) {
    const m = this.app.model, all = this.all.length;
    if (!this.offered) { fill(this.told, 'comparing the open labels with the names of the groups…'); fill(this.under, ''); fill(this.buttons); return; }
    if (!all) {
      fill(this.told, this.failed || (this.waiting ? 'The names of the groups are being encoded…' : m.done.labels + m.proposed === m.n ? 'No label is open.' : 'Nothing can be proposed.'));
      fill(this.under, this.waiting || m.done.labels + m.proposed === m.n ? '' : 'A proposal goes by the names of at least two groups that were declared by name: by N, by an import, or by hgld cluster run --groups. What was taken back as wrong is not proposed again.');
    } else {
      const groups = new Set(taken.map((x) => x.group)).size;
      fill(this.told, `${number(taken.length)} of ${count(all, 'open label')} would be proposed, for ${count(groups, 'group')}.`);
      fill(this.under, 'Each goes to the group with the nearest name. Lead is how much nearer it is than the second name. Nothing is decided, and one undo takes all of it back.');
    }
    fill(this.buttons, taken.length ? this.button('a', `Propose ${count(taken.length, 'label')}`, () => this.propose(), true) : null, m.proposed ? this.button('R', `To the ${number(m.proposed)} proposed`, () => this.turn()) : null);
  }

  drawCheck(above) {
    const c = this.check, left = this.all.length;
    if (!c) { fill(this.told, 'drawing labels to check…'); fill(this.under, ''); fill(this.buttons); return; }
    const looked = c.right + c.wrong;
    fill(this.told, c.expected === null ? `${count(left, 'label')} proposed. Check the drawn ones to learn how many are wrong.`
      : `About ${round(c.expected)} of the ${count(left, 'label')} left ${c.expected >= 0.5 && c.expected < 1.5 ? 'is' : 'are'} expected to be wrong (95 %: ${round(c.low)} to ${round(c.high)}).`);
    fill(this.under, `${number(looked)} of ${number(c.tags.length)} drawn labels checked: ${number(c.right)} right, ${number(c.wrong)} wrong. Where a wrong one belongs, a digit or m says; 0 only takes it back.${this.failed ? ` ${this.failed}` : ''}`);
    const g = this.groupHere(), inGroup = g < 0 ? 0 : this.all.filter((x) => x.group === g).length;
    const at = this.app.grid.current() !== undefined;
    const together = (...list) => h('span', {class: 'together'}, ...list);
    fill(this.buttons, together(at ? [this.button('y', 'Right', () => this.right(), true), this.button('0', 'Wrong', () => this.wrong())] : null, c.tags.length < left + looked ? this.button('+', `Draw ${more} more`, () => this.drawMore()) : null, this.button('R', 'Propose more', () => this.turn())),
    together(h('span', {class: 'soft'}, 'Confirm '), this.button('a', `all ${number(left)}`, () => this.confirmAll()), this.ranked ? this.button('A', `surest ${number(above)}`, () => this.confirmSurest()) : null, inGroup ? this.button('b', `${shown(this.name(g))} ${number(inGroup)}`, () => this.confirmGroup()) : null),
    together(h('span', {class: 'soft'}, 'Take back '), this.button('W', 'all', () => this.withdrawAll()), inGroup ? this.button('B', shown(this.name(g)), () => this.withdrawGroup()) : null));
  }

  // groupHere is the group of the current label.
  groupHere() { const i = this.app.grid.current(); return i === undefined ? -1 : this.app.model.parent[i]; }

  // turn goes from what is proposed to what can be proposed, and back.
  turn() {
    this.choosing = this.stage === 'check';
    this.app.grid.start();
    this.app.later(true);
  }

  // parts are labels by the name of their group, as an edit has them.
  parts(list) { return this.byGroup(list).map(([g, of]) => ({to: this.name(g), members: of.map((x) => this.app.model.ref(x.tag))})); }

  edit(op, list, fields) {
    if (!list.length) return;
    this.app.grid.start();
    this.app.edit({op, ...fields}, list.map((x) => x.tag ?? x));
  }

  // propose proposes what is above the threshold, when it is known as of the last edit.
  propose() {
    this.pending = this.asking || this.wanted !== `choose ${this.app.model.version} ${this.n}`;
    if (this.pending) return;
    this.sections();
    const {taken} = this;
    this.choosing = false;
    this.n = more;
    this.edit('propose', taken, {parts: this.parts(taken)});
  }

  // confirmThese decides labels in the groups that are proposed for them; before anybody
  // has looked at any of them, it asks.
  async confirmThese(list) {
    if (!list.length) return;
    if (this.check.expected === null) await this.look(); // the last answer may not be counted yet
    if (this.check.expected === null) {
      const answer = await confirm({title: `Confirm ${count(list.length, 'label')}`, body: [h('p', {}, 'None of the drawn labels has been checked, so nobody knows how many of these are wrong.')], answers: ['Confirm all the same']});
      if (answer < 0) return;
    }
    this.edit('confirm', list, {parts: this.parts(list)});
  }

  confirmAll() { return this.confirmThese(this.all); }
  confirmSurest() { return this.confirmThese(this.taken); }
  confirmGroup() { const g = this.groupHere(); return this.confirmThese(this.all.filter((x) => x.group === g)); }

  withdraw(list) { this.edit('withdraw', list, {from: list.map((x) => this.app.model.ref(x.tag))}); }
  withdrawAll() { this.withdraw(this.all); }
  withdrawGroup() { const g = this.groupHere(); this.withdraw(this.all.filter((x) => x.group === g)); }

  // chosen are the marked labels, or the current one, that are proposed.
  chosen() {
    const tags = this.app.chosen().filter((i) => this.isProposed(i));
    this.app.look(tags);
    return tags;
  }

  // right accepts labels in their groups, by one edit: the note of a confirmation says that
  // they were looked at.
  right() {
    const tags = this.chosen(), of = tags.map((tag) => ({tag, group: this.app.model.parent[tag]}));
    if (!tags.length) return;
    if (new Set(of.map((x) => x.group)).size === 1) { decide(this.app, 'accept', tags, this.name(of[0].group)); return; }
    this.app.edit({op: 'confirm', parts: this.parts(of), note: 'right'}, tags);
    this.app.clearMarks();
  }

  // wrong takes a label back; the note says that it was looked at.
  wrong() {
    const tags = this.chosen();
    if (tags.length) this.app.edit({op: 'withdraw', from: tags.map((i) => this.app.model.ref(i)), note: 'wrong'}, tags);
    this.app.clearMarks();
  }

  drawMore() {
    this.n += more;
    this.app.grid.start();
    this.app.later(true);
  }

  slide(by) {
    this.share = Math.max(0, Math.min(100, this.share + by));
    this.app.later(true);
  }

  // key does what a key does on this screen alone, and tells whether it does something.
  key(name) {
    const keys = {'[': () => this.slide(-5), ']': () => this.slide(5), ...(this.stage === 'choose' ? {a: () => this.propose()} : {y: () => this.right(), 0: () => this.wrong(), '+': () => this.drawMore(),
      a: () => this.confirmAll(), A: () => this.confirmSurest(), b: () => this.confirmGroup(), W: () => this.withdrawAll(), B: () => this.withdrawGroup()}), ...(this.app.model.proposed ? {R: () => this.turn()} : {})};
    if (!Object.hasOwn(keys, name)) return false;
    keys[name]();
    return true;
  }
}
