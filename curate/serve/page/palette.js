import {count} from './dom.js';
import {DROPPED, stateOf} from './model.js';
import {choose} from './dialogs.js';

// The palette opens a group or a label, or runs a command, by a part of its name.

const mostLabels = 20; // the screen Find shows all

// palette asks for a name and opens or runs its object.
export async function palette(app, commands) {
  const m = app.model;
  const groups = m.live().filter((g) => g.declared || m.bucket(g.at).size)
    .map((g) => ({name: g.name, note: ['group', count(m.bucket(g.at).size, 'tag'), ...m.above(g).map((k) => k.name)].join(' · '),
      run: () => app.view.openGroup(g.at)}));
  const acts = commands.filter((c) => c.name !== 'Go to').map((c) => ({name: c.name, note: `${c.help} · ${c.keys[0].replace('ctrl+', '⌃')}`,
    run: () => app.run(c)}));
  const labels = (typed) => (typed.trim().length < 2 ? [] : m.find(typed).slice(0, mostLabels).map((i) => ({name: m.names[i],
    note: ['tag', m.status[i] & DROPPED ? 'dropped' : `${stateOf(m.status[i])}, in ${m.groups[1][m.parent[i]]?.name ?? 'no group'}`,
      count(m.landmarks[i], 'landmark')].join(' · '), run: () => app.view.openLabel(i)})));
  const to = await choose({title: 'Go to', lead: 'A group, a command, or a tag.', items: [...groups, ...acts], more: labels, whole: true});
  if (to) to.run();
}
