//go:build nvidia

package vendor

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
)

// anyDriver is a driver for a CUDA later than any library, so that none is refused.
const anyDriver = 99000

// find looks in the folders that HGLD_CUDA_LIBS lists.
func find(name string) (paths []string) {
	for _, dir := range filepath.SplitList(os.Getenv("HGLD_CUDA_LIBS")) {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

func TestRealLibrariesOpenWithAllFunctions(t *testing.T) {
	for _, f := range Probe(find, anyDriver) {
		if f.Err != nil {
			t.Errorf("%s: %v", f.Name, f.Err)
		}
		t.Logf("%s %s: %s", f.Name, f.Version, f.Path)
	}
}

// Descriptions need no GPU: the real libraries check attributes, their types and whether they
// fit together.
func TestRealCuDNNAcceptsOurDescriptions(t *testing.T) {
	d, found := openDnn(find, anyDriver)
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	for _, c := range descriptions() {
		s := &descriptors{d: d}
		operations, err := c.operations(s)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		if len(operations) == 0 {
			t.Errorf("%+v has no operations", c)
		}
		if err := s.free(); err != nil {
			t.Error(err)
		}
	}
}

// descriptions are convolutions of every kind.
func descriptions() (all []Convolution) {
	base := Convolution{N: 2, H: 9, W: 8, C: 8, K: 16, R: 3, S: 3, OutHeight: 5, OutWidth: 4, StrideH: 2, StrideW: 2,
		PadH: 1, PadW: 1, DilationH: 1, DilationW: 1, Groups: 1, AlignX: 16, AlignW: 4, AlignY: 16, AlignResidual: 16,
		AlignBias: 4, AlignMask: 16}
	for _, dtype := range []device.DType{device.F32, device.BF16} {
		for _, kind := range []ConvolutionKind{Forward, GradX, GradW} {
			for epilogue := range 8 {
				c := base
				c.Type, c.Kind = dtype, kind
				if kind == Forward {
					c.Residual, c.Bias, c.ReLU = epilogue&1 != 0, epilogue&2 != 0, epilogue&4 != 0
				}
				c.Add = kind == GradX && epilogue&1 != 0
				all = append(all, c)
				if kind == GradX && epilogue >= 2 && epilogue < 6 {
					c.Add, c.Residual, c.Mask = false, epilogue&1 != 0, epilogue&2 != 0
					all = append(all, c)
				}
			}
		}
	}
	return all
}

// cuDNN ends the process where it does not find its parts.
func TestRealCuDNNWithoutItsPartsIsNotCalled(t *testing.T) {
	dir := t.TempDir()
	for _, path := range find("libcudnn.so.9") {
		if data, err := os.ReadFile(path); err == nil {
			must.Do(t, os.WriteFile(filepath.Join(dir, "libcudnn.so.9"), data, 0o755))
		}
	}
	_, found := openDnn(func(name string) []string { return []string{filepath.Join(dir, name)} }, anyDriver)
	if found.Err == nil || !strings.Contains(found.Err.Error(), "lacks libcudnn_graph.so.9") {
		t.Errorf("got %v", found.Err)
	}
}

func TestRealCuDNNRefusesAWrongDescription(t *testing.T) {
	d, found := openDnn(find, anyDriver)
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	c := descriptions()[0]
	c.OutHeight++
	s := &descriptors{d: d}
	if _, err := c.operations(s); err == nil {
		t.Error("a convolution whose result has too many rows was accepted")
	}
	if err := s.free(); err != nil {
		t.Error(err)
	}
}

func TestRealCuBLASLtAcceptsOurDescriptions(t *testing.T) {
	b, found := openBlas(find, anyDriver)
	if found.Err != nil {
		t.Fatal(found.Err)
	}
	for i := range 16 {
		p := Product{Type: device.BF16, Out: device.BF16, Rows: 33, Cols: 31, Inner: 65, Batch: 1 + i%2, LdA: 65, LdB: 31,
			LdOut: 31, NextA: 33 * 65, NextB: 65 * 31, NextOut: 33 * 31, Bias: i&2 != 0, AlignA: 2, AlignB: 2, AlignOut: 2,
			AlignBias: 2, TransA: i&4 != 0, TransB: i&8 != 0}
		if i >= 8 && p.TransA {
			p.Out, p.Bias, p.Sums, p.Batch = device.F32, false, true, 1
		}
		plan := &productPlan{}
		err := b.describe(plan, p)
		if err != nil {
			t.Errorf("%+v: %v", p, err)
		}
		if err := b.free(plan); err != nil {
			t.Error(fmt.Errorf("%+v: %w", p, err))
		}
	}
}
