package collective

import (
	"slices"

	"hgld/train/device"
	"hgld/train/grad"
)

// LeastBucket is the least number of elements of a bucket but the last of a group: 16 MiB. A call for each weight would
// take longer, and one for all could only begin when the backward pass is over. Tests change it.
var LeastBucket = 4 << 20

// bucket is a part of a group's gradient, which processes add at once.
type bucket struct {
	grads device.Array // F32 [n]
	at    int          // after so many operations of the tape it is complete
}

// buckets divides the gradient of a group. ready are the gradients of all weights, by offset. A part is complete when
// the last of its weights is. Parts without weights that are ready are complete at once.
func buckets(grads device.Array, ready []grad.Ready, least int) (list []bucket) {
	from, at := 0, 0
	end := func(to int) {
		if to > from {
			list = append(list, bucket{grads.RowRange(from, to), at})
			from, at = to, 0
		}
	}
	for _, r := range ready {
		if r.Grad.Buf != grads.Buf || r.Grad.Off < grads.Off || r.Grad.Off >= grads.Off+grads.Len() {
			continue
		}
		if lo := r.Grad.Off - grads.Off; lo-from >= least {
			end(lo)
		}
		at = max(at, r.At)
	}
	end(grads.Len())
	return list
}

// AddGradients adds gradients over all processes. The tape has just run the backward pass. Replays add a part of them
// as soon as it is complete, beside the rest of the backward pass, if that saves time on the device.
func (r *Group) AddGradients(t *grad.Tape, groups []device.Array) {
	if r == nil {
		return
	}
	o, able := r.Collective.(device.Overlapping)
	if !able || !o.Overlaps() {
		for _, g := range groups {
			r.Sum(t, g)
		}
		return
	}
	ready := t.Ready()
	slices.SortFunc(ready, func(a, b grad.Ready) int { return a.Grad.Off - b.Grad.Off })
	var list []bucket
	for _, g := range groups {
		list = append(list, buckets(g, ready, LeastBucket)...)
	}
	slices.SortStableFunc(list, func(a, b bucket) int { return a.at - b.at })
	var inserted []grad.Insertion
	for _, part := range list {
		o.AllReduceAside(part.grads)
		inserted = append(inserted, grad.Insertion{At: part.at, Op: func(device.Backend) { o.AllReduceAside(part.grads) }})
	}
	t.Insert(inserted)
	t.Do(func(device.Backend) { o.Settle() })
}
