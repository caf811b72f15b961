package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// measures are the fields of a sweep in the order of the page, with what is better.
// Other fields are drawn after these.
var measures = []struct{ field, title, note string }{
	{"inertia", "Inertia", "Falls with every cluster; look for the bend"},
	{"silhouette", "Silhouette", "Higher is better"},
	{"silhouette_cosine", "Silhouette by cosine", "Higher is better"},
	{"calinski_harabasz", "Calinski–Harabasz", "Higher is better"},
	{"davies_bouldin", "Davies–Bouldin", "Lower is better"},
	{"stability", "Stability: mean ARI of two seeds", "Higher is better"},
	{"largest", "Tags of the largest cluster", ""},
	{"alone", "Clusters of one tag", ""},
}

// point is one object of a sweep: its measures by name, and the settings that
// distinguish it from others with the same number of clusters.
type point struct {
	k        float64
	settings string
	values   map[string]estimate
}

// estimate is a measure with its deviation over the seeds, 0 if there is none.
type estimate struct{ mean, deviation float64 }

// SweepError is the error of a file that is not the measures of a sweep.
type SweepError struct {
	Name string // of the file
	Err  error  // what is wrong in it
}

// Error names the file.
func (e *SweepError) Error() string { return fmt.Sprintf("%s: %v", e.Name, e.Err) }

// Unwrap returns what is wrong in the file.
func (e *SweepError) Unwrap() error { return e.Err }

// ReadSweep reads what `hgld cluster sweep --json` prints, a list of objects with the
// number of clusters k and measures, into a plot for each measure. A measure is a
// number, or an object with mean and deviation. Points with different "settings" are
// different lines. The error is a [SweepError].
func ReadSweep(text []byte, name string) ([]Plot, error) {
	var objects []map[string]any
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&objects); err != nil {
		return nil, &SweepError{name, err}
	}
	if len(objects) == 0 {
		return nil, &SweepError{name, errors.New("has no points")}
	}
	var points []point
	fields := map[string]bool{}
	for i, o := range objects {
		k, ok := o["k"].(float64)
		if !ok {
			return nil, &SweepError{name, fmt.Errorf("point %d has no number of clusters k", i+1)}
		}
		p := point{k: k, values: map[string]estimate{}}
		if settings, ok := o["settings"].(map[string]any); ok {
			var parts []string
			for _, key := range slices.Sorted(maps.Keys(settings)) {
				parts = append(parts, fmt.Sprintf("%s %v", key, settings[key]))
			}
			p.settings = strings.Join(parts, ", ")
		}
		delete(o, "k")
		delete(o, "seeds")
		delete(o, "settings")
		p.take("", o)
		for f := range p.values {
			fields[f] = true
		}
		points = append(points, p)
	}
	slices.SortStableFunc(points, func(a, b point) int { return int(a.k - b.k) })
	var plots []Plot
	for _, m := range measures {
		if fields[m.field] {
			plots = append(plots, plotOf(points, m.field, m.title, m.note))
			delete(fields, m.field)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(fields)) {
		plots = append(plots, plotOf(points, f, strings.ReplaceAll(f, "_", " "), ""))
	}
	return plots, nil
}

// take collects the measures of an object and of the objects in it.
func (p *point) take(before string, object map[string]any) {
	for name, v := range object {
		switch v := v.(type) {
		case float64:
			p.values[before+name] = estimate{mean: v}
		case map[string]any:
			mean, ok := v["mean"].(float64)
			deviation, _ := v["deviation"].(float64)
			if ok {
				p.values[before+name] = estimate{mean, deviation}
			} else {
				p.take(before+name+" ", v)
			}
		}
	}
}

// plotOf makes a line for each combination of settings, in their order.
func plotOf(points []point, field, title, note string) Plot {
	plot, at := Plot{Title: title, Note: note}, map[string]int{}
	for _, p := range points {
		v, has := p.values[field]
		if !has {
			continue
		}
		i, known := at[p.settings]
		if !known {
			i = len(plot.Lines)
			at[p.settings] = i
			plot.Lines = append(plot.Lines, Line{Name: p.settings})
		}
		l := &plot.Lines[i]
		l.X, l.Y, l.Spread = append(l.X, p.k), append(l.Y, v.mean), append(l.Spread, v.deviation)
	}
	return plot
}
