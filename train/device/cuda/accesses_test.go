//go:build emulator

package cuda_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/emu"
)

// countVariable says that the emulator runs the committed PTX, which counts accesses.
const countVariable = "HGLD_EMU_COUNTS"

// wastefulAccesses are kernels with lines that take more than twice the wavefronts of shared memory or sectors of
// global memory that their bytes need, and why that is right. With a space, the other must not. All other
// kernels are hot.
var wastefulAccesses = map[string]string{
	"matmul_nn_64 global":       "in F32 a thread writes its four neighbours one after the other",
	"matmul_nt_64 global":       "as matmul_nn_64",
	"matmul_tn_64 global":       "as matmul_nn_64",
	"matmul_tt_64 global":       "as matmul_nn_64",
	"conv_64 global":            "as matmul_nn_64",
	"conv_gradx_64 global":      "as matmul_nn_64",
	"conv_gradw_64 global":      "as matmul_nn_64",
	"conv_64_bf16 global":       "the images' four channels are copied by eight bytes",
	"conv_gradx_64_bf16 global": "as conv_64_bf16",
	"conv_gradw_64_bf16":        "as conv_64_bf16",
	"matmul_nt_64_bf16 shared":  "scores of an odd number of items are written one by one",
	"binloss_f32 global":        "a thread has neighbouring bins",
	"pairloss_easy":             "a warp reads the few items that a query has chosen",
	"pairloss_levels":           "as pairloss_easy",
	"pairloss_proxies":          "as pairloss_easy",
	"triplets_negatives":        "as pairloss_easy",
	"rankscore_f32":             "few ranks of a row belong to positives",
	"pick_positives":            "a thread has sixteen neighbouring levels, a byte each",
	"pixels_f32":                "pixels of three bytes become four channels",
	"pixels_bf16":               "as pixels_f32",
	"random_f32":                "a thread has four neighbouring numbers",
	"ranked_first":              "rows are read in the order of their scores",
	"ranked_places":             "as ranked_first",
	"ranked_slopes":             "as ranked_first",
	"rank_levels":               "as ranked_first",
	"rank_gather":               "as ranked_first",
	"rank_backward":             "as ranked_first",
	"sort_scatter":              "items go where their digit says",
	"sort_small":                "as sort_scatter",
	"sort_sum shared":           "lanes of one warp share out a sum of each thread, eight neighbours a lane",
	"rank_carry":                "a thread walks over neighbouring items",
	"rank_forward":              "lanes with neighbouring scores read neighbouring states",
	"rankloss_score":            "the levels of positives lie anywhere in a row",
	"rankloss_sums":             "as rankloss_score",
	"rankloss_grad":             "as rankloss_score",
	"resample":                  "the taps of an output pixel lie where the image has them",
	"shared_u8":                 "three labels of an item are neighbours",
}

// TestHotAccesses runs every operation at a small shape and counts what each line of its kernels takes.
func TestHotAccesses(t *testing.T) {
	if os.Getenv(countVariable) == "" {
		t.Skip("runs within TestAccessesOfTheCommittedPTX")
	}
	m := newMeasure(t)
	control, used, seen := emu.Open(t, os.Getenv(cuda.LibrariesVariable)), map[string]bool{}, 0
	for _, c := range m.cases() {
		counts := control.Count(func() {
			c.run()
			if err := m.b.Sync(); err != nil {
				t.Fatal(err)
			}
		})
		for _, a := range counts.Accesses {
			seen++
			if a.Actual <= 2*a.Ideal {
				continue
			}
			if reason := wasteful(a); reason != "" {
				used[reason] = true
			} else {
				t.Errorf("%s: %v", c.name, a)
			}
		}
	}
	for name := range wastefulAccesses {
		if !used[name] {
			t.Errorf("wastefulAccesses has %s, none of whose lines takes twice what it needs", name)
		}
	}
	if seen < 1000 {
		t.Errorf("%d lines were counted", seen)
	}
}

// TestHotAccessesOfWgmma is TestHotAccesses of the kernels that compute capability 9.0 alone has.
func TestHotAccessesOfWgmma(t *testing.T) {
	if os.Getenv(countVariable) == "" {
		t.Skip("runs within TestAccessesOfTheCommittedPTX")
	}
	b := hopper(t)
	tune(t, b, "matmul.tile=256 conv.tile=256 convgradx.tile=256 convgradw.tile=256")
	counts := emu.Open(t, os.Getenv(cuda.LibrariesVariable)).Count(func() {
		for _, size := range [][2]int{{256, 128}, {128, 256}, {256, 64}, {64, 256}} { // rows and columns of a block
			rows, cols := size[0], size[1]
			dst, x, y := drawn(b, 1, rows, cols).short, drawn(b, 2, 128, rows).short, drawn(b, 3, 128, cols).short
			b.MatMul(dst, x, y, device.Mul{TransA: true, Alpha: 1})
			for trans := range 4 {
				m := device.Mul{TransA: trans&1 != 0, TransB: trans&2 != 0, Alpha: 1}
				b.MatMul(drawn(b, 1, 256, 256).short, drawn(b, 2, 256, 256).short, drawn(b, 3, 256, 256).short, m)
			}
			one := device.ConvShape{PadH: 1, PadW: 1}
			images, w := drawn(b, 1, 1, 16, 16, cols).short, drawn(b, 2, rows, 3, 3, cols).short
			y = drawn(b, 3, 1, 16, 16, rows).short
			b.Conv(y, images, w, one, device.Epilogue{Act: device.ReLU})
			b.ConvGradX(images, y, w, one, device.GradEpilogue{})
			b.ConvGradW(drawn(b, 4, rows, 3, 3, cols).full, y, images, one, 0)
			b.ConvGradW(drawn(b, 4, 256, 1, 1, 64).full, drawn(b, 5, 1, 16, 16, 256).short, drawn(b, 6, 1, 16, 16, 64).short,
				device.ConvShape{}, 0)
		}
		if err := b.Sync(); err != nil {
			t.Fatal(err)
		}
	})
	kernels := map[string]bool{}
	for _, a := range counts.Accesses {
		if !strings.Contains(a.Kernel, "256") {
			continue
		}
		kernels[a.Kernel] = true
		if a.Actual > 2*a.Ideal {
			t.Error(a)
		}
	}
	if len(kernels) != 14 { // all but conv_gradw of 64 channels, since nine taps have more columns
		t.Errorf("%d kernels were counted: %v", len(kernels), kernels)
	}
}

// wasteful returns the entry of wastefulAccesses that excuses a line, or "".
func wasteful(a emu.Accesses) string {
	space := map[bool]string{true: "shared", false: "global"}[a.Shared]
	for name := range wastefulAccesses {
		kernel, only, _ := strings.Cut(name, " ")
		families := []string{kernel, kernel + "_smooth", kernel + "_sup", kernel + "_any"}
		if slices.Contains(families, a.Kernel) && (only == "" || only == space) {
			return name
		}
	}
	return ""
}

// TestInstructionsOfRankLoss shows what the model of package nulldriver needs: the instructions of RankLoss's
// kernels.
func TestInstructionsOfRankLoss(t *testing.T) {
	if os.Getenv(countVariable) == "" {
		t.Skip("runs within TestAccessesOfTheCommittedPTX")
	}
	b := emulated(t)
	control := emu.Open(t, os.Getenv(cuda.LibrariesVariable))
	items := 3000
	if effort.Long() {
		items = 30000
	}
	for name, h := range rankLossSteps() {
		for _, positives := range []int{60, items / 4} {
			c := rankLossCase(t, b, items, []int{positives}, h, -1)
			counts := control.Count(func() {
				c.run()
				if err := b.Sync(); err != nil {
					t.Fatal(err)
				}
			})
			for kernel, n := range counts.Instructions {
				t.Logf("%s, %d positives: %s has %.1f instructions an item, %.1f a positive, %.2f a pair", name, positives,
					kernel, float64(n)/float64(items), float64(n)/float64(positives), float64(n)/float64(items*positives))
			}
		}
	}
}
