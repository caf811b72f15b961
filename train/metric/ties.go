package metric

import (
	"slices"

	"hgld/internal/registry"
)

// Ties is a rule for items with equal scores.
type Ties uint8

// ScoreThenRow keeps the order of the ranking. AverageTies computes the mean of the metric over all orders
// within every group of equal scores, in closed form.
const (
	ScoreThenRow Ties = iota
	AverageTies
)

// TieRules are the rules by the names of settings. Everything that reads or prints a rule takes it from here.
var TieRules = registry.Table[Ties]{
	{Name: "row", About: "falling score, then the row of the gallery", Value: ScoreThenRow},
	{Name: "average", About: "the mean over all orders", Value: AverageTies},
}

// String returns the name of a rule in eval.json.
func (t Ties) String() string { return [...]string{"score-then-row", "average"}[t] }

// grouped reports whether the rule reads items as groups of equal scores. Otherwise each is a group of one.
func (t Ties) grouped(items []Item) bool {
	return t == AverageTies && slices.ContainsFunc(items, func(i Item) bool { return i.Shared&Tied != 0 })
}
