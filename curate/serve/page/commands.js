import {h, count, shown, key, number} from './dom.js';
import {DECIDED, OUTLIER} from './model.js';
import {choose, prompt, tell, preview} from './dialogs.js';
import {ask} from './net.js';

// Everything that a curator can do: one entry a command, with its key and the name
// of its button. All of them work on what is marked, or on the current label; those
// of a group on the current group, or on the groups marked in the tree.

const touched = (app, tags) => {
  const t = app.model.touched(tags);
  return `${count(t.labels, 'label')}, ${count(t.landmarks, 'landmark')}${app.model.withImages ? `, ${count(t.images, 'image')}` : ''}`;
};

export function decide(app, op, tags, to, note) {
  if (!tags.length) return;
  app.edit({op, from: tags.map((i) => app.model.ref(i)), ...(to === undefined ? {} : {to}), ...(note ? {note} : {})});
  app.clearMarks();
}

// groupItems lists the groups for type-ahead, the suggested ones first.
function groupItems(app, without) {
  const {of} = app.model.sum();
  const first = app.suggestions().map((x) => x.at);
  const place = (g) => { const i = first.indexOf(g.at); return i < 0 ? 99 : i; };
  return app.model.live().filter((g) => g.at !== without).sort((a, b) => place(a) - place(b) || (b.declared || 0) - (a.declared || 0) || of[b.at].tags.length - of[a.at].tags.length)
    .map((g) => ({name: g.name, note: `${count(of[g.at].tags.length, 'label')}${g.parent >= 0 ? ` · ${app.model.groups[2][g.parent].name}` : ''}`}));
}

async function move(app) {
  const tags = app.chosen();
  if (!tags.length) return;
  const to = await choose({title: `Move ${touched(app, tags)}`, lead: tags.slice(0, 4).map((i) => shown(app.model.names[i])).join(' · ') + (tags.length > 4 ? ' …' : ''),
    items: groupItems(app, app.commonGroup(tags)), create: true});
  if (to !== null) decide(app, 'move', tags, to);
}

async function fresh(app) {
  const tags = app.chosen();
  if (!tags.length) return;
  const to = await prompt({title: `New group of ${touched(app, tags)}`, label: 'Name of the group', value: app.model.names[tags[0]], action: 'Make'});
  if (to !== null) decide(app, 'move', tags, to);
}

const whole = (app) => (app.view.kind === 'group' ? app.model.members(app.view.at) : []);

function accept(app, all) {
  if (app.view.kind !== 'group') return app.say('Accepting is for one group; open one first.');
  const g = app.model.groups[1][app.view.at];
  const tags = whole(app).filter((i) => all || !(app.model.status[i] & OUTLIER));
  const open = tags.some((i) => !(app.model.status[i] & DECIDED));
  const next = app.tree.next(1, true);
  if (open) decide(app, 'accept', tags, g.name);
  const left = whole(app).some((i) => !(app.model.status[i] & DECIDED));
  if (!left && next >= 0) app.open(next);
  else if (!open) app.say(next < 0 ? 'Everything from here on is decided.' : 'All of it is decided.');
  return undefined;
}

async function drop(app) {
  const tags = app.chosen();
  if (!tags.length) return;
  const note = await prompt({title: `Drop ${touched(app, tags)}`, lead: 'They stay in the log and in no group.', label: 'Reason', action: 'Drop', value: app.lastReason || 'too generic',
    choices: ['too generic', 'no kind of landmark', 'not a place', 'cannot be seen in an image']});
  if (note !== null) { app.lastReason = note; decide(app, 'drop', tags, undefined, note); }
}

async function remark(app, op, title, action) {
  const tags = app.chosen();
  if (!tags.length) return;
  const have = app.model.remarks.get(tags[0]) || ['', '', ''];
  const note = await prompt({title: `${title} ${count(tags.length, 'label')}`, label: op === 'flag' ? 'What is doubtful' : 'Note; empty takes it away', action, value: op === 'flag' ? have[1] : have[2], optional: true});
  if (note === null) return;
  app.edit({op, from: tags.map((i) => app.model.ref(i)), ...(note ? {note} : {})});
  app.clearMarks();
}

function currentGroup(app) {
  const tag = app.grid.current();
  const at = app.view.kind === 'group' || app.view.kind === 'near' ? app.view.at : tag === undefined ? -1 : app.model.parent[tag];
  const g = app.model.groups[1][at];
  return g && !g.gone ? g : null;
}

async function rename(app) {
  const g = currentGroup(app);
  if (!g) return;
  const to = await prompt({title: `Rename “${shown(g.name)}”`, label: 'Name, kept byte for byte', value: g.name, action: 'Rename'});
  if (to === null || to === g.name) return;
  if (app.model.groupNamed(to) >= 0) { app.say(`There is a group “${to}” already: g merges the two.`); return; }
  app.tree.rank.set(to, app.tree.rank.get(g.name));
  app.edit({op: 'rename', level: 1, from: [{name: g.name}], to});
}

async function merge(app) {
  const marked = app.tree.chosen();
  const g = currentGroup(app);
  const from = marked.length > 1 ? marked : g ? [g] : [];
  if (!from.length) return;
  const tags = from.flatMap((x) => app.model.members(x.at));
  const to = await choose({title: marked.length > 1 ? `Merge ${count(from.length, 'group')} into` : `Merge “${shown(g.name)}” into`, lead: touched(app, tags), items: groupItems(app, marked.length > 1 ? -1 : g.at), create: marked.length > 1});
  if (to === null) return;
  app.tree.marked.clear();
  app.edit({op: 'merge', level: 1, from: from.map((x) => ({name: x.name})), to});
  app.follow = to;
}

async function split(app) {
  const g = currentGroup(app);
  if (!g || !app.model.has.split) return app.say('Dividing needs the vectors of the draft.');
  const tags = [...app.model.members(g.at)];
  if (tags.length < 2) return app.say('A group of one label cannot be divided.');
  const parts = await preview({title: `Divide “${shown(g.name)}”, ${count(tags.length, 'label')}`, max: tags.length,
    names: (list) => list.map((i) => app.model.names[i]), taken: (name) => name !== g.name && app.model.groupNamed(name) >= 0,
    make: async (k, seed) => (await ask('/api/split', {tags, k, seed})).parts});
  if (parts) app.edit({op: 'split', level: 1, from: [{name: g.name}], parts: parts.map((p) => ({to: p.to, members: p.tags.map((i) => app.model.ref(i))}))});
  return undefined;
}

async function parent(app) {
  const marked = app.tree.chosen();
  const g = currentGroup(app);
  const from = marked.length ? marked : g ? [g] : [];
  if (!from.length || app.model.levels.length < 3) return;
  const have = new Set(app.model.live(2).map((k) => k.name));
  const items = [...new Set([...app.model.kinds, ...have])].map((name) => ({name, note: ''}));
  const to = await choose({title: `${app.model.levels[2]} of ${from.length > 1 ? count(from.length, 'group') : `“${shown(from[0].name)}”`}`, items, create: true});
  if (to === null) return;
  app.tree.marked.clear();
  setParent(app, from, to);
}

export const setParent = (app, from, to, level = 1) => app.edit({op: 'set_parent', level, from: from.map((x) => ({name: x.name})), to});

async function newGroup(app) {
  const to = await prompt({title: 'Declare an empty group', lead: 'It can be moved to, and stays even without labels.', label: 'Name of the group', action: 'Make'});
  if (to) app.edit({op: 'set_parent', level: 1, from: [{name: to}], to: ''});
}

function markAll(app) {
  const items = app.grid.items;
  const core = app.view.kind === 'group' ? items.filter((i) => !(app.model.status[i] & OUTLIER)) : items;
  const set = core.every((i) => app.marks.has(i)) ? items : core;
  for (const i of set) app.marks.add(i);
  app.draw();
}

async function history(app) {
  let list;
  try { list = await ask('/api/history'); } catch (e) { app.say(e.message); return; }
  const names = {accept: 'accept', move: 'move', rename: 'rename', merge: 'merge', split: 'divide', set_parent: 'set the kind of', drop: 'drop', flag: 'flag', note: 'note', revert: 'undo'};
  const rows = list.reverse().slice(0, 500).map((e) => h('tr', {class: e.active ? '' : 'undone'}, h('td', {class: 'n'}, `#${e.seq}`), h('td', {class: 'n'}, new Date(e.at).toLocaleTimeString('en-GB')),
    h('td', {}, e.op === 'revert' ? `undo #${e.of}` : `${names[e.op]} ${shown(e.first)}${e.n > 1 ? ` and ${number(e.n - 1)} more` : ''}${e.to ? ` → ${shown(e.to)}` : ''}${e.note ? ` (${e.note})` : ''}`),
    h('td', {}, e.active ? h('button', {type: 'button', 'aria-label': `take back edit ${e.seq}`, onclick: () => { app.edit({op: 'revert', of: e.seq}); d.close(); }}, 'take back') : h('span', {class: 'soft'}, 'undone'))));
  const d = tell('History', 'wide', h('p', {class: 'soft'}, `Every edit of ${app.model.log}, latest first${list.length > 500 ? `; the last 500 of ${number(list.length)}` : ''}. Any of them can be taken back, if no later one needs it.`), h('table', {}, h('tbody', {}, rows)));
}

async function finish(app) {
  const sum = app.model.sum();
  const orphans = app.model.levels.length > 2 ? app.model.live().filter((g) => sum.of[g.at].tags.some((i) => app.model.status[i] & DECIDED) && g.parent < 0) : [];
  try {
    const a = await ask('/api/finish', {});
    tell('Written', 'ask', h('p', {class: 'pre'}, a.text), h('p', {class: 'soft'}, `${number(app.model.n - sum.done.labels)} labels are open. You can go on and write it again.`));
  } catch (e) {
    tell('Not written yet', 'ask', h('p', {class: 'pre'}, e.message),
      orphans.length ? h('p', {}, `${count(orphans.length, 'group')} without a ${app.model.levels[2]}: ${orphans.slice(0, 8).map((g) => g.name).join(', ')}${orphans.length > 8 ? ' …' : ''}. `, key('p'), ' sets it; mark several in the tree with ', key('Space'), ' first.') : null);
  }
}

// What undo and redo take back is looked up when they are sent: edits before them
// may still be on their way.
const revert = (app, what) => (app.model[what] || app.sender.queue.length ? app.edit({op: 'revert', of: what}) : app.say(`There is nothing to ${what}.`));

export const commands = [
  {keys: ['a'], name: 'Accept', group: 'decide', help: 'accept the whole group as it stands, and go to the next open one', run: (app) => accept(app, true)},
  {keys: ['A'], name: 'Accept core', group: 'decide', help: 'accept what stands above the break', run: (app) => accept(app, false)},
  {keys: ['m'], name: 'Move', group: 'decide', help: 'move what is marked, or the current label, to a group by typing', run: move},
  {keys: ['n'], name: 'New group', group: 'decide', help: 'make a group of what is marked', run: fresh},
  {keys: ['x'], name: 'Drop', group: 'decide', help: 'leave out, with a reason', run: drop},
  {keys: ['r'], name: 'Rename', group: 'group', help: 'rename the group', run: rename},
  {keys: ['g'], name: 'Merge', group: 'group', help: 'merge the group, or those marked in the tree, into another', run: merge},
  {keys: ['s'], name: 'Divide', group: 'group', help: 'divide the group by k-means, after a preview', run: split},
  {keys: ['p'], name: 'Kind', group: 'group', help: 'say what the group, or those marked in the tree, belong to', run: parent},
  {keys: ['N'], name: 'Declare', group: 'more', help: 'declare an empty group', run: newGroup},
  {keys: ['f'], name: 'Flag', group: 'label', help: 'flag for another look', run: (app) => remark(app, 'flag', 'Flag', 'Flag')},
  {keys: ['t'], name: 'Note', group: 'label', help: 'write a note', run: (app) => remark(app, 'note', 'Note on', 'Keep')},
  {keys: ['i'], name: 'Images', group: 'label', help: 'examples of the current label', run: (app) => app.toggleExamples()},
  {keys: ['u', 'ctrl+z'], name: 'Undo', group: 'back', help: 'take the last edit back', run: (app) => revert(app, 'undo')},
  {keys: ['ctrl+y'], name: 'Redo', group: 'back', help: 'do it again', run: (app) => revert(app, 'redo')},
  {keys: ['ctrl+a'], name: 'Mark all', group: 'mark', help: 'mark all above the break; once more: all that is shown', run: markAll},
  {keys: ['c'], name: 'Close by', group: 'mark', help: 'open labels of other groups that are near this one', run: (app) => app.closeBy()},
  {keys: ['e'], name: 'History', group: 'more', help: 'all edits; any can be taken back', run: history},
  {keys: ['w'], name: 'Write', group: 'more', help: 'write the hierarchy', run: finish},
];

// helpDialog explains the page; the first use shows what is needed to begin.
export function helpDialog(app, first) {
  const line = (keys, text) => h('li', {}, h('span', {class: 'kk'}, keys.map((k) => key(k.replace('ctrl+', '⌃')))), h('span', {}, text));
  const of = (...groups) => commands.filter((c) => groups.includes(c.group) && (!first || 'a A m x p u w'.split(' ').includes(c.keys[0]))).map((c) => line([c.keys[0]], c.help));
  tell(first ? 'Welcome' : 'Help', 'wide',
    first ? h('p', {}, 'The machine has put labels that mean similar things into groups. You make them into classes that people would use: accept what is right, move what is not, drop what is no kind of landmark.') : null,
    h('div', {class: 'help'},
      h('section', {}, h('h3', {}, '1 · Look at a group'), h('p', {class: 'soft'}, 'Labels nearest to the group’s centre come first; outliers stand below a break.'), h('ul', {},
        line(['j', 'k'], 'next, previous group'), line(['l', 'h'], 'next, previous label; arrows too'), line(['Space'], 'mark a label; Shift with arrows marks a range'), line(['i'], 'images, or Commons links'), first ? null : line(['v'], 'map of all labels'), first ? null : of('mark'))),
      h('section', {}, h('h3', {}, '2 · Decide'), h('p', {class: 'soft'}, 'Marks stay when you go to other groups: one move can take labels from many.'), h('ul', {}, line(['1', '5'], 'take a suggestion'), of('decide'), first ? null : of('label'))),
      h('section', {}, h('h3', {}, '3 · Shape the groups'), h('ul', {}, of('group'), line(['Tab'], 'into the tree: arrows, Space marks groups'), first ? null : line(['N'], 'declare an empty group'))),
      h('section', {}, h('h3', {}, '4 · Lose nothing'), h('p', {class: 'soft'}, 'Every edit is on disk before the page says “saved”.'), h('ul', {}, of('back'),
        line(['/'], 'find labels; then mark all and move them at once'), first ? null : line(['e'], 'all edits; any can be taken back'), line(['w'], 'write the hierarchy'), line(['Esc'], 'clear marks, leave a screen'), line(['?'], first ? 'all keys' : 'this help')))));
}
