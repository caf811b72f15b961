package train

import (
	"errors"

	"hgld/train/device"
)

// errNotHost is the error of another device than the host that is given stored vectors.
var errNotHost = errors.New("vectors that stay in their file can be ranked on the host alone: upload them")

// operand is the vectors of one side as products read them.
type operand struct {
	b     device.Backend
	of    *Side
	panel device.Array // F32 [rows,D], of stored vectors; absent for those on the device
}

// newOperand holds panels of the given number of rows, or of what suits a product for 0.
func newOperand(b device.Backend, of *Side, rows int) *operand {
	o := &operand{b: b, of: of}
	if s := of.Stored; s != nil {
		if rows == 0 {
			rows = panelRows(s.rows, s.cols)
		}
		o.panel = device.New(b, device.F32, rows, s.cols)
	}
	return o
}

func (o *operand) free() {
	if !o.panel.Absent() {
		o.b.Free(o.panel.Buf)
	}
}

// panels calls f for rows [lo, hi) in their order, all at once where they are on the device. It
// stops at the first error. rows are valid during the call.
func (o *operand) panels(lo, hi int, f func(lo, hi int, rows device.Array) error) error {
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

// row downloads one row, for show.
func (o *operand) row(dst []byte, i int) error {
	if o.of.Stored == nil {
		return o.b.Wait(o.b.Download(dst, o.of.Vectors.RowRange(i, i+1)))
	}
	return o.panels(i, i+1, func(_, _ int, row device.Array) error { return o.b.Wait(o.b.Download(dst, row)) })
}
