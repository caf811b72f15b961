package scrape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/labels"
)

// Policy decides which of several "instance of" values become a landmark's tag.
// It gets the values that differ, are not empty and not deprecated, at least one: a
// page prints no others. It returns
// those that it takes, or none, with the outcome and the reason.
//
// The paper does not say what was done where a category has several values. That
// 0.25 % of the landmarks were removed, while several values are common, suggests
// that its scraper took one.
type Policy func(values []labels.TagValue) (taken []labels.TagValue, outcome labels.Outcome, why string)

// Policies lists the choices. A policy works on what is kept, so it can be
// changed without asking the site again.
var Policies = registry.Table[Policy]{
	{Name: "first", About: "the first value on the page", Value: first},
	{Name: "drop-multi", About: "no tag for a landmark with several different values", Value: dropMulti},
	{Name: "all", About: `all values, joined to one tag by "; "`, Value: all},
	{Name: "best-rank", About: "the first preferred value, or else the first", Value: bestRank},
}

func first(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	return values[:1], labels.OK, ""
}

func all(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	return values, labels.OK, ""
}

func dropMulti(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	if len(values) > 1 {
		return nil, labels.Several, fmt.Sprintf("%d different values, which the policy drop-multi does not choose from",
			len(values))
	}
	return values, labels.OK, ""
}

// bestRank takes one of the values that SPARQL's wdt: would give. A page prints
// no ranks: its values count as normal.
func bestRank(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	i := slices.IndexFunc(values, func(v labels.TagValue) bool { return v.Rank == "preferred" })
	return first(values[max(0, i):])
}

// different returns the values that are neither empty nor deprecated, each once: two
// are one value if they have the same item, or without items the same Text.
func different(values []labels.TagValue) []labels.TagValue {
	seen := map[string]bool{}
	var list []labels.TagValue
	for _, v := range values {
		if key := cmp.Or(v.QID, " "+v.Text); v.Text != "" && v.Rank != "deprecated" && !seen[key] {
			seen[key] = true
			list = append(list, v)
		}
	}
	return list
}

// choose fills the tag of a record that has values. Where the policy takes none,
// the outcome is the policy's, with the reason in Error. paperText adds the qualifiers
// as the page prints them: "church building (1172–1954)".
func choose(rec *labels.Record, policy Policy, paperText bool) {
	if rec.Outcome != labels.OK {
		return
	}
	values := different(rec.Values)
	if len(values) == 0 {
		rec.Outcome = labels.NoTag
		if len(rec.Values) > 0 {
			rec.Error = "the values are empty or deprecated"
		}
		return
	}
	taken, outcome, why := policy(values)
	if len(taken) == 0 {
		rec.Outcome, rec.Error = outcome, why
		return
	}
	var tags, raws []string
	for _, v := range taken {
		tag := v.Text
		if paperText {
			for _, q := range v.Qualifiers {
				tag += " (" + q + ")"
			}
		}
		tags, raws = append(tags, tag), append(raws, v.Raw)
	}
	rec.Tag, rec.Raw = strings.Join(tags, "; "), strings.Join(raws, "; ")
	if len(taken) == 1 {
		rec.QID = taken[0].QID
	}
}
