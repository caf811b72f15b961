import {shown} from './dom.js';
import {DROPPED} from './model.js';

// MarkedLabels is the set of marked labels. The edition changes with the set. seen holds where
// each label was when it was marked, or when its curator last changed it.
export class MarkedLabels extends Set {
  constructor(model) {
    super();
    Object.assign(this, {model, edition: 0, seen: new Map()});
  }

  add(i) { this.edition++; this.seen.set(i, this.model.standing(i)); return super.add(i); }
  delete(i) { this.edition++; this.seen.delete(i); return super.delete(i); }
  clear() { this.edition++; this.seen.clear(); super.clear(); }

  // see notes where labels are now, because their curator knows.
  see(tags) { for (const i of tags) if (this.has(i)) this.seen.set(i, this.model.standing(i)); }
}

// changedLabels lists the labels that are no longer where their curator saw them, as
// [{tag, what}]; what says where each is now.
export function changedLabels(model, tags, seen) {
  return tags.filter((i) => seen.has(i) && seen.get(i) !== model.standing(i)).map((i) => ({tag: i, what: whereabouts(model, i)}));
}

// whereabouts says where a label is.
export function whereabouts(model, i) {
  if (model.status[i] & DROPPED) return 'dropped';
  return model.parent[i] >= 0 ? `in “${shown(model.groups[1][model.parent[i]].name)}”` : 'in no group';
}
