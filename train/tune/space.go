package tune

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
)

// Space is a setting with the values that a search may choose.
type Space struct {
	// Key is the setting, such as optim.lr.
	Key string `json:"key"`

	// Kind is "list", "linear", "log" or "int".
	Kind string `json:"kind"`

	// Values are the values of a list.
	Values []string `json:"values,omitempty"`

	// Low is the start of a range.
	Low float64 `json:"low,omitempty"`

	// High is the end of a range, inclusive.
	High float64 `json:"high,omitempty"`
}

const forms = "want KEY=a,b,c, KEY=low..high, KEY=log:low..high or KEY=int:low..high"

// Parse reads "KEY=a,b,c", "KEY=low..high", "KEY=log:low..high" (uniform in the logarithm) or
// "KEY=int:low..high".
func Parse(text string) (Space, error) {
	key, values, found := strings.Cut(text, "=")
	if !found || key == "" || values == "" {
		return Space{}, fmt.Errorf("%.80q: %s", text, forms)
	}
	s := Space{Key: key, Kind: "linear"}
	for _, kind := range []string{"log", "int"} {
		if rest, is := strings.CutPrefix(values, kind+":"); is {
			s.Kind, values = kind, rest
		}
	}
	low, high, is := strings.Cut(values, "..")
	if !is && s.Kind == "linear" {
		s.Kind, s.Values = "list", strings.Split(values, ",")
		if slices.Contains(s.Values, "") {
			return Space{}, fmt.Errorf("%.80q: a value is empty; %s", text, forms)
		}
		return s, nil
	}
	var err, err2 error
	s.Low, err = strconv.ParseFloat(low, 64)
	s.High, err2 = strconv.ParseFloat(high, 64)
	switch {
	case !is || err != nil || err2 != nil || math.IsInf(s.Low, 0) || math.IsInf(s.High, 0):
		return Space{}, fmt.Errorf("%.80q: %s", text, forms)
	case !(s.Low < s.High):
		return Space{}, fmt.Errorf("%.80q: the range is %v..%v; want the smaller number first", text, s.Low,
			s.High)
	case s.Kind == "log" && s.Low <= 0:
		return Space{}, fmt.Errorf("%.80q: log: needs numbers above 0, but the range begins at %v", text, s.Low)
	case s.Kind == "int" && (s.Low != math.Trunc(s.Low) || s.High != math.Trunc(s.High)):
		return Space{}, fmt.Errorf("%.80q: int: needs whole numbers", text)
	}
	return s, nil
}

// Example returns a value of the space.
func (s Space) Example() string { return s.at(0.5) }

// at returns the value at a position in [0, 1).
func (s Space) at(place float64) string {
	switch s.Kind {
	case "list":
		return s.Values[int(place*float64(len(s.Values)))]
	case "int":
		return strconv.FormatFloat(s.Low+math.Floor(place*(s.High-s.Low+1)), 'f', -1, 64)
	case "log":
		return number(s.Low * math.Pow(s.High/s.Low, place))
	}
	return number(s.Low + place*(s.High-s.Low))
}

// number rounds to three digits, which suffice to choose a value and are easy to retype.
func number(x float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(x, 'e', 2, 64), 64)
	if err != nil {
		rounded = x
	}
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}

// draws is how often values are redrawn if two trials are equal.
const draws = 100

// draw chooses the values of the trials. The range of each key is divided into as many parts as
// there are trials, and each part is used once (a Latin hypercube: McKay et al., Technometrics
// 1979). If the lists have no more combinations than there are trials, the trials are all
// combinations.
func (p *Plan) draw() [][]string {
	if all := p.grid(); len(all) > 0 {
		return all
	}
	var trials [][]string
	for try := range uint64(draws) {
		r := rand.New(rand.NewPCG(p.Seed, try))
		trials = make([][]string, p.Trials)
		for _, s := range p.Over {
			for i, part := range r.Perm(p.Trials) {
				trials[i] = append(trials[i], s.at((float64(part)+r.Float64())/float64(p.Trials)))
			}
		}
		if distinct(trials) {
			break
		}
	}
	return trials
}

func distinct(trials [][]string) bool {
	seen := map[string]bool{}
	for _, t := range trials {
		key := strings.Join(t, "\x00")
		if seen[key] {
			return false
		}
		seen[key] = true
	}
	return true
}

// grid returns all combinations of lists. It returns nil if there are more of them than trials,
// or if a key has a range.
func (p *Plan) grid() [][]string {
	all := [][]string{nil}
	for _, s := range p.Over {
		if s.Kind != "list" || len(all)*len(s.Values) > p.Trials {
			return nil
		}
		var next [][]string
		for _, start := range all {
			for _, v := range s.Values {
				next = append(next, append(slices.Clone(start), v))
			}
		}
		all = next
	}
	return all
}
