import {h, fill, count, number, shown, key, byId} from './dom.js';
import {DECIDED, DROPPED, FLAGGED, OUTLIER} from './model.js';
import {commands} from './commands.js';

// What stands around the labels: progress, the head of the screen, its buttons,
// suggestions and details.

export function progress(app) {
  const {of, total, done} = app.model.sum();
  const groups = app.model.live().filter((g) => of[g.at].tags.length);
  const rows = [['groups', groups.filter((g) => of[g.at].open === 0).length, groups.length], ['labels', done.labels, total.labels], ['landmarks', done.landmarks, total.landmarks]];
  if (app.model.withImages) rows.push(['images', done.images, total.images]);
  fill(byId('progress'), rows.map(([what, n, all]) => h('div', {class: 'meter', title: `${number(n)} of ${number(all)} ${what} decided`},
    h('span', {class: 'what'}, what), h('span', {class: 'n'}, all ? `${Math.floor((100 * n) / all)} %` : '–'), h('progress', {max: all || 1, value: n, 'aria-label': `${what} decided`}))));
}

export function card(app, i, active) {
  const m = app.model, status = m.status[i], marked = app.marks.has(i);
  const cls = ['card', active ? 'at' : '', marked ? 'marked' : '', status & DECIDED ? 'decided' : '', status & DROPPED ? 'dropped' : '', status & OUTLIER ? 'outlier' : ''].join(' ');
  const elsewhere = app.view.kind !== 'group' && m.parent[i] >= 0 ? m.groups[1][m.parent[i]].name : '';
  const state = [status & DROPPED ? 'dropped' : status & DECIDED ? 'decided' : '', marked ? 'marked' : '', status & FLAGGED ? 'flagged' : ''].filter(Boolean).join(', ');
  return h('div', {class: cls, role: 'option', 'aria-selected': String(marked), title: m.names[i], draggable: true,
    'aria-label': `${m.names[i]}, ${count(m.landmarks[i], 'landmark')}${m.withImages ? `, ${count(m.images[i], 'image')}` : ''}${elsewhere ? `, in ${elsewhere}` : ''}${state ? `, ${state}` : ''}`,
    data: {tag: i}},
  h('span', {class: 'tick', 'aria-hidden': 'true'}, marked ? '●' : status & DROPPED ? '×' : status & DECIDED ? '✓' : ''),
  h('span', {class: 'label'}, shown(m.names[i])),
  h('span', {class: 'facts'}, `${count(m.landmarks[i], 'landmark')}${m.withImages ? ` · ${count(m.images[i], 'image')}` : ''}`, elsewhere ? h('span', {class: 'in'}, ` in ${shown(elsewhere)}`) : null,
    status & FLAGGED ? h('span', {class: 'flag'}, ' ⚑') : null, m.remarks.get(i) && m.remarks.get(i)[2] ? h('span', {class: 'flag'}, ' ✎') : null));
}

export function head(app) {
  const m = app.model, v = app.view;
  const items = app.grid.items;
  const t = m.touched(items);
  const facts = `${count(t.labels, 'label')} · ${count(t.landmarks, 'landmark')}${m.withImages ? ` · ${count(t.images, 'image')}` : ''}`;
  const title = {group: () => shown(m.groups[1][v.at].name), near: () => `Close to “${shown(m.groups[1][v.at].name)}”`, search: () => 'Find', dropped: () => 'Dropped', flagged: () => 'Flagged',
    map: () => 'Map', review: () => 'Differences'}[v.kind]();
  const kind = v.kind === 'group' && m.levels.length > 2 ? (m.kindOf(v.at) ? m.kindOf(v.at).name : `no ${m.levels[2]} yet`) : '';
  const g = v.kind === 'group' ? m.groups[1][v.at] : null;
  const marks = app.marks.size ? h('p', {class: 'marks', role: 'status'}, `${count(app.marks.size, 'label')} marked · ${count(m.touched([...app.marks]).landmarks, 'landmark')} `, h('button', {type: 'button', onclick: () => app.clearMarks()}, 'clear ', key('Esc'))) : null;
  fill(byId('head'), h('h2', {}, h('span', {class: 'name'}, title), kind ? h('span', {class: m.kindOf(v.at) ? 'kind' : 'kind none'}, kind) : null),
    h('div', {class: 'under'}, h('p', {class: 'soft'}, v.kind === 'map' ? 'labels that mean similar things stand together' : facts, v.kind === 'near' ? ' · open labels of other groups, nearest first' : '', g && g.note ? ` · ${g.note}` : ''), marks));
}

export function actions(app) {
  const off = {Divide: !app.model.has.split, 'Close by': !app.model.has.suggest, Images: !app.model.has.examples, Undo: !app.model.undo, Redo: !app.model.redo, Kind: app.model.levels.length < 3};
  const label = (k) => k.replace('ctrl+', '⌃').replace(/^⌃(.)/, (_, c) => `⌃${c.toUpperCase()}`);
  const box = byId('actions');
  if (!box.children.length) {
    let last = '';
    for (const c of commands.filter((x) => x.group !== 'more')) {
      const b = h('button', {type: 'button', title: c.help, data: {command: c.name}, 'aria-keyshortcuts': c.keys[0].replace('ctrl+', 'Control+'), onclick: () => { c.run(app); }}, c.name, ' ', key(label(c.keys[0])));
      if (last && last !== c.group) b.classList.add('first');
      last = c.group;
      box.append(b);
    }
  }
  for (const b of box.children) b.disabled = !!off[b.dataset.command];
}

export function views(app) {
  const list = [['Groups', '', 'group'], ['Find', '/', 'search'], ...(app.model.has.map ? [['Map', 'v', 'map']] : []), ...(app.model.has.agreement ? [['Differences', 'd', 'review']] : []), ['Dropped', '', 'dropped'], ['Flagged', '', 'flagged'], ['History', 'e', 'history'], ...(app.model.has.finish ? [['Write', 'w', 'write']] : []), ['Help', '?', 'help']];
  fill(byId('views'), list.map(([name, k, kind]) => h('button', {type: 'button', data: {view: kind}, 'aria-pressed': String(app.view.kind === kind || (kind === 'group' && app.view.kind === 'near')), onclick: () => app.go(kind)},
    name, kind === 'dropped' && app.model.sum().dropped.tags.length ? ` ${number(app.model.sum().dropped.tags.length)}` : '', kind === 'flagged' && app.model.sum().flagged.length ? ` ${number(app.model.sum().flagged.length)}` : '', k ? [' ', key(k)] : null)));
}

export function side(app) {
  const m = app.model, i = app.grid.current(), chosen = app.chosen();
  const parts = [];
  if (m.has.suggest && chosen.length && app.view.kind !== 'review') {
    const list = app.suggestions();
    const far = Math.max(...list.map((x) => x.distance), 1e-9);
    const near = Math.min(...list.map((x) => x.distance), far);
    parts.push(h('section', {}, h('h2', {}, 'Move to'), h('p', {class: 'soft'}, chosen.length > 1 ? `${count(chosen.length, 'marked label')}` : shown(m.names[chosen[0]])),
      h('ol', {class: 'near'}, list.map((x, n) => {
        const bar = h('span', {class: 'bar', 'aria-hidden': 'true'});
        bar.style.width = `${Math.round(100 * Math.max(0.08, 1 - 0.8 * (x.distance - near) / Math.max(1e-9, far - near || far)))}%`;
        return h('li', {}, h('button', {type: 'button', class: 'suggestion', onclick: () => app.takeSuggestion(n)}, key(String(n + 1)), h('span', {class: 'name'}, shown(x.name)), h('span', {class: 'n'}, number(m.sum().of[x.at].tags.length)), bar));
      }))));
  }
  if (i !== undefined && app.view.kind !== 'review') {
    const [reason, flag, note] = m.remarks.get(i) || ['', '', ''];
    const group = m.parent[i] >= 0 ? shown(m.groups[1][m.parent[i]].name) : m.status[i] & DROPPED ? 'dropped' : 'none';
    const fact = (what, value) => [h('dt', {}, what), h('dd', {}, value)];
    parts.push(h('section', {}, h('h2', {}, 'Label'), h('p', {class: 'whole'}, shown(m.names[i])), h('dl', {},
      fact('group', group), fact('state', m.status[i] & DECIDED ? 'decided' : 'open'), fact('landmarks', number(m.landmarks[i])), m.withImages ? fact('images', number(m.images[i])) : null,
      /^Q\d+$/.test(m.items[i]) ? fact('item', h('a', {href: `https://www.wikidata.org/wiki/${m.items[i]}`, target: '_blank', rel: 'noopener noreferrer'}, m.items[i])) : null,
      m.distance[i] ? fact('distance', m.distance[i].toFixed(3)) : null, reason ? fact('dropped', reason) : null, m.status[i] & FLAGGED ? fact('flag', flag || 'yes') : null, note ? fact('note', note) : null)));
    if (app.examplesOf === i) parts.push(examples(app));
  }
  if (!parts.length) parts.push(h('p', {class: 'soft'}, app.view.kind === 'map' ? 'Mark some labels to see where they could go.' : 'Nothing is here.'));
  fill(byId('side'), parts);
}

function examples(app) {
  if (!app.examples) return h('section', {}, h('h2', {}, 'Examples'), h('p', {class: 'soft'}, 'looking…'));
  return h('section', {}, h('h2', {}, 'Examples'), app.examples.length ? app.examples.map((x) => h('figure', {},
    h('div', {class: 'pictures'}, (x.images || []).slice(0, 3).map((name) => h('img', {src: `/image/${encodeURIComponent(name)}`, alt: `image of ${x.title}`, loading: 'lazy'}))),
    h('figcaption', {}, x.link ? h('a', {href: x.link, target: '_blank', rel: 'noopener noreferrer'}, x.title) : x.title))) : h('p', {class: 'soft'}, 'There is no landmark with this label in tags.jsonl.'));
}
