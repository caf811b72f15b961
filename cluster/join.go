package cluster

import "math"

// Joins are the names of what a plan can join the vectors of its tags with: the mean vector of their head word, or
// nothing.
var Joins = []string{"head", "none"}

// headLength is the length of the joined mean, by that of the row. It was chosen on 4,029 tags of known groups,
// see scripts/results/drafts.md.
const headLength = 0.7

// JoinHeads returns each row of x followed by the direction of the mean row of all names with its head word, at
// headLength times the row's length: [N, 2·D]. Tags of one word come closer to each other, so that fewer of them are in
// another cluster because of the other words of their names.
func JoinHeads(x Matrix, names []string) Matrix {
	words, sums := make([]string, x.Rows), map[string][]float64{}
	for i := range words {
		words[i] = HeadWord(names[i])
		if sums[words[i]] == nil {
			sums[words[i]] = make([]float64, x.Cols)
		}
		for j, v := range x.Row(i) {
			sums[words[i]][j] += float64(v)
		}
	}
	for _, sum := range sums {
		Normalize(sum)
	}
	y := NewMatrix(x.Rows, 2*x.Cols)
	for i, word := range words {
		length := 0.0
		for _, v := range x.Row(i) {
			length += float64(v) * float64(v)
		}
		length = headLength * math.Sqrt(length)
		copy(y.Row(i), x.Row(i))
		for j, v := range sums[word] {
			y.Row(i)[x.Cols+j] = float32(length * v)
		}
	}
	return y
}
