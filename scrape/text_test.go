package scrape_test

import (
	"strings"
	"testing"
	"time"

	"hgld/labels"
	"hgld/scrape"
)

var paperTrain, paperIndex = scrape.PaperCounts{PaperLandmarks: 203094, PaperTagged: 129100, PaperSelected: 128800},
	scrape.PaperCounts{PaperLandmarks: 101297, PaperTagged: 68100, PaperSelected: 67900}

// The paper counts all its landmarks, so its count is not comparable with a part of them.
func TestReportShowsThePaperOnlyForAllItsLandmarks(t *testing.T) {
	report := &scrape.Report{Splits: []scrape.SplitReport{
		{Split: labels.Train, Landmarks: 203094, Tagged: 130000, Coverage: 0.6401, PaperCounts: paperTrain},
		{Split: labels.Index, Landmarks: 50, Tagged: 40, Coverage: 0.8, PaperCounts: paperIndex},
	}}
	text := report.Text()
	for _, line := range []string{
		"train: 130000 of 203094 landmarks have a tag (64.0 %); the paper: 129100 of 203094 (63.6 %)\n",
		"index: 40 of 50 landmarks have a tag (80.0 %)\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
}

// The paper scraped 129.1k and 68.1k landmarks, and selected 128.8k and 67.9k with 5.7k tags.
func TestReportShowsWhatCleaningRemovedBesideThePaper(t *testing.T) {
	report := &scrape.Report{Tags: 5812, Splits: []scrape.SplitReport{
		{Split: labels.Train, Landmarks: 203094, Tagged: 129000, PaperCounts: paperTrain,
			Outcomes: map[labels.Outcome]int{labels.Several: 700, labels.CategoryItem: 250, labels.Disambiguation: 50}},
		{Split: labels.Index, Landmarks: 101297, Tagged: 60000, PaperCounts: paperIndex},
	}}
	text := report.Text()
	for _, line := range []string{
		"  cleaning removed 1000 of 130000 (0.77 %); in the paper 300 of 129100 (0.23 %), which left 128800\n",
		"  cleaning removed 0 of 60000 (0.00 %); in the paper 200 of 68100 (0.29 %), which left 67900\n",
		"5812 distinct tags; in the paper 5700\n",
	} {
		if !strings.Contains(text, line) {
			t.Errorf("no line %q in\n%s", line, text)
		}
	}
	report.Splits[1].Landmarks-- // a part of the index
	if text := report.Text(); strings.Contains(text, "5700") || strings.Contains(text, "67900") {
		t.Errorf("compared with the paper's index:\n%s", text)
	}
}

func TestReportListsOutcomesAndPolicies(t *testing.T) {
	report := &scrape.Report{Policy: "first", Several: 1, Policies: []scrape.PolicyCount{{Policy: "first"},
		{Policy: "drop-multi", Dropped: 1}},
		Splits: []scrape.SplitReport{{Split: labels.Val, Landmarks: 3, Tagged: 2, Coverage: 2. / 3,
			Outcomes: map[labels.Outcome]int{labels.Failed: 1, labels.OK: 2}}}}
	want := "val: 2 of 3 landmarks have a tag (66.7 %)\n" +
		"        2  ok\n" +
		"        1  error_final\n" +
		"1 landmark with several values; policies would drop: first 0, drop-multi 1 (policy: first)\n"
	if got := report.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestFailuresAreListedUpToANumber(t *testing.T) {
	report := &scrape.Report{Failed: []scrape.Failure{
		{Landmark: 7, Split: labels.Train, Outcome: labels.Failed, Error: "status 404"},
		{Landmark: 8, Split: labels.Train, Outcome: labels.Malformed, Error: "no title"}}}
	first := "  train/7 error_final: status 404\n"
	for n, want := range map[int]string{0: "  … and 2 more\n", 1: first + "  … and 1 more\n",
		2: first + "  train/8 malformed: no title\n", 3: first + "  train/8 malformed: no title\n"} {
		if got := report.FailedText(n); got != want {
			t.Errorf("the first %d:\n%swant\n%s", n, got, want)
		}
	}
}

func TestStatsListWhatPoliciesAndPaperKeep(t *testing.T) {
	stats := scrape.Stats{Splits: []scrape.SplitStats{{Split: labels.Train,
		PaperCounts: scrape.PaperCounts{PaperLandmarks: 200, PaperTagged: 127, PaperSelected: 126},
		Populations: []scrape.Population{{Name: scrape.AllLandmarks, Landmarks: 4, Several: 1,
			Outcomes: map[labels.Outcome]int{labels.OK: 4}, Kept: []scrape.PolicyKept{{Policy: "first", Kept: 3}}}}}}}
	want := "train, all: 4 landmarks, 1 with several values\n" +
		"        4  ok\n" +
		"        3  kept by the policy first (75.0 %)\n" +
		"      127  kept by the paper, of 200 (63.5 %)\n" +
		"      126  of them selected by the paper after its cleaning (0.79 % removed)\n"
	if got := stats.Text(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestVerificationListsTheFirstProblems(t *testing.T) {
	v := &scrape.Verification{Responses: 1, Facts: 2, Titles: 0, Again: 3, Problems: []string{"a", "b", "c"}}
	want := "1 response, 2 facts and 0 findings compared; 3 to be fetched again\n  a\n  b\n  … and 1 more; " +
		"--all lists them\n"
	if got := v.Text(2, "--all lists them"); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestPlanTextHasRemainingTitlesAndDuration(t *testing.T) {
	p := scrape.Plan{Landmarks: 1, Titles: 10, Unusable: 2, Done: 3, Retry: 1, Requests: 120, Stages: []scrape.Stage{
		{Step: "pages", Requests: 100, About: "titles"}, {Step: "again", Requests: 20, About: "retries"}}}
	want := "1 landmark, 10 category pages, 3 done, 1 failed last time, 2 landmarks without a usable URL\n" +
		"120 requests to http://site are left, not counting redirects and retries: 1m0s at 2 a second\n" +
		"      100  pages  titles\n" +
		"       20  again  retries\n" +
		"at other rates that the site allows: 2m0s at 1 a second, 12s at 10 a second\n"
	if got := p.Text("http://site", 2, []float64{1, 10}); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	done := scrape.Plan{Titles: 1, Done: 1}
	if got, want := done.Text("s", 0, []float64{1}), "0 landmarks, 1 category page, 1 done\n"+
		"0 requests to s are left, not counting redirects and retries\n"; got != want {
		t.Errorf("with nothing left: %q, want %q", got, want)
	}
}

func TestTallyCountsTagsAndFailures(t *testing.T) {
	began := time.Unix(1000, 0)
	tally := scrape.NewTally(began)
	tally.Note(scrape.Progress{Outcomes: []labels.Outcome{labels.OK, labels.Several, labels.Failed}}, began)
	got := tally.Note(scrape.Progress{Asked: 30, Outcomes: []labels.Outcome{labels.OK, labels.Retryable}},
		began.Add(20*time.Second))
	if want := "2 with a tag, 1 error_retryable, 1 error_final, 30 requests, 1.5 a second"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
