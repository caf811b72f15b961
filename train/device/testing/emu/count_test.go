package emu

import (
	"testing"
)

// Wavefronts are counted by banks and sectors by addresses, those of each warp together.
func TestAccessesAreCounted(t *testing.T) {
	modules := testPTX(t, "races", "counts")
	libs := BuildPTXOf(t, modules)
	for _, order := range []string{"forward", "shuffled:3"} {
		d := openModule(t, libs, order, modules["counts"])
		control := Open(t, libs)
		for _, c := range []struct{ stride, wavefronts, leastWavefronts, sectors, leastSectors int }{
			{4, 1, 1, 4, 4}, {8, 2, 1, 8, 4}, {32, 8, 1, 32, 4}, {36, 1, 1, 32, 4}, {128, 32, 1, 32, 4},
		} {
			y := d.alloc(64 * 32)
			counts := control.Count(func() {
				d.run(0, "strided", 1, 64, y, int32(c.stride))
				d.download(y, 1)
			})
			if len(counts.Accesses) != 2 {
				t.Fatalf("%v were counted, want two lines", counts.Accesses)
			}
			if n := counts.Instructions["strided"]; n != 64*12 {
				t.Errorf("%d instructions, want 12 of 64 threads", n)
			}
			want := []Accesses{
				{"strided", "counts.ptx", 22, true, 2, 2 * c.wavefronts, 2 * c.leastWavefronts},
				{"strided", "counts.ptx", 26, false, 2, 2 * c.sectors, 2 * c.leastSectors},
			}
			for i, got := range counts.Accesses {
				if got != want[i] {
					t.Errorf("stride %d: %v, want %v", c.stride, got, want[i])
				}
			}
		}
	}
}
