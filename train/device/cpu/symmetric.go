package cpu

import "hgld/train/device"

// side is the number of rows and columns of a block of a square matrix. Two blocks stay in the L1 cache.
const side = 64

// square is a square matrix, whose blocks on and above the diagonal are tasks by rows of blocks.
type square struct {
	elements []float32
	n, ld    int
}

func squareOf(op string, a device.Array) square {
	if a.N != 2 || a.Type != device.F32 || a.Dims[0] != a.Dims[1] {
		panic(shapes(op, a))
	}
	return square{f32(a), a.Dims[0], a.Ld}
}

// line returns row i from column `from` up to column `to`.
func (s *square) line(i, from, to int) []float32 { return s.elements[i*s.ld+from : i*s.ld+to] }

// putTurned writes the rows of a block below the diagonal, rows j to across of columns i to down.
func (s *square) putTurned(turned *[side * side]float32, i, down, j, across int) {
	for c := j; c < across; c++ {
		copy(s.line(c, i, min(down, c)), turned[(c-j)*side:])
	}
}

// mirror copies the elements above the diagonal to those below.
func (b *Backend) mirror(a device.Array) {
	s := squareOf("mirror", a)
	split(b, ceil(s.n, side), 1, mirrorTask{s})
}

type mirrorTask struct{ square }

func (t *mirrorTask) span(_, lo, hi int) {
	var turned [side * side]float32
	for block := lo; block < hi; block++ {
		i := block * side
		down := min(i+side, t.n)
		for j := i; j < t.n; j += side {
			across := min(j+side, t.n)
			for r := i; r < down; r++ {
				for c, v := range t.line(r, j, across) {
					turned[c*side+r-i] = v
				}
			}
			t.putTurned(&turned, i, down, j, across)
		}
	}
}

// Symmetrize replaces a by A + Aᵀ, where A is a times s, which is one number or one for each row:
// device.Symmetric.
func (b *Backend) Symmetrize(a, s device.Array) bool {
	t := symmetrizeTask{square: squareOf("Symmetrize", a), s: f32(s)}
	if len(t.s) != 1 && (len(t.s) != t.n || !s.Contiguous()) {
		panic(shapes("Symmetrize", a, s))
	}
	split(b, ceil(t.n, side), 1, t)
	return true
}

type symmetrizeTask struct {
	square
	s []float32
}

// factor returns the factor of row i.
func (t *symmetrizeTask) factor(i int) float32 { return t.s[min(i, len(t.s)-1)] }

func (t *symmetrizeTask) span(_, lo, hi int) {
	var turned [side * side]float32
	for block := lo; block < hi; block++ {
		i := block * side
		down := min(i+side, t.n)
		for j := i; j < t.n; j += side {
			across := min(j+side, t.n)
			for c := j; c < across; c++ { // the block below the diagonal
				multiply(turned[(c-j)*side:][:down-i], t.factor(c), t.line(c, i, down))
			}
			for r := i; r < down; r++ {
				t.addTurned(r, j, across, turned[r-i:])
			}
			t.putTurned(&turned, i, down, j, across)
		}
	}
}

// addTurned adds a column of the block below to row r of the one above, and writes the sums to both.
func (t *symmetrizeTask) addTurned(r, from, to int, column []float32) {
	w := t.factor(r)
	for c, v := range t.line(r, from, to) {
		sum := float32(w*v) + column[c*side]
		column[c*side], t.elements[r*t.ld+from+c] = sum, sum
	}
}
