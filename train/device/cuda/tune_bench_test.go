package cuda_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/train/device"
	"hgld/train/device/cuda"
)

const (
	// tunedVariable names the JSON file that BenchmarkKnobs writes, with a table beside it (.md).
	tunedVariable = "HGLD_GPU_CHECK_TUNED"

	// secondsVariable is the time behind which no further shape is begun.
	secondsVariable = "HGLD_GPU_CHECK_SECONDS"
)

// BenchmarkChoices measures tiles, splits and plans for the products and convolutions of a
// ResNet-50 and a DeiT-S in BF16, each with the rule's choice beside it.
func BenchmarkChoices(b *testing.B) {
	began, limit := time.Now(), math.Inf(1)
	if text := os.Getenv(secondsVariable); text != "" {
		var err error
		if limit, err = strconv.ParseFloat(text, 64); err != nil {
			b.Fatalf("$%s: %v", secondsVariable, err)
		}
	}
	w := newWalk(newMeasure(b))
	shapes := append(w.productShapes(), w.convolutionShapes()...) // cuDNN compiles, and takes what is left
	for i, shape := range shapes {
		if time.Since(began).Seconds() > limit {
			w.Left = len(shapes) - i
			break
		}
		shape(w)
		w.write() // what there is, should the GPU fail
	}
	b.Log("\n" + w.markdown())
	w.write()
}

// write writes the choices to the file of tunedVariable, and a table beside it.
func (w *walk) write() {
	if path := os.Getenv(tunedVariable); path != "" {
		writeFigures(w, path, w, w.markdown())
	}
}

// walk is the choices that were measured.
type walk struct {
	*measure               `json:"-"`
	fell                   bool // an operation fell back to our kernel
	products, convolutions bool // NVIDIA's libraries are there

	Card string  `json:"card"`
	Rows []found `json:"rows"`
	Left int     `json:"shapes_left"` // for which there was no time
}

func newWalk(m *measure) *walk {
	m.dtype = device.BF16
	w := &walk{measure: m, Card: m.b.Name()}
	m.b.Log = func(string) { w.fell = true }
	w.products, w.convolutions = m.b.HasLibraries()
	return w
}

// found is the choices for an operation at one shape.
type found struct {
	Name string `json:"name"`
	Rule choice `json:"rule"` // of this package's kernels
	Best choice `json:"best"` // of all tiles and splits

	First *choice `json:"library,omitempty"`      // the first plan of NVIDIA's library
	Plan  *choice `json:"library_best,omitempty"` // the best of its plans
}

// choice is what was chosen, and the time.
type choice struct {
	Choice string  `json:"choice"`
	Ms     float64 `json:"ms"`
}

// job is an operation at one shape.
type job struct {
	name              string
	rows, cols, inner int    // of the product
	splits            bool   // the sum may be cut
	library           string // cublaslt or cudnn
	run               func()
}

// mostPlans is the number of a library's plans that are measured.
const mostPlans = 4

// splitsOf lists the parts that are tried for a sum: powers of two, and the neighbours of what the rule takes.
func (w *walk) splitsOf(j job) []int {
	if !j.splits {
		return []int{1}
	}
	_, rule := w.b.ProductTiles(j.rows, j.cols, j.inner, true)
	tried := []int{1, 2, 4, 8, 16, 32, 64, 128, 256, rule * 3 / 4, rule * 5 / 4}
	slices.Sort(tried)
	return slices.DeleteFunc(slices.Compact(tried), func(n int) bool { return n < 1 || n > 1 && 64*n > j.inner })
}

// add measures the choices for a job.
func (w *walk) add(j job) {
	timed := func(text string, c cuda.Choices) choice {
		w.b.Choose(c)
		return choice{text, 1e3 * w.seconds(j.run)}
	}
	w.b.UseLibraries(false)
	describe := func(tile, splits int) string {
		if !j.splits {
			return fmt.Sprintf("tile %d", tile)
		}
		return fmt.Sprintf("tile %d, splits %d", tile, splits)
	}
	f := found{Name: j.name, Rule: timed(describe(w.b.ProductTiles(j.rows, j.cols, j.inner, j.splits)), cuda.Choices{})}
	f.Best = f.Rule
	for _, tile := range []int{64, 128} {
		for _, splits := range w.splitsOf(j) {
			c := timed(describe(tile, splits), cuda.Choices{Tile: tile, Splits: splits})
			if c.Choice == f.Rule.Choice {
				f.Rule.Ms = min(f.Rule.Ms, c.Ms)
			}
			if c.Ms < f.Best.Ms {
				f.Best = c
			}
		}
	}
	there := map[string]bool{"cudnn": w.convolutions, "cublaslt": w.products}[j.library]
	w.b.UseLibraries(true)
	for n := 0; n < mostPlans && there; n++ {
		w.b.ForgetTold()
		w.fell = false
		c := timed(fmt.Sprintf("%s, plan %d", j.library, n), cuda.Choices{Always: true, Plan: n})
		if w.fell { // to our kernel: there is no such plan
			break
		}
		if f.First == nil {
			f.First, f.Plan = &c, &c
		}
		if c.Ms < f.Plan.Ms {
			f.Plan = &c
		}
	}
	w.b.Choose(cuda.Choices{})
	if err := w.b.Sync(); err != nil { // a backend that has failed does nothing, and that quickly
		w.Fatalf("%s: %v", j.name, err)
	}
	w.Rows = append(w.Rows, f)
}

// convolutionShapes are those of a ResNet-50 at 224² and batch 256, without a repetition, and
// DeiT-S's patches.
func (m *measure) convolutionShapes() (all []func(w *walk)) {
	type shape struct{ side, from, to, window, stride int }
	list := []shape{{224, 4, 64, 7, 2}, {56, 64, 64, 1, 1}, {56, 64, 64, 3, 1}, {56, 64, 256, 1, 1}, {56, 256, 64, 1, 1}}
	for side, c := 56, 128; c <= 512; side, c = side/2, 2*c {
		list = append(list, shape{side, 2 * c, c, 1, 1}, shape{side, c, c, 3, 2}, shape{side / 2, c, 4 * c, 1, 1},
			shape{side, 2 * c, 4 * c, 1, 2}, shape{side / 2, 4 * c, c, 1, 1}, shape{side / 2, c, c, 3, 1})
	}
	list = append(list, shape{224, 4, 384, 16, 16})
	n := m.size(256, 1)
	if m.small {
		list = []shape{{6, 8, 16, 3, 1}}
	}
	for _, s := range list {
		all = append(all, func(w *walk) {
			pad, out := s.window/2, (s.side-1)/s.stride+1
			if s.window == s.stride { // patches
				pad, out = 0, s.side/s.window
			}
			shape := device.ConvShape{StrideH: s.stride, StrideW: s.stride, PadH: pad, PadW: pad}
			x, f, y := m.array(n, s.side, s.side, s.from), m.array(s.to, s.window, s.window, s.from), m.array(n, out, out, s.to)
			bias, df := m.f32(s.to), m.f32(f.Shape()...)
			after := device.Epilogue{Bias: bias, Act: device.ReLU}
			pixels, taps := n*out*out, s.window*s.window
			name := fmt.Sprintf(" %d×%d/%d, %d→%d at %d²", s.window, s.window, s.stride, s.from, s.to, s.side)
			w.add(job{"Conv" + name, pixels, s.to, taps * s.from, false, "cudnn",
				func() { m.b.Conv(y, x, f, shape, after) }})
			w.add(job{"ConvGradX" + name, n * s.side * s.side, s.from, taps * s.to, false, "cudnn",
				func() { m.b.ConvGradX(x, y, f, shape, device.GradEpilogue{}) }})
			library := "cudnn"
			if taps == 1 && s.stride == 1 { // a product
				library = "cublaslt"
			}
			w.add(job{"ConvGradW" + name, s.to, taps * s.from, pixels, true, library,
				func() { m.b.ConvGradW(df, y, x, shape, 0) }})
			m.free(x, f, y, bias, df)
		})
	}
	return all
}

// productShapes are the linear layers of a DeiT-S at batch 256, forward and back.
func (m *measure) productShapes() (all []func(w *walk)) {
	rows := m.size(256*197, 34)
	list := [][2]int{{384, 1152}, {384, 384}, {384, 1536}, {1536, 384}}
	if m.small {
		list = [][2]int{{72, 40}}
	}
	for _, s := range list {
		all = append(all, func(w *walk) {
			in, out := s[0], s[1]
			x, f, y, df := m.array(rows, in), m.array(out, in), m.array(rows, out), m.f32(out, in)
			bias := m.f32(out)
			name := fmt.Sprintf("MatMul, %d rows, %d→%d", rows, in, out)
			w.add(job{name, rows, out, in, true, "cublaslt",
				func() { m.b.MatMul(y, x, f, device.Mul{TransB: true, Alpha: 1, Bias: bias}) }})
			w.add(job{name + ", by x", rows, in, out, true, "cublaslt",
				func() { m.b.MatMul(x, y, f, device.Mul{Alpha: 1}) }})
			w.add(job{name + ", by w", out, in, rows, true, "cublaslt",
				func() { m.b.MatMul(df, y, x, device.Mul{TransA: true, Alpha: 1}) }})
			m.free(x, f, y, df, bias)
		})
	}
	return all
}

func (m *measure) free(arrays ...device.Array) {
	for _, a := range arrays {
		m.b.Free(a.Buf)
	}
}

// markdown formats the choices. The columns of NVIDIA's libraries are empty where there is none.
func (w *walk) markdown() string {
	var t strings.Builder
	fmt.Fprintf(&t, "%s. The best choice is that of one visit: measure a gain of a few percent again.\n\n", w.Card)
	fmt.Fprint(&t, "| operation in BF16 | rule | ms | best | ms | rule takes longer by | library | its best plan | ms |\n"+
		"|---|---|---:|---|---:|---:|---:|---|---:|\n")
	for _, f := range w.Rows {
		fmt.Fprintf(&t, "| %s | %s | %.4f | %s | %.4f | %.0f %% |", f.Name, f.Rule.Choice, f.Rule.Ms, f.Best.Choice,
			f.Best.Ms, 100*(f.Rule.Ms/f.Best.Ms-1))
		if f.First == nil {
			fmt.Fprint(&t, "  |  |  |\n")
			continue
		}
		fmt.Fprintf(&t, " %.4f | %s | %.4f |\n", f.First.Ms, f.Plan.Choice, f.Plan.Ms)
	}
	if w.Left > 0 {
		fmt.Fprintf(&t, "\nThere was no time for %d shapes.\n", w.Left)
	}
	return t.String()
}
