package nulldriver

import (
	"fmt"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/device"
)

// A RankLoss against a memory takes at most 5 ms of an H100 and 200 MB with scores, levels and gradient, however
// many positives a query has.
func TestRankLossOfALargeMemory(t *testing.T) {
	const mostSeconds, mostBytes = 5e-3, 200e6
	exact, smooth := device.Step{Kind: device.Heaviside}, device.Step{Kind: device.Sigmoid, Tau: 0.01}
	upper := device.Step{Kind: device.Upper, Tau: 0.01, Rho: 100, Delta: 0.05, Start: 0.5, Zero: 1, AutoOffset: true}
	steps := map[bool]*device.Steps{
		false: {Rank: [3]device.Step{smooth, smooth, smooth}, Plus: [3]device.Step{smooth, smooth, smooth}},
		true:  {Rank: [3]device.Step{exact, exact, upper}, Plus: [3]device.Step{exact, exact, exact}},
	}
	for _, w := range []RankWork{
		{Queries: 256, Items: 60000, Positives: 4, Levels: 1}, {Queries: 256, Items: 60000, Positives: 60, Levels: 1},
		{Queries: 256, Items: 60000, Positives: 1000, Levels: 2}, {Queries: 256, Items: 60000, Positives: 5000, Levels: 2},
		{Queries: 256, Items: 60000, Positives: 15000, Levels: 2}, {Queries: 4096, Items: 4096, Positives: 3, Levels: 1},
		{Queries: 4096, Items: 4096, Positives: 800, Levels: 2},
	} {
		for _, w.Sup = range []bool{false, true} {
			t.Run(fmt.Sprintf("%+v", w), func(t *testing.T) {
				b, err := Open(H100)
				must.Do(t, err)
				f32 := func(dims ...int) device.Array { return device.New(b, device.F32, dims...) }
				q, g := w.Queries, w.Items
				rel, cnt, loss := f32(q, w.Levels+1), device.New(b, device.I32, q, w.Levels+1), f32(q)
				before := b.driver.addr
				s, ds, sh := f32(q, g), f32(q, g), device.New(b, device.U8, q, g)
				b.driver.Launches = nil
				b.RankLoss(loss, ds, s, sh, rel, cnt, steps[w.Sup], &device.Score{})
				bytes, seconds := int(b.driver.addr-before), H100.RankLoss(w, b.driver.Launches)
				t.Logf("%.2f ms, %d launches, %.0f MB", 1e3*seconds, len(b.driver.Launches), float64(bytes)/1e6)
				if seconds > mostSeconds || float64(bytes) > mostBytes {
					t.Errorf("%.2f ms and %d bytes, want at most %.0f ms and %.0f bytes", 1e3*seconds, bytes, 1e3*mostSeconds,
						mostBytes)
				}
			})
		}
	}
}
