package cpu

import (
	"slices"

	"hgld/train/device"
)

// Shared counts the equal label columns in [From, To) of each query and gallery row. −1 never
// counts as equal. A gallery row whose labels are all −1 is absent. o.Self determines the
// value for the query's own row.
func (b *Backend) Shared(sh, ql, gl, self device.Array, o device.SharedKind) {
	levels := ql.Cols()
	if o.To == 0 {
		o.To = levels
	}
	if sh.N != 2 || ql.N != 2 || gl.N != 2 || sh.Dims[0] != ql.Dims[0] || sh.Dims[1] != gl.Dims[0] ||
		gl.Cols() != levels || o.From < 0 || o.From >= o.To || o.To > levels || levels >= device.AbsentLevel ||
		!self.Absent() && self.Len() != ql.Dims[0] {
		panic(shapes("Shared", sh, ql, gl, self))
	}
	t := sharedTask{sh: sh, ql: ql, gl: gl, self: self, o: o}
	t.absent = scratch[int32](b, "shared", gl.Dims[0])[:0]
	for g := range gl.Dims[0] {
		if slices.Max(row(i32(gl), gl, g)) < 0 {
			t.absent = append(t.absent, int32(g))
		}
	}
	split(b, sh.Rows(), 1, t)
}

type sharedTask struct {
	sh, ql, gl, self device.Array
	absent           []int32
	o                device.SharedKind
}

func (t *sharedTask) span(_, lo, hi int) {
	for q := lo; q < hi; q++ {
		sh, ql := row(u8(t.sh), t.sh, q), row(i32(t.ql), t.ql, q)
		clear(sh)
		for l := t.o.From; l < t.o.To; l++ {
			if ql[l] >= 0 {
				countEqual(sh, ql[l], i32(t.gl)[l:], t.gl.Ld)
			}
		}
		for _, g := range t.absent {
			sh[g] = device.AbsentLevel
		}
		if !t.self.Absent() {
			setSelf(sh, i32(t.self)[q], t.o.Self)
		}
	}
}

// countEqual adds 1 for each gallery row whose label is c.
func countEqual(sh []uint8, c int32, labels []int32, stride int) {
	for g := range sh {
		n := uint8(0)
		if labels[g*stride] == c {
			n = 1
		}
		sh[g] += n
	}
}

// setSelf sets the level of the query's own row, if the gallery has it.
func setSelf(sh []uint8, own int32, kind device.SelfKind) {
	if own < 0 || int(own) >= len(sh) || sh[own] == device.AbsentLevel {
		return
	}
	switch kind {
	case device.SelfAbsent:
		sh[own] = device.AbsentLevel
	case device.SelfZero:
		sh[own] = 0
	}
}
