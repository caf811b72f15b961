package losscheck_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/tensorfile"
	"hgld/internal/testing/must"
	"hgld/train/config"
	"hgld/train/device/cpu"
	"hgld/train/embeddings"
	"hgld/train/loss"
	"hgld/train/losscheck"
)

// files writes vectors and labels, and loads them.
func files(t *testing.T, b *cpu.Backend, rows [][]float32, csv string) *embeddings.Evaluation {
	t.Helper()
	dir := t.TempDir()
	in := &embeddings.Input{Embeddings: filepath.Join(dir, "e.npy"), Labels: filepath.Join(dir, "l.csv"),
		Open: embeddings.Open, Labelling: embeddings.Labelling{Log: t.Logf}}
	in.Columns = strings.Split(strings.SplitN(csv, "\n", 2)[0], ",")
	array(t, in.Embeddings, rows)
	must.Do(t, os.WriteFile(in.Labels, []byte(csv), 0o644))
	e, err := in.Load(b)
	must.Do(t, err)
	return e
}

func array(t *testing.T, path string, rows [][]float32) {
	t.Helper()
	f, err := os.Create(path)
	must.Do(t, err)
	defer f.Close()
	var flat []float32
	for _, r := range rows {
		flat = append(flat, r...)
	}
	must.Do(t, tensorfile.WriteNPY(io.Writer(f), tensorfile.NewF32("", []int{len(rows), len(rows[0])}, flat)))
}

// random are rows of 6 finest classes, 3 and 2 above them.
func random(n int) (rows [][]float32, csv string) {
	r := rand.New(rand.NewPCG(3, 4))
	text := strings.Builder{}
	text.WriteString("fine,middle,coarse\n")
	for i := range n {
		row := make([]float32, 8)
		for d := range row {
			row[d] = float32(r.NormFloat64())
		}
		rows = append(rows, row)
		c := i % 6
		fmt.Fprintf(&text, "f%d,m%d,c%d\n", c, c/2, c/4)
	}
	return rows, text.String()
}

// A loss of scores, one with proxies, one with a bias, sums with and without proxies of their own, and one that has
// no definition because it draws. Package loss compares every loss with its definition.
var asDefined = []string{"sup-h-ap", "csl", "cross-entropy", "happier", "sum-nsm", "rambo-detection", "blackbox-ap"}

func TestLossesAgreeWithTheirDefinition(t *testing.T) {
	b := cpu.New(2)
	rows, csv := random(24)
	agrees(t, b, files(t, b, rows, csv))
	lines := strings.Split(csv, "\n")
	lines[4], lines[12] = ",,", ",," // without a class
	agrees(t, b, files(t, b, rows, strings.Join(lines, "\n")))
}

// agrees compares losses of the rows with their definition.
func agrees(t *testing.T, b *cpu.Backend, e *embeddings.Evaluation) {
	t.Helper()
	for _, preset := range []string{"paper", "released"} {
		for _, name := range asDefined {
			in := &losscheck.Input{Loss: config.Loss{Named: config.Named{Name: name}, Preset: preset}, Rows: e, Unit: true,
				Seed: 1, Definition: true}
			r, err := losscheck.Compute(b, in)
			if err != nil {
				t.Errorf("%s, %s: %v", name, preset, err)
				continue
			}
			if draws := name == "blackbox-ap" && preset == "released"; r.NoDefinition != "" || draws {
				if !draws || r.NoDefinition != "blackbox-ap draws random numbers" {
					t.Errorf("%s, %s: %q", name, preset, r.NoDefinition)
				}
				continue
			}
			// float32 against float64: a step of H⁻ has a slope of 100, and scores are off by 1e-7
			if math.Abs(r.Value-*r.Definition) > 1e-4*max(1, math.Abs(*r.Definition)) || *r.Apart > 1e-3 {
				t.Errorf("%s, %s: %v, by the definition %v; gradients %v apart", name, preset, r.Value, *r.Definition, *r.Apart)
			}
			sum := 0.0
			for _, term := range r.Terms {
				sum += term.Weight * term.Value
			}
			if math.Abs(sum-r.Value) > 1e-5*max(1, math.Abs(r.Value)) {
				t.Errorf("%s, %s: the terms %+v add up to %v, the loss is %v", name, preset, r.Terms, sum, r.Value)
			}
			if r.Norm == 0 && name != "cross-entropy" { // its weights start from 0
				t.Errorf("%s, %s: no gradient", name, preset)
			}
		}
	}
}

// Each query alone has the loss that the definition gives for it, and their mean is the loss of the batch.
func TestValuesByQueryAddUpToTheLoss(t *testing.T) {
	b := cpu.New(2)
	rows, csv := random(24)
	e := files(t, b, rows, csv)
	for _, name := range loss.All.Names() {
		in := &losscheck.Input{Loss: config.Loss{Named: config.Named{Name: name}, Preset: "paper"}, Rows: e, Unit: true,
			Seed: 1, PerQuery: true}
		r, err := losscheck.Compute(b, in)
		if name == "rambo-detection" {
			if err == nil || !strings.Contains(err.Error(), "no values by query") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mean := 0.0
		for _, v := range r.PerQuery.Loss {
			mean += float64(v) / 24
		}
		pooled := name == "triplet" || name == "sum-triplet" // one mean over the triplets of all queries
		if math.Abs(mean-r.Value) > 1e-5*max(1, r.Value) && !pooled {
			t.Errorf("%s: the mean by query is %v, the loss %v", name, mean, r.Value)
		}
		if len(r.PerQuery.Terms[0]) != len(r.Terms) || len(r.PerQuery.AP) != 24 || len(r.PerQuery.AP[0]) != 3 {
			t.Errorf("%s: %+v", name, r.PerQuery)
		}
	}
}

// Without a margin, BlackBox-AP is 1 − AP. By hand: the query 0 has positives at the places 1 and 3 of 3.
func TestAPByQueryIsThatOfItsRanking(t *testing.T) {
	b := cpu.New(1)
	at := func(list ...float64) (rows [][]float32) {
		for _, degrees := range list {
			sin, cos := math.Sincos(degrees * math.Pi / 180)
			rows = append(rows, []float32{float32(cos), float32(sin)})
		}
		return rows
	}
	in := &losscheck.Input{PerQuery: true, Rows: files(t, b, at(0, 10, 20, 40), "class\na\na\nb\na\n"),
		Loss: config.Loss{Named: config.Named{Name: "blackbox-ap", Settings: map[string]any{"margin": 0}}, Preset: "paper"}}
	r, err := losscheck.Compute(b, in)
	must.Do(t, err)
	// 10°: 0° and 20° tie within rounding, so only the query 0 and the query 3 (20°, 10°, 0°) are certain.
	for q, want := range map[int]float64{0: (1 + 2./3) / 2, 3: (1./2 + 2./3) / 2} {
		ap, value := float64(r.PerQuery.AP[q][0]), float64(r.PerQuery.Loss[q])
		if math.Abs(ap-want) > 1e-12 || math.Abs(1-value-want) > 1e-6 {
			t.Errorf("query %d: AP %v, loss %v, want %v", q, ap, value, want)
		}
	}
	if !math.IsNaN(float64(r.PerQuery.AP[2][0])) {
		t.Errorf("the only b has the AP %v", r.PerQuery.AP[2])
	}
}

// The gradient is that by the rows of the file, whatever their lengths: central differences
// of the value.
func TestGradientIsByTheRowsOfTheFile(t *testing.T) {
	b := cpu.New(1)
	rows, csv := random(12)
	in := &losscheck.Input{Loss: config.Loss{Named: config.Named{Name: "roadmap"}, Preset: "paper"}, Unit: true, Seed: 1,
		Definition: true}
	value := func() *losscheck.Report {
		in.Rows = files(t, b, rows, csv)
		r, err := losscheck.Compute(b, in)
		must.Do(t, err)
		return r
	}
	grad, err := value().Tensors()[0].Float32()
	must.Do(t, err)
	const h = 1.0 / 1024 // exact in float32
	for _, at := range [][2]int{{0, 0}, {5, 3}, {11, 7}} {
		old := rows[at[0]][at[1]]
		rows[at[0]][at[1]] = old + h
		up := *value().Definition
		rows[at[0]][at[1]] = old - h
		down := *value().Definition
		rows[at[0]][at[1]] = old
		// the third derivative of sigmoids at τ = 0.01
		if got, want := float64(grad[at[0]*8+at[1]]), (up-down)/(2*h); math.Abs(got-want) > 2e-2*max(math.Abs(want), 0.1) {
			t.Errorf("element %v: %v, by differences %v", at, got, want)
		}
	}
}

// Proxies at 0°, 60° and 150°, embeddings at 20° and 100°: by hand 0.0305534 and 0.0815774.
func TestProxiesComeFromAFile(t *testing.T) {
	b := cpu.New(1)
	at := func(degrees ...float64) (rows [][]float32) {
		for _, d := range degrees {
			rows = append(rows, []float32{float32(math.Cos(d * math.Pi / 180)), float32(math.Sin(d * math.Pi / 180))})
		}
		return rows
	}
	proxies := filepath.Join(t.TempDir(), "p.npy")
	array(t, proxies, at(0, 60, 150))
	in := &losscheck.Input{Loss: config.Loss{Named: config.Named{Name: "nsm"}, Preset: "paper"}, Proxies: proxies,
		Rows: files(t, b, append(at(20, 100), at(150)...), "class\na\nb\nc\n")}
	r, err := losscheck.Compute(b, in)
	must.Do(t, err)
	// The third row is its own proxy: log(1 + e^(20(cos 90° − 1)) + e^(20(cos 150° − 1))) = 2.1e-9.
	if want := (0.030553405 + 0.081577436) / 3; math.Abs(r.Value-want) > 1e-6 {
		t.Errorf("%v, want %v", r.Value, want)
	}
	in.Proxies = filepath.Join(t.TempDir(), "wrong.npy")
	array(t, in.Proxies, at(0, 60))
	if _, err := losscheck.Compute(b, in); err == nil || !strings.Contains(err.Error(), "wrong.npy") {
		t.Errorf("proxies of two classes for three: %v", err)
	}
	in.Loss.Name = "smooth-ap"
	if _, err := losscheck.Compute(b, in); err == nil || !strings.Contains(err.Error(), "smooth-ap has no proxies") {
		t.Errorf("proxies for a loss without any: %v", err)
	}
}

func TestPositivesAreCountedByLevel(t *testing.T) {
	b := cpu.New(1)
	in := &losscheck.Input{Loss: config.Loss{Named: config.Named{Name: "happier"}, Preset: "paper"}, Unit: true,
		Rows: files(t, b, [][]float32{{1, 0}, {0.9, 0.1}, {0, 1}, {0.1, 1}}, "fine,coarse\na,x\na,x\nb,x\n,\n")}
	r, err := losscheck.Compute(b, in)
	must.Do(t, err)
	want := []losscheck.Level{{Name: "fine", Queries: 2, Positives: 2, Unlabeled: 1},
		{Name: "coarse", Queries: 3, Positives: 6, Unlabeled: 1}}
	if fmt.Sprint(r.Levels) != fmt.Sprint(want) || r.NoDefinition != "not requested" {
		t.Errorf("%+v, want %+v; %s", r.Levels, want, r.NoDefinition)
	}
	var out bytes.Buffer
	const line = "fine: 2 queries with a positive, 2 positives, 1 queries without a class\n"
	if err := r.Table(&out); err != nil || !strings.Contains(out.String(), line) {
		t.Errorf("%v\n%s", err, &out)
	}
}
