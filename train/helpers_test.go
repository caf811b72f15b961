package train

import (
	"encoding/binary"
	"math"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
	"hgld/train/metric"
	"hgld/train/step"
)

// valuesOf brings numbers to the host.
func valuesOf(t *testing.T, b device.Backend, a device.Array) (values []float64) {
	t.Helper()
	data := make([]byte, 4*a.Len())
	b.Download(data, a)
	must.Do(t, b.Sync())
	for ; len(data) > 0; data = data[4:] {
		values = append(values, float64(math.Float32frombits(binary.LittleEndian.Uint32(data))))
	}
	return values
}

// awaited is the outcome of a step that was queued.
func awaited(t *step.Ticket, err error) (step.Outcome, error) {
	if err != nil {
		return step.Outcome{}, err
	}
	return t.Outcome()
}

// deviation is the relative L2 distance.
func deviation(got, want []float64) float64 {
	diff, norm := 0.0, 0.0
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	return math.Sqrt(diff / max(norm, 1e-30))
}

// hierarchical returns H-AP, a metric of all levels.
func hierarchical(t *testing.T) metric.Set {
	t.Helper()
	set, err := metric.ParseSet([]string{"H-AP"})
	must.Do(t, err)
	return set
}
