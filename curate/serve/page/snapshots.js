import {h, count, number, shown} from './dom.js';
import {confirm, inform, prompt} from './dialogs.js';
import {ask} from './net.js';

const most = 200; // differences that are listed

const when = (s) => `${new Date(s.at).toLocaleDateString('en-CA')} ${new Date(s.at).toLocaleTimeString('en-GB')}`;

// snapshots shows the named states of the log, and names, compares and restores them. All of it is in the log.
export async function snapshots(app) {
  let list;
  try { list = (await ask('/api/snapshots')).snapshots; } catch (e) { app.view.say(`${e.message}.`); return; }
  const leave = (run) => () => { d.leave(); run(); };
  const button = (name, s, run) => h('button', {type: 'button', 'aria-label': `${name} ${shown(s.name)}`, onclick: leave(() => run(s))}, name);
  const row = (s) => h('tr', {}, h('td', {class: 'n'}, `#${s.seq}`), h('td', {class: 'n'}, when(s)), h('td', {dir: 'auto'}, shown(s.name)),
    h('td', {class: 'soft'}, s.by || ''), h('td', {}, h('span', {class: 'together'}, button('compare', s, (x) => compare(app, x)),
      button('restore', s, (x) => restore(app, x)))));
  const name = h('button', {type: 'button', onclick: leave(() => nameState(app, list))}, 'Name this state');
  const d = inform('Snapshots', 'wide history', h('p', {class: 'soft'}, 'A snapshot is a name for a state of this log. Restoring one is an edit, which undo '
    + 'takes back: the edits since then stay in the log.'), list.length ? h('table', {}, h('tbody', {}, list.toReversed().map(row)))
    : h('p', {}, 'No state has a name yet.'), h('p', {class: 'buttons'}, name));
  name.focus();
}

async function nameState(app, list) {
  const note = await prompt({title: 'Name this state', label: 'Name', value: '', action: 'Keep',
    lead: list.length ? `There is ${list.slice(-3).map((s) => `“${shown(s.name)}”`).join(', ')} already.` : ''});
  if (note) app.edit({op: 'snapshot', note});
}

// restore restores a snapshot after a question that says what changes.
async function restore(app, s) {
  let list;
  try { ({changes: list} = await ask(`/api/snapshots?of=${s.seq}`)); } catch (e) { app.view.say(`${e.message}.`); return; }
  const answer = await confirm({title: `Restore “${shown(s.name)}”`, answers: [`Restore ${count(list.length, 'tag')}`],
    body: [h('p', {}, `${count(list.length, 'tag')} ${list.length === 1 ? 'returns' : 'return'} to where ${list.length === 1 ? 'it was' : 'they were'} then.`),
      h('p', {class: 'soft'}, 'The edits since then stay in the log without effect; undo brings them back.')]});
  if (answer === 0) app.edit({op: 'restore', of: s.seq, note: s.name});
}

// compare lists the labels whose groups or decisions differ from a snapshot, and what else differs.
async function compare(app, s) {
  let list, details;
  try { ({changes: list, details} = await ask(`/api/snapshots?of=${s.seq}`)); } catch (e) { app.view.say(`${e.message}.`); return; }
  const m = app.model;
  const row = (x) => h('tr', {}, h('td', {dir: 'auto'}, h('button', {type: 'button', class: 'link', onclick: () => { d.leave(); app.view.openLabel(x.tag); }},
    shown(m.names[x.tag]))), h('td', {class: 'n'}, number(m.landmarks[x.tag])), h('td', {dir: 'auto'}, shown(x.was)), h('td', {dir: 'auto'}, shown(x.is)));
  const d = inform(`Since “${shown(s.name)}”`, 'wide', h('p', {class: 'soft'}, `${count(list.length, 'tag')} ${list.length === 1 ? 'differs' : 'differ'}`
    + `${list.length > most ? `; the ${number(most)} with the most landmarks are listed` : ''}.`), list.length ? h('table', {}, h('thead', {}, h('tr', {},
    ['tag', 'landmarks', 'then', 'now'].map((x, n) => h('th', {scope: 'col', class: n === 1 ? 'n' : ''}, x)))),
  h('tbody', {}, list.slice(0, most).map(row))) : null,
  ...(details.length ? [h('h3', {}, 'Names, kinds, notes and flags'), h('p', {class: 'soft'}, `${count(details.length, 'difference')}`
    + `${details.length > most ? `; the first ${number(most)} are listed` : ''}.`), h('table', {}, h('thead', {}, h('tr', {},
    ['of', 'what', 'then', 'now'].map((x) => h('th', {scope: 'col'}, x)))), h('tbody', {}, details.slice(0, most).map(detail)))] : []));
}

// detail is a row of what differs besides the group of a label.
const detail = (x) => h('tr', {}, h('td', {dir: 'auto'}, shown(x.name)), h('td', {}, x.what !== 'class' ? x.what : x.is ? 'new' : 'gone'),
  [x.was, x.is].map((value) => h('td', {dir: 'auto'}, value ? shown(value) : h('span', {class: 'soft'}, 'none'))));
