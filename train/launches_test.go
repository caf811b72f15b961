package train

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cuda"
	"hgld/train/device/observe"
	"hgld/train/device/testing/nulldriver"
)

var updateLaunches = flag.Bool("update-launches", false, "write testdata/launches")

// littleWork is the bytes of an operation for which blocks do not count: a GPU moves them in the
// time that a launch takes.
const littleWork = 8e6

// mostParts is how many parts a block may join: it reads 64 at a time, in some 0.8 µs, and another
// launch costs as much as 200 parts.
const mostParts = 256

// fewBlocks are kernels of larger operations with fewer blocks than two for each multiprocessor, and
// why that is right.
var fewBlocks = map[string]string{
	"norm_join_f32":     "a block has 32 channels of 64 parts",
	"join_f32":          "a block has 32 results",
	"conv_join":         "a thread has a result, and few filters are split",
	"matmul_join_bf16":  "as conv_join",
	"copy_convert":      "the bias of a product by NVIDIA's libraries",
	"fill_2":            "the filters of an image's four channels, with zeros",
	"axpby_f32":         "their gradient, without",
	"sums_all_f32":      "a block has 16,384 numbers",
	"sums_columns_bf16": "the biases behind a class token alone: 256 rows of a product's factor",
	"sums_columns_f32":  "the bias of the projection in F32: 2 MB of a product's factor",
	"matmul_nt_64":      "the projection in F32, and a split has 256 columns at least",
	"matmul_nn_64":      "the projection in F32, and a split has 256 columns at least",
	"matmul_tn_64":      "the projection in F32, and a split has 256 columns at least",
}

// TestLaunchesOfAStep counts the kernels of a training step of the published networks, with their
// blocks, bytes and products, and compares with testdata/launches. Nothing is computed. The time is
// that of the model in package nulldriver, with NVIDIA's libraries and without; operations have that of an H100.
//
//	go test ./train -run TestLaunchesOfAStep -update-launches
func TestLaunchesOfAStep(t *testing.T) {
	for name, n := range launchedNets() {
		t.Run(name, func(t *testing.T) {
			setting := "off"
			if strings.HasSuffix(name, withLibraries) {
				setting = "bfloat16"
			}
			t.Setenv(cuda.VendorVariable, setting)
			s, other := n.countLaunches(t, nulldriver.H100), n.countLaunches(t, nulldriver.RTX4090)
			for _, c := range s.calls {
				for _, l := range c.launches {
					if err := judgeLaunch(l, c.Bytes, nulldriver.H100.Multiprocessors); err != "" {
						t.Errorf("%s: %s", c.Op, err)
					}
				}
			}
			path := filepath.Join("testdata", "launches", name+".txt")
			text := s.table(n, other.seconds(nulldriver.RTX4090))
			if *updateLaunches {
				must.Do(t, os.WriteFile(path, []byte(text), 0o644))
			}
			want, err := os.ReadFile(path)
			if err != nil || text != string(want) {
				t.Errorf("%s is not what a step launches (-update-launches writes it; %v):\n%s", path, err, text)
			}
		})
	}
}

const withLibraries = "-libraries"

// launchedNets are the published networks by name, each twice.
func launchedNets() map[string]peerNet {
	all := map[string]peerNet{}
	for _, n := range published {
		name := strings.TrimSuffix(n.Name+"-"+n.Norm, "-")
		all[name], all[name+withLibraries] = n, n
	}
	return all
}

// launchedCall is an operation with its kernels.
type launchedCall struct {
	observe.Call
	launches []nulldriver.Launch
}

// launchedStep is the operations of a step.
type launchedStep struct {
	calls []launchedCall
}

// countLaunches takes one step in which no group is frozen.
func (n peerNet) countLaunches(t *testing.T, card nulldriver.Card) *launchedStep {
	d := nulldriver.New(card)
	b, err := cuda.OpenWith(d, 0)
	must.Do(t, err)
	b.WithLibraries(d.Libraries())
	s := new(launchedStep)
	observed := observe.Operations(b, func(c observe.Call, do func()) {
		d.Launches = nil
		do()
		s.calls = append(s.calls, launchedCall{c, d.Launches})
	})
	config := n.config(n.Batch)
	config.Run.ResolveResample(b)
	must.Do(t, DryStep(config, n.data(n.Batch), observed, func() { s.calls = nil }))
	return s
}

// judgeLaunch returns what is wrong with a launch of an operation that moves so many bytes, or "". A
// product has tiles of 128 wherever splits of its sum give two blocks to each multiprocessor.
// One that could have as many has fewer only where a split more would begin another round.
func judgeLaunch(l nulldriver.Launch, bytes float64, multiprocessors int) string {
	p := l.Product
	if p.Tile == 0 {
		if l.Parts > mostParts {
			return fmt.Sprintf("%s has %d blocks that add up %d parts each", l.Kernel, l.Blocks, l.Parts)
		}
		library := l.Work.FLOPs > 0
		if l.Kernel == "copy" || library || l.Blocks >= 2*multiprocessors || bytes < littleWork || fewBlocks[l.Kernel] != "" {
			return ""
		}
		return fmt.Sprintf("%s has %d blocks on %d multiprocessors, and no reason in fewBlocks", l.Kernel, l.Blocks,
			multiprocessors)
	}
	const (
		leastSplit = 256 // the columns of a split, at least
		rounded    = 2   // blocks that are missing since ranges are multiples of 64 columns
	)
	most := func(side int) int {
		splits := 1
		if p.Splittable() {
			splits = max(1, p.Inner/leastSplit)
		}
		return (p.Rows + side - 1) / side * ((p.Cols + side - 1) / side) * p.Batch * splits
	}
	wanted := 2 * multiprocessors
	if could := most(128); p.Tile == 64 && p.Rows > 64 && p.Cols > 64 && could >= wanted {
		return fmt.Sprintf("%s of %v: tiles of 128 could have %d blocks", l.Kernel, p, could)
	}
	if could := most(p.Tile); l.Blocks+max(l.Blocks/p.Splits, rounded) < wanted && could >= wanted {
		return fmt.Sprintf("%s of %v: %d blocks, where %d could be", l.Kernel, p, l.Blocks, could)
	}
	return ""
}

// launchedRow is the calls of a step that launch the same kernels with the same blocks.
type launchedRow struct {
	what         string
	calls        int
	ms, mb, gflo float64
}

// seconds predicts the time of a step on a GPU.
func (s *launchedStep) seconds(card nulldriver.Card) (all float64) {
	for _, c := range s.calls {
		all += card.Seconds(c.Call, c.launches)
	}
	return all
}

// table formats a step: operations with equal kernels and sizes in one row, the longest first. other is the time
// of a step on an RTX 4090.
func (s *launchedStep) table(n peerNet, other float64) string {
	rows, all, launches := map[string]*launchedRow{}, launchedRow{}, 0
	for _, c := range s.calls {
		what := c.describe()
		r := rows[what]
		if r == nil {
			r = &launchedRow{what: what}
			rows[what] = r
		}
		for _, to := range []*launchedRow{r, &all} {
			to.calls++
			to.ms += 1e3 * nulldriver.H100.Seconds(c.Call, c.launches)
			to.mb += c.Bytes / 1e6
			to.gflo += c.FLOPs / 1e9
		}
		launches += len(c.launches)
	}
	h200 := s.seconds(nulldriver.H200) // which launches what an H100 does
	norm := ""
	if n.Norm != "" {
		norm = ", BatchNorm " + n.Norm
	}
	text := fmt.Sprintf("%s%s, %d images of %d² in bfloat16: %d launches, %.1f GB, %.2f TFLOP\n"+
		"by the model: %s %.1f ms, %.0f images/s; %s %.1f ms, %.0f images/s; %s %.0f ms, %.0f images/s\n\n"+
		"%8s %6s %9s %9s  operation: kernels [blocks]\n",
		n.Name, norm, n.Batch, n.Size, launches, all.mb/1e3, all.gflo/1e3,
		nulldriver.H200.Name, 1e3*h200, float64(n.Batch)/h200, nulldriver.H100.Name, all.ms,
		1e3*float64(n.Batch)/all.ms, nulldriver.RTX4090.Name, 1e3*other, float64(n.Batch)/other, "ms", "calls", "MB", "GFLOP")
	list := slices.SortedFunc(maps.Values(rows), func(a, b *launchedRow) int {
		return cmp.Or(cmp.Compare(b.ms, a.ms), cmp.Compare(a.what, b.what))
	})
	for _, r := range list {
		text += fmt.Sprintf("%8.3f %6d %9.1f %9.1f  %s\n", r.ms, r.calls, r.mb, r.gflo, r.what)
	}
	return text
}

// describe returns the operation with its kernels and, of a product, its sizes.
func (c launchedCall) describe() string {
	text, sep := c.Op, ": "
	for _, l := range c.launches {
		text, sep = text+sep+l.Kernel, ", "
		switch {
		case l.Work.FLOPs > 0:
			text += " " + l.Work.Shape
		case l.Kernel != "copy":
			text += fmt.Sprintf(" [%d]", l.Blocks)
		}
		if l.Product.Tile > 0 {
			text += " " + l.Product.String()
			if l.Product.Image != "" {
				text += " (" + l.Product.Image + ")"
			}
		}
	}
	return text
}
