import {byId, fill, h, key, shown, number} from './dom.js';

// The message after an edit: what it did to which labels or groups. One key leads there.

const names = (e) => `“${shown(e.first)}”${e.n > 1 ? ` and ${number(e.n - 1)} more` : ''}`;

// words of each operation: a description in the past tense, and a phrase for taking it back.
const words = {
  accept: [(e) => `Accepted ${names(e)} in “${shown(e.to)}”`, 'accepting'],
  move: [(e) => `Moved ${names(e)} to “${shown(e.to)}”`, 'the move of'],
  rename: [(e) => `Renamed ${names(e)} to “${shown(e.to)}”`, 'renaming'],
  merge: [(e) => `Merged ${names(e)} into “${shown(e.to)}”`, 'the merge of'],
  split: [(e) => `Split ${names(e)} into ${shown(e.to)}`, 'the split of'],
  set_parent: [(e) => (e.to ? `Put ${names(e)} under “${shown(e.to)}”` : `Declared ${names(e)}, or removed its parent`), 'the kind of'],
  also: [(e) => (e.to ? `Put ${names(e)} in “${shown(e.to)}” as well` : `Took ${names(e)} out of all groups but that of the tree`), 'the extra group of'],
  drop: [(e) => `Dropped ${names(e)}${e.note ? `: ${e.note}` : ''}`, 'dropping'],
  flag: [(e) => (e.resolved ? `Resolved the flag of ${names(e)}` : `Flagged ${names(e)}`), 'the flag of'],
  propose: [(e) => `Proposed ${names(e)} for ${shown(e.to)}`, 'the proposal of'],
  confirm: [(e) => `Confirmed ${names(e)} in ${shown(e.to)}`, 'confirming'],
  withdraw: [(e) => `Took back the proposal of ${names(e)}${e.note ? ` as ${e.note}` : ''}`, 'withdrawing'],
  snapshot: [(e) => `This state is called ${names(e)}`, 'the snapshot'],
  restore: [(e) => `Restored ${names(e)}`, 'the return to'],
  note: [(e) => `${e.note ? 'Noted on' : 'Removed the notes on'} ${names(e)}`, 'the note on'],
};

// asPast describes an edit of this page in the form in which the server describes past edits.
export function asPast(e) {
  if (!e.from && !e.parts) return {op: e.op, level: 0, n: 1, first: e.note, item: '', to: '', note: ''};
  const from = e.from || e.parts.flatMap((p) => p.members), to = (e.parts || []).map((p) => p.to);
  return {op: e.op, level: e.level || 0, n: from.length, first: from[0].name, item: from[0].qid || '', to: e.parts ? groupList(to, e.op) : e.to || '',
    note: e.note || '', resolved: !!e.resolved};
}

// groupList names the groups of an edit, and of a proposal, which may have very many, the first.
function groupList(to, op) {
  if (op === 'split' || to.length <= mostNamed) return to.join(', ');
  return `${to.slice(0, mostNamed).join(', ')} and ${to.length - mostNamed} more`;
}

const mostNamed = 3; // as on the server

// describe says what an edit did, or what was taken back.
export function describe(past, reverted) {
  const [done, of] = words[past.op];
  if (!reverted) return `${done(past)}.`;
  if (past.active) return `Done again: ${done(past)}.`;
  return `Took back ${of} ${names(past)}${past.to ? ` (${shown(past.to)})` : ''}.`;
}

// objectOf is the label or group that an edit was about, as {tag} or {group}; null if it cannot be
// shown.
export function objectOf(model, past) {
  if (['snapshot', 'restore'].includes(past.op)) return null;
  if (past.level === 0) {
    const tag = model.tagOf({name: past.first, qid: past.item});
    return tag === undefined ? null : {tag};
  }
  if (past.level > 1) return null;
  const group = [past.to.split(', ')[0], past.to, past.first].map((name) => model.groupNamed(name)).find((g) => g >= 0);
  return group === undefined ? null : {group};
}

let timer;

// endMessage ends the message that is shown: it is no longer true.
export const endMessage = () => byId('toast').classList.remove('on');

// showMessage shows a text for a while. go opens what the text is about.
export function showMessage(text, go) {
  const t = byId('toast');
  fill(t, h('span', {}, text), go ? h('button', {type: 'button', 'aria-keyshortcuts': 'o', onclick: go}, 'go there ', key('o')) : null);
  t.classList.add('on');
  clearTimeout(timer);
  timer = setTimeout(endMessage, go ? 7000 : 4000);
}
