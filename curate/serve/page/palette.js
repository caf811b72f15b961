import {count} from './dom.js';
import {DROPPED, stateOf} from './model.js';
import {choose} from './dialogs.js';

// The palette goes to a group or a label, and runs a command, by a part of its name.

const mostLabels = 20; // more than these are what Find is for

// palette asks where to go, and goes there.
export async function palette(app, commands) {
  const m = app.model;
  const groups = m.live().filter((g) => g.declared || m.bucket(g.at).size)
    .map((g) => ({name: g.name, note: ['group', count(m.bucket(g.at).size, 'label'), ...m.above(g).map((k) => k.name)].join(' · '), run: () => app.open(g.at)}));
  const acts = commands.filter((c) => c.name !== 'Go to').map((c) => ({name: c.name, note: `${c.help} · ${c.keys[0].replace('ctrl+', '⌃')}`, run: () => app.do(c)}));
  const labels = (typed) => (typed.trim().length < 2 ? [] : m.find(typed).slice(0, mostLabels).map((i) => ({name: m.names[i],
    note: ['label', m.status[i] & DROPPED ? 'dropped' : `${stateOf(m.status[i])}, in ${m.groups[1][m.parent[i]]?.name ?? 'no group'}`, count(m.landmarks[i], 'landmark')].join(' · '), run: () => app.goTo(i)})));
  const to = await choose({title: 'Go to', lead: 'A group, a command, or a label.', items: [...groups, ...acts], more: labels, whole: true});
  if (to) to.run();
}
