package train

import (
	"encoding/binary"
	"math"
	"strings"
	"testing"
)

// Rows at 0°, 10°, 25° and 45° have the scores of their differences. With τ = 0.01, pairs of scores less than
// 0.099 apart count: of 0°, (0.985, 0.906); of 10°, (0.985, 0.966); of 25°, (0.906, 0.966), (0.906, 0.940) and
// (0.966, 0.940); of 45°, none (0.707, 0.819, 0.940). That is 5 of 12.
func TestOperatingShareCountsPairsOfScores(t *testing.T) {
	var data []byte
	for i, angle := range []float64{0, 10, 25, 45} {
		sin, cos := math.Sincos(angle * math.Pi / 180)
		for _, v := range []float64{cos, sin} {
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v*float64(i+1)))) // of any length
		}
	}
	if got := operatingShare(data, 2, 0.0990339); got == nil || math.Abs(*got-5./12) > 1e-12 {
		t.Errorf("%v, want 5/12", got)
	}
	if got := operatingShare(data[:16], 2, 0.1); got != nil {
		t.Errorf("two rows have no pair of scores, got %v", *got)
	}
	binary.LittleEndian.PutUint32(data, math.Float32bits(float32(math.NaN())))
	if got := operatingShare(data, 2, 0.1); got != nil {
		t.Errorf("%v of a NaN", *got)
	}
}

func TestOperatingRegionIsRecordedWithoutChangingTheRun(t *testing.T) {
	c, set := tiny(3)
	plain := mustTrain(t, c, Data{Train: set}, Options{})
	c.Run.Log = []string{"region"}
	logged := mustTrain(t, c, Data{Train: set}, Options{})
	for i, v := range losses(plain) {
		if losses(logged)[i] != v {
			t.Errorf("step %d has another loss", i+1)
		}
	}
	for i := range plain {
		if plain[i].Region != nil {
			t.Error("a region was recorded unasked")
		}
		if r := logged[i].Region; logged[i].Kind == Stepped && (r == nil || *r <= 0 || *r > 1) {
			t.Errorf("step %d has the region %v", logged[i].Step, r)
		}
	}
	c.Run.Log = []string{"regoin"}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), `did you mean "region"`) {
		t.Errorf("%v", err)
	}
}
