package train

import (
	"cmp"
	"slices"

	"hgld/train/device/observe"
)

// OpWork is the work of all calls of one operation.
type OpWork struct {
	Op    string  `json:"op"`              // name of the operation
	Calls int     `json:"calls"`           // number of calls
	FLOPs float64 `json:"flops,omitempty"` // of products; a multiplication with its addition counts as two
	Bytes float64 `json:"bytes"`           // of the arrays read and written, each counted once
}

// Add counts a call.
func (w *OpWork) Add(c observe.Call) {
	w.Calls++
	w.FLOPs += c.FLOPs
	w.Bytes += c.Bytes
}

// setWork sets the work of a step from the work of its operations.
func (e *Estimate) setWork(byName map[string]*OpWork) {
	for _, w := range byName {
		e.Ops = append(e.Ops, *w)
		e.FLOPs += w.FLOPs
		e.Bytes += w.Bytes
	}
	slices.SortFunc(e.Ops, func(a, b OpWork) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Op, b.Op))
	})
}
