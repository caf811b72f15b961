import {byId, number} from './dom.js';

// Pace says how many labels are decided an hour, and how long the others take at that pace.
// A pause counts as two minutes, so that a break leaves the pace what it was.

const pause = 2 * 60 * 1000;
const hour = 60 * 60 * 1000;

export class Pace {
  // kept is what kept() returned before a reload; done is the number of labels that are
  // decided.
  constructor(done, kept) { Object.assign(this, {active: 0, labels: 0, ...kept, done, last: Date.now()}); }

  kept() { return {active: this.active, labels: this.labels}; }

  // note takes down how many labels are decided after an edit.
  note(done) {
    const now = Date.now();
    this.active += Math.min(now - this.last, pause);
    this.labels += done - this.done;
    Object.assign(this, {done, last: now});
  }

  // hourly is the number of labels an hour; 0 before there is enough to go by.
  get hourly() { return this.active >= hour / 60 && this.labels >= 10 ? (this.labels * hour) / this.active : 0; }

  // draw tells the pace, how long the open labels take, and how many errors are expected.
  draw(open, errors) {
    const p = byId('pace'), {hourly} = this;
    const text = [hourly ? `${number(Math.round(hourly))} labels an hour` : '', hourly && open ? `${lasting(open / hourly)} left` : '', errors].filter(Boolean).join(' · ');
    p.hidden = !text;
    if (p.textContent !== text) p.textContent = text;
  }
}

// lasting writes a time in hours.
function lasting(hours) {
  const minutes = Math.max(1, Math.round(hours * 60));
  return minutes < 60 ? `${minutes} min` : `${number(Math.floor(minutes / 60))} h ${minutes % 60 ? `${minutes % 60} min` : ''}`.trim();
}
