package cpu

import (
	"slices"

	"hgld/train/device"
)

// Shared counts the shared label columns in [From, To) of each query and gallery row; see device.Rank.
// It compares columns where no label is −1, and pairs where one is.
func (b *Backend) Shared(sh, ql, gl, self device.Array, o device.SharedKind) {
	if !o.FitsLabels(sh, ql, gl, self) {
		panic(shapes("Shared", sh, ql, gl, self))
	}
	t := sharedTask{sh: sh, ql: ql, gl: gl, self: self, o: o}
	list := scratch[int32](b, "shared", gl.Dims[0])
	t.absent, t.partial = list[:0], list[len(list):]
	for g := range gl.Dims[0] {
		switch path := row(i32(gl), gl, g); {
		case slices.Max(path) < 0:
			t.absent = append(t.absent, int32(g))
		case slices.Min(path) < 0:
			at := len(list) - len(t.partial) - 1 // from the end, where absent does not reach
			list[at] = int32(g)
			t.partial = list[at:]
		}
	}
	split(b, sh.Rows(), 1, t)
}

type sharedTask struct {
	sh, ql, gl, self device.Array
	absent, partial  []int32 // gallery rows without a label, and of some levels
	o                device.SharedKind
}

func (t *sharedTask) span(_, lo, hi int) {
	for q := lo; q < hi; q++ {
		sh, ql := row(u8(t.sh), t.sh, q), row(i32(t.ql), t.ql, q)
		if slices.Min(ql) < 0 {
			for g := range sh {
				sh[g] = t.related(ql, g)
			}
		} else {
			clear(sh)
			for l := t.o.From; l < t.o.To; l++ {
				countEqual(sh, ql[l], i32(t.gl)[l:], t.gl.Ld)
			}
			for _, g := range t.partial {
				sh[g] = t.related(ql, int(g))
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

// related returns the level of a gallery row of which labels may be −1. It goes from the finest level
// up: an unknown level waits for a coarser one that differs.
func (t *sharedTask) related(ql []int32, g int) uint8 {
	n, equal, asked, unknown := uint8(0), false, false, false
	for l, c := range row(i32(t.gl), t.gl, g) {
		within := l >= t.o.From && l < t.o.To
		asked = asked || within && ql[l] >= 0
		is := equal // what the finer levels imply
		switch {
		case ql[l] < 0 || c < 0:
			unknown = unknown || within && !equal && ql[l] >= 0
		case ql[l] == c:
			equal, is = true, true
		default:
			unknown, is = false, false
		}
		if within && is {
			n++
		}
	}
	if unknown || !asked {
		return device.AbsentLevel
	}
	return n
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
