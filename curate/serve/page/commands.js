import {h, count, shown, key, number} from './dom.js';
import {DECIDED, FLAGGED, OUTLIER} from './model.js';
import {check, choose, confirm, prompt, inform, preview} from './dialogs.js';
import {changedLabels} from './markedlabels.js';
import {describe} from './feedback.js';
import {ask} from './net.js';
import {snapshots} from './snapshots.js';
import {palette} from './palette.js';

// The commands: each has its keys and the name of its button. Commands on labels apply to the
// marked labels, or to the current one. Commands on groups apply to the groups marked in the tree,
// or to the current one.

const touched = (app, tags) => {
  const t = app.model.touched(tags);
  const decided = app.model.decidedOf(tags);
  return `${count(t.labels, 'tag')}, ${count(t.landmarks, 'landmark')}${app.model.withImages ? `, ${count(t.images, 'image')}` : ''}`
    + (decided && tags.length > 1 ? ` (${number(decided)} decided before)` : '');
};

// decide makes an edit of labels. It asks first about labels that have moved since they were marked
// or since the command began.
export async function decide(app, op, tags, to, note) {
  const moved = changedLabels(app.model, tags, new Map([...app.view.remembered, ...app.view.marks.seen]));
  app.view.remembered = new Map();
  if (moved.length) {
    const rest = tags.filter((i) => !moved.some((x) => x.tag === i));
    const answers = [rest.length ? `Skip ${moved.length > 1 ? 'them' : 'it'}` : 'Skip', `Do it for ${moved.length > 1 ? 'them' : 'it'} too`];
    const answer = await confirm({title: 'Changed meanwhile', answers, body: [
      h('p', {}, `Since you chose ${tags.length > 1 ? 'these tags' : 'this tag'}, somebody else, or another tab, has decided:`),
      h('ul', {}, moved.slice(0, 8).map((x) => h('li', {}, `“${shown(app.model.names[x.tag])}” is ${x.what}`)),
        moved.length > 8 ? h('li', {}, `and ${number(moved.length - 8)} more`) : null)]});
    if (answer < 0) return;
    if (answer === 0) {
      for (const x of moved) app.view.marks.delete(x.tag);
      app.view.draw();
      tags = rest;
    }
  }
  if (!tags.length) return;
  app.edit({op, from: tags.map((i) => app.model.ref(i)), ...(to === undefined ? {} : {to}), ...(note ? {note} : {})}, tags, [...app.view.marks]);
  app.view.clearMarks();
}

// chosen lists the labels that a command applies to, and remembers where they are.
function chosen(app) {
  const tags = app.view.chosen();
  app.view.remember(tags);
  return tags;
}

// groupItems lists the groups to choose from, the suggested ones first.
function groupItems(app, without) {
  const m = app.model, size = (g) => m.bucket(g.at).size;
  const first = new Map(app.suggestions.list().map((x, i) => [x.at, i]));
  const place = (g) => first.get(g.at) ?? 99;
  return m.live().filter((g) => g.at !== without).sort((a, b) => place(a) - place(b) || (b.declared || 0) - (a.declared || 0) || size(b) - size(a))
    .map((g) => ({name: g.name, declared: g.declared, note: [count(size(g), 'tag'), ...m.above(g).map((k) => k.name)].join(' · ')}));
}

// classItems lists the classes of a level above the groups. The coarsest level includes predefined
// names.
function classItems(app, level, without) {
  const names = app.model.live(level).filter((g) => g.at !== without).map((g) => g.name);
  return [...new Set([...(level === app.model.levels.length - 1 && without === undefined ? app.model.kinds : []), ...names])].map((name) => ({name, note: ''}));
}

async function move(app) {
  const tags = chosen(app);
  if (!tags.length) return;
  const lead = tags.slice(0, 4).map((i) => shown(app.model.names[i])).join(' · ') + (tags.length > 4 ? ' …' : '');
  const to = await choose({title: `Move ${touched(app, tags)}`, lead,
    items: groupItems(app, -1), create: 'group',
    exists: (name) => app.model.groupNamed(name) >= 0});
  if (to !== null) decide(app, 'move', tags, to);
}

async function moveToNew(app) {
  const tags = chosen(app);
  if (!tags.length) return;
  const to = await prompt({title: `New group of ${touched(app, tags)}`, label: 'Name of the group', value: app.model.names[tags[0]], action: 'Create'});
  if (to !== null) decide(app, 'move', tags, to);
}

// allInGroup lists the labels of the open group, in the order of the screen.
const allInGroup = (app) => (app.view.kind === 'group' ? app.view.labelsOf(app.view.grid.items).filter((i) => app.model.parent[i] === app.view.at) : []);

const isOpen = (app) => (i) => !(app.model.status[i] & DECIDED);

// accept accepts the labels of the open group that select picks from all. If no label is left open,
// it goes to the next open group.
function accept(app, select) {
  if (app.view.kind === 'near') return decide(app, 'move', chosen(app), app.model.groups[1][app.view.at].name);
  if (app.view.kind !== 'group') return app.view.say('Accepting is for one group; open one first.');
  const g = app.model.groups[1][app.view.at];
  const tags = select(allInGroup(app));
  const open = tags.some(isOpen(app));
  const next = app.view.tree.next(1, {open: true, round: true});
  app.view.remember(tags);
  if (open) decide(app, 'accept', tags, g.name);
  const left = allInGroup(app).some(isOpen(app));
  if (!left && next >= 0) app.view.openGroup(next);
  else if (!open) app.view.say(next < 0 ? 'Everything is decided.' : 'All of it is decided.');
  return undefined;
}

// acceptCore accepts the labels above the break.
const acceptCore = (app) => accept(app, (tags) => tags.filter((i) => !(app.model.status[i] & OUTLIER)));

// acceptTo accepts the open labels from the first to the current one, and goes to the next open
// label.
function acceptTo(app) {
  const {view} = app, {screen, grid} = view, to = grid.at;
  if (view.kind !== 'group') return app.view.say('Accepting is for one group; open one first.');
  accept(app, () => app.view.labelsOf(grid.items.slice(0, to + 1)).filter(isOpen(app)));
  const next = grid.items.findIndex((i, n) => n > to && isOpen(app)(i));
  if (view.screen === screen && next >= 0) grid.go(next);
  return undefined;
}

// drop drops labels. It asks for the reason once in a sitting, again with X, and always for a label that is called like a
// declared group.
async function drop(app, again = false) {
  const tags = chosen(app);
  if (!tags.length) return;
  const namesake = app.model.namesake(tags), lead = 'They stay in the log but belong to no group.'
    + (namesake < 0 ? '' : ` Careful: a group is called ${shown(app.model.names[namesake])}.`);
  if (app.lastReason && namesake < 0 && !again) { decide(app, 'drop', tags, undefined, app.lastReason); return; }
  const note = await prompt({title: `Drop ${touched(app, tags)}`, lead, label: 'Reason', action: 'Drop',
    value: app.lastReason || 'too generic',
    choices: ['too generic', 'not a kind of landmark', 'not a place', 'cannot be seen in an image']});
  if (note !== null) { app.lastReason = note; decide(app, 'drop', tags, undefined, note); }
}

// rule moves or drops all open labels that the expression in Find has found, and with them those of later drafts.
async function rule(app) {
  const {model: m, find, view} = app, {query, tags: found} = find.found, tags = found.filter(isOpen(app));
  if (view.kind !== 'search' || !query || find.searching || !tags.length) {
    view.say('A rule needs an expression in Find that has found open tags, such as /vending machines?$/.');
    return;
  }
  view.remember(tags);
  const to = await choose({title: `Rule for ${touched(app, tags)}`, whole: true, create: 'group', exists: (name) => m.groupNamed(name) >= 0,
    lead: `/${query}/ also decides new tags of later drafts. ${count(found.length - tags.length, 'decided tag')} that it finds stay where they are.`,
    items: [...groupItems(app, -1), {name: 'drop', note: 'they belong to no group', none: true}]});
  if (to === null) return;
  app.edit({op: to.none ? 'drop' : 'move', from: tags.map((i) => m.ref(i)), rule: query, ...(to.none ? {note: `/${query}/`} : {to: to.name ?? to})}, tags);
}

// note adds a note to the labels that are chosen, or to the class g: the one at the tree's cursor while that has the focus.
export async function note(app, g = app.view.tree.under()) {
  const tags = g ? [] : app.view.chosen();
  if (!g && !tags.length) return;
  const noted = g ? g.note : tags.some((i) => app.model.remarks.get(i)?.[2]);
  const text = await prompt({title: `Note on ${g ? `“${shown(g.name)}”` : count(tags.length, 'tag')}`, action: 'Keep', value: '', optional: !!noted,
    label: noted ? 'New note (leave empty to delete all notes)' : 'Note'});
  if (text === null) return;
  const e = {op: 'note', ...(text ? {note: text} : {})};
  if (g) app.edit({...e, level: g.level, from: [{name: g.name}]}); else remark(app, e, tags);
}

function remark(app, e, tags) {
  app.edit({...e, from: tags.map((i) => app.model.ref(i))}, tags, [...app.view.marks]);
  app.view.clearMarks();
}

// addParent gives labels, or the class at the tree's cursor, an extra parent besides that of the tree, or takes all
// of them away.
async function addParent(app) {
  const {model: m, view} = app, under = view.tree.under(), tags = under ? [] : view.chosen();
  if (!under && !tags.length) return;
  if (under && !m.levels[under.level + 1]) { view.say(`There is no level above ${classWord(app, under.level)}.`); return; }
  const now = under ? under.extra || [] : [...new Set(tags.flatMap((i) => m.extra.get(i) || []))];
  const level = under ? under.level : 0, create = classWord(app, level + 1);
  const items = under ? classItems(app, level + 1, under.parent) : groupItems(app, view.commonGroup(tags));
  const whose = under ? `“${shown(under.name)}”` : tags.length > 1 ? count(tags.length, 'tag') : `“${shown(m.names[tags[0]])}”`;
  const chosen = await choose({title: `Another ${create} of ${whose}`, create, whole: true, exists: (name) => m.groupNamed(name, level + 1) >= 0,
    lead: now.length ? `Also in ${now.map(shown).join(', ')}.` : 'It stays where it is in the tree, and belongs there as well.',
    items: [...items.filter((x) => !now.includes(x.name)), ...(now.length ? [{name: 'Remove all extra groups', note: '', none: true}] : [])]});
  if (chosen === null) return;
  const to = chosen.name ?? chosen, e = {op: 'also', ...(chosen.none ? {} : {to})};
  if (under) app.edit({...e, level, from: [{name: under.name}]});
  else remark(app, e, chosen.none ? tags : tags.filter((i) => m.groups[1][m.parent[i]]?.name !== to)); // a tag is in its own group already
}

const isFlagged = (app) => (i) => app.model.status[i] & FLAGGED;

// flag flags labels, or replies to the flag of those that have one; resolve ends flags. Both also
// apply to the class g: the one at the tree's cursor while that has the focus.
export async function flag(app, resolved = false, g = app.view.tree.under()) {
  const all = g ? [] : app.view.chosen();
  const tags = resolved ? all.filter(isFlagged(app)) : all, reply = g ? g.flagged : tags.length > 0 && tags.every(isFlagged(app));
  if (resolved && !reply) { app.view.say('Nothing that is chosen is flagged.'); return; }
  if (!g && !tags.length) return;
  const title = resolved ? 'Resolve the flag of' : reply ? 'Reply to the flag of' : 'Flag', action = resolved ? 'Resolve' : reply ? 'Reply' : 'Flag';
  const text = await prompt({title: `${title} ${g ? `“${shown(g.name)}”` : count(tags.length, 'tag')}`, action, value: '', optional: resolved || !reply,
    label: resolved ? 'Answer; it may be empty' : reply ? 'Reply' : 'What is doubtful'});
  if (text === null) return;
  const e = {op: 'flag', ...(text ? {note: text} : {}), ...(resolved ? {resolved} : {})};
  if (g) app.edit({...e, level: g.level, from: [{name: g.name}]}); else remark(app, e, tags);
}

function currentGroup(app) {
  const tag = app.view.current();
  const at = app.view.kind === 'group' || app.view.kind === 'near' ? app.view.at : tag === undefined ? -1 : app.model.parent[tag];
  const g = app.model.groups[1][at];
  return g && !g.gone ? g : null;
}

// chosenGroups lists the classes that a command on groups applies to: those marked in the tree, the
// one at the tree's cursor while the tree has the focus, or the current group. All have one level.
function chosenGroups(app) {
  const marked = app.view.tree.chosen();
  const one = app.view.tree.under() || currentGroup(app);
  return marked.length ? marked : one ? [one] : [];
}

// classWord is the word for a class of a level. On level 1 it is always "group".
const classWord = (app, level) => (level === 1 ? 'group' : app.model.levels[level]);

// titleOf names classes in a title.
const titleOf = (app, list) => (list.length > 1 ? count(list.length, classWord(app, list[0].level)) : `“${shown(list[0].name)}”`);

async function rename(app) {
  const g = app.view.tree.under() || currentGroup(app);
  if (!g) return;
  const to = await prompt({title: `Rename “${shown(g.name)}”`, label: 'Name, kept byte for byte', value: g.name, action: 'Rename'});
  if (to === null || to === g.name) return;
  if (app.model.groupNamed(to, g.level) >= 0) { app.view.say(`There is “${to}” already: g merges the two.`); return; }
  app.edit({op: 'rename', level: g.level, from: [{name: g.name}], to});
}

async function merge(app) {
  const from = chosenGroups(app);
  if (!from.length) return;
  const {level} = from[0], without = from.length > 1 ? -1 : from[0].at;
  const lead = level === 1 ? touched(app, from.flatMap((x) => app.model.members(x.at))) : '';
  const to = await choose({title: `Merge ${titleOf(app, from)} into`, lead, items: level === 1 ? groupItems(app, without) : classItems(app, level, without),
    create: from.length > 1 && classWord(app, level), exists: (name) => app.model.groupNamed(name, level) >= 0});
  if (to === null) return;
  app.view.tree.clearMarks();
  app.edit({op: 'merge', level, from: from.map((x) => ({name: x.name})), to});
  if (level === 1 && from.some((x) => x.at === app.view.at)) app.view.follow = {from: app.view.at, to};
}

// mergeNamesakes merges the clusters that have the name of a declared group into it, by one edit.
export async function mergeNamesakes(app) {
  const m = app.model, all = m.namesakes(), {view} = app;
  if (!all.length) { view.say('No cluster has the name of a declared group.'); return; }
  const items = all.map(({cluster, group, sure}) => ({cluster, group, off: !sure, name: `${shown(cluster.name)} → ${shown(group.name)}`,
    note: `${count(m.bucket(cluster.at).size, 'tag')} · ${count(m.bucket(cluster.at).landmarks, 'landmark')}`,
    more: m.members(cluster.at).slice(0, 6).map((i) => shown(m.names[i])).join(' · ')}));
  const chosen = await check({title: 'Merge clusters into their namesakes', items,
    lead: 'These clusters are called like a group that you declared, or begin with its name. '
      + 'Their tags join it and stay open. One undo takes all of it back.', action: 'Merge'});
  if (!chosen) return;
  const parts = [...Map.groupBy(chosen, (x) => x.group.name)].map(([to, list]) => ({to, members: list.map((x) => ({name: x.cluster.name}))}));
  const here = chosen.find((x) => x.cluster.at === view.at);
  if (here) view.follow = {from: view.at, to: here.group.name};
  app.edit({op: 'merge', level: 1, parts});
}

async function split(app) {
  const g = app.view.tree.under() || currentGroup(app);
  if (!g || g.level > 1 || !app.model.has.split) {
    return app.view.say(g && g.level > 1 ? 'Only groups can be split.' : 'A split needs the vectors of the draft.');
  }
  const tags = [...app.model.members(g.at)];
  if (tags.length < 2) return app.view.say('A group of one tag cannot be split.');
  const parts = await preview({title: `Split “${shown(g.name)}”, ${count(tags.length, 'tag')}`, max: tags.length,
    names: (list) => list.map((i) => app.model.names[i]), exists: (name) => name !== g.name && app.model.groupNamed(name) >= 0,
    make: async (k, seed) => (await ask('/api/split', {tags, k, seed})).parts});
  if (!parts) return undefined;
  app.view.tree.insert(g.name, parts.map((p) => p.to));
  if (parts.some((p) => p.to === g.name)) app.view.tree.left = null; // j continues by the ranks of the parts
  else if (g.at === app.view.at) app.view.follow = {from: g.at, to: parts[0].to, parts: parts.map((p) => p.to)};
  app.edit({op: 'split', level: 1, from: [{name: g.name}], parts: parts.map((p) => ({to: p.to, members: p.tags.map((i) => app.model.ref(i))}))});
  return undefined;
}

// parent sets the parent of groups, or of classes of a higher level.
async function parent(app) {
  const from = chosenGroups(app);
  if (!from.length) return;
  const level = from[0].level + 1, what = app.model.levels[level];
  if (!what) { app.view.say(`There is no level above ${classWord(app, level - 1)}.`); return; }
  const to = await choose({title: `${what} of ${titleOf(app, from)}`, items: classItems(app, level), create: what});
  if (to === null) return;
  app.view.tree.clearMarks();
  setParent(app, from, to);
}

export const setParent = (app, from, to) => app.edit({op: 'set_parent', level: from[0].level, from: from.map((x) => ({name: x.name})), to});

async function newGroup(app) {
  const to = await prompt({title: 'Declare an empty group', lead: 'Tags can be moved to it. It stays even without tags.', label: 'Name of the group',
    action: 'Create'});
  if (to) app.edit({op: 'set_parent', level: 1, from: [{name: to}], to: ''});
}

function markAll(app) {
  const items = app.view.grid.items;
  const core = app.view.kind === 'group' ? items.filter((i) => !(app.model.status[i] & OUTLIER)) : items;
  const open = core.filter(isOpen(app));
  const set = (open.length ? open : core).every((i) => app.view.isMarked(i)) ? items : core;
  app.view.markMany(app.view.labelsOf(set));
}

const page = 200; // edits that the history shows at once
const many = 10; // an edit of more labels or groups is undone after a question

async function history(app) {
  let list;
  try { list = (await ask('/api/history')).reverse(); } catch (e) { app.view.say(`${e.message}.`); return; }
  const names = {accept: 'accept', move: 'move', rename: 'rename', merge: 'merge', split: 'split', set_parent: 'set the parent of', also: 'also',
    drop: 'drop', flag: 'flag', note: 'note', revert: 'undo', propose: 'propose', confirm: 'confirm', withdraw: 'withdraw', snapshot: 'name this state',
    restore: 'restore'};
  const text = (e) => (e.op === 'revert' ? `undo #${e.of}`
    : `${e.resolved ? 'resolve the flag of' : names[e.op]} ${shown(e.first)}${e.n > 1 ? ` and ${number(e.n - 1)} more` : ''}`
      + `${e.to ? ` → ${shown(e.to)}` : ''}${e.note ? ` (${e.note})` : ''}`
      + (e.rule ? ` by the rule /${e.rule}/` : '') + (e.against ? `; ${count(e.against, 'tag')} that it finds decided otherwise` : ''));
  const undo = async (e) => {
    d.leave();
    if ((e.by || '') !== app.model.by) {
      if (!await undoOfAnother(e)) return;
    } else if (e.n > many) {
      const answer = await confirm({title: `Undo edit #${e.seq}`, answers: [`Undo ${number(e.n)} at once`],
        body: [h('p', {}, `${text(e)}.`), h('p', {class: 'soft'}, 'Undo restores them.')]});
      if (answer !== 0) return;
    }
    app.edit({op: 'revert', of: e.seq});
  };
  const row = (e) => h('tr', {class: e.active ? '' : 'undone'}, h('td', {class: 'n'}, `#${e.seq}`),
    h('td', {class: 'n'}, `${new Date(e.at).toLocaleDateString('en-CA')} ${new Date(e.at).toLocaleTimeString('en-GB')}`),
    h('td', {}, text(e)), h('td', {class: 'soft'}, e.by || ''),
    h('td', {}, e.active ? h('button', {type: 'button', 'aria-label': `undo edit ${e.seq}`, onclick: () => undo(e)}, 'undo')
      : h('span', {class: 'soft'}, 'undone')));
  const body = h('tbody', {}), older = h('button', {type: 'button', onclick: () => more()});
  const more = () => {
    body.append(...list.slice(body.children.length, body.children.length + page).map(row));
    const left = list.length - body.children.length;
    older.hidden = !left;
    older.textContent = `${number(Math.min(page, left))} older edits`;
  };
  more();
  const d = inform('History', 'wide history', h('p', {class: 'soft'}, `Every edit of ${app.model.log}, latest first. Any of them can be undone, `
    + 'unless a later one depends on it.'), h('table', {}, body), h('p', {class: 'buttons'}, older));
}

async function statistics(app) {
  let days;
  try { ({days} = await ask('/api/stats')); } catch (e) { app.view.say(`${e.message}.`); return; }
  const columns = ['edits', 'undone', 'read', 'dropped', 'confirmed', 'groups', 'flags'];
  inform('Statistics', 'wide days', days?.length ? h('table', {}, h('thead', {}, h('tr', {}, ['day', 'curator'].map((x) => h('th', {scope: 'col'}, x)),
    columns.map((x) => h('th', {scope: 'col', class: 'n'}, x)))),
  h('tbody', {}, days.toReversed().map((d) => h('tr', {}, h('td', {}, d.day), h('td', {dir: 'auto'}, d.by || 'unknown'),
    columns.map((x) => h('td', {class: 'n', data: {what: x}}, number(d[x]))))))) : h('p', {class: 'soft'}, 'No edit has been made yet.'),
  h('p', {class: 'soft'}, 'Edits by day and curator. “Read” and “confirmed” count tags: those accepted, moved or dropped, and those decided as '
    + 'proposed without a look at each. “Flags” counts notes, too.'));
}

async function finish(app, replace = false) {
  const m = app.model;
  try {
    const a = await ask('/api/finish', {replace});
    inform('Written', 'ask', h('p', {class: 'pre'}, a.text),
      h('p', {class: 'soft'}, `${number(m.n - m.done.labels)} tags are open. You can go on and write it again.`));
  } catch (e) {
    const {orphans, level, parent, replaces} = e.body || {};
    if (replaces) {
      const answer = await confirm({title: 'This replaces the work of others', answers: ['Keep it', 'Replace it'],
        body: [h('p', {class: 'pre'}, replaces), h('p', {class: 'soft'}, 'Nothing has been written yet.')]});
      if (answer === 1) await finish(app, true);
      return;
    }
    if (!orphans) {
      const why = m.done.labels ? e.message : 'No tag is decided yet: accept, move or drop some first.';
      inform('Not written yet', 'ask', h('p', {class: 'pre'}, why));
      return;
    }
    const what = level === m.levels[1] ? 'group' : level;
    const lead = (name) => (level === m.levels[1] ? h('button', {type: 'button', class: 'link',
      onclick: () => { d.leave(); app.view.openGroup(m.groupNamed(name)); }}, shown(name)) : shown(name));
    const d = inform('Not written yet', 'ask', h('p', {}, `${count(orphans.length, what)} ${orphans.length === 1 ? 'has' : 'have'} no ${parent}: `,
      orphans.slice(0, 8).map((name, n) => [n ? ', ' : '', lead(name)]).flat(), orphans.length > 8 ? ` and ${number(orphans.length - 8)} more` : '', '.'),
      h('p', {class: 'soft'}, key('p'), ` sets it; select several in the tree with `, key('Space'), ' first.'));
  }
}

// revert undoes the last edit of this curator, or does it again. The sender finds out which edit that is, because edits
// before it may still be on their way. An edit of somebody else is undone only after a question that names them.
async function revert(app, what) {
  const {model: m} = app;
  if (m[what] || app.sender.queue.length) app.edit({op: 'revert', of: what});
  else if (what === 'redo' || !m.last) app.view.say(`There is nothing to ${what}.`);
  else if (await undoOfAnother(m.last)) app.edit({op: 'revert', of: m.last.seq});
}

// undoOfAnother asks whether to undo an edit that somebody else made.
const undoOfAnother = async (e) => await confirm({title: `This is an edit of ${e.by || 'another log'}`, answers: ['Leave it', 'Undo it'],
  body: [h('p', {}, describe(e, false)), h('p', {class: 'soft'}, 'You have made no edit after it that could be undone. Whoever made it will be told.')]}) === 1;

export const commands = [
  {keys: ['a'], name: 'Accept', group: 'decide', help: 'accept the whole group and go to the next open one', run: (app) => accept(app, (tags) => tags)},
  {keys: ['A'], name: 'Accept above outliers', group: 'decide', help: 'accept everything above the outlier divider', run: acceptCore},
  {keys: ['m'], name: 'Move', group: 'decide', help: 'move the selected tags, or the current one, to a group by typing its name', run: move},
  {keys: ['n'], name: 'New group', group: 'decide', help: 'create a group of the selected tags', run: moveToNew},
  {keys: ['x'], name: 'Drop', group: 'decide', help: 'leave out, with a reason; later ones with the same reason', run: (app) => drop(app)},
  {keys: ['K'], name: 'Rule', group: 'label', help: 'in Find: decide what an expression finds, now and in later drafts', run: rule},
  {keys: ['X'], name: 'Drop with a reason', group: 'label', help: 'leave out, with another reason', run: (app) => drop(app, true)},
  {keys: ['r'], name: 'Rename', group: 'group', help: 'rename the group', run: rename},
  {keys: ['g'], name: 'Merge', group: 'group', help: 'merge the group, or those selected in the tree, into another', run: merge},
  {keys: ['G'], name: 'Merge namesakes', group: 'group', help: 'merge the clusters that are called like a declared group into it, from a list',
    run: mergeNamesakes},
  {keys: ['s'], name: 'Split', group: 'group', help: 'split the group by k-means, after a preview', run: split},
  {keys: ['p'], name: 'Set kind', group: 'group', help: 'set the parent of the group, or of those selected in the tree', run: parent},
  {keys: ['N'], name: 'Empty group', group: 'group', help: 'declare an empty group', run: newGroup},
  {keys: ['b'], name: 'Accept to here', group: 'label', help: 'accept the tags from the first to the current one', run: acceptTo},
  {keys: ['f'], name: 'Flag', group: 'label', help: 'flag for another look, or reply to a flag; in the tree, of a group', run: (app) => flag(app)},
  {keys: ['F'], name: 'Resolve flag', group: 'label', help: 'resolve the flag, with an answer', run: (app) => flag(app, true)},
  {keys: ['T'], name: 'Add another group', group: 'label', help: 'add another group that the tag also belongs to, or, in the tree, another kind of a group',
    run: addParent},
  {keys: ['t'], name: 'Note', group: 'label', help: 'add a note, in the tree to a group; an empty one removes all notes', run: (app) => note(app)},
  {keys: ['i'], name: 'Images', group: 'label', help: 'examples of the current tag, until it is pressed again', run: (app) => app.examples.toggle()},
  {keys: ['I'], name: 'Enlarge image', group: 'label', help: 'the image of the current tag, large, until it is pressed again',
    run: (app) => app.enlarged.toggle()},
  {keys: ['u', 'ctrl+z'], name: 'Undo', group: 'back', help: 'undo your last edit', run: (app) => revert(app, 'undo')},
  {keys: ['ctrl+y', 'ctrl+shift+z'], name: 'Redo', group: 'back', help: 'do it again', run: (app) => revert(app, 'redo')},
  {keys: ['ctrl+a'], name: 'Select all', group: 'mark', help: 'select all open tags above the outlier divider; once more: all open ones shown', run: markAll},
  {keys: ['S'], name: 'Sort', group: 'mark', help: 'order of the tags: most confident, by last word, most landmarks, by name, least confident, latest decision',
    run: (app) => app.view.sortNext()},
  {keys: ['='], name: 'Select same word', group: 'mark',
    help: 'select the tags here that end with the same word, as church in “church in Norway”; once more: in all groups',
    run: (app) => app.view.markSameWord()},
  {keys: ['U'], name: 'Restore selection', group: 'mark', help: 'restore the selection that Esc cleared', run: (app) => app.view.marksAgain()},
  {keys: ['D'], name: 'Select decided too', group: 'mark', help: 'also select the decided tags that were left out', run: (app) => app.view.markDecided()},
  {keys: ['C'], name: 'More like this', group: 'label', help: 'tags of all groups that are nearest to this one, or to the selected ones',
    run: (app) => app.view.openLike()},
  {keys: ['z'], name: 'Variants', group: 'mark', help: 'variants of a name (case, accents, plural) in one row, or one in each',
    run: (app) => app.view.toggleVariants()},
  {keys: ['c'], name: 'Nearby tags', group: 'group', help: 'open tags of other groups that are near this one; a takes them into it',
    run: (app) => app.view.openNear()},
  {keys: ['q'], name: 'Class by class', group: 'group', help: 'read the open tags class by class: a takes a screen, one key moves a wrong one',
    run: (app) => app.go('classes')},
  {keys: ['R'], name: 'Propose for the rest', group: 'group', help: 'propose a group for every open tag that is near one name, check a sample, confirm',
    run: (app) => app.go('proposals')},
  {keys: ['ctrl+k'], name: 'Go to', group: 'group', help: 'go to a group or a tag, or run a command, by its name', run: (app) => palette(app, commands)},
  {keys: ['e'], name: 'History', group: 'more', help: 'all edits; any of them can be undone', run: history},
  {keys: ['P'], name: 'Snapshots', group: 'more', help: 'name this state; compare with a named one, or restore it', run: snapshots},
  {keys: ['E'], name: 'Statistics', group: 'more', help: 'what each curator did on each day', run: statistics},
  {keys: ['w'], name: 'Write', group: 'more', help: 'write the hierarchy', run: (app) => finish(app)},
];

// helpDialog explains the page. The first time it shows only what a beginner needs.
export function helpDialog(app, first) {
  const line = (keys, text) => h('li', {}, h('span', {class: 'kk'}, keys.map((k) => key(k.replace('ctrl+', '⌃')))), h('span', {}, text));
  const of = (...groups) => commands.filter((c) => groups.includes(c.group) && (!first || 'a A m x p u w'.split(' ').includes(c.keys[0])))
    .map((c) => line([c.keys[0]], c.help));
  inform(first ? 'Welcome' : 'Help', 'wide',
    first ? h('p', {}, 'Tags with similar meanings have been grouped automatically. Turn the groups into classes that people would use: '
      + 'accept what is right, move what is not, and drop tags that are not a kind of landmark.') : null,
    first ? h('p', {}, 'If you know the classes, begin with a list of their names: ', key('N'), ' declares one, and hgld curate import groups.txt, '
      + 'while this server is stopped, all of a file with one name a line. Digits then offer them first, and ', key('R'),
      ' proposes a class for every open tag that is near one name, for you to check by sample and confirm.') : null,
    h('div', {class: 'help'},
      h('section', {}, h('h3', {}, '1 · Look at a group'),
        h('p', {class: 'soft'}, 'The most confident tags come first; outliers are below a divider.'),
        h('ul', {}, line(['j', 'k'], 'next, previous group'), line(['l', 'h'], 'next, previous tag; arrows too'),
          line(['Space'], 'select a tag; Shift with arrows selects a range'), first ? null : line(['M'], 'list of the selected tags'),
          line(['i'], 'images, or Commons links'), first ? null : line(['v'], 'map of all tags'), first ? null : of('mark'))),
      h('section', {}, h('h3', {}, '2 · Decide'),
        h('p', {class: 'soft'}, 'The selection is kept when you go to other groups, so one move can take tags from several.'),
        h('ul', {}, line(['1', '…', '5'], 'take a suggestion'), of('decide'), first ? null : of('label'))),
      h('section', {}, h('h3', {}, '3 · Shape the groups'), h('ul', {}, of('group'), line(['Tab'], 'into the tree: arrows, Space selects groups'))),
      h('section', {}, h('h3', {}, '4 · Lose nothing'), h('p', {class: 'soft'}, 'Every edit is on disk before the page says “saved”.'),
        h('ul', {}, of('back'), line(['/'], 'find tags; then select all and move them at once, or Enter to go to one'),
          first ? null : line(['e'], 'all edits; any of them can be undone'),
          first ? null : line(['P'], 'name this state; compare with a named one, or restore it'),
          first ? null : line(['E'], 'what each curator did on each day'),
          first ? null : line(['o'], 'go to the tags or group of the last edit'),
          line(['w'], 'write the hierarchy'), line(['Esc'], 'clear the selection, leave a screen'), line(['?'], first ? 'all keys' : 'this help')))));
}
