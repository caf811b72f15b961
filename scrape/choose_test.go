package scrape

import (
	"strings"
	"testing"

	"hgld/labels"
)

func values(texts ...string) []labels.TagValue {
	var all []labels.TagValue
	for _, text := range texts {
		rank := ""
		switch {
		case strings.HasPrefix(text, "+"):
			rank = "preferred"
		case strings.HasPrefix(text, "-"):
			rank = "deprecated"
		case strings.HasPrefix(text, "="):
			rank = "normal"
		}
		text = strings.TrimLeft(text, "+-=")
		all = append(all, labels.TagValue{Raw: text + " ", Text: text, Rank: rank, QID: "Q" + text,
			Qualifiers: []string{"1900", "x"}})
	}
	return all
}

func TestPoliciesChooseATag(t *testing.T) {
	for _, c := range []struct {
		values                    []labels.TagValue
		first, drop, all, ranking string // "" for no tag
	}{
		{values("a"), "a", "a", "a", "a"},
		{values("a", "b"), "a", "", "a; b", "a"},
		{values("a", "a"), "a", "a", "a", "a"},
		{values("", "b"), "b", "b", "b", "b"},
		{values("", ""), "", "", "", ""},
		{nil, "", "", "", ""},
		{values("=a", "+b", "+c"), "a", "", "a; b; c", "b"},
		{values("-a", "=b"), "b", "b", "b", "b"},
		{values("-a", "=b", "=c"), "b", "", "b; c", "b"},
		{values("-a"), "", "", "", ""},
	} {
		for i, want := range []string{c.first, c.drop, c.all, c.ranking, c.drop} {
			rec := labels.Record{Landmark: 1, Split: labels.Train, Outcome: labels.OK, Values: c.values}
			choose(&rec, Policies[i].Value, false)
			wantOutcome := labels.OK
			if want == "" {
				wantOutcome = labels.NoTag
			}
			if want == "" && c.drop == want && Policies[i].Name != "first" && len(different(c.values)) > 1 {
				wantOutcome = labels.Several
			}
			if rec.Tag != want || rec.Outcome != wantOutcome {
				t.Errorf("%s of %v: tag %q, %s; want %q", Policies[i].Name, c.values, rec.Tag, rec.Outcome, want)
			}
			raw, qid := strings.ReplaceAll(want, "; ", " ; ")+" ", "Q"+want
			if strings.Contains(want, ";") {
				qid = ""
			}
			if want != "" && (rec.Raw != raw || rec.QID != qid) {
				t.Errorf("%s of %v: raw %q, %s", Policies[i].Name, c.values, rec.Raw, rec.QID)
			}
			if err := rec.Check(); err != nil {
				t.Errorf("%s of %v: %v", Policies[i].Name, c.values, err)
			}
		}
	}
}

func TestPaperTextJoinsTheQualifiers(t *testing.T) {
	rec := labels.Record{Outcome: labels.OK, Values: values("church building")}
	choose(&rec, first, true)
	if rec.Tag != "church building (1900) (x)" || rec.Raw != "church building " {
		t.Errorf("tag %q, raw %q", rec.Tag, rec.Raw)
	}
}

func TestRecordsWithoutATagStayAsTheyAre(t *testing.T) {
	for _, outcome := range labels.Outcomes {
		if outcome == labels.OK {
			continue
		}
		rec := labels.Record{Outcome: outcome, Values: values("Wikimedia category")}
		choose(&rec, first, false)
		if rec.Outcome != outcome || rec.Tag != "" {
			t.Errorf("%s became %s with tag %q", outcome, rec.Outcome, rec.Tag)
		}
	}
}

func TestReportCountsWhatEachPolicyDrops(t *testing.T) {
	r := &Report{}
	for _, p := range Policies {
		r.Policies = append(r.Policies, PolicyCount{Policy: p.Name})
	}
	for _, v := range [][]labels.TagValue{values("a"), values("a", "b"), values("-a"), values("=a", "+b"), values("")} {
		r.countPolicies(labels.Record{Outcome: labels.OK, Values: v})
	}
	want := map[string]int{"first": 0, "drop-multi": 2, "all": 0, "best-rank": 0, "paper": 2}
	for _, p := range r.Policies {
		if p.Dropped != want[p.Policy] {
			t.Errorf("%s drops %d landmarks, want %d", p.Policy, p.Dropped, want[p.Policy])
		}
	}
	if r.Several != 2 {
		t.Errorf("%d landmarks with several values, want 2", r.Several)
	}
}
