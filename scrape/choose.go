package scrape

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"hgld/internal/registry"
	"hgld/labels"
)

// Policy decides which of several "instance of" values become a landmark's tag. It
// receives one or more distinct values that are neither empty nor deprecated. It returns
// the values that it takes, or none together with the outcome and the reason.
//
// The paper "remove[d] landmarks assigned to more than one supercategory" (Optimization of Rank
// Losses for Image Retrieval, section VI-A). That is the policy paper. It is not the default: items
// with several values are common in Wikidata, and dropping them loses far more than the 0.25 % of
// landmarks that the paper lost, so its scraper must have read one value of most pages. The default,
// first, keeps these landmarks.
type Policy func(values []labels.TagValue) (taken []labels.TagValue, outcome labels.Outcome, why string)

// Policies lists the policies. A policy works on the stored values, so changing it needs
// no new requests.
var Policies = registry.Table[Policy]{
	{Name: "first", About: "the first value on the page", Value: first},
	{Name: "drop-multi", About: "no tag if a landmark has several different values", Value: dropMulti},
	{Name: "all", About: `all values, joined to one tag by "; "`, Value: all},
	{Name: "best-rank", About: "the first preferred value, or else the first", Value: bestRank},
	{Name: "paper", About: "drop-multi, as section VI-A of the paper says", Value: dropMulti},
}

func first(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	return values[:1], labels.OK, ""
}

func all(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	return values, labels.OK, ""
}

func dropMulti(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	if len(values) > 1 {
		return nil, labels.Several, fmt.Sprintf("%d different values; the policy drops such landmarks", len(values))
	}
	return values, labels.OK, ""
}

// bestRank takes the first of the values that SPARQL's wdt: would return. Pages print no
// ranks, so their values count as normal.
func bestRank(values []labels.TagValue) ([]labels.TagValue, labels.Outcome, string) {
	i := slices.IndexFunc(values, func(v labels.TagValue) bool { return v.Rank == "preferred" })
	return first(values[max(0, i):])
}

// different returns the distinct values that are neither empty nor deprecated. Two values
// are equal if they have the same item or, if they have no item, the same Text.
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

// choose sets the tag of a record. If the policy takes no value, choose sets the policy's
// outcome and puts the reason into Error. paperText appends the qualifiers as the page
// prints them: "church building (1172–1954)".
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
