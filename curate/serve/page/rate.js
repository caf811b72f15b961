import {byId, number} from './dom.js';

// Rate is the number of labels that are decided in an hour, and the time that the open labels
// take at this rate. A pause counts as two minutes, so that a break hardly changes the rate. Nobody
// reads more than two labels in a second: of a bulk edit, or of one that others made, only as many
// count.

const pause = 2 * 60 * 1000;
const hour = 60 * 60 * 1000;
const fastest = 2 / 1000; // labels in a millisecond

export class Rate {
  // saved is what saved() returned before a reload; done is the number of decided labels.
  constructor(done, saved) { Object.assign(this, {active: 0, labels: 0, ...saved, done, last: Date.now()}); }

  saved() { return {active: this.active, labels: this.labels}; }

  // count takes the number of decided labels after an edit.
  count(done) {
    const now = Date.now(), active = Math.min(now - this.last, pause), most = Math.max(1, active * fastest);
    this.active += active;
    this.labels += Math.max(-most, Math.min(most, done - this.done));
    Object.assign(this, {done, last: now});
  }

  // hourly is the number of labels an hour, 0 as long as there is too little to measure.
  get hourly() { return this.active >= hour / 60 && this.labels >= 10 ? (this.labels * hour) / this.active : 0; }

  // draw shows the rate, the time for the open labels, and how many errors are expected.
  draw(open, errors) {
    const p = byId('rate'), {hourly} = this;
    const text = [hourly ? `${number(Math.round(hourly))} tags an hour` : '', hourly && open ? `${duration(open / hourly)} left` : '', errors].filter(Boolean)
      .join(' · ');
    p.hidden = !text;
    if (p.textContent !== text) p.textContent = text;
  }
}

// duration writes a number of hours as hours and minutes.
function duration(hours) {
  const minutes = Math.max(1, Math.round(hours * 60));
  return minutes < 60 ? `${minutes} min` : `${number(Math.floor(minutes / 60))} h ${minutes % 60 ? `${minutes % 60} min` : ''}`.trim();
}
