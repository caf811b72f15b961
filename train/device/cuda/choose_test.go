package cuda_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/device/cuda"
	"hgld/train/device/cuda/vendor"
)

// squares is an operation of each kind in BF16 on arrays of ones, in place where that is possible.
type squares struct {
	v                     withVendor
	x, w, y, dw, sums, in device.Array
	add                   device.Array // of Conv
}

func newSquares(v withVendor) *squares {
	s := &squares{v: v, x: device.New(v, device.BF16, 2, 5, 5, 16), w: device.New(v, device.BF16, 8, 3, 3, 16),
		y: device.New(v, device.BF16, 2, 5, 5, 8), dw: device.New(v, device.F32, 8, 3, 3, 16),
		sums: device.New(v, device.F32, 16), in: device.New(v, device.BF16, 16, 16),
		add: device.New(v, device.BF16, 2, 5, 5, 8)}
	v.Fill(s.add, 1)
	return s
}

// ops are the operations, which leave numbers that show how often they ran.
func (s *squares) ops() map[string]func() {
	shape := device.ConvShape{PadH: 1, PadW: 1}
	return map[string]func(){
		"Conv": func() { s.v.Conv(s.y, s.x, s.w, shape, device.Epilogue{Residual: s.add}) },
		"ConvGradX": func() {
			s.v.ConvGradX(s.x, s.y, s.w, shape, device.GradEpilogue{Add: s.x, Sums: s.sums})
		},
		"ConvGradW": func() { s.v.ConvGradW(s.dw, s.y, s.x, shape, 1) },
		"MatMul":    func() { s.v.MatMul(s.in, s.w16(), s.w16(), device.Mul{TransB: true, Alpha: 1, Beta: 1}) },
	}
}

// w16 are 16 rows of the filters.
func (s *squares) w16() device.Array { return s.w.Reshape(16, 72) }

// run runs each operation once on arrays of ones, and returns all bytes by operation.
func (s *squares) run(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for name, op := range s.ops() {
		for _, a := range []device.Array{s.x, s.w, s.y, s.dw, s.in} {
			s.v.Fill(a, 1)
		}
		op()
		for _, a := range []device.Array{s.x, s.w, s.y, s.dw, s.in} {
			data := make([]byte, a.Len()*a.Type.Size())
			must.Do(t, s.v.Wait(s.v.Download(data, a)))
			all[name] += string(data)
		}
	}
	return all
}

// A shape is measured once, by the first process, and what it found is kept for others. The result is as without, also
// of operations that add to what there is. Nothing is measured unasked.
func TestChoiceIsMeasuredOncePerShape(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(vendor.PlansVariable, dir)
	files := func() int {
		list, err := filepath.Glob(filepath.Join(dir, "cuDNN-9.26.0--cuBLASLt-12.8.5--*", "*.plan"))
		must.Do(t, err)
		return len(list)
	}
	var want map[string]string
	var first map[string]string
	for _, c := range []struct {
		name, setting string
		kept          int
		before        func()
	}{
		{"unasked", "bfloat16", 0, func() {}},
		{"measured", "measured", 4, func() {}},
		{"another process", "measured", 4, func() { // to this one, which remembers by path
			next := filepath.Join(t.TempDir(), "plans")
			must.Do(t, os.Rename(dir, next))
			dir = next
			t.Setenv(vendor.PlansVariable, dir)
		}},
	} {
		c.before()
		t.Run(c.name, func(t *testing.T) {
			v := openVendor(t, c.setting)
			s := newSquares(v)
			got := s.run(t)
			if want == nil {
				want = got
			}
			for name := range want { // of ones, all sums are exact in any order
				if got[name] != want[name] {
					t.Errorf("%s gives other bytes", name)
				}
			}
			products, convolutions := v.queued()
			again := s.run(t)
			p, n := v.queued()
			if !maps.Equal(got, again) || p-products > 1 || n-convolutions > 3 {
				t.Errorf("a second run queues %d products and %d convolutions, or gives other bytes", p-products, n-convolutions)
			}
			measured := c.name == "measured"
			if (products+convolutions > 4) != measured {
				t.Errorf("%d products and %d convolutions were queued, measured: %v", products, convolutions, measured)
			}
			choices := v.Choices()
			if len(choices.Ways) != c.kept || files() != c.kept || c.kept > 0 && !strings.Contains(choices.On, "cuDNN 9.26.0") {
				t.Errorf("%d choices on %q, %d files, want %d", len(choices.Ways), choices.On, files(), c.kept)
			}
			switch {
			case measured:
				first = choices.Ways
			case c.kept > 0 && !maps.Equal(choices.Ways, first):
				t.Errorf("the choices are %v, were %v", choices.Ways, first)
			}
			if len(*v.told) != 0 {
				t.Errorf("told %q", *v.told)
			}
		})
	}
}

// A choice whose file is damaged is told, and measured again.
func TestDamagedChoiceIsMeasuredAgain(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(vendor.PlansVariable, dir)
	s := newSquares(openVendor(t, "measured"))
	s.run(t)
	files, err := filepath.Glob(filepath.Join(dir, "cuDNN-*", "*.plan"))
	if err != nil || len(files) != 4 {
		t.Fatalf("the files are %v, %v", files, err)
	}
	next := filepath.Join(t.TempDir(), "plans")
	must.Do(t, os.Rename(dir, next))
	t.Setenv(vendor.PlansVariable, next)
	damaged := strings.Replace(files[0], dir, next, 1)
	data, err := os.ReadFile(damaged)
	must.Do(t, err)
	must.Do(t, os.WriteFile(damaged, data[:len(data)-1], 0o600))
	v := openVendor(t, "measured")
	newSquares(v).run(t)
	if len(*v.told) != 1 || !strings.Contains((*v.told)[0], damaged+" is damaged: hgld measures again") {
		t.Errorf("told %q", *v.told)
	}
	if p, c := v.queued(); p+c <= 4 {
		t.Errorf("%d products and convolutions: nothing was measured", p+c)
	}
	if now, err := os.ReadFile(damaged); err != nil || !strings.HasSuffix(string(now), "}") {
		t.Errorf("the file was not written again: %v\n%s", err, now)
	}
}

// A shape that is first seen while a program is recorded is computed by the rules, and measured later.
func TestNothingIsMeasuredWhileAProgramIsRecorded(t *testing.T) {
	v := openVendor(t, "measured")
	s := newSquares(v)
	ops := s.ops()
	v.Choose(cuda.Choices{Way: "cudnn"}) // which measures nothing, and makes what a recording needs
	ops["Conv"]()
	v.Choose(cuda.Choices{})
	_, before := v.queued()
	p, err := v.Record(ops["Conv"])
	must.Do(t, err)
	if _, n := v.queued(); n-before != 1 || len(v.Choices().Ways) != 0 {
		t.Errorf("%d convolutions were recorded, %v was chosen", n-before, v.Choices().Ways)
	}
	p.Run()
	p.Close()
	ops["Conv"]()
	if len(v.Choices().Ways) != 1 {
		t.Errorf("%v was chosen after the recording", v.Choices().Ways)
	}
}

// Choices of another process are taken as they are, whatever is kept and without measuring; those of another kind of
// GPU are not, which is told.
func TestChoicesAreRepeated(t *testing.T) {
	v := openVendor(t, "measured")
	s := newSquares(v)
	s.run(t)
	found := v.Choices()
	for _, setting := range []string{"measured", "bfloat16"} {
		for by, want := range map[string][2]int{"hgld": {0, 0}, "cudnn 1: 0.1 ms": {0, 3}, "cublaslt 1": {1, 0}} {
			t.Run(setting+" "+by, func(t *testing.T) {
				v := openVendor(t, setting)
				told := device.Choices{On: found.On, Ways: maps.Clone(found.Ways)}
				for shape := range told.Ways {
					told.Ways[shape] = by
				}
				v.Repeat(told)
				newSquares(v).run(t)
				if p, c := v.queued(); [2]int{p, c} != want || !maps.Equal(v.Choices().Ways, told.Ways) {
					t.Errorf("%d products and %d convolutions, want %v; choices %v", p, c, want, v.Choices().Ways)
				}
			})
		}
	}
	other := openVendor(t, "bfloat16")
	other.Repeat(device.Choices{On: "an H100", Ways: found.Ways})
	if len(*other.told) != 1 || !strings.Contains((*other.told)[0], "for an H100 are not used on cuDNN") ||
		len(other.Choices().Ways) != 0 {
		t.Errorf("told %q, chose %v", *other.told, other.Choices())
	}
}

// Without memory for what a trial writes, the rules hold. The run that finds so repeats it, and no other.
func TestChoiceWithoutMemoryIsThatOfTheRules(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(vendor.PlansVariable, dir)
	v := openVendor(t, "measured")
	s := newSquares(v)
	v.emulator.Memory(v.Used() + 800<<20) // less than kernels and libraries may take
	s.ops()["MatMul"]()
	ways := slices.Collect(maps.Values(v.Choices().Ways))
	files, err := filepath.Glob(filepath.Join(dir, "cuDNN-*", "*.plan"))
	if !slices.Equal(ways, []string{"rules"}) || err != nil || len(files) != 0 {
		t.Errorf("chose %v, kept %v, %v", ways, files, err)
	}
	if p, _ := v.queued(); p != 1 {
		t.Errorf("%d products", p)
	}
}
