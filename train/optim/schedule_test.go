package optim_test

import (
	"encoding/json"
	"math"
	"slices"
	"testing"

	"hgld/train/optim"
)

type scheduleCase struct {
	Name     string
	Settings json.RawMessage
	Groups   []string
	LR       [][]float64
	Stepped  [][]int
}

// scheduleSettings are the keys that any kind of schedule has; Min is one number
// or one for each group.
type scheduleSettings struct {
	Kind       string   `json:"kind"`
	Epochs     int      `json:"epochs"`
	Milestones []int    `json:"milestones"`
	Gamma      float64  `json:"gamma"`
	Length     int      `json:"T_max"`
	Min        any      `json:"eta_min"`
	Rise       int      `json:"warmup_steps"`
	Steps      int      `json:"steps"`
	Freeze     int      `json:"warmup_freeze_epochs"`
	FreezeKeys []string `json:"warmup_keys"`
}

func TestGoldenSchedules(t *testing.T) {
	var cases struct{ Schedules []scheduleCase }
	open(t, &cases)
	for _, c := range cases.Schedules {
		t.Run("optim/"+c.Name, func(t *testing.T) {
			var s scheduleSettings
			strictly(t, c.Settings, &s)
			freeze := optim.Freeze{Epochs: s.Freeze, Groups: s.FreezeKeys}
			for row, rates := range c.LR {
				for g, want := range rates {
					got := schedule(t, s, g).Rate(base(c, s, g), freeze.At(row+1))
					if math.Abs(got-want) > 1e-12*want { // closed forms in float64
						t.Errorf("row %d, %s: %v, want %v", row, c.Groups[g], got, want)
					}
					if c.Stepped != nil && freeze.Stepped(row+1, c.Groups[g]) != (c.Stepped[row][g] == 1) {
						t.Errorf("row %d, %s: stepped %v", row, c.Groups[g], c.Stepped[row][g] == 0)
					}
				}
			}
		})
	}
}

// base is the rate of a group: the first of the table, but for the linear rise,
// which begins at its part.
func base(c scheduleCase, s scheduleSettings, group int) float64 {
	return c.LR[max(s.Rise-1, 0)][group]
}

func schedule(t *testing.T, s scheduleSettings, group int) optim.Schedule {
	lowest := 0.0
	switch v := s.Min.(type) {
	case nil:
	case float64:
		lowest = v
	case []any:
		lowest = v[group].(float64)
	default:
		t.Fatalf("eta_min %v", v)
	}
	switch s.Kind {
	case "constant":
		return optim.Steady{}
	case "multistep":
		return optim.MultiStep{Milestones: s.Milestones, Gamma: s.Gamma}
	case "cosine":
		return optim.Cosine{Length: s.Length, Min: lowest}
	case "linear warm-up then cosine":
		return optim.LinearCosine{Rise: s.Rise, Length: s.Steps, Min: lowest}
	}
	t.Fatalf("unknown kind %q", s.Kind)
	return nil
}

// The values of losses.md 7-L.
func TestFrozenEpochsEndAboveTheMinimum(t *testing.T) {
	freeze := optim.Freeze{Epochs: 5, Groups: []string{"backbone"}}
	for epoch, want := range map[int]float64{6: 5e-5, 7: 4.998766e-5, 50: 2.968453e-5, 56: 2.5e-5, 100: 4.428187e-7} {
		got := optim.Cosine{Length: 100}.Rate(5e-5, freeze.At(epoch))
		if math.Abs(got/want-1) > 2e-7 { // seven digits are given
			t.Errorf("epoch %d: %v, want %v", epoch, got, want)
		}
	}
	freeze.Advances = true
	// (1 + cos(π·(epoch − 1)/100))/2 of the rate
	for epoch, want := range map[int]float64{1: 5e-5, 6: 4.969221e-5, 51: 2.5e-5, 101: 0} {
		if got := (optim.Cosine{Length: 100}).Rate(5e-5, freeze.At(epoch)); math.Abs(got-want) > 1e-11 {
			t.Errorf("advancing, epoch %d: %v, want %v", epoch, got, want)
		}
	}
	if !freeze.Stepped(1, "head") || freeze.Stepped(5, "backbone") || !freeze.Stepped(6, "backbone") {
		t.Error("the wrong group is frozen")
	}
}

func TestAdjustSetsRatesAndFrozenGroups(t *testing.T) {
	b := host{}
	backbone, head := weights(b, []float64{1}, []float64{1}), weights(b, []float64{1}, []float64{1})
	backbone.Name, head.Name, head.Rate = "backbone", "head", 0.2
	o := optim.New(b, optim.SGD{}, backbone, head)
	s, f := optim.MultiStep{Milestones: []int{2}, Gamma: 0.5}, optim.Freeze{Epochs: 3, Groups: []string{"backbone"}}
	for epoch, want := range map[int][2]float64{1: {0.1, 0.2}, 3: {0.1, 0.2}, 5: {0.1, 0.2}, 6: {0.05, 0.1}} {
		o.Adjust(s, f, epoch)
		if backbone.Eta != want[0] || head.Eta != want[1] {
			t.Errorf("epoch %d: rates %v and %v, want %v", epoch, backbone.Eta, head.Eta, want)
		}
		if o.Adjust(s, f, epoch) {
			t.Errorf("epoch %d: the same groups are frozen, and a change is reported", epoch)
		}
		if backbone.Frozen != (epoch <= 3) || head.Frozen {
			t.Errorf("epoch %d: frozen %v and %v", epoch, backbone.Frozen, head.Frozen)
		}
	}
}

func TestSchedulesAndOptimizersHaveTheirDefaults(t *testing.T) {
	if got := optim.Schedules.Names(); !slices.Equal(got, []string{"constant", "cosine", "multistep", "linear-cosine"}) {
		t.Errorf("schedules %v", got)
	}
	for _, e := range optim.Schedules {
		if at0, at1 := e.Value.Rate(1, 0), e.Value.Rate(1, 99); at0 <= 0 || at0 > 1 || at1 <= 0 || at1 > 1 {
			t.Errorf("%s: %v at 0, %v at 99", e.Name, at0, at1)
		}
	}
	if got := optim.All.Names(); !slices.Equal(got, []string{"adam", "adamw", "sgd"}) {
		t.Errorf("optimizers %v", got)
	}
}
