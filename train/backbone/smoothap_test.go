package backbone_test

import (
	"encoding/binary"
	"math"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/grad"
)

// definition is what tests call the loss smoothAP.
const definition = "smooth-ap by definition"

// smoothAP is the definition of the Smooth-AP loss in float64, with the query in
// its own gallery and the first of three columns of labels: with it net, tape and
// optimizer are tested apart from package loss.
//
//	L = mean over q of 1 − 1/|P| Σ_{j∈P} (1 + Σ_{i∈P, i≠j} σ_ij)/(1 + Σ_{i≠j} σ_ij)
//	σ_ij = σ((s_i − s_j)/τ),  s = embeddings·query
func smoothAP(t *testing.T, labels []int64, tau float64) func(*grad.Tape, *grad.Var) *grad.Var {
	return func(tape *grad.Tape, e *grad.Var) *grad.Var {
		loss := tape.New(device.F32, 1)
		slope := tape.New(device.F32, e.Value.Shape()...)
		tape.Do(func(b device.Backend) {
			rows, cols := e.Value.Dims[0], e.Value.Dims[1]
			v, d := smoothAPOf(download(t, b, e.Value), rows, cols, labels, tau)
			put(b, loss.Value, []float64{v})
			put(b, slope.Value, d)
		})
		tape.Back(func(b device.Backend) { b.Scale(tape.Into(e), slope.Value, tape.Grad(loss)) }, slope)
		return loss
	}
}

func smoothAPOf(x []float64, rows, cols int, labels []int64, tau float64) (float64, []float64) {
	dot := func(a, b []float64) (s float64) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	row := func(i int) []float64 { return x[i*cols:][:cols] }
	loss, dx := 0.0, make([]float64, len(x))
	for q := range rows {
		s, ds := make([]float64, rows), make([]float64, rows)
		for i := range s {
			s[i] = dot(row(q), row(i))
		}
		positive := func(i int) bool { return labels[3*i] == labels[3*q] }
		count := 0.0
		for i := range s {
			if positive(i) {
				count++
			}
		}
		ap := 0.0
		for j := range s {
			if positive(j) {
				ap += precision(s, ds, j, positive, tau, -1/(count*float64(rows)))
			}
		}
		loss += (1 - ap/count) / float64(rows)
		for i, d := range ds {
			for k := range cols {
				dx[q*cols+k] += d * x[i*cols+k]
				dx[i*cols+k] += d * x[q*cols+k]
			}
		}
	}
	return loss, dx
}

// precision is the smooth precision at item j, of which it adds scale times the
// derivatives to ds.
func precision(s, ds []float64, j int, positive func(int) bool, tau, scale float64) float64 {
	above, rank := 1.0, 1.0
	sigmoid := func(i int) float64 { return 1 / (1 + math.Exp((s[j]-s[i])/tau)) }
	for i := range s {
		if i != j {
			rank += sigmoid(i)
			if positive(i) {
				above += sigmoid(i)
			}
		}
	}
	for i := range s {
		if i == j {
			continue
		}
		d := -above / (rank * rank)
		if positive(i) {
			d += 1 / rank
		}
		d *= scale * sigmoid(i) * (1 - sigmoid(i)) / tau
		ds[i] += d
		ds[j] -= d
	}
	return above / rank
}

func put(b device.Backend, a device.Array, values []float64) {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
	}
	b.Upload(a, data)
}

func putInts(b device.Backend, a device.Array, values []int64) {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
	}
	b.Upload(a, data)
}

func download(t testing.TB, b device.Backend, a device.Array) []float64 {
	t.Helper()
	data := make([]byte, 4*a.Len())
	b.Download(data, a)
	must.Do(t, b.Sync())
	values := make([]float64, a.Len())
	for i := range values {
		values[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
	}
	return values
}
