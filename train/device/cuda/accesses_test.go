//go:build emulator

package cuda_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/effort"
	"hgld/internal/testing/must"
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
	"conv_gradx_64_bf16 global": "four channels are copied by eight bytes",
	"matmul_nt_64_bf16 shared":  "scores of an odd number of items are written one by one",
	"binloss_f32 global":        "a thread has neighbouring bins",
	"pairloss_easy":             "a warp reads the few items that a query has chosen",
	"pairloss_levels":           "as pairloss_easy",
	"pairloss_proxies":          "as pairloss_easy",
	"triplets_negatives":        "as pairloss_easy",
	"rankscore_f32":             "few ranks of a row belong to positives",
	"pick_positives":            "a thread has sixteen neighbouring levels, a byte each",
	"norm_apply_f32 shared":     "a thread reads the factors of its channels once, as others of its warp do",
	"norm_apply_bf16 shared":    "as norm_apply_f32",
	"norm_back_f32 shared":      "as norm_apply_f32",
	"norm_back_bf16 shared":     "as norm_apply_f32",
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
			must.Do(t, m.b.Sync())
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
				must.Do(t, b.Sync())
			})
			for kernel, n := range counts.Instructions {
				t.Logf("%s, %d positives: %s has %.1f instructions an item, %.1f a positive, %.2f a pair", name, positives,
					kernel, float64(n)/float64(items), float64(n)/float64(positives), float64(n)/float64(items*positives))
			}
		}
	}
}
