package losscheck

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"hgld/labels"
	"hgld/train/device"
	"hgld/train/embeddings"
	"hgld/train/grad"
	"hgld/train/loss"
	"hgld/train/loss/definition"
	"hgld/train/retrieval"
)

// Section holds the values of a loss on a plane through the vectors of a batch: figure 1 of RaMBO on real
// vectors. Cell (a, b) has the vectors x + a·u + b·v. u and v are directions in the space of all vectors of
// the batch, drawn from a normal distribution and orthogonal to each other. A step of 1 moves each vector, on
// average, by its own length (Li et al., NeurIPS 2018, normalise by filter, here by row).
type Section struct {
	Steps  []float64   // a and b of the cells, ascending
	Values [][]float64 // by b, then by a

	// Lambdas are the strengths of the interpolations that the gradient of the loss follows, see loss.Interpolations: its
	// own and four times as much; none for a loss without.
	Lambdas      []float64
	Interpolated [][][]float64 // by λ, then like Values
}

// strengths are the multiples of a loss's λ whose interpolations are drawn.
var strengths = []float64{1, 4}

// mostCells bounds the cells of a side.
const mostCells = 201

// BatchOf uploads some rows of unit vectors as a batch in which each row is a query among the others.
func BatchOf(b device.Backend, vectors [][]float64, list []labels.Path, rows []int, levels []string,
	classes *embeddings.Classes) (*embeddings.Evaluation, error) {
	e := &embeddings.Evaluation{Classes: classes, Same: true}
	e.Levels = levels
	var data []byte
	for _, row := range rows {
		for _, v := range vectors[row] {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
		e.Query.Labels = append(e.Query.Labels, list[row])
	}
	e.Self = retrieval.OwnRows(len(rows))
	e.Query.Vectors = device.New(b, device.F32, len(rows), len(data)/4/len(rows))
	b.Upload(e.Query.Vectors, data)
	e.Gallery = e.Query
	return e, b.Sync()
}

// SectionOf computes the loss on cells × cells points with a and b from −reach to reach. vectors are the
// rows of the batch, F32 [Q,D]; the labels are those of in.Rows. The gallery is the batch itself.
func SectionOf(b device.Backend, in *Input, reach float64, cells int) (*Section, error) {
	if !(reach > 0) || cells < 3 || cells > mostCells {
		return nil, fmt.Errorf("%d cells with a reach of %v; want 3 to %d cells, and a positive reach", cells, reach,
			mostCells)
	}
	if !in.Rows.Same {
		return nil, fmt.Errorf("a section has no gallery of its own")
	}
	kind, err := in.Loss.Kind()
	if err != nil {
		return nil, err
	}
	l, err := kind.New(in.facts())
	if err != nil {
		return nil, fmt.Errorf("loss: %s: %w", in.Loss.Name, err)
	}
	var s *Section
	err = device.Do(b, func() error {
		m := &measured{in: in, b: b, kind: kind, loss: l}
		if err := m.declare(); err != nil {
			return err
		}
		s, err = m.section(reach, cells)
		return err
	})
	return s, err
}

// section records the loss once and replays it on the vectors of every cell.
func (m *measured) section(reach float64, cells int) (*Section, error) {
	e, b := m.in.Rows, m.b
	start, err := values(b, e.Query.Vectors)
	if err != nil {
		return nil, err
	}
	moved := device.New(b, device.F32, e.Query.Vectors.Shape()...)
	b.Copy(moved, e.Query.Vectors)
	tape := grad.NewTape(b, device.NewArena(b))
	out := tape.Keep(m.loss.Forward(tape, m.input(tape, tape.Leaf(moved, device.Array{}))))
	u, v := plane(start, m.in.Seed)
	s := &Section{}
	for i := range cells {
		s.Steps = append(s.Steps, reach*(2*float64(i)/float64(cells-1)-1))
	}
	interpolate, err := m.interpolations(s)
	if err != nil {
		return nil, err
	}
	data, place := make([]byte, 4*len(start)), make([]float64, len(start))
	for k, y := range s.Steps {
		row := make([]float64, 0, cells)
		for _, x := range s.Steps {
			for i, at := range start {
				place[i] = float64(at) + x*u[i] + y*v[i]
				binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(float32(place[i])))
			}
			interpolate(k, place)
			b.Upload(moved, data)
			m.reset()
			tape.Replay()
			value, err := number(b, out.Value)
			if err != nil {
				return nil, err
			}
			row = append(row, value)
		}
		s.Values = append(s.Values, row)
	}
	return s, nil
}

// interpolations prepares the interpolations of the loss, if it has any. The result appends those of the vectors at a
// place to row k of each.
func (m *measured) interpolations(s *Section) (func(k int, place []float64), error) {
	in, _, err := m.batch()
	if err != nil {
		return nil, err
	}
	lambda, values := loss.Interpolations(m.kind, in, strengths)
	if values == nil {
		return func(int, []float64) {}, nil
	}
	for _, by := range strengths {
		s.Lambdas, s.Interpolated = append(s.Lambdas, lambda*by), append(s.Interpolated, make([][]float64, len(s.Steps)))
	}
	return func(k int, place []float64) {
		rows := slices.Collect(slices.Chunk(place, len(place)/len(in.Query)))
		if m.in.Unit {
			rows = definition.Units(rows)
		}
		in.Query, in.Gallery = rows, rows
		_, values := loss.Interpolations(m.kind, in, strengths)
		for i, v := range values {
			s.Interpolated[i][k] = append(s.Interpolated[i][k], v)
		}
	}, nil
}

// plane draws two orthogonal directions, each as long as start.
func plane(start []float32, seed uint64) (u, v []float64) {
	random := rand.New(rand.NewPCG(seed, 0))
	u, v = make([]float64, len(start)), make([]float64, len(start))
	length := 0.0
	for i, x := range start {
		u[i], v[i] = random.NormFloat64(), random.NormFloat64()
		length += float64(x) * float64(x)
	}
	scale := func(list []float64) {
		square := 0.0
		for _, x := range list {
			square += x * x
		}
		for i := range list {
			list[i] *= math.Sqrt(length / square)
		}
	}
	scale(u)
	dot := 0.0
	for i := range u {
		dot += u[i] * v[i]
	}
	for i := range v {
		v[i] -= dot / length * u[i]
	}
	scale(v)
	return u, v
}
