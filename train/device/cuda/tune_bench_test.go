package cuda_test

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"hgld/train/device"
)

const (
	// tunedVariable names the JSON file that BenchmarkKnobs writes, with a table beside it (.md).
	tunedVariable = "HGLD_GPU_CHECK_TUNED"

	// secondsVariable is the time behind which no further shape is begun.
	secondsVariable = "HGLD_GPU_CHECK_SECONDS"
)

// BenchmarkKnobs measures every choice of TuneVariable for the products and convolutions of a
// ResNet-50 and a DeiT-S in BF16, each with the rule's choice beside it.
func BenchmarkKnobs(b *testing.B) {
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
		w.write() // what there is, should the card fail
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
	m.b.Say = func(string) { w.fell = true }
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

// choice is a setting of knobs, and the time.
type choice struct {
	Knobs string  `json:"knobs"`
	Ms    float64 `json:"ms"`
}

// job is an operation at one shape.
type job struct {
	name              string
	rows, cols, inner int    // of the product
	knob              string // matmul
	splits            bool   // the sum may be cut
	whole             bool   // eight elements of each operand lie side by side
	library           string // the knob of its plans: cublaslt; empty: none computes it
	run               func()
}

// mostPlans is the number of a library's plans that are measured.
const mostPlans = 4

// add measures the choices for a job.
func (w *walk) add(j job) {
	timed := func(knobs string) choice {
		tune(w, w.b, knobs)
		return choice{knobs, 1e3 * w.seconds(j.run)}
	}
	w.b.UseLibraries(false)
	tile, splits := w.b.ProductTiles(j.knob, j.rows, j.cols, j.inner, j.splits, j.whole)
	f := found{Name: j.name, Rule: timed("")}
	f.Rule.Knobs = fmt.Sprintf("%s.tile=%d", j.knob, tile)
	if j.splits {
		f.Rule.Knobs += fmt.Sprintf(" %s.split=%d", j.knob, splits)
	}
	f.Best = f.Rule
	tiles := []int{64, 128}
	if w.b.Warpgroups() {
		tiles = append(tiles, 256)
	}
	for _, tile := range tiles {
		for split := 1; split <= 64 && (split == 1 || j.splits && 64*split <= j.inner); split *= 2 {
			knobs := fmt.Sprintf("%s.tile=%d", j.knob, tile)
			if j.splits {
				knobs += fmt.Sprintf(" %s.split=%d", j.knob, split)
			}
			c := timed(knobs)
			if c.Knobs == f.Rule.Knobs {
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
		c := timed(fmt.Sprintf("library.always=1 %s.plan=%d", j.library, n))
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
	tune(w, w.b, "")
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
			w.add(job{"Conv" + name, pixels, s.to, taps * s.from, "conv", false, s.from%8 == 0, "cudnn",
				func() { m.b.Conv(y, x, f, shape, after) }})
			w.add(job{"ConvGradX" + name, n * s.side * s.side, s.from, taps * s.to, "convgradx", false, s.from%8 == 0, "cudnn",
				func() { m.b.ConvGradX(x, y, f, shape, device.GradEpilogue{}) }})
			product := ""
			if taps == 1 && s.stride == 1 {
				product = "cublaslt"
			}
			w.add(job{"ConvGradW" + name, s.to, taps * s.from, pixels, "convgradw", true, s.from%8 == 0, product,
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
			w.add(job{name, rows, out, in, "matmul", true, true, "cublaslt",
				func() { m.b.MatMul(y, x, f, device.Mul{TransB: true, Alpha: 1, Bias: bias}) }})
			w.add(job{name + ", by x", rows, in, out, "matmul", true, true, "cublaslt",
				func() { m.b.MatMul(x, y, f, device.Mul{Alpha: 1}) }})
			w.add(job{name + ", by w", out, in, rows, "matmul", true, true, "cublaslt",
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
		fmt.Fprintf(&t, "| %s | %s | %.4f | %s | %.4f | %.0f %% |", f.Name, f.Rule.Knobs, f.Rule.Ms, f.Best.Knobs, f.Best.Ms,
			100*(f.Rule.Ms/f.Best.Ms-1))
		if f.First == nil {
			fmt.Fprint(&t, "  |  |  |\n")
			continue
		}
		fmt.Fprintf(&t, " %.4f | %s | %.4f |\n", f.First.Ms, f.Plan.Knobs, f.Plan.Ms)
	}
	if w.Left > 0 {
		fmt.Fprintf(&t, "\nThere was no time for %d shapes.\n", w.Left)
	}
	return t.String()
}
