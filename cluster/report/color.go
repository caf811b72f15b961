package report

import (
	"cmp"
	"slices"
)

// Light and Dark are the colours of clusters on a light and on a dark background, in the
// same order of hues. Each has a contrast of at least 3 to 1 to its background, as WCAG
// 2.2, 1.4.11 requires of graphics. No cluster is identified by its colour alone.
var (
	Light = []string{"#1f5fbf", "#c2410c", "#1a7f4b", "#8b3fc7", "#b5306b", "#8a6d00", "#00798c", "#75513a", "#d11f2f",
		"#4d7c0f", "#4338ca", "#5a6577"}
	Dark = []string{"#7fb0ff", "#ff9d6e", "#4fc98a", "#c99bff", "#ff8fc0", "#d9c24a", "#4fd0de", "#d2a98a", "#ff7b7b",
		"#a8d84e", "#9a97ff", "#a9b6c9"}
)

// colors gives every cluster one of the colours. The largest clusters come first. Each
// takes the colour that the clusters near it on the map use least, where nearness is
// 1/(1+d²) with the distance d of the medians of their tags.
func colors(d data) []int {
	x, y := make([]float64, len(d.Clusters)), make([]float64, len(d.Clusters))
	order := make([]int, len(d.Clusters))
	for i, c := range d.Clusters {
		x[i], y[i], order[i] = medianOf(d.Tags.X, c.Members), medianOf(d.Tags.Y, c.Members), i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(len(d.Clusters[b].Members), len(d.Clusters[a].Members))
	})
	chosen := make([]int, len(d.Clusters))
	for at, i := range order {
		near := make([]float64, len(Light))
		for _, j := range order[:at] {
			dx, dy := x[i]-x[j], y[i]-y[j]
			near[chosen[j]] += 1 / (1 + dx*dx + dy*dy)
		}
		for c := range near {
			if near[c] < near[chosen[i]] {
				chosen[i] = c
			}
		}
	}
	return chosen
}

func medianOf(values []float64, rows []int) float64 {
	v := make([]float64, len(rows))
	for i, r := range rows {
		v[i] = values[r]
	}
	slices.Sort(v)
	return v[len(v)/2]
}
