package call

import (
	"fmt"
	"slices"

	"hgld/labels"
	"hgld/train/loss"
)

// check returns an error for arrays that do not fit together or to the loss.
func (l *Loss) check(in *Batch, out *Gradient) error {
	s, wide := &l.spec, in.Query.wide()
	if in.Query.Absent() || in.Query.Rows < 1 {
		return fmt.Errorf("there are no queries, want at least one row")
	}
	for _, m := range []struct {
		what   string
		matrix Matrix
		labels []int32
	}{{"queries", in.Query, in.QueryLabels}, {"gallery", in.Gallery, in.GalleryLabels},
		{"memory", in.Memory, in.MemoryLabels}} {
		if m.matrix.Absent() {
			continue
		}
		if err := m.matrix.check(m.what, s.Dim, wide); err != nil {
			return err
		}
		if err := l.checkLabels(m.what, m.labels, m.matrix.Rows); err != nil {
			return err
		}
	}
	if in.Gallery.Absent() && in.Self != nil {
		return fmt.Errorf("the queries are their own gallery: their rows there are known, want none given")
	}
	for _, self := range []struct {
		what string
		rows []int32
		most int
	}{{"gallery", in.Self, in.Gallery.Rows}, {"memory", in.MemorySelf, in.Memory.Rows}} {
		if self.rows == nil {
			continue
		}
		if len(self.rows) != in.Query.Rows {
			return fmt.Errorf("%d queries have %d rows in the %s, want one for each", in.Query.Rows, len(self.rows), self.what)
		}
		for q, row := range self.rows {
			if row < -1 || int(row) >= self.most {
				return fmt.Errorf("query %d is row %d of the %s, want −1 to %d", q, row, self.what, self.most-1)
			}
		}
	}
	if err := l.checkParams("parameters", in.Params, wide); err != nil {
		return err
	}
	if err := l.checkStates(in); err != nil {
		return err
	}
	return l.checkGradient(in, out, wide)
}

// checkGradient returns an error for a gradient in another shape than its array.
func (l *Loss) checkGradient(in *Batch, out *Gradient, wide bool) error {
	for _, m := range []struct {
		what   string
		of, to Matrix
	}{{"gradient by the queries", in.Query, out.Query}, {"gradient by the gallery", in.Gallery, out.Gallery}} {
		if m.to.Absent() {
			continue
		}
		if m.to.Rows != m.of.Rows {
			return fmt.Errorf("the %s has %d rows, want %d", m.what, m.to.Rows, m.of.Rows)
		}
		if err := m.to.check(m.what, l.spec.Dim, wide); err != nil {
			return err
		}
	}
	if out.Params == nil {
		return nil
	}
	return l.checkParams("gradients by parameters", out.Params, wide)
}

func (l *Loss) checkParams(what string, list []Matrix, wide bool) error {
	if len(list) != len(l.about.Params) {
		return fmt.Errorf("%s has %d %s, want %d", l.spec.Name, len(list), what, len(l.about.Params))
	}
	for i, p := range l.about.Params {
		rows, cols := shape(p.Dims)
		if list[i].Rows != rows || list[i].Stride != cols {
			return fmt.Errorf("%s of %s: %d rows of stride %d, want %d rows of %d without gaps", p.Name, l.spec.Name,
				list[i].Rows, list[i].Stride, rows, cols)
		}
		if err := list[i].check(p.Name, cols, wide); err != nil {
			return err
		}
	}
	return nil
}

func (l *Loss) checkStates(in *Batch) error {
	if len(in.States) != len(l.about.States) {
		return fmt.Errorf("%s has %d states, want %d", l.spec.Name, len(in.States), len(l.about.States))
	}
	if len(in.States) > 0 && (in.Query.Rows != l.spec.Batch || !in.Gallery.Absent()) {
		return fmt.Errorf("%s keeps the scores of batches: it needs batches of %d rows that are their own gallery, got %d",
			l.spec.Name, l.spec.Batch, in.Query.Rows)
	}
	for i, s := range l.about.States {
		if want := s.Bytes(); len(in.States[i]) != want {
			return fmt.Errorf("%s of %s has %d bytes, want %d", s.Name, l.spec.Name, len(in.States[i]), want)
		}
	}
	return nil
}

// checkLabels returns an error for labels that are no classes.
func (l *Loss) checkLabels(what string, list []int32, rows int) error {
	levels := l.spec.Levels
	if len(list) != rows*levels {
		return fmt.Errorf("%d rows of %s have %d labels, want %d at each row", rows, what, len(list), levels)
	}
	if loss.EveryLevel(l.kind) {
		for row := range rows {
			p := labels.Path(list[row*levels:][:levels])
			if p.Depth() > 0 && p[1:].Depth() < levels-1 {
				return fmt.Errorf("row %d of %s lacks a level, and %s needs every level above the finest", row, what, l.spec.Name)
			}
		}
	}
	if len(l.spec.Classes) == 0 {
		if at := slices.IndexFunc(list, func(c int32) bool { return c < -1 }); at >= 0 {
			return fmt.Errorf("row %d of %s has class %d at level %d, want −1 for no class, or a number from 0", at/levels, what,
				list[at], at%levels)
		}
		return nil
	}
	for at, c := range list {
		if what == "memory" && c == loss.Distractor && at%levels == levels-1 {
			continue
		}
		if n := l.spec.Classes[at%levels]; c < -1 || int(c) >= n {
			return fmt.Errorf("row %d of %s has class %d at level %d, want −1 for no class, or 0 to %d", at/levels, what, c,
				at%levels, n-1)
		}
	}
	return nil
}

// check returns an error if m is not a matrix of cols columns and the given type.
func (m Matrix) check(what string, cols int, wide bool) error {
	switch {
	case m.Absent():
		return fmt.Errorf("%s: missing", what)
	case m.wide() != wide:
		return fmt.Errorf("%s: want all arrays in float32, or all in float64", what)
	case m.Rows < 1 || m.Cols != cols:
		return fmt.Errorf("%s: %d rows of %d columns, want at least one row of %d", what, m.Rows, m.Cols, cols)
	case m.Stride < m.Cols:
		return fmt.Errorf("%s: rows of %d columns are %d apart, want at least as many", what, m.Cols, m.Stride)
	}
	return nil
}

// shape returns the dimensions of a parameter as a matrix.
func shape(dims []int) (rows, cols int) {
	if len(dims) == 1 {
		return 1, dims[0]
	}
	return dims[0], dims[1]
}
