package loss

import (
	"fmt"

	"hgld/train/device"
	"hgld/train/grad"
)

// rowMixing is the SiMix of Patel et al., "Recall@k Surrogate Loss", CVPR 2022. For every pair of
// rows of a class it adds a row to the batch:
//
//	v = a·x_i + (1−a)·x_j,  a uniform on [0, 1), one for each pair
//
// The new row is both a query and a gallery item and is not normalised. Every class of the batch
// must have the same number of rows, as the m-per-class samplers ensure. The arrays are the same
// for all steps.
type rowMixing struct {
	perClass    int
	left, right device.Array // I32 [pairs]: rows of the batch sorted by class
	identity    device.Array // I32 [rows and pairs]: 0, 1, …
}

// mixedPairs lists the pairs of n rows in the authors' order, which is by distance around a
// circle. For four rows it is 01 12 23 03 02 13.
func mixedPairs(n int) (pairs [][2]int) {
	for distance := 1; 2*distance <= n; distance++ {
		for i := range n {
			j := (i + distance) % n
			if 2*distance < n || i < j {
				pairs = append(pairs, [2]int{min(i, j), max(i, j)})
			}
		}
	}
	return pairs
}

func newRowMixing(f Facts) (*rowMixing, error) {
	if f.PerClass < 2 {
		return nil, fmt.Errorf("the sampler gives %d rows per class, want at least 2 for simix", f.PerClass)
	}
	return &rowMixing{perClass: f.PerClass}, nil
}

func (m *rowMixing) prepare(t *grad.Tape, rows int) {
	pairs := mixedPairs(m.perClass)
	if n := rows / m.perClass * len(pairs); m.left.Len() == n && !m.left.Absent() {
		return
	}
	var left, right, identity []int32
	for first := 0; first+m.perClass <= rows; first += m.perClass {
		for _, p := range pairs {
			left, right = append(left, int32(first+p[0])), append(right, int32(first+p[1]))
		}
	}
	for i := range rows + len(left) {
		identity = append(identity, int32(i))
	}
	m.left, m.right, m.identity = constant(t, left), constant(t, right), constant(t, identity)
}

// extend records b followed by its virtual rows. Their coefficients are ordered by class, from
// the greatest label down, then by pair.
func (m *rowMixing) extend(t *grad.Tape, b *Batch, level int) *Batch {
	if b.Gallery != b.Query || b.QueryLabels.Dims[0]%m.perClass != 0 {
		panic(fmt.Sprintf("loss: SiMix needs a batch that is its own gallery and has a multiple of %d rows", m.perClass))
	}
	rows, levels := b.QueryLabels.Dims[0], b.QueryLabels.Cols()
	m.prepare(t, rows)
	virtual := m.left.Len()
	all := rows + virtual
	share := b.draw(t, b.Drawn, rowMixStream, device.Dist{Kind: device.Uniform, B: 1}, virtual)
	left, right, other := t.New(device.I32, virtual), t.New(device.I32, virtual), t.New(device.F32, virtual)
	classes := t.New(device.I32, all, levels)
	t.Do(func(d device.Backend) {
		m.sort(t, d, left.Value, right.Value, b.QueryLabels.ColRange(level, level+1))
		d.Fill(other.Value, 1)
		d.Axpby(other.Value, 1, other.Value, -1, share.Value)
		d.Copy(classes.Value.RowRange(0, rows), b.QueryLabels)
		d.Gather(classes.Value.RowRange(rows, all), b.QueryLabels, left.Value)
	})
	x := mixture(t, b.Query, left, right, share, other)
	extended := &Batch{Query: x, Gallery: x, QueryLabels: classes.Value, GalleryLabels: classes.Value, Self: m.identity,
		Key: b.Key, Paths: b.Paths}
	if b.Memory != nil {
		extended.Memory = m.memory(t, b.Memory, rows, all)
	}
	return extended
}

// sort writes the two rows of each pair, as indices into the batch. It looks them up in the order
// of the batch sorted by class.
func (m *rowMixing) sort(t *grad.Tape, d device.Backend, left, right, class device.Array) {
	rows := class.Dims[0]
	key, zero := t.Scratch(device.F32, 1, rows), t.Scratch(device.U8, 1, rows)
	shared, order := t.Scratch(device.U8, 1, rows), t.Scratch(device.I32, 1, rows)
	d.Copy(key.Reshape(rows, 1), class)
	d.Fill(zero, 0)
	d.Ranked(shared, order, key, zero)
	d.Gather(left.Reshape(left.Len(), 1), order.Reshape(rows, 1), m.left)
	d.Gather(right.Reshape(right.Len(), 1), order.Reshape(rows, 1), m.right)
}

// mixture records the rows of x, followed by share·x[left] + other·x[right].
func mixture(t *grad.Tape, x, left, right, share, other *grad.Var) *grad.Var {
	rows, D, virtual := x.Value.Dims[0], x.Value.Dims[1], left.Value.Len()
	y := t.New(device.F32, rows+virtual, D)
	t.Do(func(d device.Backend) {
		d.Copy(y.Value.RowRange(0, rows), x.Value)
		mixed, part := y.Value.RowRange(rows, rows+virtual), t.Scratch(device.F32, virtual, D)
		d.Gather(mixed, x.Value, left.Value)
		d.Scale(mixed, mixed, share.Value)
		d.Gather(part, x.Value, right.Value)
		d.Scale(part, part, other.Value)
		d.Axpby(mixed, 1, mixed, 1, part)
	})
	t.Back(func(d device.Backend) {
		dx := t.Into(x)
		if dx.Absent() {
			return
		}
		dy, part := t.Grad(y), t.Scratch(device.F32, virtual, D)
		d.Copy(dx, dy.RowRange(0, rows))
		d.Scale(part, dy.RowRange(rows, rows+virtual), share.Value)
		d.ScatterAdd(dx, part, left.Value, 1)
		d.Scale(part, dy.RowRange(rows, rows+virtual), other.Value)
		d.ScatterAdd(dx, part, right.Value, 1)
	}, left, right, share, other)
	return y
}

// memory returns the memory for a batch with virtual queries. Virtual queries have no row in it.
func (m *rowMixing) memory(t *grad.Tape, from *Memory, rows, all int) *Memory {
	extended := *from
	if from.Self.Absent() {
		return &extended
	}
	self := t.New(device.I32, all)
	t.Do(func(d device.Backend) {
		d.Fill(self.Value, -1)
		d.Copy(self.Value.RowRange(0, rows), from.Self)
	})
	extended.Self = self.Value
	return &extended
}
