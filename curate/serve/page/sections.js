import {DECIDED, DROPPED, OUTLIER, PROPOSED} from './model.js';
import {Rows} from './variants.js';

const mostGathered = 8000; // with more labels, each has a row of its own, so that keys stay fast

const folded = ['group', 'near', 'search', 'like', 'marked', 'proposals', 'review'];

// sectionsOf lists the labels of the screen, as {sections, rows}. Variants in one group with the same
// status share a row.
export function sectionsOf(app) {
  if (app.view.kind === 'classes') return {sections: app.classes.sections(), rows: app.classes.rows()};
  const rows = new Rows(), all = sections(app), m = app.model;
  const n = all.reduce((sum, s) => sum + s.items.length, 0);
  if (app.view.singly || n > mostGathered || !folded.includes(app.view.kind)) return {sections: all, rows};
  const of = {proposals: (i) => app.proposals.groupOf.get(i), review: (i) => app.review.caseOf(i)}[app.view.kind];
  const same = (i) => `${m.parent[i]} ${m.status[i] & (DECIDED | DROPPED | PROPOSED)} ${of ? of(i) : ''}`;
  return {rows, sections: all.map((s) => ({...s, items: rows.gather(s.items, (i) => m.stem(i), same, (i) => m.landmarks[i])}))};
}

// sections lists the labels of the screen, in the form that the grid takes.
function sections(app) {
  const m = app.model, v = app.view;
  if (v.kind === 'group') {
    const tags = m.members(v.at, v.screen.order);
    const cut = tags.findIndex((i) => m.status[i] & OUTLIER);
    if (cut < 0) return [{items: tags}];
    return [{items: tags.slice(0, cut)}, {title: `outliers · ${tags.length - cut} far from the centre`, items: tags.slice(cut)}];
  }
  if (v.kind === 'near') return [{items: (app.view.candidates || []).filter((i) => !(m.status[i] & DECIDED))}];
  if (v.kind === 'like') return [{items: v.like || []}];
  if (v.kind === 'search') return app.find.sections().map((s) => ({...s, items: v.sorting === 'sure' ? s.items : [...s.items].sort(m.order(v.sorting))}));
  const sorted = (tags) => (v.sorting === 'sure' ? tags : [...tags].sort(m.order(v.sorting)));
  if (v.kind === 'marked') return [{items: sorted([...app.view.marks])}];
  if (v.kind === 'dropped') return [{items: sorted(m.droppedTags())}];
  if (v.kind === 'flagged') return [{items: [...m.flagged].sort((x, y) => m.landmarks[y] - m.landmarks[x] || x - y)}];
  if (v.kind === 'review') return app.review.sections();
  if (v.kind === 'proposals') return app.proposals.sections();
  return [{items: []}];
}
