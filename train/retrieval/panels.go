package retrieval

import (
	"errors"

	"hgld/train/device"
)

// errNotHost is returned if stored vectors are given to a device other than the host.
var errNotHost = errors.New("vectors that stay in their file can only be ranked on the host: upload them first")

// panels gives the vectors of one side to matrix products.
type panels struct {
	b     device.Backend
	of    *Side
	panel device.Array // F32 [rows,D], for stored vectors; absent for vectors on the device
}

// newOperand makes panels of the given number of rows, or of a size that suits a product if rows
// is 0.
func newPanels(b device.Backend, of *Side, rows int) *panels {
	o := &panels{b: b, of: of}
	if s := of.Stored; s != nil {
		if rows == 0 {
			rows = panelRows(s.rows, s.cols)
		}
		o.panel = device.New(b, device.F32, rows, s.cols)
	}
	return o
}

func (o *panels) free() {
	if !o.panel.Absent() {
		o.b.Free(o.panel.Buf)
	}
}

// panels calls f for the rows [lo, hi) in order, all at once if they are on the device. It stops
// at the first error. rows are valid only during the call.
func (o *panels) panels(lo, hi int, f func(lo, hi int, rows device.Array) error) error {
	if o.panel.Absent() {
		return f(lo, hi, o.of.Vectors.RowRange(lo, hi))
	}
	host, there := o.b.(device.Host)
	if !there {
		return errNotHost
	}
	for ; lo < hi; lo += o.panel.Dims[0] {
		to := min(lo+o.panel.Dims[0], hi)
		rows := o.panel.RowRange(0, to-lo)
		if err := o.of.Stored.read(host.Floats(rows), lo); err != nil {
			return err
		}
		if err := f(lo, to, rows); err != nil {
			return err
		}
	}
	return nil
}

// row downloads one row, for presenter.show.
func (o *panels) row(dst []byte, i int) error {
	if o.of.Stored == nil {
		return o.b.Wait(o.b.Download(dst, o.of.Vectors.RowRange(i, i+1)))
	}
	return o.panels(i, i+1, func(_, _ int, row device.Array) error { return o.b.Wait(o.b.Download(dst, row)) })
}
