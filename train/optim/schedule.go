package optim

import (
	"fmt"
	"math"
	"slices"

	"hgld/internal/registry"
)

// Schedule gives the rate as a pure function of time. at is the number of epochs or steps that
// the schedule has advanced, from 0; base is the group's own rate. The published recipes step
// once per epoch: epoch e, from 1, has at = e − 1.
type Schedule interface {
	// Rate returns the rate at a time from 0 up.
	Rate(base float64, at int) float64
}

// Finite is a Schedule with an end. Its setting is called length; a run that does not set it uses
// its own length.
type Finite interface {
	Schedule
	// End returns the time from which the rate no longer changes.
	End() int
}

// Schedules lists the schedules. Lengths and milestones come from the recipe.
var Schedules = registry.Table[Schedule]{
	{Name: "constant", About: "the group's rate throughout", Value: Steady{}},
	{Name: "cosine", About: "half a cosine that falls to min at length", Value: Cosine{Length: 100}},
	{Name: "multistep", About: "multiplied by gamma at each milestone",
		Value: MultiStep{Milestones: []int{30, 70}, Gamma: 0.3}},
	{Name: "linear-cosine", About: "a linear rise, then half a cosine that falls to min at length",
		Value: LinearCosine{Rise: 1000, Length: 10000}},
}

// Scaled is a schedule whose rates are multiplied by a factor.
type Scaled struct {
	Schedule Schedule // without the factor
	Factor   float64  // from 0 up
}

// Rate returns Factor times the rate of the schedule.
func (s Scaled) Rate(base float64, at int) float64 { return s.Factor * s.Schedule.Rate(base, at) }

// Steady keeps the rate at base.
type Steady struct{}

// Rate returns base.
func (Steady) Rate(base float64, _ int) float64 { return base }

// Cosine is torch's CosineAnnealingLR in closed form (Loshchilov and Hutter,
// "SGDR", ICLR 2017): Min + (base − Min)·(1 + cos(π·at/Length))/2.
type Cosine struct {
	Length int     `range:"0 1e9"` // epochs or steps to the end
	Min    float64 // rate at the end
}

// Rate falls from base at 0 to Min at Length.
func (c Cosine) Rate(base float64, at int) float64 {
	return c.Min + (base-c.Min)/2*(1+math.Cos(math.Pi*float64(at)/float64(c.Length)))
}

// End returns Length.
func (c Cosine) End() int { return c.Length }

// Check returns an error if the settings do not describe a curve.
func (c Cosine) Check() error {
	if c.Length < 1 || !(c.Min >= 0) {
		return fmt.Errorf("length is %d and min %v; want length ≥ 1 and min ≥ 0", c.Length, c.Min)
	}
	return nil
}

// MultiStep is base·Gamma^k, where k is the number of milestones m ≤ at.
type MultiStep struct {
	Milestones []int   `range:"0 1e9"` // ascending
	Gamma      float64 // factor at each
}

// Rate falls at the milestones.
func (m MultiStep) Rate(base float64, at int) float64 {
	for _, milestone := range m.Milestones {
		if at >= milestone {
			base *= m.Gamma
		}
	}
	return base
}

// Check returns an error if the settings do not describe rates.
func (m MultiStep) Check() error {
	if !slices.IsSorted(m.Milestones) || slices.ContainsFunc(m.Milestones, func(at int) bool { return at < 0 }) ||
		!(m.Gamma > 0) {
		return fmt.Errorf("milestones are %v and gamma %v; want ascending milestones and a positive gamma",
			m.Milestones, m.Gamma)
	}
	return nil
}

// LinearCosine rises to base in Rise steps, base·(at+1)/Rise, then follows half a cosine to Min
// at Length.
type LinearCosine struct {
	Rise   int     `range:"0 1e9"` // epochs or steps of the linear rise
	Length int     `range:"0 1e9"` // epochs or steps to the end, including the rise
	Min    float64 // rate at the end
}

// Rate is base/Rise at step 0 and base at steps Rise−1 and Rise.
func (l LinearCosine) Rate(base float64, at int) float64 {
	if at < l.Rise {
		return base * float64(at+1) / float64(l.Rise)
	}
	return Cosine{Length: l.Length - l.Rise, Min: l.Min}.Rate(base, at-l.Rise)
}

// End returns Length.
func (l LinearCosine) End() int { return l.Length }

// Check returns an error if the settings do not describe a curve.
func (l LinearCosine) Check() error {
	if l.Rise < 0 || l.Length <= l.Rise || !(l.Min >= 0) {
		return fmt.Errorf("rise is %d, length %d and min %v; want 0 ≤ rise < length and min ≥ 0",
			l.Rise, l.Length, l.Min)
	}
	return nil
}

// Rising is a schedule after a linear warm-up. The rate is first base·(at+1)/Steps, then that of
// the schedule, which starts when the warm-up has ended.
type Rising struct {
	Schedule
	Steps int // epochs or steps of the warm-up; 0: none
}

// Rate is base/Steps at 0 and base at Steps−1. At Steps it is the first rate of the schedule.
func (r Rising) Rate(base float64, at int) float64 {
	if at < r.Steps {
		return base * float64(at+1) / float64(r.Steps)
	}
	return r.Schedule.Rate(base, at-r.Steps)
}

// Freeze is what SupRank's code calls its warm-up. In the first Epochs epochs the groups named in
// Groups are not stepped, and the schedules of all groups wait, so a cosine over T epochs does
// not reach its end in the last epoch. With Advances the schedules count those epochs too, and
// the cosine ends in time.
type Freeze struct {
	Epochs   int      // epochs in which groups are frozen; 0: none
	Groups   []string // their names
	Advances bool     // schedules also count these epochs
}

// At returns how far schedules have advanced in epoch, counted from 1.
func (f Freeze) At(epoch int) int {
	if f.Advances {
		return epoch - 1
	}
	return max(0, epoch-1-f.Epochs)
}

// Stepped reports whether the named group is stepped in epoch, counted from 1.
func (f Freeze) Stepped(epoch int, group string) bool {
	return epoch > f.Epochs || !slices.Contains(f.Groups, group)
}

// Adjust prepares the groups for an epoch, counted from 1: s sets their rates, f which are
// frozen. It reports whether the set of frozen groups has changed; a recorded step must then be
// re-recorded.
func (o *Optimizer) Adjust(s Schedule, f Freeze, epoch int) (changed bool) {
	for _, g := range o.Groups {
		g.Eta = s.Rate(g.Rate, f.At(epoch))
		frozen := !f.Stepped(epoch, g.Name)
		changed = changed || frozen != g.Frozen
		g.Frozen = frozen
	}
	return changed
}
