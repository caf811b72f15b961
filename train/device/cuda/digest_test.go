package cuda_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device/cuda"
	"hgld/train/device/testing/conformance"
)

// digestsVariable names a file of digests, with a call and its SHA-256 per line. The emulator
// writes the file, and a GPU is compared with it.
const digestsVariable = "HGLD_GPU_CHECK_DIGESTS"

// Kernels sum in an order that depends only on shapes (in BF16 also on the GPU), and the emulator produces the same
// bytes for any order of threads. All but those that use tensor cores are IEEE 754
// throughout, so that a GPU produces the emulator's bytes.
func TestEveryOrderAndEveryCardGivesTheSameBytes(t *testing.T) {
	path := os.Getenv(digestsVariable)
	if conformance.OnCard() {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatalf("the emulator's digests ($%s): %v", digestsVariable, err)
		}
		compareCard(t, emulated(t), strings.Split(string(data), "\n"))
		return
	}
	c := open(t)
	all, _ := conformance.Digests(t, c)
	c.emulator.Order("shuffled:11")
	again, _ := conformance.Digests(t, c)
	compareDigests(t, "the order shuffled:11", lines(again, true), lines(all, true))
	if path != "" {
		must.Do(t, os.WriteFile(path, []byte(strings.Join(lines(all, false), "\n")), 0o644))
	}
	if err := c.Close(); err != nil {
		t.Errorf("%v: %s", err, c.emulator.LastError())
	}
}

// compareCard compares a GPU's digests with the emulator's. Where -run selects some of the calls,
// those alone are compared.
func compareCard(t *testing.T, b *cuda.Backend, want []string) {
	t.Helper()
	all, calls := conformance.Digests(t, b)
	if got := lines(all, false); len(all) == calls {
		compareDigests(t, "the GPU", got, want)
	} else {
		for _, line := range got {
			if !slices.Contains(want, line) {
				t.Errorf("the GPU gives %s, which is not among the emulator's", line)
			}
		}
	}
}

// lines formats digests, with or without those in which GPUs differ.
func lines(all []conformance.Digest, withDiffering bool) (text []string) {
	for _, d := range all {
		if d.CardsDiffer && !withDiffering {
			continue
		}
		text = append(text, fmt.Sprint(d.Call, " ", d.SHA256))
	}
	return text
}

func compareDigests(t *testing.T, what string, got, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d calls, want the %d of the file: it was made by another version", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s gives %s, want %s", what, got[i], want[i])
		}
	}
}

// Listed measurements must exist: BenchmarkKernels names the kernels that it did not launch.
func TestKernelsAreListed(t *testing.T) {
	names, err := cuda.Kernels()
	if err != nil || len(names) < 80 || !slices.Contains(names, "axpby_f32") {
		t.Errorf("%d kernels, %v", len(names), err)
	}
}
