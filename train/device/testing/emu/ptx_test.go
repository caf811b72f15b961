package emu

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"hgld/internal/testing/must"
)

// openRaces loads testdata/races.ptx on an emulator that runs the PTX.
func openRaces(t *testing.T) *driver {
	t.Helper()
	modules := testPTX(t, "races", "counts")
	return openModule(t, BuildPTXOf(t, modules), "forward", modules["races"])
}

// testPTX returns files of testdata.
func testPTX(t *testing.T, names ...string) map[string]string {
	t.Helper()
	modules := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("testdata", name+".ptx"))
		must.Do(t, err)
		modules[name] = string(text)
	}
	return modules
}

func TestOrderedAccessesAreNoRaces(t *testing.T) {
	d := openRaces(t)
	for _, c := range []struct {
		kernel string
		with   int
		args   []any
	}{{"with_barrier", 255, nil}, {"within_warp", 31, []any{int32(1)}}} {
		y := d.alloc(256)
		d.run(0, c.kernel, 1, 256, append([]any{y}, c.args...)...)
		for i, v := range d.download(y, 256) {
			if got := math.Float32bits(v); got != uint32(i^c.with) {
				t.Fatalf("%s: thread %d read %d, want %d", c.kernel, i, got, i^c.with)
			}
		}
	}
	d.run(0, "next_block", 2, 1, d.alloc(2), int32(0))
}

func TestRacesAreReported(t *testing.T) {
	for _, c := range []struct {
		kernel string
		grid   int
		args   []any
		parts  []string
	}{
		{"without_barrier", 1, nil, []string{"races.ptx:46 writes shared memory that thread 127 read at line 50"}},
		{"within_warp", 1, []any{int32(0)}, []string{"races.ptx:71 writes shared memory that thread 15 read at line 79"}},
		{"refilled", 1, nil, []string{"races.ptx:97 reads shared memory that thread 0 wrote at line 98"}},
		{"next_block", 2, []any{int32(1)}, []string{"block (1,0,0)", "races.ptx:131 writes global memory that block 0 read"}},
	} {
		t.Run(c.kernel, func(t *testing.T) {
			d := openRaces(t)
			text := d.faulted(codeLaunchFailed, c.kernel, c.grid, 256, 0, append([]any{d.alloc(256)}, c.args...)...)
			contains(t, text, c.parts...)
		})
	}
}

func TestMisalignedVectorsAreReported(t *testing.T) {
	d := openRaces(t)
	text := d.faulted(codeMisaligned, "vector_at", 1, 1, 0, d.alloc(256))
	contains(t, text, "races.ptx:112: an access of 16 bytes at 0x", "which 16 does not divide")
}
