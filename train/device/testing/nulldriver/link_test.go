package nulldriver

import (
	"math"
	"testing"
)

// 100 MB in 8 GPUs by NVLink 4: 2 · 7/8 · 100 MB at 370 GB/s, and 14 steps of 3.4 µs.
func TestARingTakesItsBytesAndItsSteps(t *testing.T) {
	one := Group{Cards: 8, Nodes: 1, Link: Links["nvlink4"]}
	four := Group{Cards: 32, Nodes: 4, Link: Links["nvlink4"], Network: 400e9}
	wide := Group{Cards: 16, Nodes: 2, Link: Links["pcie4"], Network: 3200e9}
	for name, c := range map[string]struct{ got, want float64 }{
		"sum in a machine":         {one.AllReduce(100e6), 8.4e-6 + 14*3.4e-6 + 175e6/370e9},
		"gather in a machine":      {one.AllGather(100e6), 8.4e-6 + 7*3.4e-6 + 87.5e6/370e9},
		"broadcast in a machine":   {one.Broadcast(100e6), 8.4e-6 + 7*3.4e-6 + 100e6/370e9},
		"small sum":                {one.AllReduce(8), 6.6e-6 + 14*0.6e-6 + 14/(370e9/4)},
		"sum over machines":        {four.AllReduce(100e6), 8.4e-6 + 56*3.4e-6 + 6*14e-6 + 2*31./32*100e6/48e9},
		"the network is no limit":  {wide.AllReduce(1e9), 8.4e-6 + 28*5.7e-6 + 2*14e-6 + 1.875e9/25e9},
		"small gather over PCIe 4": {Group{4, 1, Links["pcie4"], 0}.AllGather(64), 6.6e-6 + 3*1e-6 + 48/(25e9/4)},
	} {
		if math.Abs(c.got-c.want) > 1e-12 {
			t.Errorf("%s takes %v s, want %v", name, c.got, c.want)
		}
	}
}

func TestCardsHaveTheirUsualLinks(t *testing.T) {
	want := map[string]string{"h200": "nvlink4", "h100": "nvlink4", "a100": "nvlink3", "4090": "pcie4", "l4": "pcie4"}
	for name, card := range Cards {
		if _, known := Links[card.Link]; card.Link != want[name] || !known {
			t.Errorf("%s has %q, want %q", name, card.Link, want[name])
		}
	}
}
